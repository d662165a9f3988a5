/**
 * `npm run demo [URL]`: two wallets without gas go through the whole life of a market and trade in a quick market, and the demo checks balances,
 * holdings and history.
 * Without a URL, uses the service at the default address if one answers there, else starts its own stack. Exits non-zero when a check fails.
 */
import { Command } from 'commander';
import { Wallet } from 'ethers';
import { createApi, type Api, type ApiChain, type ApiConfig, type ApiMarket } from './demo/api.js';
import { ONE, say, step, until } from './demo/progress.js';
import { quickMarket } from './demo/quick-market.js';
import { startOwnStack } from './demo/stack.js';
import { bearerTokenFor } from './demo/token.js';
import { BOUGHT, costAt, freePrice, settledTrade, showAnchor, showBalances, showExposure, trade, type TradeScene } from './demo/trade.js';
import { chainSide, nodeIsAway, type ChainSide } from './demo/wallets.js';
import { wholeLife } from './demo/whole-life.js';
import { toolAction } from './terminal/tool.js';

const DEFAULT_URL = 'http://127.0.0.1:8080';
/** A market that closes within this time may close before the trade. */
const CLOSES_SOON_S = 60;

interface Options {
  readonly token?: string | undefined;
}

interface DemoOptions extends Options {
  readonly environment: Readonly<Record<string, string | undefined>>;
}

void new Command('demo')
  .description('Goes through the whole life of a market with two wallets without gas, and checks every step, on a running service or on its own stack.')
  .argument('[url]', `URL of the service; default: ${DEFAULT_URL} if it answers, else a new stack`)
  .option('--token <text>', 'bearer token for the relayer; default: TOKEN of the environment, else the file token in DATA_DIR of a stack on this machine')
  .action(toolAction(main, process.env))
  .parseAsync();

async function main(url: string | undefined, { token }: Options): Promise<void> {
  if (url !== undefined || await answers(DEFAULT_URL)) return demonstrate(url ?? DEFAULT_URL, { token, environment: process.env });
  say(`No service answers at ${DEFAULT_URL}: starting a stack for this demonstration, which takes a moment.`);
  const stack = await startOwnStack();
  try {
    await demonstrate(stack.url, { environment: { DATA_DIR: stack.dataDir } });
  } finally {
    await stack.stop();
  }
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/health/live`).then(({ ok }) => ok, () => false);
}

async function demonstrate(url: string, { token: option, environment }: DemoOptions): Promise<void> {
  if (!await answers(url)) throw new Error(`no service answers at ${url}: start one with npm start, or give the URL at which it says that it runs`);
  const api = createApi(url);
  const config = await readConfig(api);
  const [chain] = config.chains;
  if (chain === undefined || chain.contracts['settlement'] == null) {
    say('\nThis service settles on no chain: the orders are matched, but the trade does not settle.');
    await trade(await listedScene(api, config), { seller: { wallet: Wallet.createRandom() }, buyer: { wallet: Wallet.createRandom() } });
    return say('\nAll as expected.');
  }
  const place = `${url} settles on chain ${chain.chainId} (${chain.name})`;
  if (chain.rpcUrl === null || !chain.testnet) throw new Error(`${place}, where the demonstration has no money: it needs a development stack`);
  const token = chain.relayer === null ? undefined : await bearerTokenFor({ url, option, environment });
  const side = chainSide(chain, config.serverTime);
  try {
    if (token === undefined) await tradeWithGas(await listedScene(api, config), chain, side);
    else {
      const parts = { api, config, chain, side, token, environment };
      await wholeLife(parts);
      await quickMarket(parts);
    }
  } catch (error) {
    throw nodeIsAway(error) ? new Error(`the node of chain ${chain.chainId} at ${chain.rpcUrl} does not answer: ${error.message}`, { cause: error }) : error;
  } finally {
    side.close();
  }
  say('\nAll as expected.');
}

/** What the service tells its clients, once it has read the contracts of its first chain. */
function readConfig(api: Api): Promise<ApiConfig> {
  return until('the service has read the contracts of its chain', async () => {
    const config = await api.get<ApiConfig>('/api/v1/config');
    const [chain] = config.chains;
    return chain?.contracts['collateral'] != null && chain.collateral === null ? undefined : config;
  });
}

/** The newest open market; one that waits for its resolution is listed too. */
async function listedScene(api: Api, config: ApiConfig): Promise<TradeScene> {
  const { markets } = await api.get<{ markets: readonly ApiMarket[] }>('/api/v1/markets');
  const market = markets.find(({ expiration }) => expiration > config.serverTime + CLOSES_SOON_S);
  if (market === undefined) throw new Error('the service has no open market: npm run tool -- market create makes one');
  say(`Market ${market.id}\n  ${market.question}`);
  return { api, config, market, price: await freePrice(api, market.id) };
}

/** Where nothing is relayed: two wallets pay for their own transactions, and trade. */
async function tradeWithGas(scene: TradeScene, chain: ApiChain, side: ChainSide): Promise<void> {
  const { api, market, price } = scene;
  say(`This service relays nothing on chain ${chain.chainId}: the wallets pay for their transactions, and the demonstration ends with the trade.`);
  step('Two fresh wallets have ether and 20 test USDC each');
  const means = { collateral: 20 * ONE, sends: true };
  const [seller, buyer] = [await side.wallet(means), await side.wallet(means)];
  say(`  seller ${seller.address}\n  buyer  ${buyer.address}`);
  await side.splitAndApprove(seller, market, 10 * ONE);
  say('The seller splits 10 USDC into 10 YES and 10 NO, and approves the settlement contract to move them');
  step('They trade, and the fill settles on the chain');
  if (chain.exposureCheck) await showExposure(scene, buyer);
  else say('The exposure check is off (EXPOSURE_CHECK=true turns it on)');
  const { bid } = await trade(scene, { seller: { wallet: seller }, buyer: { wallet: buyer, permit: await side.permit(buyer, 20 * ONE) } });
  const { txHash } = await settledTrade(scene, buyer);
  const cost = costAt(price);
  await showBalances(scene, side, [
    { name: 'seller', wallet: seller, yes: 10 * ONE - BOUGHT, no: 10 * ONE, collateral: 10 * ONE + cost },
    { name: 'buyer', wallet: buyer, yes: BOUGHT, no: 0, collateral: 20 * ONE - cost },
  ]);
  await showAnchor(api, side, { bid, txHash });
}
