/** What is recorded of what the sources say: which prices, in which order, once each; boundaries after a gap; outages, doubts, and standing by. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict';
import { decodeCommand } from '../../engine/records/codec.js';
import type { RecordPrice } from '../../engine/records/commands.js';
import { LogUnavailable, type NewRecord } from '../../engine/log/log.js';
import type { OpenBoundary } from '../../engine/run/view.js';
import { runRecorder, type PriceRecorder } from '../../command/prices/recorder.js';
import { scriptedSource, type ScriptedSource } from '../support/price-scene.js';
import { createWatch, type Watch } from '../support/until.js';

const T = 1_800_000_000;
const at = (ms: number): number => T * 1_000 + ms;

describe('prices: the recorder', () => {
  let pyth: ScriptedSource;
  let coinbase: ScriptedSource;
  let watch: Watch;
  let stopping: AbortController;
  let recorder: PriceRecorder;
  let nowMs: number;
  let holds: boolean;
  let doubt: string | undefined;
  let boundaries: OpenBoundary[];
  let appended: NewRecord[];
  let reports: string[];
  let failing: Error | undefined;
  let attempts: number;

  beforeEach(() => {
    watch = createWatch();
    [pyth, coinbase] = [scriptedSource('pyth', { firstOnly: true, onAsked: watch.ring }), scriptedSource('coinbase', { onAsked: watch.ring })];
    stopping = new AbortController();
    [nowMs, holds, doubt, boundaries, appended, reports, failing, attempts] = [at(-60_000), true, undefined, [], [], [], undefined, 0];
    recorder = runRecorder({
      sources: [pyth, coinbase], assets: ['BTC'], now: () => nowMs, doubt: () => doubt, holds: () => holds, openBoundaries: () => boundaries,
      signal: stopping.signal, report: (level, text) => { reports.push(`${level}: ${text}`); watch.ring(); },
      log: {
        append(stream, records) {
          equal(stream, 'commands');
          attempts += 1;
          watch.ring();
          if (failing !== undefined) return Promise.reject(failing);
          appended.push(...records);
          return Promise.resolve(appended.length - 1);
        },
      },
    });
  });
  afterEach(async () => {
    stopping.abort();
    await recorder.done.catch(() => undefined);
    deepEqual([pyth.closed, coinbase.closed], [true, true]);
  });

  const recorded = () => appended.map(({ data }) => decodeCommand(data) as RecordPrice)
    .map(({ source, rank, price, publishedAt }) => `${source} ${rank} ${Number(price) / 1e8} ${publishedAt - T * 1_000}`);
  const until = async (count: number) => {
    await watch.until(`${count} prices are recorded`, () => appended.length >= count);
    return recorded();
  };
  /** A price that arrives when it is published. */
  const says = (source: ScriptedSource, usd: number, ms: number): void => {
    nowMs = at(ms);
    source.say(usd, nowMs);
  };
  const boundary = (changes: Partial<OpenBoundary> = {}): OpenBoundary => ({ asset: 'BTC', time: T, best: undefined, missed: false, ...changes });

  it('records what the choice accepts, at most one per second, with the source\'s rank', async () => {
    says(pyth, 100, -50_000);
    says(pyth, 101, -49_000);
    says(pyth, 102, -48_900);
    says(coinbase, 101, -48_800);
    says(pyth, 103, -48_000);
    deepEqual(await until(2), ['pyth 0 101 -49000', 'pyth 0 103 -48000']);
    deepEqual([...recorder.status().refused], [['unwitnessed', 1], ['second_taken', 1], ['standby', 1]]);
    deepEqual(recorder.status().assets, [{ asset: 'BTC', source: 'pyth', lastMs: at(-48_000) }]);
    says(coinbase, 103, -42_000);
    deepEqual((await until(3)).at(-1), 'coinbase 1 103 -42000');
  });

  it('records nothing that the engine would refuse as coming from the future', async () => {
    says(pyth, 100, -50_000);
    pyth.say(100, nowMs + 1_001);
    pyth.say(100, nowMs + 1_000);
    deepEqual(await until(1), ['pyth 0 100 -49000']);
  });

  it('tries again with the same record when the log does not answer, and drops what is old by then, but for a boundary\'s price', async () => {
    boundaries = [boundary()];
    says(pyth, 100, -50_000);
    failing = new LogUnavailable(true);
    says(pyth, 101, -49_000);
    await watch.until('it is tried again', () => attempts >= 2);
    match(reports.join(), /^warn: the recorder of prices waits: the log/);
    match(recorder.status().problem!, /^the log did not answer/);
    for (const ms of [-25_000, -1_000, 500, 1_500, 16_000, 40_000, 41_000]) says(pyth, 102, ms);
    failing = undefined;
    deepEqual(await until(5), ['pyth 0 102 500', 'pyth 0 102 1500', 'pyth 0 102 16000', 'pyth 0 102 40000', 'pyth 0 102 41000']);
    equal(recorder.status().refused.get('outage'), 3);
    equal(new Set(appended.map(({ id }) => id)).size, appended.length);
    await watch.until('it is told', () => reports.includes('info: the recorder of prices goes on'));
  });

  it('records nothing while the clock is not trusted, or while another process records, and goes on at once afterwards', async () => {
    says(pyth, 100, -50_000);
    doubt = 'it jumped';
    says(pyth, 100, -49_000);
    match(recorder.status().problem!, /the clock is not trusted: it jumped/);
    doubt = undefined;
    holds = false;
    says(pyth, 100, -48_000);
    await new Promise(setImmediate);
    holds = true;
    says(pyth, 100, -47_000);
    deepEqual(await until(1), ['pyth 0 100 -47000']);
    equal(recorder.status().refused.get('clock'), 1);
  });

  it('asks the sources about a boundary before it records a later price of its window', async () => {
    boundaries = [boundary()];
    says(pyth, 100, -2_000);
    pyth.past = [[100, at(-2_000)], [104, at(300)]];
    says(pyth, 100, 6_000);
    says(pyth, 100, 7_000);
    deepEqual((await until(2)).slice(0, 2), ['pyth 0 104 300', 'pyth 0 100 6000']);
    deepEqual(pyth.asked, [at(-4_000), at(0)]);
  });

  it('does not ask when the best source has spoken in time', async () => {
    boundaries = [boundary()];
    says(pyth, 100, -2_000);
    says(pyth, 101, 200);
    boundaries = [];
    says(pyth, 101, 4_000);
    deepEqual(await until(2), ['pyth 0 101 200', 'pyth 0 101 4000']);
    deepEqual(pyth.asked, []);
  });

  it('asks before it records the first price that it hears itself when another process may have died with an earlier one', async () => {
    boundaries = [boundary()];
    holds = false;
    says(pyth, 100, -2_000);
    says(pyth, 100, -1_000);
    says(pyth, 104, 200);
    await new Promise(setImmediate);
    holds = true;
    pyth.past = [[100, at(-1_000)], [104, at(200)]];
    says(pyth, 103, 1_200);
    deepEqual((await until(2)).slice(0, 2), ['pyth 0 104 200', 'pyth 0 103 1200']);
    deepEqual(pyth.asked, [at(-4_000), at(0)]);
  });

  it('waits with what it has heard while that source does not answer, until it does', async () => {
    boundaries = [boundary()];
    says(pyth, 100, 500);
    pyth.past = new Error('500');
    says(pyth, 103, 1_200);
    await watch.until('it is asked', () => pyth.asked.length === 2);
    pyth.past = [[100, at(-1_000)], [104, at(200)]];
    says(pyth, 103, 2_200);
    await new Promise(setImmediate);
    deepEqual(appended, []);
    says(pyth, 105, 3_700);
    deepEqual((await until(4)).slice(0, 2), ['pyth 0 104 200', 'pyth 0 103 1200']);
  });

  it('waits no longer than the window lasts', async () => {
    boundaries = [boundary()];
    pyth.past = new Error('500');
    says(pyth, 100, 500);
    says(pyth, 103, 1_200);
    await watch.until('it is asked', () => pyth.asked.length === 2);
    nowMs = at(15_000);
    await watch.until('it is asked again', () => pyth.asked.length === 4);
    deepEqual(appended, []);
    nowMs = at(15_001);
    deepEqual(await until(1), ['pyth 0 103 1200']);
  });

  it('asks before it records the first price of a stream that was connected after the boundary', async () => {
    boundaries = [boundary()];
    says(pyth, 100, -2_000);
    says(pyth, 100, -1_000);
    pyth.connections++;
    pyth.past = [[100, at(-1_000)], [104, at(200)]];
    says(pyth, 103, 1_200);
    deepEqual((await until(3)).slice(1), ['pyth 0 104 200', 'pyth 0 103 1200']);
  });

  it('asks before it records a price after a time in which the clock was not trusted', async () => {
    boundaries = [boundary()];
    says(pyth, 100, -2_000);
    says(pyth, 100, -1_000);
    doubt = 'it jumped';
    pyth.past = [[100, at(-1_000)], [104, at(200)]];
    says(pyth, 104, 200);
    doubt = undefined;
    says(pyth, 103, 1_200);
    deepEqual((await until(3)).slice(1), ['pyth 0 104 200', 'pyth 0 103 1200']);
  });

  it('asks about a boundary of a time when nobody listened, again with growing pauses, and tells once that nobody knows', async () => {
    boundaries = [boundary()];
    pyth.past = new Error('gone');
    nowMs = at(3_600_000);
    await watch.until('it is told', () => reports.some((each) => each.includes('tells the price')));
    deepEqual(reports.filter((each) => each.includes('tells the price')), ['warn: no source tells the price of BTC at 2027-01-15T08:00:00.000Z yet; pyth: gone; they are asked again']);
    pyth.past = [[100, at(-3_000)], [104, at(300)]];
    nowMs += 5_000;
    deepEqual(await until(1), ['pyth 0 104 300']);
  });

  it('leaves a boundary with a fallback\'s price to the engine when it is late, and records no worse one', async () => {
    boundaries = [boundary({ best: { source: 'coinbase', rank: 1, price: '1', publishedAt: at(100) } })];
    coinbase.past = [[100, at(-3_000)], [104, at(300)]];
    nowMs = at(4_000);
    await watch.until('the sources are asked', () => coinbase.asked.length === 2);
    says(pyth, 100, 21_000);
    says(pyth, 100, 22_000);
    deepEqual(await until(1), ['pyth 0 100 22000']);
  });

  it('raises an alert for an asset without a price for a minute, and says when there are prices again', async () => {
    nowMs = at(1);
    await watch.until('the alert', () => reports.some((each) => each.startsWith('alert: no source has had a price of BTC that counts for 60 s')));
    says(pyth, 100, 63_000);
    says(pyth, 100, 64_000);
    await watch.until('the info', () => reports.includes('info: there are prices of BTC again'));
  });

  it('fails for what trying again cannot help', async () => {
    says(pyth, 100, -50_000);
    failing = new Error('a record that is none');
    says(pyth, 100, -49_000);
    await rejects(recorder.done, /a record that is none/);
  });
});
