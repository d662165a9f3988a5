/** Questions to the engine's state from other parts: unsettled fills, a trader's open orders, tokens, cursors; the real engine only. */
import { deepEqual, equal } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chainCursor } from '../../engine/rules/chain-cursor.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Engine } from '../../engine/run/stepping.js';
import { NO, YES } from '../../engine/records/fields.js';
import { openOrdersOf } from '../../engine/run/open-orders.js';
import { viewOf } from '../../engine/run/view.js';
import { decodeSnapshot, encodeSnapshot } from '../../engine/run/snapshot.js';
import { marketOfToken } from '../../engine/rules/state.js';
import { unsettledFills } from '../../engine/run/unsettled-fills.js';
import { createLockstep, type ComparedEngine } from '../reference/compared-engines.js';
import { crowd, pile } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createReferenceEngine, type ReferenceEngine } from '../reference/engine.js';
import { newCommand } from '../support/commands.js';
import {
  accepted, address, buy, bytes32, cancelled, clock, closed, fail, failed, filled, open, opened, play, rested, says, sell, settle, settled, tell,
  times, tokenized, type Line,
} from '../support/scenario.js';

/** The real engine after these lines. */
function after(lines: readonly Line[]): Engine {
  const engine = createEngine();
  play(asCompared(engine), lines);
  return engine;
}

function asCompared(engine: Engine): ComparedEngine {
  return { step: (_command, data) => engine.step(data) };
}

function restarted(engine: Engine): Engine {
  const { state, digest } = decodeSnapshot(encodeSnapshot(engine))!;
  return createEngine(state, digest);
}

const M: Line = [open('M', { tokens: ['yes', 'no'] }), opened('M'), tokenized('M', ['yes', 'no'])];
const P: Line = [open('P', { chainId: 2 }), opened('P')];

/** ben buys 1 of anna's `n` times, each a fill of its own, from fill `first` on. */
function trades(n: number, first: number, market = 'M'): Line[] {
  return [
    [sell(`s${first}`, 'anna', n, 600_000, { market }), accepted(`s${first}`), rested(`s${first}`, n)],
    ...times(n, (i) => [[buy(`b${first + i}`, 'ben', 1, 650_000, { market }), accepted(`b${first + i}`), filled(first + i, `b${first + i}`, `s${first}`, 1, 1)]]),
  ];
}

const numbers = ({ state }: Engine, chainId: number, from = 0) => [...unsettledFills(state, { chainId, from })].map(({ fill }) => fill);

describe('unsettled fills', () => {
  it('are listed with their orders and everything that settling needs', () => {
    const engine = after([
      P, M, [sell('ask', 'anna', 10, 600_000, { outcome: NO }), accepted('ask'), rested('ask', 10)],
      [buy('bid', 'ben', 4, 650_000, { outcome: NO }), accepted('bid'), filled(0, 'bid', 'ask', 4, 3)],
    ]);
    deepEqual([...unsettledFills(engine.state, { chainId: 1, from: 0 })], [{
      fill: 0, marketId: bytes32('M'), chainId: 1, outcome: NO, price: 600_000, size: 4n, cost: 3n, buyNumber: 3, sellNumber: 2,
      buyer: address('ben'), seller: address('anna'),
    }]);
  });

  it('are those of the chain, from the number asked for on, until they have settled or failed', () => {
    const engine = after([
      M, P, ...trades(2, 0), ...trades(2, 2, 'P'), ...trades(3, 4),
      [settle(4), settled(4)], [fail(1, 'unknown', 'both'), failed(1), cancelled('b1', 'settlement_failed', 1, 0), cancelled('s0', 'settlement_failed', 1, 0)],
    ]);
    deepEqual(numbers(engine, 1), [0, 5, 6]);
    deepEqual(numbers(engine, 1, 5), [5, 6]);
    deepEqual(numbers(engine, 1, 6), [6]);
    deepEqual(numbers(engine, 1, 7), []);
    deepEqual(numbers(engine, 1, Number.MAX_SAFE_INTEGER), []);
    deepEqual(numbers(engine, 2), [2, 3]);
    deepEqual(numbers(engine, 3), []);
  });

  it('ascend over thousands, also after all of a thousand have settled and after a restart', () => {
    const engine = after([
      M, ...trades(2_100, 0), ...times(2_100, (i): Line[] => (i === 3 ? [] : [[settle(i), settled(i)]])), ...trades(1_000, 2_100),
    ]);
    const expected = [3, ...Array.from({ length: 1_000 }, (_, i) => 2_100 + i)];
    deepEqual(numbers(engine, 1), expected);
    deepEqual(numbers(restarted(engine), 1), expected);
    deepEqual(numbers(engine, 1, 2_050), expected.slice(1));
    deepEqual(numbers(engine, 1, 3_000), expected.filter((fill) => fill >= 3_000));
  });
});

describe('a trader\'s open orders', () => {
  it('are listed by order number, on every chain, with their remaining sizes', () => {
    const engine = after([
      M, P, [sell('a', 'anna', 10, 900_000), accepted('a'), rested('a', 10)],
      [buy('b', 'anna', 5, 100_000, { outcome: NO, market: 'P' }), accepted('b'), rested('b', 5)],
      [sell('c', 'anna', 1, 800_000), accepted('c'), rested('c', 1)],
      [buy('d', 'ben', 4, 900_000), accepted('d'), filled(0, 'd', 'c', 1, 1), filled(1, 'd', 'a', 3, 3)],
    ]);
    deepEqual([...openOrdersOf(engine.state, address('anna'))], [
      { chainId: 1, marketId: bytes32('M'), outcome: YES, side: 1, price: 900_000, remaining: 7n },
      { chainId: 2, marketId: bytes32('P'), outcome: NO, side: 0, price: 100_000, remaining: 5n },
    ]);
    deepEqual([...openOrdersOf(engine.state, address('ben'))], []);
    deepEqual([...openOrdersOf(engine.state, address('nobody'))], []);
    for (const { openOrderCount } of [viewOf(engine), viewOf(restarted(engine))]) {
      deepEqual(['anna', 'ben', 'nobody'].map((name) => openOrderCount(address(name))), [2, 0, 0]);
    }
  });
});

describe('tokens and cursors', () => {
  const fact = { chainId: 1, block: 7, logIndex: 3 };
  const lines: Line[] = [
    M, P,
    [tell({ kind: 'AdvanceChain', chainId: 1, block: 5, blockHash: bytes32('five') }),
      says({ type: 'ChainAdvanced', chainId: 1, block: 5, blockHash: bytes32('five') })],
  ];

  it('name the market and the outcome of a token', () => {
    for (const engine of [after(lines), restarted(after(lines))]) {
      const { state } = engine;
      const of = (token: string) => {
        const known = marketOfToken(state, bytes32(token));
        return known && [known.market.marketId, known.outcome];
      };
      deepEqual([of('yes'), of('no'), of('M')], [[bytes32('M'), YES], [bytes32('M'), NO], undefined]);
    }
  });

  it('say how far a chain is recorded, and which block it was last', () => {
    for (const engine of [after(lines), restarted(after(lines))]) {
      deepEqual(chainCursor(engine.state, 1), { nextBlock: 6, nextLog: 0, block: 5, blockHash: bytes32('five') });
      equal(chainCursor(engine.state, 2), undefined);
      const of = (logIndex: number) => encodeCommand(newCommand('RecordRejection', {
        at: 0, marketId: bytes32('none'), assertionId: bytes32('a'), fact: { ...fact, logIndex },
      }));
      engine.step(of(3));
      deepEqual(chainCursor(engine.state, 1), { nextBlock: 7, nextLog: 4, block: 5, blockHash: bytes32('five') }, 'a rejected fact counts');
      engine.step(of(2));
      deepEqual(chainCursor(engine.state, 1), { nextBlock: 7, nextLog: 4, block: 5, blockHash: bytes32('five') }, 'a known one does not');
    }
  });
});

/** What the reference engine would say. */
function expectedOf(reference: ReferenceEngine, chains: ReadonlyMap<string, number>) {
  const unsettled = reference.fills().filter(({ status }) => status === 'unsettled').map(({ matched: { fill, marketId } }) => [fill, chains.get(marketId)]);
  const open = reference.openOrders().sort((a, b) => a.number - b.number)
    .map(({ placed: { trader, marketId, outcome, side, price }, remaining }) => (
      { trader, order: { chainId: chains.get(marketId), marketId, outcome, side, price, remaining } }));
  return { unsettled, open };
}

describe('the newest markets', () => {
  it('are those of the chain, the latest first', () => {
    const others: Line[] = ['N', 'O'].map((name) => [open(name), opened(name)]);
    for (const view of [after([M, P, ...others]), restarted(after([M, P, ...others]))].map(viewOf)) {
      deepEqual([1, 2, 3].map((chainId) => [...view.newestMarkets(chainId)]), [['O', 'N', 'M'].map(bytes32), [bytes32('P')], []]);
    }
  });
});

describe('open proposals', () => {
  const about = (market: string, id: string) => ({ marketId: bytes32(market), assertionId: bytes32(id) });
  const terms = { proposer: address('pia'), outcome: NO, bond: '5', assertionTime: 1_000, expirationTime: 8_200 };
  const propose = (market: string, id: string): Line => (
    [tell({ kind: 'RecordProposal', ...about(market, id), ...terms }), says({ type: 'ResolutionProposed', ...about(market, id), ...terms })]);
  const dispute = (market: string, id: string): Line => [
    tell({ kind: 'RecordDispute', ...about(market, id), disputer: address('dan') }), says({ type: 'ResolutionDisputed', ...about(market, id), disputer: address('dan') }),
  ];
  const reject = (market: string, id: string): Line => (
    [tell({ kind: 'RecordRejection', ...about(market, id) }), says({ type: 'ResolutionRejected', ...about(market, id) })]);
  const resolve = (market: string): Line => [
    tell({ kind: 'ResolveMarket', marketId: bytes32(market), winningOutcome: NO }), says({ type: 'MarketClosed', marketId: bytes32(market) }),
    says({ type: 'MarketResolved', marketId: bytes32(market), winningOutcome: NO }),
  ];
  const shown = (market: string, id: string, disputed = false) => ({ ...about(market, id), expirationTime: 8_200, disputed });

  for (const [name, lines, expected] of [
    ['are those of the chain, disputed or not', [propose('M', 'a'), propose('P', 'b'), dispute('P', 'b')], { 1: [shown('M', 'a')], 2: [shown('P', 'b', true)] }],
    ['are gone once rejected; another one may follow', [propose('M', 'a'), dispute('M', 'a'), reject('M', 'a')], { 1: [] }],
    ['are the latest of their market, whatever is said of an earlier one',
      [propose('M', 'a'), reject('M', 'a'), propose('M', 'b'), dispute('M', 'a'), reject('M', 'a')], { 1: [shown('M', 'b')] }],
    ['are gone once the market is resolved, and none comes after', [propose('M', 'a'), resolve('M'), propose('M', 'b')], { 1: [] }],
  ] as [string, Line[], Record<number, unknown[]>][]) {
    it(name, () => {
      const engine = after([M, P, ...lines]);
      for (const view of [viewOf(engine), viewOf(restarted(engine))]) {
        for (const [chainId, proposals] of Object.entries(expected)) deepEqual([...view.openProposals(Number(chainId))], proposals);
      }
    });
  }

  const halved = (market: string): Line => (
    [tell({ kind: 'HalveMarket', marketId: bytes32(market) }), closed(market), says({ type: 'MarketHalved', marketId: bytes32(market) })]);
  const over: Line = [clock(86_400_000), closed('M')];
  const N: Line = [open('N'), opened('N')];
  const quick: Line[] = [
    [open('Q', { at: 0, quick: ['BTC', 100], expiration: 1_000 }), opened('Q')],
    [clock(120_000), says({ type: 'PriceMissed', marketId: bytes32('Q'), boundary: 'start' })], [clock(1_000_000), closed('Q')],
  ];

  for (const [name, lines, unproposed] of [
    ['are missing of no market that is open', [M, P], []],
    ['are missing of a closed one', [M, over], ['M']],
    ['are missing again once rejected', [M, over, propose('M', 'a'), reject('M', 'a')], ['M']],
    ['are not missing while one is open', [M, over, propose('M', 'a')], []],
    ['are not missing of a resolved market, nor of a halved one', [M, resolve('M'), N, halved('N')], []],
    ['are not missing of a quick market, which is resolved by prices', quick, []],
  ] as [string, Line[], string[]][]) {
    it(name, () => {
      const engine = after(lines);
      for (const view of [viewOf(engine), viewOf(restarted(engine))]) {
        deepEqual([...view.unproposedMarkets(1)].map(({ marketId }) => marketId), unproposed.map(bytes32));
      }
    });
  }

  it('are not lost by a snapshot of a version that did not have them: it is not used', () => {
    const body = Buffer.from(encodeSnapshot(after([M])).subarray(32));
    equal(body.toString('latin1', 0, 8), 'pxsnap07');
    body.write('06', 6);
    equal(decodeSnapshot(Buffer.concat([createHash('sha256').update(body).digest(), body])), undefined);
  });
});

describe('the answers of both engines', () => {
  for (const [name, profile] of [['a crowd', crowd], ['a pile', pile]] as const) {
    it(`are the same all along the history of ${name}`, () => {
      const generator = createChainCommands(31, profile);
      const reference = createReferenceEngine();
      const engine = createEngine();
      const step = createLockstep(reference, asCompared(engine));
      const chains = new Map<string, number>();
      for (let i = 0; i < 10_000; i++) {
        const { outcome } = step(generator.next());
        generator.learn(outcome);
        for (const event of outcome.events) if (event.type === 'MarketOpened') chains.set(event.marketId, event.chainId);
        if (i % 1_000 !== 999) continue;
        const { unsettled, open: openOrders } = expectedOf(reference, chains);
        for (const chainId of [1, 2]) {
          const numbersThere = unsettled.filter(([, chain]) => chain === chainId).map(([fill]) => fill);
          deepEqual(numbers(engine, chainId), numbersThere);
          const from = numbersThere[Math.floor(numbersThere.length / 2)] ?? 0;
          deepEqual(numbers(engine, chainId, from), numbersThere.filter((fill) => fill! >= from));
        }
        const views = [engine, restarted(engine)].map(viewOf);
        for (const trader of new Set(openOrders.map((one) => one.trader))) {
          const mine = openOrders.filter((one) => one.trader === trader);
          deepEqual([...openOrdersOf(engine.state, trader)], mine.map(({ order }) => order));
          deepEqual(views.map(({ openOrderCount }) => openOrderCount(trader)), [mine.length, mine.length]);
        }
      }
    });
  }
});
