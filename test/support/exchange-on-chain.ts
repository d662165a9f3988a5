/** The whole exchange on a real chain, for tests: what it is told of the chain, waits, and comparisons with the chain's own word. */
import assert from 'node:assert/strict';
import { Interface, ZeroHash, id, type InterfaceAbi, type Wallet } from 'ethers';
import type { Event } from '../../engine/records/events.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { settlement } from '../../contracts-abi/settlement.js';
import type { ConfiguredChain } from '../../command/chain/configured-chain.js';
import type { IndexerState } from '../../command/indexer/role-state.js';
import type { SettlementState } from '../../command/settlement/role-state.js';
import {
  MAX_UINT256, deployedChain, type ContractsChain, type DeployedChain, type DeployedChainOptions, type DeployedMarket,
} from './deployed-chain.js';
import { exchangeStack, type ExchangeStack, type Fields } from '../harness/exchange.js';
import { startProxyTo } from './proxies.js';
import { until } from './until.js';

/** A whole share, and a unit of collateral. */
export const ONE = 1_000_000;

export type TradedChain<Chain extends ContractsChain = DeployedChain> = Chain & {
  /** Its entry in the exchange's settings. */
  configured(changes?: Partial<ConfiguredChain>): ConfiguredChain;
};

/** A chain with the contracts, and a key that only the exchange settles with. */
export async function tradedChain(options: DeployedChainOptions = {}): Promise<TradedChain> {
  return await withSettler(await deployedChain(options));
}

/** The same chain with such a key. */
export async function withSettler<Chain extends ContractsChain>(node: Chain): Promise<TradedChain<Chain>> {
  const settler = node.accounts[9]!;
  await node.send(node.operator, 'settlement', 'grantRole', [id('OPERATOR_ROLE'), settler.address]);
  return {
    ...node,
    configured: (changes = {}) => ({
      chain: node.chain, rpcUrls: [node.url], operatorKey: settler.privateKey, pollMs: 50, stalledAfterMs: Infinity, ...changes,
    }),
  };
}

/** An exchange with two markets, which reaches its chain through a proxy. */
export async function exchangeBehindProxy(options: DeployedChainOptions = {}) {
  const node = await tradedChain(options);
  const rain = await node.createMarket({ question: 'Will it rain?' });
  const sun = await node.createMarket({ question: 'Will the sun shine?' });
  const proxy = await startProxyTo(node.url);
  return { node, proxy, rain, sun, exchange: await exchangeStack({}, [node.configured({ rpcUrls: [proxy.url] })]) };
}

/** A chain as a process with all roles shows it. */
export type ChainState = IndexerState & SettlementState;

interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  readonly engine: { readonly position: number };
  readonly chains: readonly ChainState[];
}

export interface RecordedEvents {
  readonly position: number;
  readonly digest: string;
  /** The command's time in the history, in milliseconds. */
  readonly at: number;
  readonly events: readonly Event[];
}

/** Less than any test's own time, so that what has not come is named. */
const PATIENCE_S = 90;

/** Resolves with what `attempt` gives as soon as it gives something. */
export async function eventually<T>(what: string, attempt: () => Promise<T | undefined>): Promise<T> {
  return await until(what, attempt, PATIENCE_S);
}

/** What `/health/ready` says, with the parts that the caller names besides the usual ones. */
export async function readiness<Parts = unknown>(exchange: ExchangeStack): Promise<Readiness & Parts & { readonly status: number }> {
  const { status, text } = await exchange.request('GET', '/health/ready');
  return { status, ...JSON.parse(text) as Readiness & Parts };
}

/** Resolves when all that the chain has done by now is in the history, with the history's latest position. */
export async function caughtUp(exchange: ExchangeStack, node: ContractsChain): Promise<number> {
  const block = Number(await node.rpc('eth_blockNumber')) - node.chain.confirmations;
  return await eventually(`block ${block} is in the history`, async () => {
    const { engine, chains, reasons } = await readiness(exchange);
    const chain = chains.find(({ chainId }) => chainId === node.chain.chainId)!;
    assert.equal(chain.stopped, null, reasons.join());
    return (chain.finalBlock ?? -1) >= block && chain.lagBlocks === 0 ? engine.position - 1 : undefined;
  });
}

/** Resolves when no fill at or below the position waits for the chain, with a position by which that is so. */
export async function settled(exchange: ExchangeStack, position: number): Promise<number> {
  return await eventually('every fill is settled or has failed', async () => {
    const answer = await exchange.request('GET', '/api/v1/pending-trades', { headers: { 'X-Min-Log-Position': String(position) } });
    return answer.body['count'] === 0 ? answer.position : undefined;
  });
}

/** The whole history, by what the commands caused. */
export async function recordedEvents(exchange: ExchangeStack, position: number): Promise<RecordedEvents[]> {
  const records: RecordedEvents[] = [];
  for (let next = 0; next <= position;) {
    const page = await exchange.get(`/api/v1/events?from=${next}&limit=1000`) as {
      next: number; events: { position: number; digest: string; outcome: { at: number; events: Event[] } }[];
    };
    records.push(...page.events.map(({ outcome, ...rest }) => ({ position: rest.position, digest: rest.digest, ...outcome })));
    next = page.next;
  }
  return records;
}

/** All events of one type, in order. */
export async function eventsOf<T extends Event['type']>(exchange: ExchangeStack, type: T, position: number): Promise<Extract<Event, { type: T }>[]> {
  const records = await recordedEvents(exchange, position);
  return records.flatMap(({ events }) => events).filter((event): event is Extract<Event, { type: T }> => event.type === type);
}

/** Asserts that the documents about a market give each trader the chain's balances, and that nobody else holds anything. */
export async function assertPositionsAreBalances(
  exchange: ExchangeStack,
  { node, market, traders, position }: { node: ContractsChain; market: DeployedMarket; traders: readonly Wallet[]; position: number },
): Promise<void> {
  const holders = [];
  for (const trader of traders) {
    const { yes, no } = await node.sharesOf(trader, market);
    const { yesShares, noShares } = await exchange.get(`/api/v1/positions/${market.marketId}?user=${trader.address}`, position);
    assert.deepEqual([yesShares, noShares], [Number(yes), Number(no)], trader.address);
    if (yes > 0n || no > 0n) holders.push({ userAddress: trader.address.toLowerCase(), yesShares: Number(yes), noShares: Number(no) });
  }
  holders.sort((a, b) => (b.yesShares + b.noShares) - (a.yesShares + a.noShares) || (a.userAddress < b.userAddress ? -1 : 1));
  assert.deepEqual(await exchange.get(`/api/v1/holders/${market.marketId}`, position), {
    marketId: market.marketId, topHolders: holders.slice(0, 10), totalHolders: holders.length,
  });
}

const SETTLEMENT = new Interface(settlement.abi as InterfaceAbi);

/** Asserts that every batch on the chain carries the digest that the history has at its position. Returns how many there are. */
export async function assertAnchored(exchange: ExchangeStack, node: ContractsChain, position: number): Promise<number> {
  const digests = new Map((await recordedEvents(exchange, position)).map((record) => [record.position, record.digest]));
  const logs = await node.rpc('eth_getLogs', [{
    address: node.chain.contracts.settlement, fromBlock: '0x0', topics: [SETTLEMENT.getEvent('HistoryAnchored')!.topicHash],
  }]) as { topics: string[]; data: string }[];
  for (const log of logs) {
    const { position: at, digest } = SETTLEMENT.parseLog(log)!.args.toObject() as { position: bigint; digest: string };
    assert.equal(digest, digests.get(Number(at)), `the digest at ${at}`);
  }
  return logs.length;
}

/** A permit of the trader's for the settlement contract, as an order's body carries it. */
export async function permitOf(
  exchange: ExchangeStack, node: ContractsChain, { trader, value = MAX_UINT256, nonce, deadline = 4_000_000_000 }:
  { trader: Wallet; value?: bigint; nonce?: bigint; deadline?: number },
): Promise<{ permitSignature: Fields }> {
  const { chains } = await exchange.get('/api/v1/config') as {
    chains: { chainId: number; collateral: { name: string; version: string; address: string } }[];
  };
  const { name, version, address: verifyingContract } = chains.find(({ chainId }) => chainId === node.chain.chainId)!.collateral;
  const next = nonce ?? await node.read('collateral', 'nonces', [trader.address]) as bigint;
  const types = { Permit: ['owner address', 'spender address', 'value uint256', 'nonce uint256', 'deadline uint256'].map((field) => {
    const [fieldName, type] = field.split(' ') as [string, string];
    return { name: fieldName, type };
  }) };
  const signature = await trader.signTypedData({ name, version, chainId: node.chain.chainId, verifyingContract }, types, {
    owner: trader.address, spender: node.chain.contracts.settlement, value, nonce: next, deadline,
  });
  const [r, s, v] = [signature.slice(0, 66), `0x${signature.slice(66, 130)}`, Number(`0x${signature.slice(130)}`)];
  return { permitSignature: { nonce: next, value: String(value), deadline, v, r, s } };
}

/** What turns a set of YES and NO shares back into collateral. */
export function merge(node: ContractsChain, from: { readonly address: string }, { marketId }: DeployedMarket, amount: number) {
  return node.send(from, 'conditionalTokens', 'mergePositions', [node.chain.contracts.collateral, ZeroHash, marketId, [1n, 2n], amount]);
}

export const FACTORY = new Interface(marketFactory.abi as InterfaceAbi);
