/** The rules of the market factory and the quick resolver that matter to quick markets, and the calls that a node answers about them. */
import { id, solidityPackedKeccak256 } from 'ethers';
import { abi, add, CHAIN, emitted, NOBODY, TREASURY, type ContractState, type SimLog } from './contracts.js';

/** What every trader has of each share of a new quick market: given, so that somebody can sell. */
export interface Endowment {
  readonly traders: readonly string[];
  readonly shares: bigint;
}

export type QuickCall
  = | { readonly kind: 'create'; readonly questionId: string; readonly asset: string; readonly startTime: number; readonly expiration: number }
    | {
      readonly kind: 'resolve'; readonly market: string; readonly startPrice: bigint; readonly startPublishedS: number; readonly endPrice: bigint;
      readonly endPublishedS: number;
    };

/** A call of the factory or the resolver; undefined for any other. */
export function readQuickCall(to: string, data: string): QuickCall | undefined {
  const { marketFactory, quickResolver } = CHAIN.contracts;
  const contract = { [marketFactory]: abi.factory, [quickResolver]: abi.quickResolver }[to];
  const call = contract?.parseTransaction({ data });
  if (call?.name === 'createQuickMarket') {
    const [questionId, asset, startTime, expiration] = call.args.toArray() as [string, string, bigint, bigint];
    return { kind: 'create', questionId, asset, startTime: Number(startTime), expiration: Number(expiration) };
  }
  if (call?.name !== 'resolve') return undefined;
  const [market, startPrice, startPublished, endPrice, endPublished] = call.args.toArray() as [string, bigint, bigint, bigint, bigint];
  return { kind: 'resolve', market: market.toLowerCase(), startPrice, startPublishedS: Number(startPublished), endPrice, endPublishedS: Number(endPublished) };
}

/** A market's contract. */
export const addressOf = (marketId: string): string => `0x${marketId.slice(-40)}`;
const MAX_PUBLISH_DELAY_S = 15;

export interface QuickMoment {
  readonly state: ContractState;
  /** The block's time, Unix seconds. */
  readonly timestamp: number;
  readonly endowment: Endowment;
  /** Called when a market is resolved; absent while a node only tries a call. */
  readonly told?: (marketId: string, outcome: number) => void;
}

export function carryOutQuick(call: QuickCall, moment: QuickMoment): { readonly logs: readonly SimLog[] } | { readonly reverted: string } {
  return call.kind === 'create' ? create(call, moment) : resolve(call, moment);
}

function create({ questionId, asset, startTime, expiration }: QuickCall & { kind: 'create' }, { state, timestamp, endowment: { traders, shares } }: QuickMoment) {
  const marketId = solidityPackedKeccak256(['address', 'bytes32', 'uint256'], [CHAIN.contracts.quickResolver, questionId, 2]);
  if (expiration <= timestamp) return { reverted: `InvalidExpiration(${expiration})` };
  if (state.quick.has(marketId)) return { reverted: `MarketAlreadyExists(${marketId})` };
  const tokens = [BigInt(id(`yes ${marketId}`)), BigInt(id(`no ${marketId}`))] as const;
  state.quick.set(marketId, { marketId, tokens, asset, startTime, expiration });
  add(state.escrow, marketId, BigInt(traders.length) * shares);
  const logs = [
    emitted('factory', 'MarketCreated', [marketId, addressOf(marketId), NOBODY, expiration, 1, 0, ...tokens, 0, `${asset} up or down?`, '']),
    emitted('factory', 'QuickMarketCreated', [marketId, asset, startTime, expiration]),
  ];
  for (const trader of traders) {
    for (const token of tokens) {
      add(state.shares, `${trader} ${token}`, shares);
      logs.push(emitted('tokens', 'TransferSingle', [TREASURY, TREASURY, trader, token, shares]));
    }
  }
  return { logs };
}

function resolve(call: QuickCall & { kind: 'resolve' }, { state, timestamp, told }: QuickMoment) {
  const market = [...state.quick.values()].find(({ marketId }) => addressOf(marketId) === call.market);
  if (market === undefined) return { reverted: `UnknownMarket(${call.market})` };
  const { marketId, startTime, expiration } = market;
  if (timestamp < expiration) return { reverted: `MarketNotExpired(${expiration})` };
  if (state.resolved.has(marketId)) return { reverted: `MarketAlreadyResolved(${marketId})` };
  for (const [published, boundary] of [[call.startPublishedS, startTime], [call.endPublishedS, expiration]] as const) {
    if (published < boundary || published - boundary > MAX_PUBLISH_DELAY_S || published > timestamp) return { reverted: `InvalidPublishTime(${published}, ${boundary})` };
  }
  const outcome = call.endPrice >= call.startPrice ? 0 : 1;
  state.resolved.set(marketId, outcome);
  told?.(marketId, outcome);
  const payouts = outcome === 0 ? [1, 0] : [0, 1];
  return { logs: [emitted('tokens', 'ConditionResolution', [marketId, CHAIN.contracts.quickResolver, marketId, 2, payouts])] };
}

export interface QuickViewed {
  readonly state: ContractState;
  readonly isMarket: (marketId: string) => boolean;
}

/** What a view of the factory, the resolver or the tokens returns; undefined for another call. */
export function viewQuick(target: string, data: string, { state, isMarket }: QuickViewed): string | undefined {
  const { marketFactory, quickResolver, conditionalTokens } = CHAIN.contracts;
  const contract = { [marketFactory]: abi.factory, [quickResolver]: abi.quickResolver, [conditionalTokens]: abi.tokens }[target];
  const call = contract?.parseTransaction({ data });
  if (contract === undefined || call == null) return undefined;
  const result = ((): unknown => {
    switch (call.name) {
      case 'CREATOR_ROLE':
      case 'OPERATOR_ROLE': return id(call.name);
      case 'hasRole': return true;
      case 'marketOf': return isMarket(call.args[0] as string) ? addressOf(call.args[0] as string) : NOBODY;
      case 'payoutDenominator': return state.resolved.has(call.args[0] as string) ? 1 : 0;
      default: return undefined;
    }
  })();
  return result === undefined ? undefined : contract.encodeFunctionResult(call.name, [result]);
}
