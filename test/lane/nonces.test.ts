/** Which nonces new transactions take, case by case: what is believed of a chain's count, and how a gap is filled. */
import assert from 'node:assert/strict';
import type { OpenTransaction, Proof, View } from '../../command/lane/open-transactions.js';
import { decideNonces, doubtOf, isDoubtful, NO_MEMORY, type NonceDecision, type NonceMemory, type NoncePolicy } from '../../command/lane/nonces.js';

const POLICY: NoncePolicy = { confirmations: 3, looks: 3, looksApartMs: 10, gapAfterMs: 1_000, maxInFlight: 4, maxOpen: 6 };

function openAt(nonce: number, minedIn?: number): OpenTransaction {
  return {
    transaction: { nonce, request: undefined, attempts: [] }, broadcastAtMs: 0, waitingSince: undefined, frontSince: undefined, refusals: 0,
    underpriced: false, atLimit: false, minedIn, unexplained: undefined,
  };
}

interface Look {
  readonly count: number;
  readonly head?: number;
  readonly final?: number | undefined;
  readonly nodes?: readonly number[];
  readonly open?: readonly number[];
  readonly next?: number;
  /** The first `mined` of the open transactions are mined. */
  readonly mined?: number;
}

/** A lane that has recorded nonces below 5, looks every 10 ms, and is told the final count where it is in doubt. */
function lane(policy: Partial<NoncePolicy> = {}) {
  let memory: NonceMemory = NO_MEMORY;
  let nowMs = 0;
  return {
    reports: [] as string[],
    memory: () => memory,
    look({ count, head = 100, final, nodes = [], open = [], next = 5, mined = 0 }: Look, afterMs = 10): NonceDecision['places'] {
      nowMs += afterMs;
      const records = { nextNonce: next, openTransactions: open.map((nonce, i) => openAt(nonce, i < mined ? 99 : undefined)) };
      const proof: Proof | undefined = isDoubtful(count, memory, records) ? { finalCount: final, nodeCounts: nodes } : undefined;
      const view: View = { head, count, proof, baseFeePerGas: 1n, priorityFeePerGas: 1n, receipts: new Map() };
      const decision = decideNonces(memory, { view, records, policy: { ...POLICY, ...policy }, nowMs });
      memory = decision.memory;
      this.reports.push(...decision.reports.map(({ level, text }) => `${level}: ${text}`));
      return decision.places;
    },
  };
}

const next = (first: number, count = 4) => ({ kind: 'next', first, count });
const fill = (...nonces: number[]) => ({ kind: 'fill', nonces });
const NONE = { kind: 'none' };

describe('lane: nonces', () => {
  describe('where all is well', () => {
    const cases: [string, Look, unknown][] = [
      ['after what is recorded, as many as may be in flight', { count: 5 }, next(5)],
      ['what is in flight takes room', { count: 3, open: [3, 4] }, next(5, 2)],
      ['what is mined and not over does not', { count: 5, open: [3, 4], mined: 2 }, next(5)],
      ['no room', { count: 1, open: [1, 2, 3, 4] }, NONE],
      ['too much is not over', { count: 9, next: 9, open: [3, 4, 5, 6, 7, 8], mined: 6 }, NONE],
      ['a count that is too high makes no room', { count: 1_000, final: 1, open: [1, 2, 3, 4] }, NONE],
    ];
    for (const [name, look, places] of cases) it(name, () => { assert.deepEqual(lane().look(look), places); });
  });

  describe('a count beyond what is recorded', () => {
    const CLAIM = (count: number) => `warn: a node counts ${count} transactions of the key, 5 are known: waits until it is certain`;

    for (const count of [6, 1_005]) {
      it(`${count - 5} too high, once: waits for a look, then goes on where it was`, () => {
        const on = lane();
        assert.deepEqual([on.look({ count, final: 5 }), on.look({ count: 5 })], [NONE, next(5)]);
        assert.deepEqual([on.reports, on.memory()], [[CLAIM(count)], NO_MEMORY]);
      });

      it(`${count - 5} too high for a while, and not at the final block: goes on where it was once that block is past the first such answer`, () => {
        const on = lane();
        assert.deepEqual([100, 101, 103].map((head) => on.look({ count, final: 5, head })), [NONE, NONE, NONE]);
        assert.deepEqual([104, 105].map((head) => on.look({ count, final: 5, head })), [next(5), next(5)]);
        assert.equal(doubtOf(on.memory()), undefined);
      });

      it(`${count - 5} too high at the final block, too, for less than three looks: goes on where it was`, () => {
        const on = lane();
        assert.deepEqual([on.look({ count, final: count }), on.look({ count, final: count }), on.look({ count: 5 })], [NONE, NONE, next(5)]);
      });
    }

    it('is believed at the third look at which the final block shows it, with an alert', () => {
      const on = lane();
      assert.deepEqual([5, 7, 7, 7].map((final) => on.look({ count: 7, final })), [NONE, NONE, NONE, next(7)]);
      assert.deepEqual(on.reports, [CLAIM(7), 'alert: nonces 5 to 6 were used by transactions that this lane does not know: is its key used elsewhere?']);
      assert.deepEqual([on.look({ count: 7 }), on.look({ count: 8, next: 8 })], [next(7), next(8)], 'it is remembered until it is recorded');
    });

    it('looks that come too soon after another do not count', () => {
      const on = lane();
      const look = (afterMs: number) => on.look({ count: 7, final: 7 }, afterMs);
      assert.deepEqual([look(10), look(9), look(1), look(5), look(5)], [NONE, NONE, NONE, NONE, next(7)]);
    });

    it('is believed at once when a second node says so, but not when others do not', () => {
      assert.deepEqual(lane().look({ count: 7, final: 5, nodes: [7, 8] }), next(7));
      assert.deepEqual(lane().look({ count: 7, final: 5, nodes: [7, 6] }), NONE);
    });

    it('of one node against another is not believed, whatever it says of the final block, and is disproved in the end', () => {
      const on = lane();
      const places = [100, 100, 100, 101, 103, 104].map((head) => on.look({ count: 7, final: 7, nodes: [7, 5], head }));
      assert.deepEqual(places, [NONE, NONE, NONE, NONE, NONE, next(5)]);
    });

    it('without confirmations it must be the same at several looks that are apart', () => {
      const on = lane({ confirmations: 0 });
      assert.deepEqual([1, 2, 3].map(() => on.look({ count: 7, final: 7 })), [NONE, NONE, next(7)]);
    });

    it('where no node knows the final block\'s state it must last for as many blocks', () => {
      const on = lane();
      assert.deepEqual([100, 101, 102, 103, 104, 105].map((head) => on.look({ count: 7, head })), [NONE, NONE, NONE, NONE, NONE, next(7)]);
    });

    it('on a chain that waits for our own block it must last for long', () => {
      const on = lane();
      assert.deepEqual([1, 1_000, 10, 10].map((afterMs) => on.look({ count: 7, final: 5 }, afterMs)), [NONE, NONE, NONE, next(7)]);
    });

    it('a lower count begins anew, a higher one does not', () => {
      const on = lane();
      assert.deepEqual([9, 7, 8, 9].map((count) => on.look({ count, final: count })), [NONE, NONE, NONE, next(7)]);
    });

    it('an outbox that is new begins behind what the key has done, and that is no alert', () => {
      const on = lane();
      assert.deepEqual([1, 2, 3].map(() => on.look({ count: 57, final: 57, next: 0 })), [NONE, NONE, next(57)]);
      assert.equal(on.reports.at(-1), 'info: the key has been used before: begins at nonce 57');
    });

    it('what was believed and turns out wrong before it was recorded is forgotten', () => {
      const on = lane();
      for (let i = 0; i < 3; i++) on.look({ count: 1_005, final: 1_005 });
      assert.deepEqual([on.memory().believed, on.look({ count: 5 }), on.memory().believed], [1_005, next(5), 0]);
    });
  });

  describe('a count below all that is open', () => {
    const wanted = (on: ReturnType<typeof lane>, look: Look, afterMs: number[]) => afterMs.map((ms) => on.look(look, ms));

    it('of a node that lags: nothing new until it has caught up, and nothing is filled', () => {
      const on = lane();
      assert.deepEqual([3, 3, 4, 5].map((count) => on.look({ count }, 900)), [NONE, NONE, NONE, next(5)]);
      assert.deepEqual(on.reports, []);
    });

    it('another node is further: the first one lags, and nothing waits for it', () => {
      const on = lane();
      assert.deepEqual(wanted(on, { count: 3, nodes: [3, 5] }, [1, 2_000, 2_000, 2_000]), [next(5), next(5), next(5), next(5)]);
    });

    it('that lasts: is filled, with an alert', () => {
      const on = lane();
      assert.deepEqual(wanted(on, { count: 3, nodes: [3, 2] }, [1, 500, 499, 1]), [NONE, NONE, NONE, fill(3, 4)]);
      assert.equal(on.reports.length, 1);
      assert.match(on.reports[0]!, /^alert: the chain wants nonce 3, which was over or was never sent/);
    });

    it('that lasts, with few looks: not yet', () => {
      const on = lane();
      assert.deepEqual(wanted(on, { count: 3 }, [1, 5_000, 10]), [NONE, NONE, fill(3, 4)]);
    });

    it('a wide one is filled from below, as many at a time as may be in flight, without new waits, until none is left', () => {
      const on = lane();
      const look = (count: number, ...open: number[]) => on.look({ count, next: 16, open: [...open, 13, 14, 15] }, 500);
      assert.deepEqual([look(5), look(5), look(5)], [NONE, NONE, fill(5, 6, 7, 8)]);
      assert.deepEqual([look(5, 5, 6, 7, 8), look(7, 7, 8), look(8, 7, 8, 9, 10)], [fill(), fill(9, 10), fill(11)]);
      assert.deepEqual([look(4, 8, 9, 10, 11), look(6, 6, 8, 9, 10, 11)], [NONE, NONE], 'the chain has gone back: looks anew');
      assert.equal(on.reports.length, 1, 'one alert for the whole gap');
    });

    it('the nodes go back while it is filled: it goes on from where it had got to', () => {
      const on = lane();
      const look = (count: number, ...open: number[]) => on.look({ count, next: 16, open: [...open, 13, 14, 15] }, 500);
      for (let i = 0; i < 3; i++) look(5);
      assert.deepEqual([look(7, 5, 6, 7, 8), look(5, 5, 6, 7, 8)], [fill(9, 10), fill(9, 10)]);
      const done = [5, 6, 7, 8, 9, 10, 11, 12];
      assert.deepEqual([look(9, ...done), on.look({ count: 16, next: 16 })], [NONE, next(16)]);
    });

    it('is not what is on its way', () => {
      assert.deepEqual([lane().look({ count: 3, open: [3, 4] }), lane().look({ count: 4, open: [3, 4], mined: 1 })], [next(5, 2), next(5, 3)]);
    });
  });
});
