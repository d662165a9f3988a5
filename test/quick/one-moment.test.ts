/** A round of the quick markets' sender is about one moment of the history, however long the chain takes to answer in between. */
import { deepEqual } from 'node:assert/strict';
import type { ContractCall } from '../../command/chain/abi.js';
import type { HeldLaneUser, TrackedRequest } from '../../command/lane/requests.js';
import { QUICK_RULES } from '../../command/quick/quick-jobs.js';
import { runQuickMarkets } from '../../command/quick/quick-markets.js';
import { createKeccak256 } from '../../command/signing/typed-data.js';
import type { QuickMarket } from '../../engine/run/view.js';
import { CHAIN_ID, contracts } from '../support/relay-scene.js';
import { bytes32 } from '../support/scenario.js';
import { turnsUntil } from '../support/until.js';

const T = 1_800_000_000;
const price = (amount: string, publishedS: number) => ({ source: 'pyth', price: amount, publishedAt: publishedS * 1_000 });
const decided: QuickMarket = {
  marketId: bytes32('up'), chainId: CHAIN_ID, expiration: T + 900, closed: true, winner: undefined, tokens: undefined,
  quick: { asset: 'BTC', startTime: T, strike: price('100', T), end: price('101', T + 900), outcome: 0, missed: new Set() },
};
const resolved: TrackedRequest = {
  id: 'one', note: { kind: 'resolve', marketId: decided.marketId }, txHashes: [bytes32('tx')], askedAtMs: 0,
  status: { kind: 'ended', ending: { kind: 'mined', txHash: bytes32('tx'), block: 7, succeeded: true } },
};

describe('quick markets: a round', () => {
  it('does not ask again for a resolution that the history hears of while the chain tells its time', async () => {
    const stop = new AbortController();
    const history = { unresolved: [decided], nextBlock: 7 };
    const [asked, reports]: [unknown[], string[]] = [[], []];
    let rounds = 0;
    const held: HeldLaneUser = {
      changes: () => Promise.resolve([resolved]), list: () => Promise.resolve([resolved]),
      forget: () => Promise.resolve(), close: () => Promise.resolve(),
      state: () => Promise.resolve(undefined), ask: (requests) => Promise.resolve(void asked.push(...requests)),
      wait: (signal) => new Promise((resolve) => {
        rounds++;
        signal.addEventListener('abort', () => { resolve('aborted'); });
      }),
    };
    /** A node that has not seen block 7 yet: for it the market is not resolved. */
    function answerTo({ method }: ContractCall): unknown {
      if (method === 'hasRole') return true;
      if (method === 'marketOf') return `0x${'22'.repeat(20)}`;
      if (method !== 'getCurrentBlockTimestamp') return 0n;
      Object.assign(history, { unresolved: [], nextBlock: 8 });
      return BigInt(T + 1_000);
    }
    const { done } = runQuickMarkets({
      chain: { chainId: CHAIN_ID, contracts }, keccak256: await createKeccak256(), lane: { hold: () => Promise.resolve(held) },
      reads: {
        views: (calls) => Promise.resolve(calls.map(answerTo)), simulate: () => Promise.resolve({ returned: '0x' }),
        funds: () => Promise.resolve({ baseFeePerGas: 1n, balance: 10n ** 18n, block: 6 }),
      },
      view: { isKnown: () => true, unresolved: () => history.unresolved, nextBlock: () => history.nextBlock },
      verify: () => Promise.resolve(), address: `0x${'11'.repeat(20)}`, maxFeePerGas: 1n, schedule: { assets: [], intervalS: 900, ahead: 1 },
      hasStartPrice: () => Promise.resolve(true), rules: QUICK_RULES, pollMs: 1_000, now: () => (T + 1_000) * 1_000, doubt: () => undefined,
      signal: stop.signal, report: (_, text) => { reports.push(text); },
    });
    await turnsUntil('a round is over', () => rounds === 1);
    stop.abort();
    await done;
    deepEqual({ ...history, asked, reports }, { unresolved: [], nextBlock: 8, asked: [], reports: [] });
  });
});
