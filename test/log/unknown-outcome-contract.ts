/** The log's contract: a batch whose answer was lost, or its request, or that came late, is written once. */
import assert from 'node:assert/strict';
import { LogUnavailable, WrongPosition, type NewRecord } from '../../engine/log/log.js';
import { appendAll, appendAnywhere, newRecord, newRecords, placed, readAll, take, untilAnswered } from '../support/log-records.js';
import type { Fate, FaultyLink } from '../support/proxies.js';
import { until } from '../support/until.js';
import type { Scene } from './scene.js';

/** More records than any adapter searches at once for a batch. */
const MANY = 5_003;

/** A handle that gives up soon. On a busy machine that may be before anything was sent, see `loseOutcome` and `untilAnswered`. */
const SOON = { unknownAfterMs: 300 };

const unavailable = (outcomeUnknown: boolean) => (error: unknown) => error instanceof LogUnavailable && error.outcomeUnknown === outcomeUnknown;

/** The next request is cut off, and nothing reaches the store until the link accepts. Resolves when that has happened. */
function nextIsLost(link: FaultyLink): Promise<void> {
  const lost = new Promise<void>((resolve) => {
    link.met = () => {
      link.refuse();
      resolve();
    };
  });
  link.next('cut');
  return lost;
}

export function unknownOutcomeContract(scene: Scene): void {
  lostAnswers(scene);
  othersMeanwhile(scene);
  severalWriters(scene);
}

function lostAnswers(scene: Scene): void {
  describe('an append whose answer does not come', () => {
    attemptsOfOneCall(scene);
    laterCalls(scene);
    whatIsItsOwn(scene);
  });
}

function attemptsOfOneCall(scene: Scene): void {
  for (const expected of [undefined, 1]) {
    describe(expected === undefined ? 'without expected' : 'with expected', () => {
      it('is found when only the answer was lost, others behind it', async () => {
        const [before, ...batch] = newRecords(4);
        const other = newRecord();
        const { log, link } = await scene.openFaulty();
        await log.append('commands', [before!]);
        link.replied = async () => { await scene.log.append('commands', [other]); };
        link.next('lose-reply');
        assert.equal(await log.append('commands', batch, expected), 1);
        assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [before!, ...batch, other]));
      });

      it('is written once when the request was lost', async () => {
        const [before, ...batch] = newRecords(4);
        const { log, link } = await scene.openFaulty();
        await log.append('commands', [before!]);
        link.next('cut');
        assert.equal(await log.append('commands', batch, expected), 1);
        assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [before!, ...batch]));
      });

      it('is written once when the first attempt arrives after its repetition', async () => {
        const [before, after, ...batch] = newRecords(5);
        const { log, link } = await scene.openFaulty({ attemptTimeoutMs: 200 });
        await log.append('commands', [before!]);
        link.next('withhold');
        assert.equal(await log.append('commands', batch, expected), 1);
        await log.append('commands', [after!]);
        await link.release();
        assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [before!, ...batch, after!]));
      });

      it('keeps the first bytes when it is appended again with others, also for followers', async () => {
        const [before, after, ...batch] = newRecords(4);
        const { log, link } = await scene.openFaulty(SOON);
        const abort = new AbortController();
        const followed = take(log.follow('commands', 0, abort.signal), 4);
        await untilAnswered('an answer to an append', () => log.append('commands', [before!]));
        await loseOutcome(link, 'lose-reply', () => log.append('commands', batch, expected));
        link.accept();
        const again = batch.map(({ id }) => ({ id, data: Buffer.from('other') }));
        assert.equal(await untilAnswered('an answer to an append', () => log.append('commands', again, expected)), 1);
        assert.equal(await untilAnswered('an answer to an append', () => log.append('commands', [after!])), 3);
        const stored = placed(0, [before!, ...batch, after!]);
        assert.deepEqual(await followed, stored);
        assert.deepEqual(await take(log.follow('commands', 0, abort.signal), 4), stored);
        abort.abort();
      });
    });
  }
}

function laterCalls(scene: Scene): void {
  it('is found by a later call through the same handle, others behind it', async () => {
    const [before, between, other, ...batch] = newRecords(5);
    const { log, link } = await scene.openFaulty(SOON);
    await untilAnswered('an answer to an append', () => log.append('commands', [before!]));
    await loseOutcome(link, 'lose-reply', () => log.append('commands', batch));
    await assert.rejects(log.append('commands', batch), unavailable(true), 'unknown still');
    link.accept();
    await scene.log.append('commands', [other!]);
    assert.equal(await untilAnswered('an answer to an append', () => log.append('commands', [between!])), 4);
    assert.equal(await untilAnswered('an answer to an append', () => log.append('commands', batch)), 1);
    assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [before!, ...batch, other!, between!]));
  });

  for (const fate of ['lose-reply', 'cut'] as const) {
    it(`is written once by a later call with the same expected, through any handle (${fate})`, async () => {
      const [before, ...batch] = newRecords(3);
      const { log, link } = await scene.openFaulty(SOON);
      await untilAnswered('an answer to an append', () => log.append('commands', [before!]));
      await loseOutcome(link, fate, () => log.append('commands', batch, 1));
      assert.equal(await scene.log.append('commands', batch, 1), 1);
      link.accept();
      assert.equal(await untilAnswered('an answer to an append', () => log.append('commands', batch, 1)), 1);
      assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [before!, ...batch]));
    });
  }

  it('gets WrongPosition when its request was lost and another batch has the position; none of its records is in the log', async () => {
    const [other, ...batch] = newRecords(3);
    const { log, link } = await scene.openFaulty();
    const lost = nextIsLost(link);
    const appended = assert.rejects(log.append('commands', batch, 0), WrongPosition);
    await lost;
    await scene.log.append('commands', [other!]);
    link.accept();
    await appended;
    assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [other!]));
  });

  it('says that nothing was written when the store could not be reached at all', async () => {
    const { log, link } = await scene.openFaulty(SOON);
    link.refuse();
    await assert.rejects(log.append('commands', newRecords(1)), unavailable(false));
    link.accept();
    assert.equal(await untilAnswered('an answer to an append', () => log.append('commands', newRecords(1))), 0);
  });
}

function whatIsItsOwn(scene: Scene): void {
  it('is not taken for another writer\'s batch that begins with the same record', async () => {
    const [shared, mine, theirs] = newRecords(3);
    const { log, link } = await scene.openFaulty();
    await scene.log.append('commands', [shared!, theirs!]);
    link.next('cut');
    assert.equal(await log.append('commands', [shared!, mine!]), 2);
    assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, [shared!, theirs!, shared!, mine!]));
  });

  it('comes before the appends called after it, through an outage', async () => {
    const records = newRecords(20);
    const { log, link } = await scene.openFaulty();
    link.next(...records.flatMap((): Fate[] => ['lose-reply', 'cut', 'pass']));
    const positions = await Promise.all(records.map((record) => log.append('commands', [record])));
    assert.deepEqual(positions, records.map((_, i) => i));
    assert.deepEqual(await readAll(scene.log, 'commands'), placed(0, records));
  });
}

function othersMeanwhile(scene: Scene): void {
  describe('and others write a lot meanwhile', () => {
    it('it is found before them', async () => {
      const batch = newRecords(3);
      const { log, link } = await scene.openFaulty();
      link.replied = async () => { await appendAll(scene.log, 'commands', newRecords(MANY)); };
      link.next('lose-reply');
      assert.equal(await log.append('commands', batch), 0);
      assert.equal(await scene.log.length('commands'), MANY + 3);
    });

    it('it is written once behind them when the request was lost', async () => {
      const batch = newRecords(3);
      const { log, link } = await scene.openFaulty();
      const lost = nextIsLost(link);
      const appended = log.append('commands', batch);
      await lost;
      await appendAll(scene.log, 'commands', newRecords(MANY));
      link.accept();
      assert.equal(await appended, MANY);
      assert.equal(await scene.log.length('commands'), MANY + 3);
      assert.deepEqual(await readAll(scene.log, 'commands', MANY), placed(MANY, batch));
    });

    for (const others of [1, MANY]) {
      it(`it is written once behind them, although its first attempt arrives later still (${others})`, async () => {
        const batch = newRecords(3);
        const { log, link } = await scene.openFaulty({ attemptTimeoutMs: 400 });
        await scene.log.append('commands', newRecords(1));
        let taken: Promise<unknown> = Promise.resolve();
        link.met = () => { taken = appendAnywhere(scene.log, 'commands', newRecords(others)); };
        link.next('withhold');
        const first = await log.append('commands', batch);
        await taken;
        await link.release();
        const stored = await readAll(scene.log, 'commands');
        assert.deepEqual(stored.slice(first, first + 3), placed(first, batch));
        assert.equal(stored.length, 1 + others + 3);
      });
    }
  });
}

function severalWriters(scene: Scene): void {
  it('whatever becomes of requests and answers of several writers: what is acknowledged is there once, nothing is there twice', async () => {
    const random = randomNumbers(7);
    const fates: readonly Fate[] = ['pass', 'pass', 'pass', 'pass', 'cut', 'lose-reply', 'withhold'];
    const writers = await Promise.all([1, 2, 3].map(() => scene.openFaulty({ attemptTimeoutMs: 150, unknownAfterMs: 500 })));
    const acknowledged = new Map<number, readonly NewRecord[]>();
    await Promise.all(writers.map(async ({ log, link }) => {
      link.next(...Array.from({ length: 60 }, () => fates[random(fates.length)]!));
      for (let i = 0; i < 25; i++) {
        const batch = newRecords(1 + random(4));
        acknowledged.set(await untilAnswered('the acknowledgement of a batch', () => log.append('commands', batch)), batch);
      }
    }));
    await Promise.all(writers.map(({ link }) => link.release()));
    const stored = await readAll(scene.log, 'commands');
    assert.equal(acknowledged.size, 75);
    for (const [first, batch] of acknowledged) assert.deepEqual(stored.slice(first, first + batch.length), placed(first, batch));
    assert.equal(stored.length, [...acknowledged.values()].reduce((sum, batch) => sum + batch.length, 0));
  });
}

/**
 * Appends until an attempt has met the fate; from then on the link refuses connections. The append whose attempt met it ends with an unknown
 * outcome.
 */
async function loseOutcome(link: FaultyLink, fate: 'lose-reply' | 'cut', append: () => Promise<number>): Promise<void> {
  let isMet = false;
  const refused = new Promise<void>((resolve) => {
    const refuse = (): void => {
      link.refuse();
      resolve();
    };
    link.met = () => {
      isMet = true;
      if (fate === 'cut') refuse();
    };
    link.replied = async () => { refuse(); };
  });
  link.next(fate);
  await until(`an attempt that meets ${fate}`, async () => {
    await assert.rejects(append(), (error) => unavailable(true)(error) || (!isMet && error instanceof LogUnavailable));
    return isMet ? true : undefined;
  });
  await refused;
}

/** Whole numbers below a bound, the same for the same seed. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}
