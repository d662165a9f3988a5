/** The chain of a crash test, which outlives the service: traders with and without means, and what they do there by themselves meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet, ZeroHash, id, type HDNodeWallet } from 'ethers';
import { rpcTo } from './proxies.js';
import { deployedChain, testAccounts, type DeployedChain, type DeployedMarket } from './deployed-chain.js';
import { extent } from './extent.js';
import { until } from './until.js';

/**
 * `rich`: collateral, shares, both allowed to the settlement. `permits`: allows collateral by permits only. `gasless`: rich, but without
 * the chain's coin, so that the relayer has to do everything. The others lack just what their name says, so that their fills fail.
 */
export type Means = 'rich' | 'permits' | 'gasless' | 'penniless' | 'shareless' | 'unapproved';

export interface CrashTrader {
  readonly wallet: Wallet;
  /** Lower-case. */
  readonly address: string;
  readonly means: Means;
}

/** How the chain behaves. */
export interface ChainMode {
  /** Blocks come with transactions; else every so often, up to `blockMs` apart, and transactions wait for them. */
  readonly blockMs?: number;
  readonly confirmations: number;
  readonly exposureCheck: boolean;
}

const MEANS: readonly Means[] = [
  'gasless', 'gasless', 'gasless', 'rich', 'rich', 'permits', 'permits', 'penniless', 'penniless', 'shareless', 'unapproved',
];
const USDC = 10n ** 6n;
const PLENTY = 1_000_000n * USDC;
/** Estimates would be of a state that other transactions change. */
const GAS = 1_000_000;
/** Of the markets that are resolved on the way. */
const BOND = 10n * USDC;
const DISPUTE_WINDOW_S = 1;
/** How long these can be traded: whoever splits in one waits for its end. */
const SHORT_S = extent({ push: 12, long: 30 });

export type CrashChain = Awaited<ReturnType<typeof crashChain>>;

export interface CrashChainOptions {
  /** One trader each. */
  readonly means?: readonly Means[];
  /** Whether the service has a key for quick markets. */
  readonly hasQuickMarkets?: boolean;
}

export async function crashChain(random: () => number, { means: wanted = MEANS, hasQuickMarkets = false }: CrashChainOptions = {}) {
  const deployed = await deployedChain({ disputeWindowS: BigInt(DISPUTE_WINDOW_S) });
  const creation = oneByOne();
  const chain: DeployedChain = { ...deployed, createMarket: (market) => creation(() => deployed.createMarket(market)) };
  // The deployer's key mints and creates markets: the service needs keys that nobody else sends with.
  const [quick, stranger, relayer, operator] = testAccounts().slice(6) as [HDNodeWallet, HDNodeWallet, HDNodeWallet, HDNodeWallet];
  if (hasQuickMarkets) {
    await chain.send(chain.operator, 'marketFactory', 'grantRole', [id('CREATOR_ROLE'), quick.address]);
    await chain.send(chain.operator, 'quickResolver', 'grantRole', [id('OPERATOR_ROLE'), quick.address]);
  }
  await chain.send(chain.operator, 'settlement', 'grantRole', [await chain.read('settlement', 'OPERATOR_ROLE', []), operator.address]);
  const markets = [await chain.createMarket({ question: 'rain' }), await chain.createMarket({ question: 'sun' })];
  const traders = wanted.map((means, i): CrashTrader => {
    const wallet = new Wallet(id(`crash trader ${i}`));
    return { wallet, means, address: wallet.address.toLowerCase() };
  });
  for (const trader of traders) await equip(chain, trader, markets);
  /** What traders have got and given on the chain, but for fills. */
  const funds = new Map<string, bigint>();
  for (const { address, wallet } of traders) funds.set(address, await chain.usdcOf(wallet));
  const acts = actsOf(chain, { traders, markets, funds, random });
  // Past the provider, which holds back what it asks together with a transaction until that is mined.
  const rpc = rpcTo(chain.url);
  let mode: ChainMode = { confirmations: 0, exposureCheck: false };
  const shortMarkets: DeployedMarket[] = [];
  const strangersTurn = oneByOne();
  let shortQuestions = 0;
  return {
    ...chain, operator, relayer, quick, markets, traders, funds, acts,
    /** Markets that nobody trades, and whose end is near from the start. */
    shortMarkets,
    async openShortMarket() {
      const expiration = Math.max(await chain.now(), Math.floor(Date.now() / 1_000)) + SHORT_S;
      const market = await chain.createMarket({ question: `short question ${shortQuestions++}`, expiration, bond: BOND });
      shortMarkets.push(market);
      return { ...market, bond: BOND };
    },
    /** Resolves when a proposal that is on the chain now can be disputed no more. */
    async disputeWindowPasses(): Promise<void> {
      const start = await chain.now();
      await until('a dispute window has passed', async () => {
        if (mode.blockMs === undefined) await blockWithoutTraders(rpc);
        return await chain.now() > start + DISPUTE_WINDOW_S;
      });
    },
    /** A stranger's transaction with somebody's signed message: it fails when the message has been carried out before. */
    async bring(method: string, args: readonly unknown[]): Promise<void> {
      const sent = strangersTurn(() => chain.send(stranger, 'conditionalTokens', method, args, GAS));
      await sent.catch((error: unknown) => { if (!/reverted/.test(String(error))) throw error; });
    },
    async enter(next: ChainMode): Promise<void> {
      mode = next;
      await rpc('evm_setAutomine', [mode.blockMs === undefined]);
    },
    /** Makes blocks while none come with transactions. */
    async mine(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        if (mode.blockMs !== undefined) await rpc('evm_mine', []);
        await sleep(20 + random() % (mode.blockMs ?? 200));
      }
    },
    /** What the chains file names. */
    keys: { OPERATOR_KEY: operator.privateKey, RELAYER_KEY: relayer.privateKey, ...hasQuickMarkets ? { QUICK_KEY: quick.privateKey } : {} },
    /** A chains file's content. */
    file: (rpcUrl: string) => chainsFile(chain, { ...mode, rpcUrl, hasQuickMarkets, relayerAddress: relayer.address, quickAddress: quick.address }),
  };
}

/** When the traders have ended, no transaction makes a block any more. */
async function blockWithoutTraders(rpc: ReturnType<typeof rpcTo>): Promise<void> {
  await sleep(500);
  await rpc('evm_mine', []);
}

function chainsFile({ chain }: DeployedChain, terms: ChainMode & FileTerms): string {
  const { confirmations, exposureCheck, rpcUrl, hasQuickMarkets, relayerAddress, quickAddress } = terms;
  const { chainId, name, testnet, startBlock, contracts, domainName: settlementDomainName } = chain;
  const quickKey = hasQuickMarkets ? { quickKey: { env: 'QUICK_KEY' }, quickAddress } : {};
  const keys = { operatorKey: { env: 'OPERATOR_KEY' }, relayerKey: { env: 'RELAYER_KEY' }, relayerAddress, ...quickKey };
  const given = { chainId, name, testnet, startBlock, contracts, settlementDomainName, confirmations, exposureCheck, ...keys };
  return JSON.stringify({ chains: [{ ...given, rpcUrls: [rpcUrl], pollMs: 50 }] });
}

interface FileTerms {
  readonly rpcUrl: string;
  readonly hasQuickMarkets: boolean;
  readonly relayerAddress: string;
  readonly quickAddress: string;
}

/** Two transactions of one account at once may get the same nonce. */
function oneByOne() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(send: () => Promise<T>): Promise<T> => {
    const sent = last.then(send);
    last = sent.catch(() => undefined);
    return sent;
  };
}

async function equip(chain: DeployedChain, { wallet, means }: CrashTrader, markets: readonly DeployedMarket[]): Promise<void> {
  await chain.equip(wallet, { usdc: means === 'penniless' ? 0n : PLENTY });
  if (means !== 'shareless') for (const market of markets) await chain.equip(wallet, { shares: PLENTY, market });
  if (means === 'permits') await chain.approve(wallet, 0n);
  if (means === 'unapproved') await chain.approveShares(wallet, false);
  await chain.approve(wallet, 2n ** 256n - 1n, chain.chain.contracts.conditionalTokens);
  if (means === 'gasless') await chain.rpc('anvil_setBalance', [wallet.address, '0x0']);
}

interface Acting {
  readonly traders: readonly CrashTrader[];
  readonly markets: DeployedMarket[];
  readonly funds: Map<string, bigint>;
  readonly random: () => number;
}

/** What traders do on the chain by themselves; each resolves when it is mined. */
function actsOf(chain: DeployedChain, { traders, markets, funds, random }: Acting) {
  const pick = <T>(list: readonly T[]): T => list[random() % list.length]!;
  const of = (...means: Means[]) => pick(traders.filter((trader) => means.includes(trader.means)));
  const some = () => BigInt(1 + random() % 20) * USDC;
  const move = (address: string, amount: bigint) => { funds.set(address, funds.get(address)! + amount); };
  const sets = (marketId: string, amount: bigint) => [chain.chain.contracts.collateral, ZeroHash, marketId, [1n, 2n], amount];
  const split = async ({ wallet, address }: CrashTrader, { marketId }: DeployedMarket, amount: bigint) => {
    await chain.send(wallet, 'conditionalTokens', 'splitPosition', sets(marketId, amount), GAS);
    move(address, -amount);
  };
  return {
    split: () => split(of('rich'), pick(markets), some()),
    async merge() {
      const [{ wallet, address }, amount] = [of('rich'), some()];
      await chain.send(wallet, 'conditionalTokens', 'mergePositions', sets(pick(markets).marketId, amount), GAS);
      move(address, amount);
    },
    async giveShares() {
      const [from, to, market] = [of('rich'), pick(traders), pick(markets)];
      const token = pick([market.yesId, market.noId]);
      await chain.send(from.wallet, 'conditionalTokens', 'safeTransferFrom', [from.address, to.address, token, some(), '0x'], GAS);
    },
    async giveCollateral() {
      const [from, to, amount] = [of('rich'), of('penniless'), 2n * USDC];
      await chain.send(from.wallet, 'collateral', 'transfer', [to.address, amount], GAS);
      move(from.address, -amount);
      move(to.address, amount);
    },
    async changeApproval() {
      await chain.send(of('unapproved').wallet, 'conditionalTokens', 'setApprovalForAll', [chain.chain.contracts.settlement, random() % 2 === 0], GAS);
    },
    /** Takes effect after a while; the service is told at once. */
    async cancel(order: Readonly<Record<string, unknown>>, wallet: Wallet) {
      await chain.send(wallet, 'settlement', 'cancelOrders', [[order]], GAS);
    },
    async cancelBelow(nonce: number, { wallet }: CrashTrader) {
      await chain.send(wallet, 'settlement', 'scheduleCancelAll', [nonce], GAS);
    },
    /** A further market, in which only the rich have shares. */
    async openMarket(question: string) {
      const market = await chain.createMarket({ question });
      for (const trader of traders.filter(({ means }) => means === 'rich')) await split(trader, market, 10_000n * USDC);
      markets.push(market);
    },
  };
}
