/** `npm run demo`: two wallets trade on a running service, and the log positions prove what happened. Exits non-zero when anything is off. */
import { Wallet, type HDNodeWallet } from 'ethers';

const base = process.argv[2] ?? 'http://127.0.0.1:8080';
const SHARE = 1_000_000;
const YES = 0;

interface Config {
  readonly serverTime: number;
  readonly chains: readonly { readonly orderDomain: { name: string; version: string; chainId: number; verifyingContract: string } }[];
  readonly orderTypes: { readonly Order: { name: string; type: string }[] };
}
interface Placed { readonly orderHash: string; readonly matches: number }
interface Book { readonly bids: readonly Level[]; readonly asks: readonly Level[] }
interface Level { readonly price: number; readonly size: number }
interface Trade { readonly price: number; readonly size: number; readonly buyer: string; readonly seller: string }
interface Position { readonly yesShares: number; readonly noShares: number; readonly yesCost?: number }
interface HistoryEvent { readonly type: string }
interface Entry { readonly position: number; readonly outcome: { readonly events: readonly HistoryEvent[] }; readonly digest: string }

await demonstrate();

async function demonstrate(): Promise<void> {
  const config = await get<Config>('/api/v1/config');
  const { markets } = await get<{ markets: readonly { id: string; question: string; contractAddress: string }[] }>('/api/v1/markets');
  const market = markets.at(0);
  if (market === undefined) throw new Error(`${base} has no open market`);
  const seller = Wallet.createRandom();
  const buyer = Wallet.createRandom();
  say(`Market ${market.id}\n  ${market.question}\n  seller ${seller.address}\n  buyer  ${buyer.address}`);

  const price = await freePrice(market.id);
  const ask = await place(config, { wallet: seller, marketId: market.id, side: 1, price, size: 10 * SHARE });
  say(`\nThe seller asks ${shown(10 * SHARE)} YES at ${shown(price)}: position ${ask.position}, ${ask.matches} matches`);
  const bid = await place(config, { wallet: buyer, marketId: market.id, side: 0, price, size: 4 * SHARE });
  say(`The buyer bids for ${shown(4 * SHARE)} YES at ${shown(price)}: position ${bid.position}, ${bid.matches} match`);
  expect('the bid matches the ask', bid.matches, 1);

  const book = await get<Book>(`/api/v1/orderbook/${market.id}?outcome=YES`, bid.position);
  say('\nYES book');
  for (const { price: level, size } of book.asks.slice(0, 5).reverse()) say(`  ask ${shown(level)}  ${shown(size)}`);
  for (const { price: level, size } of book.bids.slice(0, 5)) say(`  bid ${shown(level)}  ${shown(size)}`);
  expect('the rest of the ask stands on the book', book.asks.find((level) => level.price === price)?.size, 6 * SHARE);

  const { trades } = await get<{ trades: readonly Trade[] }>(`/api/v1/trades/${market.id}`, bid.position);
  const fill = trades.find((trade) => trade.buyer === buyer.address.toLowerCase());
  say(`\nFill: ${shown(fill?.size ?? 0)} at ${shown(fill?.price ?? 0)}, ${fill?.seller} to ${fill?.buyer}`);
  expect('the fill is of the size that crossed', fill?.size, 4 * SHARE);

  await showPositions(market.contractAddress, { seller, buyer, position: bid.position });
  await prove([ask.position, bid.position]);
  say('\nAll as expected.');
}

/** An ask price that nobody bids, so that the demonstration trades with itself only. */
async function freePrice(marketId: string): Promise<number> {
  const { bids, asks } = await get<Book>(`/api/v1/orderbook/${marketId}?outcome=YES`);
  const low = bids.at(0)?.price ?? 0;
  const high = asks.at(0)?.price ?? 1_000_000;
  if (high - low < 2) throw new Error('the YES book has no room between bid and ask for a demonstration');
  return Math.min(high - 1, Math.max(low + 1, 620_000));
}

interface Order { readonly wallet: HDNodeWallet; readonly marketId: string; readonly side: 0 | 1; readonly price: number; readonly size: number }

async function place(config: Config, { wallet, marketId, side, price, size }: Order): Promise<Placed & { position: number }> {
  const order = {
    marketId, trader: wallet.address, side, outcome: YES, price, size, nonce: 1, expiration: config.serverTime + 3_600,
    makerFeeRecipient: `0x${'0'.repeat(40)}`,
  };
  const signature = await wallet.signTypedData(config.chains[0]!.orderDomain, { Order: config.orderTypes.Order }, order);
  const response = await fetch(`${base}/api/v1/orders`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ order, signature }),
  });
  return { ...await answerOf<Placed>(response), position: Number(response.headers.get('X-Log-Position')) };
}

async function showPositions(
  market: string, { seller, buyer, position }: { seller: HDNodeWallet; buyer: HDNodeWallet; position: number },
): Promise<void> {
  say('\nPositions');
  for (const [name, wallet, expected] of [['seller', seller, -4 * SHARE], ['buyer', buyer, 4 * SHARE]] as const) {
    const held = await get<Position>(`/api/v1/positions/${market}?user=${wallet.address}`, position);
    say(`  ${name}  ${shown(held.yesShares)} YES, ${shown(held.noShares)} NO, cost ${shown(held.yesCost ?? 0)}`);
    expect(`the ${name} has the shares of the fill`, held.yesShares, expected);
  }
}

async function prove(positions: readonly number[]): Promise<void> {
  say('\nProof in the history');
  for (const position of positions) {
    const { events } = await get<{ events: readonly Entry[] }>(`/api/v1/events?from=${position}&limit=1`, position);
    const entry = events[0]!;
    expect('the history answers for the position', entry.position, position);
    say(`  ${position}  ${entry.outcome.events.map(({ type }) => type).join(', ')}  digest ${entry.digest}`);
  }
}

/** A read that waits until the read models include `position`. */
async function get<T>(path: string, position?: number): Promise<T> {
  return answerOf<T>(await fetch(`${base}${path}`, position === undefined ? {} : { headers: { 'X-Min-Log-Position': String(position) } }));
}

async function answerOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return JSON.parse(text) as T;
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
