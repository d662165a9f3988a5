/**
 * A reader of `/api/v1/stream` who comes back: it keeps books, trades, orders and markets from the messages alone, by
 * docs/streams.md, through every lost connection, and remembers each message and each book on the way.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connectStream, createKeeper, type Kept, type StreamClient, type Told } from './stream-client.js';

export interface ReturningReader {
  readonly name: string;
  readonly channels: readonly string[];
  readonly kept: Kept;
  /** The messages that were taken, in their order, without `more`. */
  readonly told: readonly string[];
  /** Sizes of a book's levels after each position at which it changed, from the first one that the reader has. */
  readonly books: ReadonlyMap<string, readonly { readonly position: number; readonly levels: string }[]>;
  /** It has every message after this position; undefined before it has any. */
  began(): number | undefined;
  /** How many connections have brought it something. */
  connections(): number;
  /** Codes of what it was refused or cut off with. */
  readonly codes: ReadonlySet<string>;
  /** Rejects when it sees a gap, or is refused for good. */
  readonly done: Promise<void>;
}

export interface ReturningReaderOptions {
  readonly name: string;
  readonly url: string;
  readonly channels: readonly string[];
  /** -1: the whole history. Absent: it begins now. */
  readonly from?: -1;
  readonly signal: AbortSignal;
  /** Leaves by itself after so many messages, and comes back. */
  readonly patience?: () => number;
}

/** What may be said to somebody who is to come back. */
const PASSING = ['unavailable', 'not_caught_up', 'overloaded', 'too_slow'];
const COME_BACK_MS = 50;

export function startReader(options: ReturningReaderOptions): ReturningReader {
  const { name, url, channels, from, signal, patience = () => Infinity } = options;
  const memory = createMemory();
  const codes = new Set<string>();
  const query = `channels=${channels.join()}${from === undefined ? '' : `&from=${from}`}`;
  let lastId: string | undefined;
  let connections = 0;

  const visit = async (): Promise<void> => {
    let [left, gap]: [number, unknown] = [patience(), undefined];
    let client: StreamClient | undefined = undefined;
    const leave = (): void => { client?.leave(); };
    const onData = (data: string): void => {
      try {
        if (gap !== undefined) return;
        if (data.startsWith('{"type":"error"')) codes.add((JSON.parse(data) as { code: string }).code);
        else if (memory.take(data, () => Number(client?.response.headers['x-log-position'])) && --left <= 0) leave();
      } catch (error) {
        gap = error;
        leave();
      }
    };
    client = await connectStream({ port: Number(new URL(url).port), query, lastEventId: lastId, onData });
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    await client.ended;
    signal.removeEventListener('abort', leave);
    if (gap !== undefined) throw new Error(`${name}: ${String(gap)}`);
    lastId = client.lastId();
    memory.reconnect();
    if (client.response.statusCode !== 200) refused(client.text());
    else if (client.data.length > 0) connections += 1;
  };
  const refused = (text: string): void => {
    const { code } = JSON.parse(text) as { code: string };
    codes.add(code);
    if (!PASSING.includes(code)) throw new Error(`${name} was refused: ${text}`);
  };
  const read = async (): Promise<void> => {
    while (!signal.aborted) {
      await visit().catch((error: unknown) => {
        // The connection's errors have codes.
        if ((error as NodeJS.ErrnoException).code === undefined) throw error;
      });
      await sleep(COME_BACK_MS);
    }
  };
  const done = read();
  done.catch(() => undefined);
  const { kept, told, books, began } = memory;
  return { name, channels, kept, told, books, began, codes, done, connections: () => connections };
}

/** What a reader has been told, in its order. */
function createMemory() {
  const keeper = createKeeper();
  const told: string[] = [];
  const books = new Map<string, { position: number; levels: string }[]>();
  let burst: string[] = [];
  let began: number | undefined;

  const remember = ({ channel, position }: Told): void => {
    const [kind, market = ''] = channel.split(':');
    if (kind !== 'book') return;
    const own = books.get(market) ?? [];
    books.set(market, own);
    if (own.at(-1)?.position === position) own.pop();
    own.push({ position, levels: bookOf(keeper.kept, market) });
  };
  return {
    kept: keeper.kept, told, books,
    began: () => began,
    /** Whether the message was the last one of its position. `beganAt`: where the connection has begun. */
    take(data: string, beganAt: () => number): boolean {
      keeper.take(data);
      burst.push(data.replace(/,"more":true\}$/, '}'));
      if (data.endsWith(',"more":true}')) return false;
      began ??= beganAt();
      for (const text of burst) remember(JSON.parse(text) as Told);
      told.push(...burst.splice(0));
      return true;
    },
    /** Drops the messages of a position of which the last one has not come. */
    reconnect(): void {
      burst = [];
      keeper.reconnect();
    },
  };
}

/** The levels of a market's books as text, in one order. */
export function bookOf({ levels }: Kept, market: string): string {
  const own = [...levels].filter(([place]) => place.startsWith(`${market} `))
    .map(([place, size]) => `${place.slice(market.length + 1)} ${String(size)}`);
  return own.sort().join('; ');
}

/** The same of what `GET /orderbook` answers. */
export function bookRead({ yes, no }: Readonly<Record<string, unknown>>): string {
  type Side = readonly { readonly price: number; readonly size: number | bigint }[];
  const own = ([yes, no] as { readonly bids: Side; readonly asks: Side }[]).flatMap(({ bids, asks }, outcome) => (
    [bids, asks].flatMap((levels, side) => levels.map(({ price, size }) => `${outcome} ${side} ${price} ${size}`))));
  return own.sort().join('; ');
}
