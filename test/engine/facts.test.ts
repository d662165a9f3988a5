/** Facts from chains, as scenarios: each fact once, tokens and transfers, settlements, resolutions, balances. They hold for both engines. */
import type { RecordTransfer, SyncPosition } from '../../engine/records/commands.js';
import { NO, YES } from '../../engine/records/fields.js';
import { engines } from '../reference/compared-engines.js';
import {
  accepted, address, buy, bytes32, cancel, cancelled, clock, closed, fail, failed, factOf, filled, open, opened, play, rejected, rejectedOf, rested,
  says, sell, settle, settled, tell, tokenized, TX_HASH, type Line, type Place,
} from '../support/scenario.js';

const MAX = Number.MAX_SAFE_INTEGER;
const UINT256_MAX = String(2n ** 256n - 1n);
const M: Line = [open('M'), opened('M')];
/** Market M with tokens, on chain 1. */
const T: Line = [open('M', { tokens: ['yes', 'no'] }), opened('M'), tokenized('M', ['yes', 'no'])];
const ask: Line = [sell('ask', 'anna', 10, 600_000), accepted('ask'), rested('ask', 10)];
const traded: Line[] = [M, ask, [buy('bid', 'ben', 10, 600_000), accepted('bid'), filled(0, 'bid', 'ask', 10, 6)]];

const HASH = bytes32('block');
const advance = (chainId: number, block: number) => tell({ kind: 'AdvanceChain', chainId, block, blockHash: HASH });
const advanced = (chainId: number, block: number) => says({ type: 'ChainAdvanced', chainId, block, blockHash: HASH });
/** ben has redeemed shares of M: a fact that changes nothing else. */
const redeem = (fact?: Place, market = 'M') => tell({
  kind: 'RecordRedemption', marketId: bytes32(market), user: address('ben'), payout: '7', txHash: TX_HASH, ...factOf(fact === undefined ? {} : { fact }),
});
const redeemed = says({ type: 'PositionRedeemed', marketId: bytes32('M'), user: address('ben'), payout: '7', txHash: TX_HASH });
const falseAnchor = { chainId: 1, txHash: TX_HASH, position: '18446744073709551615', digest: bytes32('other') };
const passOver = (fact?: Place) => tell({ kind: 'PassOverAnchor', ...falseAnchor, ...factOf(fact === undefined ? {} : { fact }) });
const passedOver = says({ type: 'AnchorPassedOver', ...falseAnchor });
const known = (place: string) => rejectedOf('known_fact', place);

const facts: Record<string, Line[]> = {
  'a fact is taken once, and none before it any more': [
    M, [redeem([1, 5, 2]), redeemed],
    [redeem([1, 5, 2]), known('1:5:2')],
    [redeem([1, 5, 1]), known('1:5:1')],
    [redeem([1, 4, 9]), known('1:4:9')],
    [redeem([1, 5, 3]), redeemed],
    [redeem([1, 6, 0]), redeemed],
    [redeem([1, 5, 4]), known('1:5:4')],
  ],
  'what no chain tells is taken every time': [M, [redeem(), redeemed], [redeem([1, 5, 0]), redeemed], [redeem(), redeemed]],
  'every chain has a cursor of its own': [
    M, [open('P', { chainId: 2 }), opened('P')],
    [redeem([1, 5, 2]), redeemed],
    [tell({ kind: 'RecordDispute', marketId: bytes32('P'), assertionId: bytes32('a'), disputer: address('ben'), ...factOf({ fact: [2, 0, 0] }) }),
      says({ type: 'ResolutionDisputed', marketId: bytes32('P'), assertionId: bytes32('a'), disputer: address('ben') })],
    [redeem([1, 5, 2]), known('1:5:2')],
  ],
  'an anchor that was passed over is recorded once, and nothing depends on it': [
    M, [passOver([1, 5, 2]), passedOver], [passOver([1, 5, 2]), known('1:5:2')], [redeem([1, 5, 1]), known('1:5:1')], [redeem([1, 5, 3]), redeemed],
    [passOver(), passedOver],
  ],
  'a chain advances past its block and all before, once': [
    M, [advance(1, 0), advanced(1, 0)],
    [advance(1, 0), known('1:0')],
    [redeem([1, 0, 99]), known('1:0:99')],
    [redeem([1, 1, 0]), redeemed],
    [advance(1, 1), advanced(1, 1)],
    [advance(1, 7), advanced(1, 7)],
    [advance(1, 6), known('1:6')],
    [redeem([1, 7, 0]), known('1:7:0')],
    [advance(2, 3), advanced(2, 3)],
  ],
  'cursors are exact to the last block and log there can be': [
    M, [redeem([1, MAX, MAX - 1]), redeemed], [redeem([1, MAX, MAX]), redeemed], [redeem([1, MAX, MAX]), known(`1:${MAX}:${MAX}`)],
    [advance(1, MAX), advanced(1, MAX)], [advance(1, MAX), known(`1:${MAX}`)],
  ],
  'a rejected fact moves the cursor too': [
    M, [redeem([1, 5, 2], 'none'), rejected('unknown_market', 'none')],
    [redeem([1, 5, 2]), known('1:5:2')],
    [redeem([1, 5, 1]), known('1:5:1')],
    [redeem([1, 5, 3]), redeemed],
  ],
  'a known fact comes before every other rule, and still carries time': [
    [open('M', { expiration: 100 }), opened('M')], [advance(1, 9), advanced(1, 9)],
    [open('M', { fact: [1, 9, 0] }), known('1:9:0')],
    [open('N', { fact: [1, 9, 0] }), known('1:9:0')],
    [cancel('none', { fact: [1, 9, 1] }), known('1:9:1')],
    [settle(0, { fact: [1, 9, 2] }), known('1:9:2')],
    [fail(0, 'unknown', 'both', { fact: [1, 9, 3] }), known('1:9:3')],
    [fail(0, 'unknown', 'both', { fact: [1, 9, 3], at: 100_000 }), known('1:9:3')],
    [buy('late', 'ben', 1, 500_000), rejected('market_closed', 'late')],
  ],
  'a fact moves the cursor of its own chain, whatever chain its command names': [
    [open('M', { chainId: 1, fact: [2, 5, 0] }), opened('M')],
    [open('N', { chainId: 2, fact: [2, 5, 0] }), known('2:5:0')],
    [open('N', { chainId: 2, fact: [1, 0, 0] }), opened('N')],
  ],
  'an order, a fill or a market of another chain is unknown to a fact': [
    ...traded, [sell('ask2', 'anna', 1, 600_000), accepted('ask2'), rested('ask2', 1)],
    [cancel('ask2', { fact: [2, 1, 0] }), rejected('unknown_order', 'ask2')],
    [settle(0, { fact: [2, 1, 1] }), rejected('unknown_fill', 0)],
    [fail(0, 'unknown', 'both', { fact: [2, 1, 2] }), rejected('unknown_fill', 0)],
    [redeem([2, 1, 3]), rejected('unknown_market', 'M')],
    [tell({ kind: 'ResolveMarket', marketId: bytes32('M'), winningOutcome: NO, ...factOf({ fact: [2, 1, 4] }) }), rejected('unknown_market', 'M')],
    [cancel('ask2', { fact: [1, 1, 0], trader: 'ben' }), rejected('not_order_owner', 'ask2')],
    [cancel('ask2', { fact: [1, 1, 1], trader: 'anna' }), cancelled('ask2', 'user', 1)],
    [settle(0, { fact: [1, 1, 2] }), settled(0)],
    [fail(0, 'unknown', 'both', { fact: [1, 1, 3] }), rejected('unknown_fill', 0)],
  ],
  'a fill that the chain has refused fails once': [
    ...traded,
    [fail(0, 'unknown', 'both', { fact: [1, 1, 0] }), failed(0), cancelled('bid', 'settlement_failed', 10, 0), cancelled('ask', 'settlement_failed', 10, 0)],
    [fail(0, 'unknown', 'both', { fact: [1, 1, 0] }), known('1:1:0')],
    [fail(0, 'unknown', 'both', { fact: [1, 1, 1] }), rejected('unknown_fill', 0)],
  ],
};

const submit = (chainId: number, ...fills: number[]) => tell({ kind: 'SubmitSettlement', chainId, txHash: TX_HASH, fills });
const submitted = (chainId: number, ...fills: number[]) => says({ type: 'SettlementSubmitted', chainId, txHash: TX_HASH, fills });

const settlements: Record<string, Line[]> = {
  'a settlement is submitted if one of its fills is unsettled, with all it names': [
    ...traded,
    [submit(1, 1, 2), rejected('unknown_fill', 'tx')],
    [submit(1, 7, 0, 0), submitted(1, 7, 0, 0)],
    [submit(1, 0), submitted(1, 0)],
    [settle(0), settled(0)],
    [submit(1, 0), rejected('unknown_fill', 'tx')],
  ],
  'the fills of another chain are unknown': [
    ...traded, [open('P', { chainId: 2 }), opened('P')],
    [sell('s', 'anna', 1, 600_000, { market: 'P' }), accepted('s'), rested('s', 1)],
    [buy('b', 'ben', 1, 600_000, { market: 'P' }), accepted('b'), filled(1, 'b', 's', 1, 1)],
    [submit(2, 0), rejected('unknown_fill', 'tx')],
    [submit(2, 0, 1), submitted(2, 0, 1)],
    [submit(3, 0, 1), rejected('unknown_fill', 'tx')],
  ],
};

type Item = readonly [string, number | string];

function move(items: readonly Item[], terms: { chainId?: number; fact?: Place } = {}) {
  const command: Omit<RecordTransfer, 'v' | 'at'> = {
    kind: 'RecordTransfer', chainId: terms.chainId ?? 1, from: address('anna'), to: address('ben'), txHash: TX_HASH,
    items: items.map(([token, amount]) => ({ token: bytes32(token), amount: String(amount) })), ...factOf(terms),
  };
  return tell(command);
}

const moved = (market: string, outcome: 0 | 1, amount: number | string) => says({
  type: 'SharesTransferred', marketId: bytes32(market), outcome, from: address('anna'), to: address('ben'), amount: String(amount), txHash: TX_HASH,
});

const tokens: Record<string, Line[]> = {
  'a market\'s tokens are its own': [
    T, [open('M', { tokens: ['a', 'b'] }), rejected('market_exists', 'M')],
    [open('N', { tokens: ['yes', 'b'] }), rejected('market_exists', 'N')],
    [open('N', { tokens: ['a', 'no'] }), rejected('market_exists', 'N')],
    [open('N', { tokens: ['no', 'yes'] }), rejected('market_exists', 'N')],
    [open('N', { tokens: ['a', 'a'] }), rejected('market_exists', 'N')],
    [open('N', { tokens: ['a', 'yes'], expiration: 0 }), rejected('market_exists', 'N')],
    [open('N', { tokens: ['a', 'b'], expiration: 0, ifOver: 'reject' }), rejected('invalid_expiration', 'N')],
    [open('N', { tokens: ['a', 'b'] }), opened('N'), tokenized('N', ['a', 'b'])],
  ],
  'shares move by their tokens, in the order given, without those that are unknown or nothing': [
    T, [open('N', { tokens: ['a', 'b'] }), opened('N'), tokenized('N', ['a', 'b'])],
    [move([['no', 3], ['x', 1], ['yes', UINT256_MAX], ['a', 0], ['b', 1]]), moved('M', NO, 3), moved('M', YES, UINT256_MAX), moved('N', NO, 1)],
  ],
  'where nothing is left the first token is unknown': [
    T, [move([['x', 1]]), rejected('unknown_token', 'x')],
    [move([['yes', 0], ['x', 1]]), rejected('unknown_token', 'yes')],
  ],
  'tokens are those of the command\'s chain': [
    T, [open('P', { chainId: 2, tokens: ['a', 'b'] }), opened('P'), tokenized('P', ['a', 'b'])],
    [move([['yes', 1], ['a', 2]]), moved('M', YES, 1)],
    [move([['yes', 1], ['a', 2]], { chainId: 2 }), moved('P', YES, 2)],
    [move([['a', 2]]), rejected('unknown_token', 'a')],
  ],
  'a transfer counts once': [
    T, [move([['yes', 1]], { fact: [1, 0, 0] }), moved('M', YES, 1)],
    [move([['yes', 1]], { fact: [1, 0, 0] }), known('1:0:0')],
  ],
  'shares move though the market is resolved': [
    T, [tell({ kind: 'ResolveMarket', marketId: bytes32('M'), winningOutcome: YES }), closed('M'), says({ type: 'MarketResolved', marketId: bytes32('M'), winningOutcome: YES })],
    [move([['yes', 1]]), moved('M', YES, 1)],
  ],
};

const proposal = {
  assertionId: bytes32('a'), proposer: address('pia'), outcome: NO, bond: UINT256_MAX, assertionTime: 5, expirationTime: 7_205,
};

const resolution: Record<string, Line[]> = {
  'proposals, disputes and rejections are told as they come, of any market that is known': [
    M,
    [tell({ kind: 'RecordProposal', marketId: bytes32('M'), ...proposal }), says({ type: 'ResolutionProposed', marketId: bytes32('M'), ...proposal })],
    [tell({ kind: 'RecordDispute', marketId: bytes32('M'), assertionId: bytes32('a'), disputer: address('dan') }),
      says({ type: 'ResolutionDisputed', marketId: bytes32('M'), assertionId: bytes32('a'), disputer: address('dan') })],
    [tell({ kind: 'RecordRejection', marketId: bytes32('M'), assertionId: bytes32('a') }),
      says({ type: 'ResolutionRejected', marketId: bytes32('M'), assertionId: bytes32('a') })],
    [tell({ kind: 'RecordProposal', marketId: bytes32('N'), ...proposal }), rejected('unknown_market', 'N')],
    [tell({ kind: 'RecordDispute', marketId: bytes32('N'), assertionId: bytes32('a'), disputer: address('dan') }), rejected('unknown_market', 'N')],
    [tell({ kind: 'RecordRejection', marketId: bytes32('N'), assertionId: bytes32('a') }), rejected('unknown_market', 'N')],
    [redeem(undefined, 'N'), rejected('unknown_market', 'N')],
  ],
};

function sync(block: number, market = 'M') {
  const command: Omit<SyncPosition, 'v' | 'at'> = {
    kind: 'SyncPosition', marketId: bytes32(market), user: address('ben'), yesShares: UINT256_MAX, noShares: '0', block,
  };
  return tell(command);
}

const synced = (market: string) => says({
  type: 'PositionSynced', marketId: bytes32(market), user: address('ben'), yesShares: UINT256_MAX, noShares: '0',
});

const syncing: Record<string, Line[]> = {
  'balances are good at the end of the chain\'s last block, and as long as nothing follows it': [
    M, [sync(0, 'N'), rejected('unknown_market', 'N')],
    [sync(0), rejected('outdated_sync', 'M')],
    [advance(1, 5), advanced(1, 5)],
    [sync(4), rejected('outdated_sync', 'M')],
    [sync(6), rejected('outdated_sync', 'M')],
    [sync(5), synced('M')],
    [sync(5), synced('M')],
    [redeem([1, 6, 0]), redeemed],
    [sync(5), rejected('outdated_sync', 'M')],
    [sync(6), rejected('outdated_sync', 'M')],
    [advance(1, 6), advanced(1, 6)],
    [sync(6), synced('M')],
  ],
  'the chain is the market\'s': [
    M, [open('P', { chainId: 2 }), opened('P')], [advance(1, 5), advanced(1, 5)], [advance(2, 8), advanced(2, 8)],
    [sync(8), rejected('outdated_sync', 'M')], [sync(5, 'P'), rejected('outdated_sync', 'P')], [sync(8, 'P'), synced('P')],
  ],
  'the clock changes nothing about it': [M, [advance(1, 5), advanced(1, 5)], [clock(1_000)], [sync(5), synced('M')]],
};

for (const [engine, create] of Object.entries(engines)) {
  for (const [subject, scenarios] of Object.entries({ facts, settlements, tokens, resolution, syncing })) {
    describe(`${engine}, ${subject}`, () => {
      for (const [name, lines] of Object.entries(scenarios)) it(name, () => { play(create(), lines); });
    });
  }
}
