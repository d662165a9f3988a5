/**
 * `npm run demo [URL]`: two wallets trade, the chain settles the trade, and the demo checks balances, holdings and history. Without a URL,
 * uses the service at the default address if one answers there, else starts its own stack. Exits non-zero when a check fails.
 */
import { Command } from 'commander';
import { Wallet } from 'ethers';
import { pause } from '../../engine/waiting.js';
import { Refused, createApi, type Api, type Book, type Chain, type Config, type Entry, type Market, type Order, type Position, type Trade } from './demo/api.js';
import { startOwnStack } from './demo/stack.js';
import { chainSide, type ChainSide } from './demo/wallets.js';
import { toolAction } from './tool.js';

const DEFAULT_URL = 'http://127.0.0.1:8080';
const SHARE = 1_000_000;
const SETTLED_WITHIN_MS = 60_000;
const POLL_MS = 50;

await new Command('demo')
  .description('Trades with two wallets and checks the settlement, on a running service or on its own stack.')
  .argument('[url]', `URL of the service; default: ${DEFAULT_URL} if it answers, else a new stack`)
  .action(toolAction(main, process.env))
  .parseAsync();

async function main(given: string | undefined): Promise<void> {
  if (given !== undefined || await answers(DEFAULT_URL)) return demonstrate(given ?? DEFAULT_URL);
  say(`No service answers at ${DEFAULT_URL}: starting a stack for this demonstration, which takes a moment.\n`);
  const stack = await startOwnStack();
  try {
    await demonstrate(stack.url);
  } finally {
    await stack.stop();
  }
}

async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/health/live`).then(({ ok }) => ok, () => false);
}

interface Scene {
  readonly api: Api;
  readonly config: Config;
  readonly market: Market;
  readonly price: number;
}

async function demonstrate(url: string): Promise<void> {
  if (!await answers(url)) throw new Error(`no service answers at ${url}: start one with npm start, or give the URL at which it says that it runs`);
  const api = createApi(url);
  const config = await api.get<Config>('/api/v1/config');
  const { markets: [market] } = await api.get<{ markets: readonly Market[] }>('/api/v1/markets');
  if (market === undefined) throw new Error(`${url} has no open market`);
  say(`Market ${market.id}\n  ${market.question}`);
  const scene = { api, config, market, price: await freePrice(api, market.id) };
  const [chain] = config.chains;
  if (chain?.rpcUrl == null) {
    if (chain !== undefined && chain.contracts['settlement'] !== null) {
      throw new Error(`${url} settles on chain ${chain.chainId} (${chain.name}), where the demonstration has no money: it needs a development stack`);
    }
    say('\nThis service settles on no chain: the orders are matched, but the trade does not settle.');
    await trade(scene, { seller: { wallet: Wallet.createRandom() }, buyer: { wallet: Wallet.createRandom() } });
  } else {
    const side = chainSide(chain, config.serverTime);
    await tradeAndSettle(scene, chain, side).finally(() => { side.close(); });
  }
  say('\nAll as expected.');
}

async function tradeAndSettle(scene: Scene, chain: Chain, side: ChainSide): Promise<void> {
  const { market, price } = scene;
  const [seller, buyer] = [await side.fundedWallet(20 * SHARE), await side.fundedWallet(20 * SHARE)];
  say(`\nOn chain ${chain.chainId} two fresh wallets have 20 test USDC each\n  seller ${seller.address}\n  buyer  ${buyer.address}`);
  await side.splitAndApprove(seller, market, 10 * SHARE);
  say('The seller splits 10 USDC into 10 YES and 10 NO, and approves the settlement contract to move them');
  if (chain.exposureCheck) await showExposure(scene, buyer);
  else say('The exposure check is off (EXPOSURE_CHECK=true turns it on)');

  const permit = await side.permit(buyer, 20 * SHARE);
  const bid = await trade(scene, { seller: { wallet: seller }, buyer: { wallet: buyer, permit } });
  const settled = await settledTrade(scene, buyer.address);
  say(`\nThe fill is settled by transaction ${settled.txHash}`);
  const cost = Math.ceil(4 * price);
  await showBalances(scene, side, [
    { name: 'seller', wallet: seller, yes: 6, no: 10, collateral: 10 * SHARE + cost }, { name: 'buyer', wallet: buyer, yes: 4, no: 0, collateral: 20 * SHARE - cost },
  ]);
  await prove(scene, [bid.position]);
  const anchor = await side.anchored(settled.txHash);
  say(`The transaction anchored position ${anchor.position} of the history with digest ${anchor.digest}`);
  const { events: [entry] } = await scene.api.get<{ events: readonly Entry[] }>(`/api/v1/events?from=${anchor.position}&limit=1`, anchor.position);
  expect('the history has the anchored digest', entry?.digest, anchor.digest);
}

/** Shows how the exposure check refuses a bid without enough balance, and a bid without allowance. */
async function showExposure({ api, config, market: { id: marketId }, price }: Scene, wallet: Wallet): Promise<void> {
  for (const [size, code] of [[1_000 * SHARE, 'insufficient_balance'], [4 * SHARE, 'insufficient_allowance']] as const) {
    const refused = await api.place(config, { wallet, marketId, side: 0, price, size }).then(() => undefined, (error: unknown) => error);
    if (!(refused instanceof Refused)) throw new Error(`expected that a bid is refused with ${code}`);
    expect('the exposure check names what is missing', refused.problem['code'], code);
    const { required, available, reserved } = refused.problem;
    say(`The buyer bids for ${shown(size)} YES without approval: ${refused.status} ${code}, required ${required}, available ${available}, reserved ${reserved}`);
  }
}

type Side = Pick<Order, 'wallet' | 'permit'>;

/** Places an ask for 10 YES and a bid for 4 that matches it; returns the bid. */
async function trade({ api, config, market: { id: marketId }, price }: Scene, { seller, buyer }: { seller: Side; buyer: Side }) {
  const ask = await api.place(config, { ...seller, marketId, side: 1, price, size: 10 * SHARE });
  say(`\nThe seller asks ${shown(price)} for 10 YES: position ${ask.position}, ${ask.matches} matches`);
  const bid = await api.place(config, { ...buyer, marketId, side: 0, price, size: 4 * SHARE });
  say(`The buyer bids ${shown(price)} for 4 YES${buyer.permit === undefined ? '' : ', with a permit'}: position ${bid.position}, ${bid.matches} match`);
  expect('the bid matches the ask', bid.matches, 1);
  const book = await api.get<Book>(`/api/v1/orderbook/${marketId}?outcome=YES`, bid.position);
  say('YES book');
  for (const { price: level, size } of book.asks.slice(0, 5).reverse()) say(`  ask ${shown(level)}  ${shown(size)}`);
  for (const { price: level, size } of book.bids.slice(0, 5)) say(`  bid ${shown(level)}  ${shown(size)}`);
  expect('the rest of the ask rests in the book', book.asks.find((level) => level.price === price)?.size, 6 * SHARE);
  await prove({ api }, [ask.position]);
  return bid;
}

/** A price inside the spread, so that the demonstration trades only with itself. */
async function freePrice(api: Api, marketId: string): Promise<number> {
  const { bids, asks } = await api.get<Book>(`/api/v1/orderbook/${marketId}?outcome=YES`);
  const [low, high] = [bids.at(0)?.price ?? 0, asks.at(0)?.price ?? 1_000_000];
  if (high - low < 2) throw new Error('the YES book has no room between bid and ask for a demonstration');
  return Math.min(high - 1, Math.max(low + 1, 620_000));
}

async function settledTrade({ api, market }: Scene, buyer: string): Promise<Trade> {
  let status = '';
  for (let waitedMs = 0; waitedMs < SETTLED_WITHIN_MS; waitedMs += POLL_MS) {
    const { trades } = await api.get<{ trades: readonly Trade[] }>(`/api/v1/trades/${market.id}`);
    const found = trades.find((each) => each.buyer === buyer.toLowerCase());
    if (found !== undefined && found.settlementStatus !== status) say(`Fill of ${shown(found.size)} at ${shown(found.price)}: ${status = found.settlementStatus}`);
    if (found?.settlementStatus === 'confirmed') return found;
    await pause(POLL_MS);
  }
  throw new Error(`the fill has not settled within ${SETTLED_WITHIN_MS} ms; its status is ${status || 'unknown: see /api/v1/failed-trades'}`);
}

interface Expected { readonly name: string; readonly wallet: Wallet; readonly yes: number; readonly no: number; readonly collateral: number }

async function showBalances({ api, market }: Scene, side: ChainSide, wallets: readonly Expected[]): Promise<void> {
  say('\nBalances on the chain, and positions on the exchange');
  for (const { name, wallet, yes, no, collateral } of wallets) {
    const balances = await side.balances(wallet, market);
    const position = await api.get<Position>(`/api/v1/positions/${market.contractAddress}?user=${wallet.address}`);
    const has = `${shown(Number(balances.yesShares))} YES, ${shown(Number(balances.noShares))} NO, ${shown(Number(balances.collateral))} USDC`;
    say(`  ${name.padEnd(6)}  ${has}; position ${shown(position.yesShares)} YES, ${shown(position.noShares)} NO, invested ${shown(position.totalInvested ?? 0)}`);
    expect(`the ${name} has the YES shares`, balances.yesShares, BigInt(yes * SHARE));
    expect(`the ${name} has the NO shares`, balances.noShares, BigInt(no * SHARE));
    expect(`the ${name} has the collateral`, balances.collateral, BigInt(collateral));
    expect(`the ${name}'s position is the chain's balance of YES`, BigInt(position.yesShares), balances.yesShares);
    expect(`the ${name}'s position is the chain's balance of NO`, BigInt(position.noShares), balances.noShares);
  }
}

async function prove({ api }: Pick<Scene, 'api'>, positions: readonly number[]): Promise<void> {
  for (const position of positions) {
    const { events: [entry] } = await api.get<{ events: readonly Entry[] }>(`/api/v1/events?from=${position}&limit=1`, position);
    if (entry === undefined) throw new Error(`the history has no entry at position ${position}`);
    expect('the history has the entry at the position', entry.position, position);
    say(`  history ${position}: ${entry.outcome.events.map(({ type }) => type).join(', ')}, digest ${entry.digest}`);
  }
}

function expect(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`expected that ${what}: ${String(expected)}, not ${String(actual)}`);
}

function shown(amount: number): string {
  return (amount / SHARE).toFixed(2);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
