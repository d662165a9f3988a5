/** The commands of the terminal, each over the same client that programs use. */
import { decimalOf, Outcome, Side, type Book, type Client, type Hex, type Message } from '../client.js';
import type { Market, PriceLevel, UserPosition } from '../answers.js';
import { pause } from '../waiting.js';

/** Wrong arguments. */
export class Usage extends Error {}

export interface Terminal {
  /** Shows a line, or with `--json` the value. */
  show(text: string, value: unknown): void;
}

export interface Options {
  readonly postOnly: boolean;
  readonly now: boolean;
  readonly expiresS: string | undefined;
  readonly from: string | undefined;
  readonly signal: AbortSignal;
}

export type Command = (client: Client, args: readonly string[], options: Options, terminal: Terminal) => Promise<void>;

export const COMMANDS: Readonly<Record<string, Command>> = {
  markets, book, buy: trade(Side.Buy), sell: trade(Side.Sell), cancel, watch, claim, funds,
};

async function markets(client: Client, words: readonly string[], { signal }: Options, { show }: Terminal): Promise<void> {
  const query = words.length === 0 ? {} : { query: words.join(' ') };
  for await (const market of client.read.markets({ state: 'open', ...query }, { signal })) {
    show(`${market.id}  ${shownPrice(market.bestAskPrice)}  ${new Date(market.expiration * 1_000).toISOString()}  ${market.question}`, market);
  }
}

async function book(client: Client, [given]: readonly string[], { signal }: Options, { show }: Terminal): Promise<void> {
  const told = await client.read.orderbook(await marketOf(client, given, signal), {}, { signal });
  if (told.yes === undefined || told.no === undefined) return show('', told);
  show(shownBook(told.yes, told.no), told);
}

function trade(side: Side): Command {
  return async (client, [given, outcome, size, price, ...rest], { signal, postOnly, now, expiresS }, { show }) => {
    if (given === undefined || outcome === undefined || size === undefined || price === undefined || rest.length > 0) {
      throw new Usage('a market, yes or no, a size and a price');
    }
    const placed = await client.place({
      market: await marketOf(client, given, signal), side, outcome: outcomeOf(outcome), size, price, ...postOnly ? { postOnly } : {},
      ...now ? { timeInForce: 'FAK' as const } : {}, ...expiresS === undefined ? {} : { expiration: await soon(client, expiresS, signal) },
    }, { signal });
    const cancelled = placed.remainingSize === undefined ? '' : `, ${decimalOf(placed.remainingSize)} not filled and cancelled`;
    show(`${placed.orderHash}  ${placed.status}, ${placed.matches} ${placed.matches === 1 ? 'match' : 'matches'}${cancelled}`, placed);
  };
}

async function cancel(client: Client, hashes: readonly string[], { signal }: Options, { show }: Terminal): Promise<void> {
  if (hashes.length === 0) throw new Usage('the hashes of orders, or all');
  if (hashes.length === 1 && hashes[0] === 'all') {
    for (const { chainId } of (await client.read.config({ signal })).chains) {
      const all = await client.cancelAll({ chainId }, { signal });
      show(`${all.cancelled} ${all.cancelled === 1 ? 'order' : 'orders'} cancelled on chain ${chainId}`, all);
    }
    return;
  }
  for (const hash of hashes as readonly Hex[]) {
    const { marketId } = await client.read.order(hash, { signal });
    const { filledSize, remainingSize, ...rest } = await client.cancel({ orderHash: hash, marketId }, { signal });
    show(`${hash}  cancelled, ${decimalOf(filledSize)} were filled, ${decimalOf(remainingSize)} were not`, { ...rest, filledSize, remainingSize });
  }
}

async function watch(client: Client, channels: readonly string[], { signal, from }: Options, { show }: Terminal): Promise<void> {
  if (channels.length === 0) throw new Usage('channels: book:MARKET trades:MARKET orders:ADDRESS prices:ASSET markets');
  for await (const message of client.watch(channels, { signal, ...from === undefined ? {} : { from: wholeNumber('--from', from) } })) {
    const text = message.type === 'gap' ? `${message.channel}  GAP after ${message.after ?? 'nothing'}` : shownMessage(message);
    show(text, message);
  }
}

/** Waits until the shares are gone: only then is the money there. */
async function claim(client: Client, args: readonly string[], { signal }: Options, { show }: Terminal): Promise<void> {
  if (args.length > 0) throw new Usage('claim takes no arguments');
  const user = client.address;
  for (const { chainId } of (await client.read.config({ signal })).chains) {
    const due: UserPosition[] = [];
    for await (const each of client.read.positions({ user, chainId }, { signal })) if (each.resolved && hasShares(each)) due.push(each);
    if (due.length === 0) {
      show(`nothing to claim on chain ${chainId}`, { chainId, claimed: [] });
      continue;
    }
    const relayed = await client.relay.redeemMany(due, { chainId, signal });
    const claimed = due.map(({ marketId }) => marketId);
    for (const { txHash } of relayed) show(`redeemed by ${txHash ?? 'another transaction'}`, { chainId, txHash, claimed });
    for (const { marketId, marketQuestion } of due) {
      while (hasShares(await client.read.position(marketId, user, { signal }))) await pause(500, signal);
      show(`paid  ${marketQuestion}`, { chainId, paid: marketId });
    }
  }
}

async function funds(client: Client, [address, ...rest]: readonly string[], { signal }: Options, { show }: Terminal): Promise<void> {
  if (rest.length > 0) throw new Usage('one address, or none for your own');
  const given = await client.funds(address === undefined ? {} : { address: address as Hex }, { signal });
  show(`${given.address} has ${decimalOf(given.collateral)} of stablecoin on chain ${given.chainId}`, given);
}

const hasShares = ({ yesShares, noShares }: Pick<UserPosition, 'yesShares' | 'noShares'>): boolean => yesShares > 0n || noShares > 0n;

const WHOLE_ID = 66;

/** A market by its id or the beginning of it. */
async function marketOf(client: Client, given: string | undefined, signal: AbortSignal): Promise<Hex> {
  if (given === undefined) throw new Usage('which market?');
  const wanted = given.toLowerCase();
  if (wanted.length === WHOLE_ID) return wanted as Hex;
  const found: Market[] = [];
  for await (const market of client.read.markets({ state: 'all' }, { signal })) if (market.id.startsWith(wanted)) found.push(market);
  const [only, ...others] = found;
  if (only === undefined) throw new Usage(`no market begins with ${given}`);
  if (others.length > 0) throw new Usage(`${found.length} markets begin with ${given}: give more of the id`);
  return only.id;
}

function outcomeOf(text: string): Outcome {
  switch (text.toLowerCase()) {
    case 'yes': return Outcome.Yes;
    case 'no': return Outcome.No;
    default: throw new Usage(`the outcome is yes or no, not ${text}`);
  }
}

async function soon(client: Client, seconds: string, signal: AbortSignal): Promise<number> {
  return (await client.read.config({ signal })).serverTime + wholeNumber('--expires', seconds);
}

function wholeNumber(name: string, text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new Usage(`${name} is a whole number, not ${text}`);
  return Number(text);
}

function shownBook(yes: Book['yes'], no: Book['no']): string {
  const rows = ['YES'.padEnd(40) + 'NO'];
  const lines = (levels: readonly PriceLevel[], name: string) => levels.map(({ price, size }) => `${name} ${shownPrice(price)} ${decimalOf(size)}`);
  const [left, right] = [yes, no].map(({ bids, asks }) => [...lines([...asks].reverse(), 'ask'), ...lines(bids, 'bid')]) as [string[], string[]];
  for (let i = 0; i < Math.max(left.length, right.length); i++) rows.push((left[i] ?? '').padEnd(40) + (right[i] ?? ''));
  return rows.map((row) => row.trimEnd()).join('\n');
}

const shownPrice = (price: bigint): string => decimalOf(price).padEnd(8, ' ');

/** What every message has, and what needs no name. */
const SHOWN_BEFORE = ['channel', 'position', 'type', 'at', 'previous', 'more'];

function shownMessage({ channel, position, type, at, ...rest }: Message): string {
  const fields = Object.entries(rest).filter(([name]) => !SHOWN_BEFORE.includes(name))
    .map(([name, value]) => `${name}=${typeof value === 'object' ? text(value) : String(value)}`);
  return `${new Date(at).toISOString()}  ${position}  ${channel.slice(0, 20)}  ${type}  ${fields.join(' ')}`;
}

const text = (value: unknown): string => JSON.stringify(value, (_, each: unknown) => typeof each === 'bigint' ? each.toString() : each);
