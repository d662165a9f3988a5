/** A client of `/api/v1/stream` as an `EventSource` is one: it keeps the last id, connects again with it, and reads every message once. */
import { get, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { createBell } from '../../engine/waiting.js';

/** A message with the fields that all have, and those of its type. */
export type Told = {
  readonly channel: string; readonly position: number; readonly previous: number; readonly type: string; readonly at: number; readonly more?: boolean;
} & Readonly<Record<string, unknown>>;

export interface StreamClient {
  readonly response: IncomingMessage;
  /** The last id, also of a comment; undefined before the first one. */
  lastId(): string | undefined;
  /** The data of all events so far. */
  readonly data: string[];
  /** Every byte so far. */
  text(): string;
  /** Waits until this holds; looks again whenever something comes. */
  until(holds: () => boolean): Promise<void>;
  /** Resolves when the answer has ended, with whether it was complete. */
  readonly ended: Promise<boolean>;
  leave(): void;
}

export interface Connecting {
  readonly port: number;
  readonly query: string;
  readonly lastEventId?: string | undefined;
  readonly onData?: (data: string) => void;
}

/** Connects; whoever the answer is not 200 for gets its text as the only data. */
export async function connectStream({ port, query, lastEventId, onData = () => undefined }: Connecting): Promise<StreamClient> {
  const headers = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
  const request = get({ host: '127.0.0.1', port, path: `/api/v1/stream?${query}`, headers, agent: false });
  const [response] = await once(request, 'response') as [IncomingMessage];
  const arrived = createBell();
  const data: string[] = [];
  let [all, rest] = ['', ''];
  let lastId = lastEventId;
  response.setEncoding('utf8').on('data', (piece: string) => {
    all += piece;
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s) as [string, string]));
      lastId = fields.get('id') ?? lastId;
      const text = fields.get('data');
      if (text === undefined) continue;
      data.push(text);
      onData(text);
    }
    arrived.ring();
  });
  response.on('error', () => undefined);
  const ended = new Promise<boolean>((resolve) => {
    response.once('close', () => {
      resolve(response.complete);
      arrived.ring();
    });
  });
  return {
    response, data, ended, text: () => all, lastId: () => lastId, leave: () => { request.destroy(); },
    async until(holds) {
      for (const signal = AbortSignal.timeout(30_000); !holds();) {
        if (await arrived.wait(signal, 30_000) !== 'rung') throw new Error(`never came; after ${JSON.stringify(all.slice(-1_000))}`);
      }
    },
  };
}

/** What a reader knows from the messages alone. */
export interface Kept {
  /** Sizes by `market outcome side price`. */
  readonly levels: Map<string, unknown>;
  /** By fill: its status, transaction and failure. */
  readonly fills: Map<unknown, unknown[]>;
  /** Remaining sizes by order hash. */
  readonly orders: Map<unknown, unknown>;
  /** By asset. */
  readonly prices: Map<unknown, unknown>;
  /** The last thing that happened, by market. */
  readonly markets: Map<unknown, string>;
  /** The position of the last message of each channel. */
  readonly last: Map<string, number>;
}

export interface Keeper {
  readonly kept: Kept;
  take(data: string): void;
  /** Drops the messages of a position of which the last one has not come: a new connection sends all of them. */
  reconnect(): void;
}

/** A reader that takes the messages by docs/streams.md, those of a position together, and throws where it sees a gap. */
export function createKeeper(): Keeper {
  const kept: Kept = { levels: new Map(), fills: new Map(), orders: new Map(), prices: new Map(), markets: new Map(), last: new Map() };
  let burst: Told[] = [];
  return {
    kept,
    take(data) {
      const told = JSON.parse(data) as Told;
      burst.push(told);
      if (told.more === true) return;
      for (const each of burst.splice(0)) take(kept, each);
    },
    reconnect() { burst = []; },
  };
}

function take(kept: Kept, told: Told): void {
  const { channel, position, previous, type } = told;
  const before = kept.last.get(channel);
  if (type !== 'snapshot' && before !== undefined && before !== previous) {
    throw new Error(`${channel} had ${before}, but ${position} comes after ${previous}`);
  }
  kept.last.set(channel, position);
  const [kind, key = ''] = channel.split(':');
  switch (kind) {
    case 'book': takeBook(kept, key, told); break;
    case 'trades': kept.fills.set(told['fill'], [told['settlementStatus'] ?? 'matched', told['txHash'] ?? '', told['reason'] ?? null]); break;
    case 'orders': kept.orders.set(told['orderHash'], told['remainingSize']); break;
    case 'prices': kept.prices.set(key, [told['price'], told['timestamp']]); break;
    default: kept.markets.set(told['marketId'], type);
  }
}

type Level = { readonly price: number; readonly size: number };

function takeBook({ levels }: Kept, market: string, told: Told): void {
  const set = (outcome: number, side: number, { price, size }: Level): void => {
    const place = `${market} ${outcome} ${side} ${price}`;
    if (size === 0) levels.delete(place); else levels.set(place, size);
  };
  if (told.type === 'change') {
    for (const level of told['levels'] as (Level & { outcome: number; side: number })[]) set(level.outcome, level.side, level);
    return;
  }
  for (const place of [...levels.keys()]) if (place.startsWith(market)) levels.delete(place);
  for (const [outcome, name] of ['yes', 'no'].entries()) {
    const { bids, asks } = told[name] as { readonly bids: Level[]; readonly asks: Level[] };
    for (const level of bids) set(outcome, 0, level);
    for (const level of asks) set(outcome, 1, level);
  }
}
