/** The chain of a crash test, which outlives the service: traders with and without means, and what they do there by themselves meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet, ZeroHash, id } from 'ethers';
import { rpcTo } from './json-rpc.js';
import { deployedChain, testAccounts, type DeployedChain, type DeployedMarket } from './deployed-chain.js';

/**
 * `rich`: collateral, shares, both allowed to the settlement. `permits`: allows collateral by permits only. The others lack just
 * what their name says, so that their fills fail.
 */
export type Means = 'rich' | 'permits' | 'penniless' | 'shareless' | 'unapproved';

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

const MEANS: readonly Means[] = ['rich', 'rich', 'rich', 'rich', 'permits', 'permits', 'penniless', 'shareless', 'unapproved'];
const USDC = 10n ** 6n;
const PLENTY = 1_000_000n * USDC;
/** Estimates would be of a state that other transactions change. */
const GAS = 1_000_000;

export type CrashChain = Awaited<ReturnType<typeof crashChain>>;

export async function crashChain(random: () => number) {
  const chain = await deployedChain();
  // The deployer's key mints and creates markets: the service needs one that nobody else sends with.
  const operator = testAccounts()[9]!;
  await chain.send(chain.operator, 'settlement', 'grantRole', [await chain.read('settlement', 'OPERATOR_ROLE', []), operator.address]);
  const markets = [await chain.createMarket({ question: 'rain' }), await chain.createMarket({ question: 'sun' })];
  const traders = MEANS.map((means, i): CrashTrader => {
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
  return {
    ...chain, operator, markets, traders, funds, acts,
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
    /** A chains file's content. */
    file: (rpcUrl: string) => {
      const { chainId, name, testnet, startBlock, contracts, domainName: settlementDomainName } = chain.chain;
      const { confirmations, exposureCheck } = mode;
      const operatorKey = { env: 'OPERATOR_KEY' };
      const given = { chainId, name, testnet, startBlock, contracts, settlementDomainName, confirmations, exposureCheck, operatorKey };
      return JSON.stringify({ chains: [{ ...given, rpcUrls: [rpcUrl], pollMs: 50 }] });
    },
  };
}

async function equip(chain: DeployedChain, { wallet, means }: CrashTrader, markets: readonly DeployedMarket[]): Promise<void> {
  await chain.equip(wallet, { usdc: means === 'penniless' ? 0n : PLENTY });
  if (means !== 'shareless') for (const market of markets) await chain.equip(wallet, { shares: PLENTY, market });
  if (means === 'permits') await chain.approve(wallet, 0n);
  if (means === 'unapproved') await chain.approveShares(wallet, false);
  await chain.approve(wallet, 2n ** 256n - 1n, chain.chain.contracts.conditionalTokens);
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
