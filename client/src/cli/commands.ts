/** The commands of the terminal, each over the same client that programs use. */
import { decimalOf, Outcome, Side, type Book, type Client, type Hex, type Message } from '../client.js';
import type { Market, PriceLevel, UserPosition } from '../answers.js';
import { writeJson } from '../exact-json.js';
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

const markets: Command = async (client, words, { signal }, { show }) => {
  const query = words.length === 0 ? {} : { query: words.join(' ') };
  for await (const market of client.read.markets({ state: 'open', ...query }, { signal })) {
    const until = new Date(market.expiration * 1_000).toISOString();
    show(`${market.id}  ${shownPrice(market.bestAskPrice)}  ${until}  ${market.question}`, market);
  }
};

const book: Command = async (client, [given], { signal }, { show }) => {
  const told = await client.read.orderbook(await marketOf(client, given, signal), {}, { signal });
  show(shownBook(told.yes ?? NO_LEVELS, told.no ?? NO_LEVELS), told);
};

const NO_LEVELS: Book['yes'] = { bids: [], asks: [] };

function trade(side: Side): Command {
  return async (client, [given, outcome, size, price, ...rest], { signal, postOnly, now, expiresS }, { show }) => {
    if (given === undefined || outcome === undefined || size === undefined || price === undefined || rest.length > 0) {
      throw new Usage('a market, yes or no, a size and a price');
    }
    const placed = await client.place({
      market: await marketOf(client, given, signal), side, outcome: outcomeOf(outcome), size, price,
      ...postOnly ? { postOnly } : {}, ...now ? { timeInForce: 'FAK' as const } : {},
      ...expiresS === undefined ? {} : { expiration: await soon(client, expiresS, signal) },
    }, { signal });
    const { orderHash, status, matches, remainingSize } = placed;
    const cancelled = remainingSize === undefined ? '' : `, ${decimalOf(remainingSize)} not filled and cancelled`;
    show(`${orderHash}  ${status}, ${matches} ${matches === 1 ? 'match' : 'matches'}${cancelled}`, placed);
  };
}

const cancel: Command = async (client, hashes, { signal }, { show }) => {
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
    const cancelled = await client.cancel({ orderHash: hash, marketId }, { signal });
    const [filled, left] = [cancelled.filledSize, cancelled.remainingSize].map(decimalOf);
    show(`${hash}  cancelled, ${filled} were filled, ${left} were not`, cancelled);
  }
};

const watch: Command = async (client, channels, { signal, from }, { show }) => {
  if (channels.length === 0) throw new Usage('channels: book:MARKET trades:MARKET orders:ADDRESS prices:ASSET markets');
  const since = from === undefined ? {} : { from: wholeNumber('--from', from) };
  const whole = await Promise.all(channels.map((channel) => wholeChannel(client, channel, signal)));
  for await (const message of client.watch(whole, { signal, ...since })) {
    const { channel, type } = message;
    show(type === 'gap' ? `${channel}  GAP after ${message.after ?? 'nothing'}` : shownMessage(message), message);
  }
};

/** Waits until the shares are gone: only then is the money there. */
const claim: Command = async (client, args, { signal }, { show }) => {
  if (args.length > 0) throw new Usage('claim takes no arguments');
  const user = client.address;
  for (const { chainId } of (await client.read.config({ signal })).chains) {
    const due: UserPosition[] = [];
    for await (const each of client.read.positions({ user, chainId }, { signal })) {
      if (each.resolved && hasShares(each)) due.push(each);
    }
    if (due.length === 0) {
      show(`nothing to claim on chain ${chainId}`, { chainId, claimed: [] });
      continue;
    }
    const relayed = await client.relay.redeemMany(due, { chainId, signal });
    const claimed = due.map(({ marketId }) => marketId);
    for (const { txHash } of relayed) {
      show(`redeemed by ${txHash ?? 'another transaction'}`, { chainId, txHash, claimed });
    }
    for (const { marketId, marketQuestion } of due) {
      while (hasShares(await client.read.position(marketId, user, { signal }))) await pause(500, signal);
      show(`paid  ${marketQuestion}`, { chainId, paid: marketId });
    }
  }
};

const funds: Command = async (client, [address, ...rest], { signal }, { show }) => {
  if (rest.length > 0) throw new Usage('one address, or none for your own');
  const given = await client.funds(address === undefined ? {} : { address: address as Hex }, { signal });
  show(`${given.address} has ${decimalOf(given.collateral)} of stablecoin on chain ${given.chainId}`, given);
};

export const COMMANDS: Readonly<Record<string, Command>> = {
  markets, book, buy: trade(Side.Buy), sell: trade(Side.Sell), cancel, watch, claim, funds,
};

const hasShares = ({ yesShares, noShares }: Pick<UserPosition, 'yesShares' | 'noShares'>): boolean => (
  yesShares > 0n || noShares > 0n);

const WHOLE_ID = 66;

/** A market by its id or the beginning of it. */
async function marketOf(client: Client, given: string | undefined, signal: AbortSignal): Promise<Hex> {
  if (given === undefined) throw new Usage('which market?');
  const wanted = given.toLowerCase();
  if (wanted.length === WHOLE_ID) return wanted as Hex;
  const found: Market[] = [];
  for await (const market of client.read.markets({ state: 'all' }, { signal })) {
    if (market.id.startsWith(wanted)) found.push(market);
  }
  const [only, ...others] = found;
  if (only === undefined) throw new Usage(`no market begins with ${given}`);
  if (others.length > 0) throw new Usage(`${found.length} markets begin with ${given}: give more of the id`);
  return only.id;
}

/** A channel whose market may be the beginning of an id. */
async function wholeChannel(client: Client, channel: string, signal: AbortSignal): Promise<string> {
  const [, kind, market] = /^(book|trades):(.+)$/.exec(channel) ?? [];
  return market === undefined ? channel : `${kind}:${await marketOf(client, market, signal)}`;
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
  const lines = (levels: readonly PriceLevel[], name: string) => (
    levels.map(({ price, size }) => `${name} ${shownPrice(price)} ${decimalOf(size)}`));
  const column = ({ bids, asks }: Book['yes']) => [...lines([...asks].reverse(), 'ask'), ...lines(bids, 'bid')];
  const [left, right] = [['YES', ...column(yes)], ['NO', ...column(no)]];
  const rows = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => (
    `${(left[i] ?? '').padEnd(40)}${right[i] ?? ''}`.trimEnd()));
  return rows.join('\n');
}

const shownPrice = (price: bigint): string => decimalOf(price).padEnd(8, ' ');

/** What every message has, and what needs no name. */
const SHOWN_BEFORE = ['channel', 'position', 'type', 'at', 'previous', 'more'];

function shownMessage({ channel, position, type, at, ...rest }: Message): string {
  const fields = Object.entries(rest).filter(([name]) => !SHOWN_BEFORE.includes(name))
    .map(([name, value]) => `${name}=${typeof value === 'object' ? writeJson(value) : String(value)}`);
  return `${new Date(at).toISOString()}  ${position}  ${channel.slice(0, 20)}  ${type}  ${fields.join(' ')}`;
}
