/** What the indexer makes of fills on the chain that are not those which were matched: it stops, or passes over what the settings name. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict';
import type { Chain, Rpc } from '../../command/chain/chain.js';
import type { Fact } from '../../command/indexer/facts.js';
import { checkFills, type FillCheck } from '../../command/indexer/checks/fills.js';
import { ForeignChain } from '../../command/indexer/foreign-chain.js';
import type { ChainFillTerms } from '../../command/indexer/checks/chain-fill.js';
import type { MatchedFill } from '../../engine/run/view.js';
import { newCommand } from '../support/commands.js';

const word = (digit: string) => `0x${digit.repeat(64)}`;
const address = (digit: string) => `0x${digit.repeat(40)}`;
const [BUY, SELL, OTHER, TX, BLOCK_HASH] = [word('1'), word('2'), word('3'), word('d'), word('b')];
const AT = 1_800_000_000_000;
const chain = { chainId: 7, name: 'Test' } as Chain;
const rpc: Rpc = { chainId: 7, request: <T>() => Promise.resolve({ from: address('e') } as T) };

const matched: MatchedFill = {
  fill: 4, marketId: word('9'), chainId: 7, outcome: 0, price: 600_000, size: 1_000_001n, cost: 600_001n, buyNumber: 1, sellNumber: 2,
  buyer: address('a'), seller: address('b'), buyOrder: BUY, sellOrder: SELL,
};
const terms: ChainFillTerms = { buyOrder: BUY, sellOrder: SELL, price: '600000', size: '1000001', cost: '600001' };
const place = { chainId: 7, block: 20, logIndex: 5 };
const moved = newCommand('RecordTransfer', {
  at: AT, chainId: 7, from: address('b'), to: address('a'), txHash: TX, items: [{ token: word('5'), amount: '1' }],
  fact: { ...place, logIndex: 4 },
});

const settled = (told: Partial<ChainFillTerms> = {}, fill = 4): Fact => ({
  command: newCommand('SettleFill', { at: AT, fill, txHash: TX, fact: place }), blockHash: BLOCK_HASH, fill: { terms: { ...terms, ...told }, moved },
});
const failed = (told: Partial<ChainFillTerms> = {}, fill = 4): Fact => ({
  command: newCommand('FailFill', { at: AT, fill, txHash: TX, reason: 'overfill', culprit: 'buyer', fact: place }), blockHash: BLOCK_HASH,
  fill: { terms: { buyOrder: BUY, sellOrder: SELL, ...told }, moved: undefined },
});
const other: Fact = {
  command: newCommand('CancelOrdersBelow', { at: AT, chainId: 7, trader: address('a'), belowNonce: '9', fact: { ...place, logIndex: 9 } }),
  blockHash: BLOCK_HASH,
};
const numberTaken: Fact = { command: newCommand('FailFill', {
  at: AT, fill: 4, txHash: TX, reason: 'unknown', culprit: 'both', fact: place,
}), blockHash: BLOCK_HASH };
const sharesMoved: Fact = { command: moved, blockHash: BLOCK_HASH };

/** A check beside an engine with one unsettled fill, number 4. */
function checkOf(
  changes: Partial<FillCheck> & { named?: readonly string[]; fills?: () => readonly MatchedFill[] } = {},
): FillCheck & { reports: string[] } {
  const { named = [], fills = () => [matched], ...rest } = changes;
  const reports: string[] = [];
  return {
    chain: { ...chain, passOverFills: named }, rpc, cursor: () => ({ nextBlock: 20, nextLog: 0 }), caughtUp: () => Promise.resolve(),
    view: { unsettledFill: ({ fill }) => fills().find((each) => each.fill === fill) }, report: (level, text) => { reports.push(`${level}: ${text}`); },
    reports, ...rest,
  };
}

describe('the indexer and fills', () => {
  it('takes those that were matched', async () => {
    for (const fact of [settled(), failed()]) deepEqual(await checkFills([fact, other], checkOf()), [fact, other]);
  });

  const falseOnes: readonly (readonly [string, Fact])[] = [
    ['another buy order', settled({ buyOrder: OTHER })], ['another sell order', settled({ sellOrder: OTHER })],
    ['orders that are swapped', settled({ buyOrder: SELL, sellOrder: BUY })], ['another price', settled({ price: '599999' })],
    ['another size', settled({ size: '1000000' })], ['another cost', settled({ cost: '600000' })],
    ['a refusal of another buy order', failed({ buyOrder: OTHER })], ['a refusal of another sell order', failed({ sellOrder: OTHER })],
  ];
  for (const [what, fact] of falseOnes) {
    it(`stops at ${what}`, async () => {
      await rejects(checkFills([other, fact], checkOf()), (error: Error) => {
        equal(error instanceof ForeignChain, true);
        match(error.message, new RegExp(`^chain 7 contradicts the history: transaction ${TX} of ${address('e')} in block 20 (settled|refused) fill 4 with .* where the history has matched .*`
          + '`passOverFills` of this chain .* as moved\\.$'));
        return true;
      });
    });

    it(`records that the number is used up when the settings name the transaction of ${what}`, async () => {
      const check = checkOf({ named: [TX] });
      deepEqual(await checkFills([other, fact], check), [other, ...fact.command.kind === 'SettleFill' ? [sharesMoved] : [], numberTaken]);
      equal(check.reports.length, 1);
      match(check.reports[0]!, new RegExp(`^warn: chain 7: passes over fill 4 of transaction ${TX}`));
    });
  }

  it('names the settings only for what differs: a true fill of a named transaction is taken', async () => {
    deepEqual(await checkFills([settled()], checkOf({ named: [TX] })), [settled()]);
  });

  it('waits for the engine where it has not got to the match yet', async () => {
    let fills: MatchedFill[] = [];
    const caughtUp = () => {
      fills = [matched];
      return Promise.resolve();
    };
    deepEqual(await checkFills([settled()], checkOf({ fills: () => fills, caughtUp })), [settled()]);
    fills = [];
    await rejects(checkFills([settled({ size: '1' })], checkOf({ fills: () => fills, caughtUp })), ForeignChain);
  });

  it('does not judge again what another indexer has recorded meanwhile', async () => {
    let cursor = { nextBlock: 20, nextLog: 5 };
    const caughtUp = () => {
      cursor = { nextBlock: 20, nextLog: 6 };
      return Promise.resolve();
    };
    const check = checkOf({ fills: () => [], cursor: () => cursor, caughtUp });
    deepEqual(await checkFills([settled({ size: '1' }, 5)], check), [settled({ size: '1' }, 5)]);
    deepEqual(check.reports, []);
  });

  it('records a fill whose number is not given yet as one that failed: a fill that gets the number now would be taken for settled', async () => {
    const check = checkOf();
    const early = settled({}, 5);
    deepEqual(await checkFills([early], check), [sharesMoved, { ...numberTaken, command: { ...numberTaken.command, fill: 5 } }]);
    match(check.reports.join(), new RegExp(`^alert: chain 7: the chain has settled or refused fills that this history does not have there: .*: 5 \\(transaction ${TX}\\)\\.`));
  });

  it('records the shares that moved under the number of another chain\'s fill: the holdings stay the chain\'s balances', async () => {
    const check = checkOf();
    deepEqual(await checkFills([settled({}, 3)], check), [sharesMoved, { ...numberTaken, command: { ...numberTaken.command, fill: 3 } }]);
    match(check.reports.join(), new RegExp(`^alert: chain 7: .*: 3 \\(transaction ${TX}\\)\\.`));
  });

  it('names further transactions with false fills', async () => {
    const second = { ...settled({ size: '2' }), command: { ...settled().command, txHash: OTHER } as Fact['command'] };
    await rejects(checkFills([settled({ size: '1' }), second], checkOf()), new RegExp(`So do, in the blocks up to 20: ${OTHER}\\.$`));
    await rejects(checkFills([settled({ size: '1' }), second], checkOf({ named: [TX] })), new RegExp(`: transaction ${OTHER} of `));
  });
});
