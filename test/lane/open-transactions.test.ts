/** What a lane does about its open transactions, case by case, and that it is safe and live whatever the chain does. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { freshFees, replacementFees, type FeeLimits } from '../../command/lane/fees.js';
import { meaningOf } from '../../command/lane/chain-view.js';
import {
  answered, decide, replaced, opened, dueReceipts,
  type Action, type BroadcastAnswer, type OpenTransaction, type OpenTransactionPolicy, type LaneTransaction, type Receipt, type View,
} from '../../command/lane/open-transactions.js';
import { LaneModel, type LaneModelEvent } from '../reference/lane-model.js';

const LIMITS: FeeLimits = { maxFeePerGas: 1_000n, minPriorityFeePerGas: 1n };
const POLICY: OpenTransactionPolicy = {
  confirmations: 3, limits: LIMITS, bumpAfterBlocks: 5, bumpAfterMs: 1_000, rebroadcastMs: 100, lostAfterMs: 5_000,
  backoff: { firstMs: 10, longestMs: 50 },
};

function transaction(nonce: number, offers: readonly bigint[] = [20n], broadcast = true): LaneTransaction {
  return {
    nonce, request: { id: `request ${nonce}`, purpose: 'settlement', to: '0x', data: '0x', gasLimit: 1n, note: null },
    attempts: offers.map((maxFeePerGas, i) => (
      { txHash: `${nonce}.${i}`, raw: '0x', fees: { maxFeePerGas, maxPriorityFeePerGas: 2n }, broadcast: broadcast || i < offers.length - 1 })),
  };
}

/** Long ago, in blocks and in time. */
const LONG_AGO = { block: 95, ms: 0 };

function openAt(nonce: number, changes: Partial<OpenTransaction> = {}, offers?: readonly bigint[]): OpenTransaction {
  return {
    transaction: transaction(nonce, offers), broadcastAtMs: 1_000_000, waitingSince: LONG_AGO, frontSince: undefined, refusals: 0, underpriced: false,
    atLimit: false, minedIn: undefined, unexplained: undefined, ...changes,
  };
}

function view(changes: Partial<Omit<View, 'receipts'>> & { receipts?: readonly Receipt[] } = {}): View {
  const { receipts = [], ...rest } = changes;
  const byHash = new Map(receipts.map((given) => [given.txHash, given]));
  return { head: 100, count: 5, proof: undefined, baseFeePerGas: 5n, priorityFeePerGas: 2n, ...rest, receipts: byHash };
}

function receipt(txHash: string, block: number, succeeded = true): Receipt {
  return { txHash, block, succeeded };
}

const minedIn = (nonce: number, block: number, txHash = `${nonce}.0`, succeeded = true): Action => (
  { kind: 'over', nonce, ending: { kind: 'mined', txHash, block, succeeded } });

describe('lane: open transactions', () => {
  interface Case {
    readonly name: string;
    readonly open: OpenTransaction;
    readonly view?: View;
    readonly nowMs?: number;
    readonly actions: readonly Action[];
    /** Fields of the transaction that change. */
    readonly after?: Partial<OpenTransaction>;
  }

  const AT_LIMIT: Action = {
    kind: 'report', level: 'alert', text: 'nonce 5 is not mined, and the limit of 1000 wei per unit of gas allows no higher fees',
  };
  const AWAY: Action = { kind: 'report', level: 'warn', text: 'nonce 5: block 98 was reorganised away; the transaction is broadcast again' };
  const broadcast: Action = { kind: 'broadcast', nonce: 5 };
  const front = { frontSince: LONG_AGO };
  const at = (block: number, ms: number) => ({ block, ms });
  const bumped: Action = { kind: 'replace', nonce: 5, fees: { maxFeePerGas: 23n, maxPriorityFeePerGas: 3n } };

  const CASES: readonly Case[] = [
    // Not mined.
    {
      name: 'just recorded: broadcast', open: openAt(5, { broadcastAtMs: 0, waitingSince: undefined }), actions: [broadcast],
      after: { frontSince: at(100, 0) },
    },
    { name: 'broadcast a moment ago: nothing', open: openAt(5), actions: [], after: { frontSince: at(100, 0) } },
    { name: 'broadcast long ago: again', open: openAt(5, { broadcastAtMs: 100 }), nowMs: 100, actions: [broadcast], after: { frontSince: at(100, 100) } },
    { name: 'a millisecond earlier: not yet', open: openAt(5, { broadcastAtMs: 100 }), nowMs: 99, actions: [], after: { frontSince: at(100, 99) } },
    { name: 'at the front for five blocks: replaced', open: openAt(5, front), nowMs: 1_000, actions: [bumped] },
    { name: 'for four: not', open: openAt(5, front), view: view({ head: 99 }), nowMs: 1_000, actions: [] },
    { name: 'for hours without a block: not', open: openAt(5, front), view: view({ head: 95 }), nowMs: 999_999, actions: [] },
    { name: 'for many blocks in less than a second: not', open: openAt(5, front), view: view({ head: 900 }), nowMs: 999, actions: [] },
    {
      name: 'has waited, but came to the front four blocks ago: not', open: openAt(5, { frontSince: at(96, 0) }), nowMs: 1_000, actions: [],
    },
    { name: 'at the front, but taken four blocks ago: not', open: openAt(5, { ...front, waitingSince: at(96, 0) }), nowMs: 1_000, actions: [] },
    { name: 'the chain has gone back behind where it waited: not', open: openAt(5, front), view: view({ head: 90 }), nowMs: 9_000, actions: [] },
    { name: 'has waited behind another: not', open: openAt(6), nowMs: 9_000, actions: [] },
    { name: 'was at the front before a reorganisation: not', open: openAt(6, front), nowMs: 9_000, actions: [], after: { frontSince: undefined } },
    {
      name: 'behind another, and below the base fee: replaced, at the price of today', open: openAt(6), nowMs: 1_000, view: view({ baseFeePerGas: 21n }),
      actions: [{ kind: 'replace', nonce: 6, fees: { maxFeePerGas: 44n, maxPriorityFeePerGas: 3n } }],
    },
    { name: 'just at the base fee: not', open: openAt(6), nowMs: 1_000, view: view({ baseFeePerGas: 20n }), actions: [] },
    { name: 'never taken by a node: not replaced', open: openAt(5, { ...front, waitingSince: undefined }), nowMs: 9_000, actions: [] },
    {
      name: 'the limit allows no more: an alert, and broadcast', open: openAt(5, { ...front, broadcastAtMs: 1_000 }, [20n, 900n]), nowMs: 1_000,
      actions: [AT_LIMIT, broadcast], after: { atLimit: true },
    },
    {
      name: 'again: no second alert', open: openAt(5, { ...front, broadcastAtMs: 1_000, atLimit: true }, [900n]), nowMs: 1_000, actions: [broadcast],
    },
    {
      name: 'underpriced: replaced after the wait', open: openAt(5, { ...front, underpriced: true, broadcastAtMs: 10, waitingSince: undefined }),
      nowMs: 10, actions: [{ ...bumped, fees: { maxFeePerGas: 23n, maxPriorityFeePerGas: 4n } }],
    },
    { name: 'a millisecond earlier: nothing', open: openAt(5, { ...front, underpriced: true, broadcastAtMs: 10 }), nowMs: 9, actions: [] },
    {
      name: 'underpriced at the limit: an alert, and broadcast', open: openAt(5, { ...front, underpriced: true, broadcastAtMs: 10 }, [900n]), nowMs: 10,
      actions: [AT_LIMIT, broadcast], after: { atLimit: true },
    },
    {
      name: 'was mined: broadcast again at once', open: openAt(5, { minedIn: 98 }), nowMs: 7, actions: [AWAY, broadcast],
      after: { minedIn: undefined, broadcastAtMs: 7, waitingSince: at(100, 7), frontSince: at(100, 7) },
    },
    {
      name: 'was mined before this process sent it: the same', open: openAt(5, { minedIn: 98, waitingSince: undefined }), nowMs: 7,
      actions: [AWAY, broadcast], after: { minedIn: undefined, broadcastAtMs: 7, frontSince: at(100, 7) },
    },
    {
      name: 'a stranger\'s transaction was reorganised away: no longer unexplained', open: openAt(5, { unexplained: at(90, 0) }),
      actions: [], after: { frontSince: at(100, 0), unexplained: undefined },
    },
    // Mined.
    { name: 'mined in the latest block: followed', open: openAt(4), view: view({ receipts: [receipt('4.0', 100)] }), actions: [], after: { minedIn: 100 } },
    { name: 'one block short of final', open: openAt(4), view: view({ receipts: [receipt('4.0', 98)] }), actions: [], after: { minedIn: 98 } },
    {
      name: 'final when first seen: over', open: openAt(4), view: view({ receipts: [receipt('4.0', 97)] }), actions: [minedIn(4, 97)], after: { minedIn: 97 },
    },
    {
      name: 'final and reverted: over', open: openAt(4, { minedIn: 97 }), view: view({ receipts: [receipt('4.0', 97, false)] }),
      actions: [minedIn(4, 97, '4.0', false)],
    },
    {
      name: 'an earlier attempt was mined: over by that', open: openAt(4, {}, [20n, 30n, 40n]), view: view({ receipts: [receipt('4.1', 97)] }),
      actions: [minedIn(4, 97, '4.1')], after: { minedIn: 97 },
    },
    { name: 'seen mined, not yet final: no receipt is needed', open: openAt(4, { minedIn: 98 }), actions: [] },
    {
      name: 'should be final, but is in a later block now: followed on', open: openAt(4, { minedIn: 97 }),
      view: view({ receipts: [receipt('4.0', 99)] }), actions: [], after: { minedIn: 99 },
    },
    {
      name: 'a receipt beyond the head that was read before it: followed', open: openAt(4), view: view({ receipts: [receipt('4.0', 101)] }),
      actions: [], after: { minedIn: 101 },
    },
    // Used by an unknown sender.
    { name: 'no receipt: unexplained', open: openAt(4), nowMs: 7, actions: [], after: { unexplained: at(100, 7) } },
    {
      name: 'should be final, but the receipt is gone: unexplained', open: openAt(4, { minedIn: 97 }), nowMs: 7,
      actions: [], after: { minedIn: undefined, unexplained: at(100, 7) },
    },
    ...([
      ['for enough blocks, and not for enough time', at(97, 0), 4_999, view({ proof: { finalCount: 5, nodeCounts: [5] } }), false],
      ['for enough time, and not enough blocks', at(98, 0), 9_000, view({ proof: { finalCount: 5, nodeCounts: [5] } }), false],
      ['for both, and nobody was asked again', at(97, 0), 5_000, view(), false],
      ['for both, but at the final block it is not used', at(97, 0), 5_000, view({ proof: { finalCount: 4, nodeCounts: [5, 5] } }), false],
      ['for both, but one of the nodes has it free', at(97, 0), 5_000, view({ proof: { finalCount: 5, nodeCounts: [5, 4] } }), false],
      ['for both, and at the final block, too', at(97, 0), 5_000, view({ proof: { finalCount: 5, nodeCounts: [] } }), true],
      ['for both, and no node knows the final block\'s state', at(97, 0), 5_000, view({ proof: { finalCount: undefined, nodeCounts: [5] } }), true],
    ] as const).map(([name, unexplained, nowMs, seen, isLost]): Case => ({
      name: `unexplained ${name}: ${isLost ? 'lost' : 'not lost'}`, open: openAt(4, { unexplained }), nowMs, view: seen,
      actions: isLost ? [{ kind: 'over', nonce: 4, ending: { kind: 'lost' } }] : [],
    })),
    {
      name: 'unexplained, and broadcast long ago: again, since the count may be wrong', open: openAt(4, { unexplained: at(97, 0), broadcastAtMs: 7 }),
      nowMs: 7, actions: [{ kind: 'broadcast', nonce: 4 }],
    },
    {
      name: 'explained after all', open: openAt(4, { unexplained: at(97, 0) }), nowMs: 5_000,
      view: view({ receipts: [receipt('4.0', 98)] }), actions: [], after: { minedIn: 98, unexplained: undefined },
    },
  ];

  for (const { name, open: before, view: seen = view(), nowMs = 0, actions, after = {} } of CASES) {
    it(name, () => {
      assert.deepEqual(decide([before], seen, POLICY, nowMs), { openTransactions: [{ ...before, ...after }], actions });
    });
  }

  it('each transaction is decided by itself, actions are in the order of nonces', () => {
    const openTransactions = [openAt(3), openAt(4), openAt(5, { broadcastAtMs: 0 }), openAt(6, { broadcastAtMs: 0 })];
    const { actions } = decide(openTransactions, view({ receipts: [receipt('3.0', 90), receipt('4.0', 91)] }), POLICY, 0);
    assert.deepEqual(actions, [minedIn(3, 90), minedIn(4, 91), broadcast, { kind: 'broadcast', nonce: 6 }]);
  });

  it('without confirmations, what is mined is final', () => {
    const { actions } = decide([openAt(4)], view({ receipts: [receipt('4.0', 100)] }), { ...POLICY, confirmations: 0 }, 0);
    assert.deepEqual(actions, [minedIn(4, 100)]);
  });

  it('receipts are asked for when a nonce is first seen used and when it should be final, of all attempts', () => {
    const openTransactions = [openAt(1, { minedIn: 97 }), openAt(2, { minedIn: 98 }), openAt(3, {}, [20n, 30n]), openAt(5)];
    assert.deepEqual(dueReceipts(openTransactions, view(), 3), ['1.0', '3.0', '3.1']);
  });

  describe('answers to a broadcast', () => {
    const before = openAt(5, { waitingSince: undefined, refusals: 1 });
    const now = at(100, 7);
    const TABLE: readonly (readonly [BroadcastAnswer, Partial<OpenTransaction>])[] = [
      ['accepted', { refusals: 0, broadcastAtMs: 107, waitingSince: now }],
      ['nonce too low', { refusals: 0, broadcastAtMs: 107, waitingSince: now }],
      ['underpriced', { refusals: 2, broadcastAtMs: 27, underpriced: true }],
      ['unfunded', { refusals: 2, broadcastAtMs: 27 }],
      ['refused', { refusals: 2, broadcastAtMs: 27 }],
    ];
    for (const [answer, after] of TABLE) {
      it(answer, () => { assert.deepEqual(answered(before, answer, { policy: POLICY, now }), { open: { ...before, ...after } }); });
    }

    it('alerts at the first refusal in a row, not for prices', () => {
      const alert = (answer: BroadcastAnswer) => answered(openAt(5), answer, { policy: POLICY, now }).alert;
      assert.deepEqual((['accepted', 'nonce too low', 'underpriced', 'unfunded', 'refused'] as const).map(alert), [
        undefined, undefined, undefined, 'nonce 5: the key\'s account cannot pay for the gas: fund it',
        'nonce 5 was refused by the node and is broadcast again until a node accepts it',
      ]);
    });

    it('waits grow to the last one; being taken again does not make it younger', () => {
      const waits = [0, 1, 2, 9].map((refusals) => answered(openAt(5, { refusals }), 'refused', { policy: POLICY, now }).open.broadcastAtMs);
      assert.deepEqual(waits, [17, 27, 47, 57]);
      assert.deepEqual(answered(openAt(5, { waitingSince: at(9, 3) }), 'accepted', { policy: POLICY, now }).open.waitingSince, at(9, 3));
    });

    const TEXTS: readonly (readonly [BroadcastAnswer, readonly string[]])[] = [
      ['accepted', ['already known', 'Known transaction', 'transaction already imported', 'ALREADY_EXISTS: already known', 'AlreadyKnown']],
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

  it('a replacement begins anew: broadcast at once, with no wait, refusal or alert of the offer before, at the place of the offer before', () => {
    const before = openAt(5, { ...front, refusals: 3, underpriced: true, atLimit: true });
    const higher = transaction(5, [20n, 23n], false);
    assert.deepEqual(replaced(before, higher, 77), {
      transaction: higher, broadcastAtMs: 77, waitingSince: undefined, frontSince: LONG_AGO, refusals: 0, underpriced: false, atLimit: false,
      minedIn: undefined, unexplained: undefined,
    });
  });

  it('at the limit, replaced when fees allowed it, and at the limit again: a second alert', () => {
    const policyOf = (maxFeePerGas: bigint): OpenTransactionPolicy => ({ ...POLICY, limits: { ...LIMITS, maxFeePerGas } });
    const look = (each: OpenTransaction, maxFeePerGas: bigint) => decide([each], view(), policyOf(maxFeePerGas), 9_000);
    const alerts = ({ actions }: ReturnType<typeof decide>) => actions.filter(({ kind }) => kind === 'report').length;
    const first = look(openAt(5, front, [900n]), 1_000n);
    const quiet = look(first.openTransactions[0]!, 1_000n);
    assert.deepEqual([alerts(first), alerts(quiet)], [1, 0]);
    assert.deepEqual(look(quiet.openTransactions[0]!, 1_100n).actions.map(({ kind }) => kind), ['replace']);
    const after = replaced(quiet.openTransactions[0]!, transaction(5, [900n, 1_050n]), 9_000);
    assert.equal(alerts(look({ ...after, waitingSince: LONG_AGO }, 1_100n)), 1);
  });

  it('found at a start: broadcast at once, whatever a node took before', () => {
    for (const broadcast of [true, false]) {
      const found = transaction(5, [20n], broadcast);
      assert.deepEqual(opened(found, 7), { ...openAt(5, { broadcastAtMs: 7, waitingSince: undefined }), transaction: found });
    }
  });

  describe('fees', () => {
    const fee = fc.bigInt({ min: 0n, max: 3_000n });

    it('fresh ones cover the base fee twice, within the limit', () => {
      assert.deepEqual(freshFees({ baseFeePerGas: 100n, priorityFeePerGas: 7n }, LIMITS), { maxFeePerGas: 207n, maxPriorityFeePerGas: 7n });
      assert.deepEqual(freshFees({ baseFeePerGas: 0n, priorityFeePerGas: 0n }, LIMITS), { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n });
      assert.deepEqual(freshFees({ baseFeePerGas: 600n, priorityFeePerGas: 2_000n }, LIMITS), { maxFeePerGas: 1_000n, maxPriorityFeePerGas: 1_000n });
    });

    it('a replacement raises both by an eighth at least, stays within the limit, and is refused only where that cannot be', () => {
      fc.assert(fc.property(fee, fee, fee, fee, fc.boolean(), (baseFeePerGas, priorityFeePerGas, a, b, isUnderpriced) => {
        const previous = { maxFeePerGas: a > b ? a : b, maxPriorityFeePerGas: a > b ? b : a };
        const next = replacementFees(previous, { baseFeePerGas, priorityFeePerGas }, LIMITS, isUnderpriced);
        if (next === undefined) return previous.maxFeePerGas * 9n + 7n >= 8n * 1_000n;
        const isRaised = (from: bigint, to: bigint) => to > from && to * 8n >= from * 9n;
        return isRaised(previous.maxFeePerGas, next.maxFeePerGas) && isRaised(previous.maxPriorityFeePerGas, next.maxPriorityFeePerGas)
          && next.maxFeePerGas <= 1_000n && next.maxPriorityFeePerGas <= next.maxFeePerGas;
      }));
    });
  });

  it('whatever chain and nodes do, in the end each request is mined once and reported once', () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant('mine' as const), fullness: fc.nat(3), baseFee: fc.bigInt({ min: 1n, max: 400n }) }),
      fc.record({ kind: fc.constant('drop' as const), nonce: fc.nat(9) }),
      fc.record({ kind: fc.constant('reorg' as const), depth: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constantFrom('restart' as const, 'ask' as const, 'swallow' as const) }),
      fc.record({ kind: fc.constant('refuse' as const), answer: fc.constantFrom<BroadcastAnswer>('refused', 'unfunded', 'underpriced') }),
      // A wrong count of one look, or of several, which may be final.
      fc.record({ kind: fc.constant('lie' as const), by: fc.constantFrom(1, 20, -1, -3), looks: fc.integer({ min: 1, max: 9 }), final: fc.boolean() }),
    );
    const quiet: LaneModelEvent[] = Array.from({ length: 150 }, () => ({ kind: 'mine' as const, fullness: 3, baseFee: 5n }));
    fc.assert(fc.property(fc.array(event, { maxLength: 80 }), (events) => {
      const model = new LaneModel();
      for (const each of [...events, ...quiet]) {
        model.apply(each);
        model.step();
      }
      model.checkAll();
    }), { numRuns: 150 });
  });
});
