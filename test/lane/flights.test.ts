/** What a sender's lane decides, case by case, and that it is safe and live whatever the chain does. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { freshFees, replacementFees, type FeeLimits } from '../../command/lane/fees.js';
import {
  answered, decide, hasGap, nextNonce, room, takeOff, wantedReceipts,
  type Action, type BroadcastAnswer, type Flight, type LanePolicy, type Receipt, type View,
} from '../../command/lane/lane.js';
import { meaningOf } from '../../command/lane/lane-view.js';
import type { OutboxTransaction } from '../../command/lane/outbox.js';
import { LaneModel } from '../reference/lane-model.js';

const LIMITS: FeeLimits = { maxFeePerGas: 1_000n, minPriorityFeePerGas: 1n };
const POLICY: LanePolicy = {
  confirmations: 3, limits: LIMITS, bumpAfterMs: 1_000, rebroadcastMs: 100, lostAfterMs: 5_000, backoffMs: [10, 50], maxInFlight: 4, maxOpen: 6,
};

function transaction(nonce: number, offers: readonly bigint[] = [20n], broadcast = true): OutboxTransaction {
  return {
    nonce, request: { to: '0x', data: '0x', gasLimit: 1n, note: null },
    attempts: offers.map((maxFeePerGas, i) => (
      { txHash: `${nonce}.${i}`, raw: '0x', fees: { maxFeePerGas, maxPriorityFeePerGas: 2n }, broadcast: broadcast || i < offers.length - 1 })),
  };
}

function flight(nonce: number, changes: Partial<Flight> = {}, offers?: readonly bigint[]): Flight {
  return {
    transaction: transaction(nonce, offers), broadcastAtMs: 1_000_000, waitingSinceMs: 0, frontSinceMs: undefined, refusals: 0, underpriced: false,
    atLimit: false, minedIn: undefined, unexplained: undefined, ...changes,
  };
}

function view(changes: Partial<Omit<View, 'receipts'>> & { receipts?: readonly Receipt[] } = {}): View {
  const { receipts = [], ...rest } = changes;
  const byHash = new Map(receipts.map((given) => [given.txHash, given]));
  return { head: 100, count: 5, baseFeePerGas: 5n, priorityFeePerGas: 2n, ...rest, receipts: byHash };
}

function receipt(txHash: string, block: number, succeeded = true): Receipt {
  return { txHash, block, succeeded };
}

const minedIn = (nonce: number, block: number, txHash = `${nonce}.0`, succeeded = true): Action => (
  { kind: 'over', nonce, ending: { kind: 'mined', txHash, block, succeeded } });

describe('chain: lane', () => {
  interface Case {
    readonly name: string;
    readonly flight: Flight;
    readonly view?: View;
    readonly nowMs?: number;
    readonly actions: readonly Action[];
    /** Fields of the flight that change. */
    readonly after?: Partial<Flight>;
  }

  const AT_LIMIT: Action = {
    kind: 'report', level: 'alarm', text: 'nonce 5 is not mined, and the limit of 1000 wei for a unit of gas allows no higher fees',
  };
  const AWAY: Action = { kind: 'report', level: 'trouble', text: 'nonce 5: block 98 was reorganised away; it is broadcast again' };
  const broadcast: Action = { kind: 'broadcast', nonce: 5 };
  const front = { frontSinceMs: 0 };

  const CASES: readonly Case[] = [
    // Not mined.
    { name: 'just recorded: broadcast', flight: flight(5, { broadcastAtMs: 0, waitingSinceMs: undefined }), actions: [broadcast], after: front },
    { name: 'broadcast a moment ago: nothing', flight: flight(5), actions: [], after: front },
    { name: 'broadcast long ago: again', flight: flight(5, { broadcastAtMs: 100 }), nowMs: 100, actions: [broadcast], after: { frontSinceMs: 100 } },
    { name: 'a millisecond earlier: not yet', flight: flight(5, { broadcastAtMs: 100 }), nowMs: 99, actions: [], after: { frontSinceMs: 99 } },
    {
      name: 'at the front for too long: replaced', flight: flight(5, front), nowMs: 1_000,
      actions: [{ kind: 'replace', nonce: 5, fees: { maxFeePerGas: 23n, maxPriorityFeePerGas: 3n } }],
    },
    { name: 'a millisecond earlier: not', flight: flight(5, front), nowMs: 999, actions: [] },
    { name: 'has waited, but has just come to the front: not', flight: flight(5, { frontSinceMs: 1 }), nowMs: 1_000, actions: [] },
    { name: 'has waited behind another: not', flight: flight(6), nowMs: 9_000, actions: [] },
    { name: 'was at the front before a reorganisation: not', flight: flight(6, front), nowMs: 9_000, actions: [], after: { frontSinceMs: undefined } },
    {
      name: 'behind another, and below the base fee: replaced, at the price of today', flight: flight(6), nowMs: 1_000, view: view({ baseFeePerGas: 21n }),
      actions: [{ kind: 'replace', nonce: 6, fees: { maxFeePerGas: 44n, maxPriorityFeePerGas: 3n } }],
    },
    { name: 'just at the base fee: not', flight: flight(6), nowMs: 1_000, view: view({ baseFeePerGas: 20n }), actions: [] },
    { name: 'never taken by a node: not replaced', flight: flight(5, { ...front, waitingSinceMs: undefined }), nowMs: 9_000, actions: [] },
    {
      name: 'the limit allows no more: an alarm, and broadcast', flight: flight(5, { ...front, broadcastAtMs: 1_000 }, [20n, 900n]), nowMs: 1_000,
      actions: [AT_LIMIT, broadcast], after: { atLimit: true },
    },
    {
      name: 'again: no second alarm', flight: flight(5, { ...front, broadcastAtMs: 1_000, atLimit: true }, [900n]), nowMs: 1_000, actions: [broadcast],
    },
    {
      name: 'underpriced: replaced after the wait', flight: flight(5, { ...front, underpriced: true, broadcastAtMs: 10, waitingSinceMs: undefined }),
      nowMs: 10, actions: [{ kind: 'replace', nonce: 5, fees: { maxFeePerGas: 23n, maxPriorityFeePerGas: 3n } }],
    },
    { name: 'a millisecond earlier: nothing', flight: flight(5, { ...front, underpriced: true, broadcastAtMs: 10 }), nowMs: 9, actions: [] },
    {
      name: 'underpriced at the limit: an alarm, and broadcast', flight: flight(5, { ...front, underpriced: true, broadcastAtMs: 10 }, [900n]), nowMs: 10,
      actions: [AT_LIMIT, broadcast], after: { atLimit: true },
    },
    {
      name: 'was mined: broadcast again at once', flight: flight(5, { minedIn: 98 }), nowMs: 7, actions: [AWAY, broadcast],
      after: { minedIn: undefined, broadcastAtMs: 7, waitingSinceMs: 7, frontSinceMs: 7 },
    },
    {
      name: 'was mined before this process sent it: the same', flight: flight(5, { minedIn: 98, waitingSinceMs: undefined }), nowMs: 7,
      actions: [AWAY, broadcast], after: { minedIn: undefined, broadcastAtMs: 7, frontSinceMs: 7 },
    },
    {
      name: 'a stranger\'s transaction was reorganised away: no longer unexplained', flight: flight(5, { unexplained: { block: 90, sinceMs: 0 } }),
      actions: [], after: { ...front, unexplained: undefined },
    },
    // Mined.
    { name: 'mined in the latest block: followed', flight: flight(4), view: view({ receipts: [receipt('4.0', 100)] }), actions: [], after: { minedIn: 100 } },
    { name: 'one block short of final', flight: flight(4), view: view({ receipts: [receipt('4.0', 98)] }), actions: [], after: { minedIn: 98 } },
    {
      name: 'final when first seen: over', flight: flight(4), view: view({ receipts: [receipt('4.0', 97)] }), actions: [minedIn(4, 97)], after: { minedIn: 97 },
    },
    {
      name: 'final and reverted: over', flight: flight(4, { minedIn: 97 }), view: view({ receipts: [receipt('4.0', 97, false)] }),
      actions: [minedIn(4, 97, '4.0', false)],
    },
    {
      name: 'an earlier attempt was mined: over by that', flight: flight(4, {}, [20n, 30n, 40n]), view: view({ receipts: [receipt('4.1', 97)] }),
      actions: [minedIn(4, 97, '4.1')], after: { minedIn: 97 },
    },
    { name: 'seen mined, not yet final: no receipt is needed', flight: flight(4, { minedIn: 98 }), actions: [] },
    {
      name: 'should be final, but is in a later block now: followed on', flight: flight(4, { minedIn: 97 }),
      view: view({ receipts: [receipt('4.0', 99)] }), actions: [], after: { minedIn: 99 },
    },
    {
      name: 'a receipt beyond the head that was read before it: followed', flight: flight(4), view: view({ receipts: [receipt('4.0', 101)] }),
      actions: [], after: { minedIn: 101 },
    },
    // Used by nobody that we know.
    { name: 'no receipt: unexplained', flight: flight(4), nowMs: 7, actions: [], after: { unexplained: { block: 100, sinceMs: 7 } } },
    {
      name: 'should be final, but the receipt is gone: unexplained', flight: flight(4, { minedIn: 97 }), nowMs: 7,
      actions: [], after: { minedIn: undefined, unexplained: { block: 100, sinceMs: 7 } },
    },
    {
      name: 'unexplained for enough blocks, and not for enough time', flight: flight(4, { unexplained: { block: 97, sinceMs: 0 } }), nowMs: 4_999, actions: [],
    },
    { name: 'for enough time, and not enough blocks', flight: flight(4, { unexplained: { block: 98, sinceMs: 0 } }), nowMs: 9_000, actions: [] },
    {
      name: 'for both: lost', flight: flight(4, { unexplained: { block: 97, sinceMs: 0 } }), nowMs: 5_000,
      actions: [{ kind: 'over', nonce: 4, ending: { kind: 'lost' } }],
    },
    {
      name: 'explained after all', flight: flight(4, { unexplained: { block: 97, sinceMs: 0 } }), nowMs: 5_000,
      view: view({ receipts: [receipt('4.0', 98)] }), actions: [], after: { minedIn: 98, unexplained: undefined },
    },
  ];

  for (const { name, flight: before, view: seen = view(), nowMs = 0, actions, after = {} } of CASES) {
    it(name, () => {
      assert.deepEqual(decide([before], seen, POLICY, nowMs), { flights: [{ ...before, ...after }], actions });
    });
  }

  it('each flight is decided by itself, actions are in the order of nonces', () => {
    const flights = [flight(3), flight(4), flight(5, { broadcastAtMs: 0 }), flight(6, { broadcastAtMs: 0 })];
    const { actions } = decide(flights, view({ receipts: [receipt('3.0', 90), receipt('4.0', 91)] }), POLICY, 0);
    assert.deepEqual(actions, [minedIn(3, 90), minedIn(4, 91), broadcast, { kind: 'broadcast', nonce: 6 }]);
  });

  it('without confirmations, what is mined is final', () => {
    const { actions } = decide([flight(4)], view({ receipts: [receipt('4.0', 100)] }), { ...POLICY, confirmations: 0 }, 0);
    assert.deepEqual(actions, [minedIn(4, 100)]);
  });

  it('receipts are asked for when a nonce is first seen used and when it should be final, of all attempts', () => {
    const flights = [flight(1, { minedIn: 97 }), flight(2, { minedIn: 98 }), flight(3, {}, [20n, 30n]), flight(5)];
    assert.deepEqual(wantedReceipts(flights, view(), 3), ['1.0', '3.0', '3.1']);
  });

  describe('answers to a broadcast', () => {
    const before = flight(5, { waitingSinceMs: undefined, refusals: 1 });
    const TABLE: readonly (readonly [BroadcastAnswer, Partial<Flight>])[] = [
      ['taken', { refusals: 0, broadcastAtMs: 107, waitingSinceMs: 7 }],
      ['nonce too low', { refusals: 0, broadcastAtMs: 107, waitingSinceMs: 7 }],
      ['underpriced', { refusals: 2, broadcastAtMs: 57, underpriced: true }],
      ['unfunded', { refusals: 2, broadcastAtMs: 57 }],
      ['refused', { refusals: 2, broadcastAtMs: 57 }],
    ];
    for (const [answer, after] of TABLE) {
      it(answer, () => { assert.deepEqual(answered(before, answer, { policy: POLICY, nowMs: 7 }), { flight: { ...before, ...after } }); });
    }

    it('alarms at the first refusal in a row, not for prices', () => {
      const alarm = (answer: BroadcastAnswer) => answered(flight(5), answer, { policy: POLICY, nowMs: 0 }).alarm;
      assert.deepEqual((['taken', 'nonce too low', 'underpriced', 'unfunded', 'refused'] as const).map(alarm), [
        undefined, undefined, undefined, 'nonce 5: the key\'s account cannot pay for the gas: fund it',
        'nonce 5 is refused by the node, and tried again until it is taken',
      ]);
    });

    it('waits grow to the last one; being taken again does not make it younger', () => {
      const waits = [0, 1, 2, 9].map((refusals) => answered(flight(5, { refusals }), 'refused', { policy: POLICY, nowMs: 0 }).flight.broadcastAtMs);
      assert.deepEqual(waits, [10, 50, 50, 50]);
      assert.equal(answered(flight(5, { waitingSinceMs: 3 }), 'taken', { policy: POLICY, nowMs: 7 }).flight.waitingSinceMs, 3);
    });

    const TEXTS: readonly (readonly [BroadcastAnswer, readonly string[]])[] = [
      ['taken', ['already known', 'Known transaction', 'transaction already imported', 'ALREADY_EXISTS: already known', 'AlreadyKnown']],
      ['nonce too low', ['nonce too low', 'nonce too low: next nonce 5, tx nonce 4', 'Nonce too low', 'OldNonce, Current nonce: 5']],
      ['underpriced', [
        'replacement transaction underpriced', 'transaction underpriced: gas tip cap 1, minimum needed 2', 'max fee per gas less than block base fee',
        'FeeTooLow', 'Gas price below configured minimum gas price',
      ]],
      ['unfunded', [
        'insufficient funds for gas * price + value: balance 0', 'Insufficient funds for gas * price + value', 'Upfront cost exceeds account balance',
        'InsufficientFunds, Account balance: 0',
      ]],
      ['refused', ['txpool is full', 'intrinsic gas too low', 'exceeds block gas limit', 'nonce too high', 'invalid sender']],
    ];
    for (const [meaning, texts] of TEXTS) {
      it(`nodes' texts for: ${meaning}`, () => { for (const text of texts) assert.equal(meaningOf(`eth_sendRawTransaction: ${text}`), meaning, text); });
    }
  });

  describe('new transactions', () => {
    it('the next nonce is beyond what is recorded and what is used', () => {
      assert.deepEqual([[0, 0], [7, 5], [5, 7]].map(([recorded, count]) => nextNonce(recorded!, { count: count! })), [0, 7, 7]);
    });

    it('room is for what is not mined, and for what is not over', () => {
      const of = (...nonces: number[]) => room(nonces.map((nonce) => flight(nonce)), { count: 5 }, POLICY);
      assert.deepEqual([of(), of(3, 4), of(4, 5, 6), of(5, 6, 7, 8), of(1, 2, 3, 4, 5), of(0, 1, 2, 3, 4, 5, 6, 7)], [4, 4, 2, 0, 1, 0]);
    });

    it('a gap is a nonce wanted before all that are open', () => {
      const of = (count: number, open: number[], recorded: number) => hasGap(open.map((nonce) => flight(nonce)), recorded, { count });
      assert.deepEqual([of(0, [], 0), of(5, [], 5), of(6, [], 5), of(4, [], 5), of(3, [3, 4], 5), of(4, [3, 4], 5), of(2, [3, 4], 5)],
        [false, false, false, true, false, false, true]);
    });

    it('found at a start: broadcast at once, and waiting only if it was broadcast', () => {
      assert.deepEqual(takeOff(transaction(5), 7), flight(5, { broadcastAtMs: 7, waitingSinceMs: 7 }));
      assert.deepEqual(takeOff(transaction(5, [20n], false), 7).waitingSinceMs, undefined);
    });
  });

  describe('fees', () => {
    const fee = fc.bigInt({ min: 0n, max: 3_000n });

    it('fresh ones cover the base fee twice, within the limit', () => {
      assert.deepEqual(freshFees({ baseFeePerGas: 100n, priorityFeePerGas: 7n }, LIMITS), { maxFeePerGas: 207n, maxPriorityFeePerGas: 7n });
      assert.deepEqual(freshFees({ baseFeePerGas: 0n, priorityFeePerGas: 0n }, LIMITS), { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n });
      assert.deepEqual(freshFees({ baseFeePerGas: 600n, priorityFeePerGas: 2_000n }, LIMITS), { maxFeePerGas: 1_000n, maxPriorityFeePerGas: 1_000n });
    });

    it('a replacement raises both by an eighth at least, stays within the limit, and is refused only where that cannot be', () => {
      fc.assert(fc.property(fee, fee, fee, fee, (baseFeePerGas, priorityFeePerGas, a, b) => {
        const previous = { maxFeePerGas: a > b ? a : b, maxPriorityFeePerGas: a > b ? b : a };
        const next = replacementFees(previous, { baseFeePerGas, priorityFeePerGas }, LIMITS);
        if (next === undefined) return previous.maxFeePerGas * 9n + 7n >= 8n * 1_000n;
        const isRaised = (from: bigint, to: bigint) => to > from && to * 8n >= from * 9n;
        return isRaised(previous.maxFeePerGas, next.maxFeePerGas) && isRaised(previous.maxPriorityFeePerGas, next.maxPriorityFeePerGas)
          && next.maxFeePerGas <= 1_000n && next.maxPriorityFeePerGas <= next.maxFeePerGas;
      }));
    });
  });

  /** A chain that takes, drops, mines, forgets and reorganises as it is told, and a sender that knows only what it shows. */
  it('whatever the chain does, in the end each nonce is mined once, in order, and told of once', () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant('mine' as const), fullness: fc.nat(3), baseFee: fc.bigInt({ min: 1n, max: 400n }) }),
      fc.record({ kind: fc.constant('drop' as const), nonce: fc.nat(9) }),
      fc.record({ kind: fc.constant('reorg' as const), depth: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant('restart' as const) }),
      fc.record({ kind: fc.constant('refuse' as const), answer: fc.constantFrom<BroadcastAnswer>('refused', 'unfunded', 'underpriced') }),
      fc.record({ kind: fc.constant('send' as const) }),
    );
    fc.assert(fc.property(fc.array(event, { maxLength: 80 }), (events) => {
      const model = new LaneModel(POLICY);
      for (const happening of [...events, ...Array.from({ length: 60 }, () => ({ kind: 'mine' as const, fullness: 3, baseFee: 5n }))]) {
        model.happen(happening);
        model.step();
      }
      assert.deepEqual(model.minedNonces(), model.sentNonces());
      assert.deepEqual(model.overNonces(), model.sentNonces());
    }), { numRuns: 300 });
  });
});
