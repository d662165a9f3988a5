/** Quick markets that a service makes while it dies all the time, as the chain has them, and traders who split and redeem in them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Interface, ZeroHash, type InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { crashDelivery } from './crash-delivery.js';
import type { CrashChain, CrashTrader } from './crash-chain.js';
import { relayClientOf, type CrashRelays, type CrashRelaysParts, type Relayed } from './crash-relays.js';
import type { DeployedMarket } from './deployed-chain.js';
import { until } from './until.js';

export interface QuickOnChain extends DeployedMarket {
  readonly asset: string;
  readonly startTime: number;
}

const USDC = 10n ** 6n;
/** Longer than a market lives, with all that may befall its resolution. */
const RESOLVED_S = 300;
const STAKE = 1_000n * USDC;
/** Estimates would be of a state that other transactions change. */
const GAS = 1_000_000;
const FACTORY = new Interface(marketFactory.abi as InterfaceAbi);
const TOKENS = new Interface(conditionalTokens.abi as InterfaceAbi);

type CrashQuick = ReturnType<typeof crashQuick>;

export function crashQuick(chain: CrashChain) {
  const { contracts, startBlock } = chain.chain;
  const all: QuickOnChain[] = [];
  const tradable: QuickOnChain[] = [];
  let fromBlock = startBlock;

  /** Whoever has means gets shares of each new market. */
  async function look(): Promise<void> {
    const latest = Number(await chain.rpc('eth_blockNumber'));
    const found = fromBlock > latest ? [] : await quickMarketsIn(chain, fromBlock, latest);
    fromBlock = latest + 1;
    for (const market of found) {
      all.push(market);
      for (const trader of chain.traders) if (trader.means === 'rich') await split(trader, market);
      tradable.push(market);
    }
    // One at least is left to those who trade.
    while (tradable.length > 1 && tradable[0]!.expiration <= Date.now() / 1_000) tradable.shift();
  }

  async function split({ wallet, address }: CrashTrader, { marketId }: DeployedMarket): Promise<void> {
    await chain.send(wallet, 'conditionalTokens', 'splitPosition', [contracts.collateral, ZeroHash, marketId, [1n, 2n], STAKE], GAS);
    chain.funds.set(address, chain.funds.get(address)! - STAKE);
  }

  return {
    all, tradable,
    async watch(signal: AbortSignal): Promise<void> {
      for (; !signal.aborted; await sleep(200)) await look();
    },
    /** What the chain pays per share of each outcome; undefined before it is resolved. */
    async payoutsOf({ marketId }: DeployedMarket): Promise<readonly bigint[] | undefined> {
      const denominator = await chain.read('conditionalTokens', 'payoutDenominator', [marketId]) as bigint;
      if (denominator === 0n) return undefined;
      return await Promise.all([0n, 1n].map((i) => chain.read('conditionalTokens', 'payoutNumerators', [marketId, i]) as Promise<bigint>));
    },
    /** The trader's own transaction. Returns what the chain pays for all its shares. */
    async redeem({ wallet }: CrashTrader, { marketId }: DeployedMarket): Promise<bigint> {
      const { logs } = await chain.send(wallet, 'conditionalTokens', 'redeemPositions', [contracts.collateral, ZeroHash, marketId, [1n, 2n]], GAS);
      const paid = logs.map((log) => TOKENS.parseLog({ topics: log.topics, data: log.data })).find((log) => log?.name === 'PayoutRedemption');
      return paid!.args['payout'] as bigint;
    },
  };
}

async function quickMarketsIn({ chain: { contracts }, rpc }: CrashChain, from: number, to: number): Promise<QuickOnChain[]> {
  const range = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` };
  const logs = await rpc('eth_getLogs', [{ address: contracts.marketFactory, ...range }]) as { topics: string[]; data: string }[];
  const events = logs.map((log) => FACTORY.parseLog(log)).filter((log) => log !== null);
  return events.filter(({ name }) => name === 'QuickMarketCreated').map(({ args: { marketId, asset, startTime, endTime } }) => {
    const { market, yesId, noId } = events.find(({ name, args }) => name === 'MarketCreated' && args['marketId'] === marketId)!.args;
    const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`;
    return {
      marketId: marketId as string, asset: asset as string, address: (market as string).toLowerCase(), startTime: Number(startTime),
      expiration: Number(endTime), yesId: word(yesId as bigint), noId: word(noId as bigint),
    };
  });
}

export interface QuickRelays extends Pick<CrashRelays, 'relayed' | 'unsent'> {
  /** Traders without gas enter one market after the other and redeem what they have when it is resolved. Resolves after the signal. */
  relay(signal: AbortSignal): Promise<void>;
  /** Redeems a trader's shares in a resolved market through the relayer. */
  redeem(trader: CrashTrader, market: DeployedMarket): Promise<void>;
  /** How many markets they have entered and left. */
  lives(): number;
}

export function quickRelays(parts: CrashRelaysParts, quick: CrashQuick): QuickRelays {
  const { chain } = parts;
  const notes = { relayed: new Map<string, Relayed>(), unsent: new Set<string>(), refusals: new Set<number>() };
  const { deliver } = crashDelivery(parts);
  const relayClients = new Map<string, ReturnType<typeof relayClientOf>>();
  let lives = 0;

  function relayClientFor(trader: CrashTrader) {
    const relays = relayClients.get(trader.address) ?? relayClientOf(trader, { ...parts, ...notes, deliver });
    relayClients.set(trader.address, relays);
    return relays;
  }

  async function redeem(trader: CrashTrader, { marketId: conditionId }: DeployedMarket): Promise<void> {
    const relays = await relayClientFor(trader);
    await relays.carryOut('ctf-redemption', relays.client.bodies.redemption(trader.wallet, { conditionId }), {});
  }

  async function live(trader: CrashTrader, signal: AbortSignal): Promise<void> {
    const { wallet, address } = trader;
    const relays = await relayClientFor(trader);
    while (!signal.aborted) {
      await sleep(100);
      const market = quick.tradable[0];
      if (market === undefined || !await relays.knows(market, address)) continue;
      const amount = 5n * USDC;
      await relays.carryOut('ctf-split', relays.client.bodies.sets(wallet, 'ctf-split', { conditionId: market.marketId, amount }), {});
      chain.funds.set(address, chain.funds.get(address)! - amount);
      await until(`${market.marketId} is resolved`, async () => signal.aborted || await quick.payoutsOf(market) !== undefined, RESOLVED_S);
      if (signal.aborted) return;
      await redeem(trader, market);
      lives++;
    }
  }

  return {
    ...notes, redeem, lives: () => lives,
    async relay(signal) {
      await Promise.all(chain.traders.filter(({ means }) => means === 'gasless').map((trader) => live(trader, signal)));
    },
  };
}
