/** The outcome writer: how much goes into one append, the same batch after an unknown outcome, and standing by without a log. */
import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict';
import { LogUnavailable, MAX_APPEND_BYTES, MAX_APPEND_RECORDS, MAX_RECORD_BYTES, type Log, type NewRecord } from '../../engine/log/log.js';
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { createOutcomeWriter, type OutcomeRecord, type OutcomeWriter } from '../../engine/run/recorder.js';
import { placed, readAll } from '../support/log-records.js';
import { turnsUntil } from '../support/until.js';

interface Writing {
  readonly writer: OutcomeWriter;
  readonly log: Log;
  /** The sizes of the appends that were tried, in order. */
  readonly appends: { readonly records: number; readonly bytes: number }[];
  readonly reports: string[];
  readonly stop: AbortController;
  add(...records: OutcomeRecord[]): void;
}

/** A writer over `log`; `append` takes the place of the log's. */
function startWriter(log = createMemoryLog(), append: Log['append'] = (...args) => log.append(...args), { takeoverMs = 5_000 } = {}): Writing {
  const [appends, reports, stop]: [Writing['appends'], string[], AbortController] = [[], [], new AbortController()];
  const counted: Log = {
    ...log,
    append(stream, records, expected) {
      appends.push({ records: records.length, bytes: records.reduce((sum, { data }) => sum + data.length, 0) });
      return append(stream, records, expected);
    },
  };
  const writer = createOutcomeWriter({ log: counted, from: 0, takeoverMs, signal: stop.signal, report: (message) => { reports.push(message); } });
  return { writer, log, appends, reports, stop, add: (...records) => { for (const record of records) writer.add(record); } };
}

/** Outcomes of so many bytes each, from a position on. */
function outcomes(from: number, count: number, { bytes, writerId = 'a' }: { bytes?: number; writerId?: string } = {}): OutcomeRecord[] {
  return Array.from({ length: count }, (_, i) => {
    const position = from + i;
    const digest = `0x${String(position).padStart(64, '0')}`;
    const frame = encodeOutcome('{"at":1,"events":[]}', digest).length;
    const data = encodeOutcome(`{"at":1,"events":[]${' '.repeat(Math.max(0, (bytes ?? 0) - frame))}}`, digest);
    return { id: recordId(`outcome:${position}:${writerId}`), data, position, digest };
  });
}

const bare = (records: readonly NewRecord[]): NewRecord[] => records.map(({ id, data }) => ({ id, data }));
const turn = () => new Promise((resolve) => { setImmediate(resolve); });

describe('the outcome writer', () => {
  it('writes 72 MB of waiting outcomes in appends that the log takes', async () => {
    const { writer, log, appends, add } = startWriter();
    const records = outcomes(0, 80, { bytes: 900_000 });
    add(...records);
    await writer.drained();
    equal(writer.written, 80);
    equal(writer.unwritten, 0);
    ok(appends.every(({ bytes }) => bytes <= MAX_APPEND_BYTES), JSON.stringify(appends));
    deepEqual(await readAll(log, 'outcomes'), placed(0, bare(records)));
  });

  it('puts as many outcomes into one append as the log takes, by number and by bytes; the largest goes alone', async () => {
    const { writer, appends, add } = startWriter();
    const sizes = [MAX_RECORD_BYTES, 400_000, 600_000, 1_000, MAX_RECORD_BYTES, 1_000];
    add(...sizes.flatMap((bytes, i) => outcomes(i, 1, { bytes })), ...outcomes(sizes.length, 2_500));
    await writer.drained();
    deepEqual(appends.map(({ records }) => records), [1, 2, 1, 1, MAX_APPEND_RECORDS, MAX_APPEND_RECORDS, 501]);
    deepEqual(appends.slice(0, 4).map(({ bytes }) => bytes), [MAX_APPEND_BYTES, MAX_APPEND_BYTES, 1_000, MAX_APPEND_BYTES]);
  });

  it('sends the same batch again after an unknown outcome, whatever else is waiting by then, and does not stand by', async () => {
    const log = createMemoryLog();
    let lost = 0;
    const later = outcomes(3, 4);
    const writing = startWriter(log, async (...args) => {
      const first = await log.append(...args);
      if (lost === 2) return first;
      lost += 1;
      if (lost === 1) writing.add(...later);
      throw new LogUnavailable(true);
    });
    const records = outcomes(0, 3);
    writing.add(...records);
    await writing.writer.drained();
    deepEqual(writing.appends.map((append) => append.records), [1, 1, 1, 6], 'the first goes at once, and again');
    deepEqual(writing.reports, ['the log is unavailable: outcomes wait to be written', 'the log takes outcomes again'], 'each is told once');
    deepEqual(await readAll(log, 'outcomes'), placed(0, bare([...records, ...later])));
  });

  it('stands by and takes over although the log cannot be reached for moments', async () => {
    const store = createMemoryStore();
    const other = createMemoryLog(store);
    await other.append('outcomes', bare(outcomes(0, 5, { writerId: 'b' })));
    const flaky = createMemoryLog(store);
    let asked = 0;
    const sometimes = <T>(work: () => Promise<T>) => asked++ % 2 === 0 ? Promise.reject<T>(new LogUnavailable(false)) : work();
    const { writer, reports, add } = startWriter({
      ...flaky, length: (stream) => sometimes(() => flaky.length(stream)), read: (...args) => sometimes(() => flaky.read(...args)),
    }, (...args) => flaky.append(...args), { takeoverMs: 250 });
    add(...outcomes(0, 7));
    await writer.drained();
    deepEqual(reports, ['another engine writes the outcomes: standing by', 'the other engine has stopped writing: taking over']);
    const stored = await readAll(other, 'outcomes');
    deepEqual(stored.map(({ id }) => id), [...outcomes(0, 5, { writerId: 'b' }), ...outcomes(5, 2)].map(({ id }) => id));
  });

  it('takes over at once when the other engine has said that it leaves, as soon as it knows all that the other one wrote', async () => {
    const store = createMemoryStore();
    const other = createMemoryLog(store);
    await other.append('outcomes', bare(outcomes(0, 5, { writerId: 'b' })));
    const { writer, reports, add, log } = startWriter(createMemoryLog(store), undefined, { takeoverMs: 3_600_000 });
    add(...outcomes(0, 3));
    await turnsUntil('the writer on standby', () => writer.standby);
    await other.append('outcomes', bare(outcomes(5, 1, { writerId: 'b' })));
    writer.takeOver();
    await new Promise((resolve) => setTimeout(resolve, 600));
    deepEqual([writer.written, writer.standby], [3, true], 'it does not know all yet');
    add(...outcomes(3, 5));
    await writer.drained();
    deepEqual(reports, ['another engine writes the outcomes: standing by', 'the other engine has left: taking over']);
    deepEqual((await readAll(log, 'outcomes')).map(({ id }) => id), [...outcomes(0, 6, { writerId: 'b' }), ...outcomes(6, 2)].map(({ id }) => id));
  });

  it('is not moved by what was said before it stood by', async () => {
    const store = createMemoryStore();
    const other = createMemoryLog(store);
    await other.append('outcomes', bare(outcomes(0, 1, { writerId: 'b' })));
    const { writer, add, stop } = startWriter(createMemoryLog(store), undefined, { takeoverMs: 3_600_000 });
    writer.takeOver();
    add(...outcomes(0, 1));
    await turnsUntil('a written outcome', () => writer.written >= 1);
    await new Promise((resolve) => setTimeout(resolve, 600));
    equal(writer.standby, true);
    stop.abort();
  });

  it('stops at an outcome that differs from the other engine\'s', async () => {
    const log = createMemoryLog();
    const [mine] = outcomes(0, 1);
    await log.append('outcomes', [{ id: recordId('theirs'), data: encodeOutcome('{"at":1,"events":[]}', `0x${'f'.repeat(64)}`) }]);
    const { writer, add } = startWriter(log);
    add(mine!);
    await rejects(writer.drained(), /at position 0 the log has digest 0xf+, but this program computes 0x0+ /);
    throws(() => { writer.throwIfFailed(); }, /but this program computes/);
  });

  it('writes what it has when it is stopped, unless the log cannot be reached', async () => {
    const reachable = startWriter();
    reachable.add(...outcomes(0, 1_500));
    await turn();
    reachable.stop.abort();
    reachable.add(...outcomes(1_500, 10));
    await reachable.writer.drained();
    equal(reachable.writer.written, 1_510);

    const unreachable = startWriter(createMemoryLog(), () => Promise.reject(new LogUnavailable(false)));
    unreachable.add(...outcomes(0, 1));
    await turn();
    unreachable.stop.abort();
    await rejects(unreachable.writer.drained(), { name: 'AbortError' });
    equal(unreachable.writer.unwritten, 1);
  });
});
