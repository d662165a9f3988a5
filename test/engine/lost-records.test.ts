/** A replica whose log loses records: it ends, answers nothing more, and is not started on less than it knew. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAppender, AttemptFailed } from '../../engine/log/appender.js';
import { createHandleFailure } from '../../engine/log/tail.js';
import { createGroupCommit } from '../../engine/log/group-commit.js';
import { BrokenSequence, LogUnavailable, RecordsLost, WrongPosition, type Log, type NewRecord } from '../../engine/log/log.js';
import { createMemoryLog, createMemoryStore, type MemoryStore } from '../../engine/log/memory/memory-log.js';
import { createOutcomeWriter } from '../../engine/run/recorder.js';
import { startReplica, type Replica, type ReplicaOptions } from '../../engine/run/replica.js';
import { newRecord, newRecords, readAll } from '../support/log-records.js';
import { crowd } from '../support/random-commands.js';
import { history } from '../support/watched-histories.js';
import { until, within } from '../support/until.js';

const KNOWN = 60;
const KEPT = 40;

const recordsOf = (commands: readonly Buffer[]): NewRecord[] => commands.map((data) => newRecord(data));
const own = history(41, crowd, KNOWN + 20);
const others = history(42, crowd, KNOWN + 20);

/** A store that has lost what was after KEPT commands and outcomes, and has others' commands there, if any. */
function loseRecords({ records, grown }: MemoryStore, replacing: readonly Buffer[] = []): void {
  records.commands.splice(KEPT);
  records.outcomes.splice(KEPT);
  replacing.forEach((data) => { records.commands.push({ position: records.commands.length, ...newRecord(data) }); });
  grown.ring();
}

interface Running {
  readonly replica: Replica;
  readonly log: Log;
  readonly store: MemoryStore;
  /** The positions that were stepped. */
  readonly steps: number[];
  readonly stop: AbortController;
  /** What ended the handle. */
  readonly failures: Error[];
}

describe('replica: a log that loses records', () => {
  let directory: string;
  beforeEach(async () => { directory = await mkdtemp(join(tmpdir(), 'lost-')); });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  /** A replica that has stepped KNOWN commands, all of whose outcomes are recorded. */
  async function running(options: Partial<ReplicaOptions> = {}): Promise<Running> {
    const store = createMemoryStore();
    const failures: Error[] = [];
    const log = createMemoryLog(store, { failed: (error) => { failures.push(error); } });
    const [stop, steps]: [AbortController, number[]] = [new AbortController(), []];
    const replica = await startReplica({ log, signal: stop.signal, record: { writerId: 'w' }, snapshotDirectory: directory, ...options });
    replica.onStep(({ position }) => { steps.push(position); });
    await log.append('commands', recordsOf(own.slice(0, KNOWN)));
    await until('all outcomes are recorded', () => store.records.outcomes.length === KNOWN);
    return { replica, log, store, steps, stop, failures };
  }
  const isLost = (error: unknown): boolean => error instanceof RecordsLost;
  const isShorter = /the log has lost records: its store has 40 commands and had 60, so positions 40 to 59 are gone/;
  const isOther = /the log has lost records: its store has another record at position 59 of the commands/;

  for (const { name, replacing, what } of [
    { name: 'a shorter log', replacing: [], what: isShorter },
    { name: 'a log that is as long again', replacing: others.slice(KEPT, KNOWN), what: isOther },
    { name: 'a log that is longer again', replacing: others.slice(KEPT), what: isOther },
  ]) {
    it(`${name} ends it, and those who wait for an answer get none`, async () => {
      const { replica, log, store, steps, failures } = await running();
      const waiting = replica.outcomeOf(KNOWN);
      waiting.catch(() => undefined);
      loseRecords(store, replacing);
      await rejects(within('it ends', replica.done), what);
      await rejects(waiting, what);
      await rejects(replica.outcomeOf(KNOWN - 1), what, 'also for what it remembers');
      await rejects(log.append('commands', newRecords(1)), what);
      equal(steps.length, KNOWN);
      deepEqual([failures.length, isLost(failures[0])], [1, true]);
      equal(store.records.commands.length, KEPT + replacing.length);
    });
  }

  it('a group commit writes nothing to it', async () => {
    const { replica, log, store } = await running();
    const commits = createGroupCommit({ log, stream: 'commands', maxQueued: 10 });
    store.records.commands.splice(KEPT);
    const refused = await Promise.allSettled(recordsOf(own.slice(KNOWN)).slice(0, 5).map((record) => commits.append(record)));
    deepEqual(refused.map((result) => result.status === 'rejected' && isLost(result.reason)), [true, true, true, true, true]);
    equal(store.records.commands.length, KEPT);
    await rejects(replica.done, isShorter);
  });

  it('an engine that stands by ends, too', async () => {
    const { replica, store } = await running();
    const second = await startReplica({
      log: createMemoryLog(store), signal: new AbortController().signal, record: { writerId: 'second', takeoverMs: 3_600_000 },
    });
    await createMemoryLog(store).append('commands', recordsOf(own.slice(KNOWN)));
    await until('one of the two stands by', () => [replica, second].some(({ recording }) => recording!.standby));
    loseRecords(store);
    await Promise.all([rejects(replica.done, isLost), rejects(second.done, isLost)]);
  });

  it('a command that was replaced right after it was acknowledged gets no answer', async () => {
    const store = createMemoryLog();
    await store.append('commands', recordsOf(own.slice(0, 10)));
    const [mine, theirs] = recordsOf(own.slice(10, 12));
    const replica = await startReplica({ log: store, signal: new AbortController().signal });
    await replica.caughtUp;
    const position = await store.append('commands', [theirs!]);
    await rejects(replica.outcomeOf(position, mine!.id), /another record at position 10 of the commands/);
    await rejects(replica.done, isLost);
    await rejects(replica.outcomeOf(0), isLost);
  });

  it('tells the outcome to whoever has written the command: at once, later, and long after', async () => {
    const log = createMemoryLog();
    const all = recordsOf(history(43, crowd, 6_000));
    const replica = await startReplica({ log, signal: new AbortController().signal, record: { writerId: 'w' } });
    const early = replica.outcomeOf(1, all[1]!.id);
    for (let from = 0; from < all.length; from += 1_000) await log.append('commands', all.slice(from, from + 1_000));
    await until('all are recorded', () => replica.recording!.written === all.length);
    deepEqual(await early, await replica.outcomeOf(1, all[1]!.id));
    deepEqual(await replica.outcomeOf(5_999, all[5_999]!.id), await replica.outcomeOf(5_999));
    await rejects(replica.outcomeOf(0, all[1]!.id), isLost);
  });

  describe('the next start', () => {
    it('is refused on fewer commands than it knew, until somebody accepts the loss', async () => {
      const { replica, store } = await running();
      loseRecords(store);
      await rejects(replica.done, isLost);
      const again = () => startReplica({ log: createMemoryLog(store), signal: AbortSignal.abort(), snapshotDirectory: directory });
      await rejects(again(), (error: Error) => {
        match(error.message, /its store has 40 commands, and the newest snapshot in .* includes 60, so positions 40 to 59 are gone; stop every/);
        match(error.message, /; where there is no newer copy, empty that folder to go on without them$/);
        return isLost(error);
      });
      await rm(directory, { recursive: true });
      await (await again()).done;
    });

    const faults: readonly [string, (log: Log, stop: AbortController) => Partial<Log>][] = [
      ['took no outcomes', () => ({ append: () => Promise.reject(new LogUnavailable(true)) })],
      ['could not tell what another engine had written', (log, stop) => {
        let isStarted = false;
        return {
          append: (stream, _records, expected) => Promise.reject(new WrongPosition(stream, expected!, expected! + 1)),
          length(stream) {
            if (!isStarted) {
              isStarted = stream === 'commands';
              return log.length(stream);
            }
            stop.abort();
            return Promise.reject(new LogUnavailable(false));
          },
        };
      }],
    ];
    for (const [what, faultOf] of faults) {
      it(`is refused on fewer commands than it knew, also after a stop while the log ${what}`, async () => {
        const store = createMemoryStore();
        const [log, stop] = [createMemoryLog(store), new AbortController()];
        const replica = await startReplica({
          log: { ...log, ...faultOf(log, stop) }, signal: stop.signal, record: { writerId: 'w' }, snapshotDirectory: directory,
        });
        await log.append('commands', recordsOf(own.slice(0, KNOWN)));
        await until('all are decided', () => replica.view.position === KNOWN);
        stop.abort();
        await replica.done;
        loseRecords(store);
        const again = startReplica({ log: createMemoryLog(store), signal: AbortSignal.abort(), snapshotDirectory: directory });
        await rejects(again, /its store has 40 commands, and the newest snapshot in .* includes 60, so positions 40 to 59 are gone/);
      });
    }

    it('is refused on fewer commands than outcomes', async () => {
      const { store, stop, replica } = await running();
      stop.abort();
      await replica.done;
      store.records.commands.splice(KEPT);
      const again = startReplica({ log: createMemoryLog(store), signal: AbortSignal.abort() });
      await rejects(again, /its store has 40 commands and 60 outcomes, so of the commands positions 40 to 59 are gone/);
    });

    it('reads the lengths in an order in which a log that grows has no fewer commands', async () => {
      const { store, stop, replica, log } = await running();
      stop.abort();
      await replica.done;
      const asked: string[] = [];
      const growing: Log = {
        ...log,
        async length(stream) {
          const length = await log.length(stream);
          asked.push(stream);
          store.records.commands.push({ position: store.records.commands.length, ...newRecord(own[KNOWN]) });
          store.records.outcomes.push({ position: store.records.outcomes.length, ...newRecord() });
          return length;
        },
      };
      await startReplica({ log: growing, signal: AbortSignal.abort() });
      deepEqual(asked, ['outcomes', 'commands']);
    });
  });
});

describe('the appender: a store that contradicts itself', () => {
  const options = (attempt: Parameters<typeof createAppender>[0]['attemptsOf'] extends (records: never) => infer A ? A : never, length = 5) => {
    const failures: Error[] = [];
    const appender = createAppender({
      stream: 'commands', attemptsOf: () => attempt, length: () => length, newest: () => undefined, unknownAfterMs: 1_000, attemptTimeoutMs: 1_000,
      failure: createHandleFailure((error) => { failures.push(error); }),
    });
    return { appender, failures };
  };

  for (const [what, first, length] of [['before the end', 3, 6], ['after the end that it tells', 7, 6]] as const) {
    it(`an answer that puts the batch ${what} ends the handle, and is no unknown outcome`, async () => {
      const { appender, failures } = options(async () => ({ first, length, written: true }));
      await rejects(appender.append(newRecords(1), undefined), BrokenSequence);
      await rejects(appender.append(newRecords(1), undefined), BrokenSequence);
      equal(failures.length, 1);
    });
  }

  it('an adapter\'s own doubt about the position ends the handle, too', async () => {
    const { appender, failures } = options(async () => {
      throw new AttemptFailed(new BrokenSequence('commands', 5, 9), { maybeWritten: true, canPass: false });
    });
    await rejects(appender.append(newRecords(1), undefined), BrokenSequence);
    equal(failures.length, 1);
  });

  it('a batch that an earlier store may have is unknown, not refused', async () => {
    let attempts = 0;
    const { appender, failures } = options(async () => {
      if (attempts++ === 0) throw new AttemptFailed(new Error('the connection was lost'), { maybeWritten: true, canPass: true });
      return { first: 'taken', length: 4, written: false };
    });
    await rejects(appender.append(newRecords(1), undefined), (error: unknown) => error instanceof LogUnavailable && error.outcomeUnknown);
    ok(isLostError(failures[0]));
  });
});

describe('the outcome writer: a log with fewer outcomes than it has written', () => {
  it('ends it', async () => {
    const log = createMemoryLog();
    const failures: Error[] = [];
    const writer = createOutcomeWriter({
      log: { ...log, append: (_stream, _records, expected) => Promise.reject(new WrongPosition('outcomes', expected!, 3)) },
      from: 5, takeoverMs: 1_000, signal: new AbortController().signal, report: () => undefined, failed: (error) => { failures.push(error); },
    });
    writer.add({ ...newRecord(), position: 5, digest: '' });
    await rejects(writer.drained(), /its store has 3 outcomes and had 5, so positions 3 to 4 are gone/);
    ok(isLostError(failures[0]));
    equal((await readAll(log, 'outcomes')).length, 0);
  });
});

function isLostError(error: unknown): boolean {
  return error instanceof RecordsLost;
}
