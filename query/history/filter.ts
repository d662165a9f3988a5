/** Which entries of the history a filter lets through: by market, trader and event type. */
import type { Log, LogRecord } from '../../engine/log/log.js';
import { decodeOutcome } from '../../engine/records/codec.js';
import type { Event } from '../../engine/records/events.js';
import { bytes, type RowSource } from '../statement.js';

/** What an event of the entry must be about; what is absent does not matter. Hex in lower case. */
export interface HistoryFilter {
  readonly market?: string | undefined;
  readonly trader?: string | undefined;
  readonly event?: Event['type'] | undefined;
}

/** A command with its outcome, as recorded. */
export interface Entry {
  readonly command: LogRecord;
  readonly outcome: LogRecord;
}

/** Those of these order numbers whose orders the trader has placed. */
export type FindOwnOrders = (trader: string, numbers: readonly number[]) => Promise<ReadonlySet<number>>;

type Json = Readonly<Record<string, unknown>>;

/** The fields of commands and events that name a trader. */
const TRADER_FIELDS = ['trader', 'buyer', 'seller', 'user', 'owner', 'from', 'to', 'proposer', 'disputer'] as const;

const OWN_ORDERS = {
  name: 'own_orders', text: 'select number, trader = $2::bytea as own from orders where number = any($1::bigint[])',
};

/**
 * Asks the read models, which must include the positions of the entries in question. Of an order that is removed there, the log tells the trader: an
 * order's number is the position at which it was accepted.
 */
export function ownOrdersIn(db: RowSource, log: Pick<Log, 'read'>): FindOwnOrders {
  return async (trader, numbers) => {
    const rows = await db.rows<{ number: string; own: boolean }>(OWN_ORDERS, [numbers, bytes(trader)]);
    const found = new Map(rows.map(({ number, own }) => [Number(number), own]));
    for (const number of numbers) if (!found.has(number)) found.set(number, await hasPlaced(log, trader, number));
    return new Set(numbers.filter((number) => found.get(number) === true));
  };
}

async function hasPlaced(log: Pick<Log, 'read'>, trader: string, number: number): Promise<boolean> {
  const [record] = await log.read('outcomes', number, 1);
  return record !== undefined && decodeOutcome(record.data).events.some((event) => event.type === 'OrderAccepted' && event.trader === trader);
}

export function isUnfiltered({ market, trader, event }: HistoryFilter): boolean {
  return market === undefined && trader === undefined && event === undefined;
}

/**
 * The entries in which one and the same event is of the type, about the market and about the trader. What an event does
 * not name itself is as the command names it (a rejection, for example), and the trader of an event about an order is
 * the order's.
 */
export async function matching(
  entries: readonly Entry[], filter: HistoryFilter, ownOrders: FindOwnOrders,
): Promise<readonly Entry[]> {
  if (isUnfiltered(filter)) return entries;
  const candidates: { readonly entry: Entry; readonly events: readonly About[] }[] = [];
  for (const entry of entries) {
    const events = mayMatch(entry, filter) ? eventsAbout(entry, filter) : [];
    if (events.length > 0) candidates.push({ entry, events });
  }
  const asked = candidates
    .flatMap(({ events }) => events.some((each) => each === true) ? [] : events.filter((each) => each !== true));
  const own = filter.trader === undefined || asked.length === 0 ? NOBODY : await ownOrders(filter.trader, asked);
  return candidates
    .flatMap(({ entry, events }) => events.some((each) => each === true || own.has(each)) ? [entry] : []);
}

const NOBODY: ReadonlySet<number> = new Set();

/** An event that matches, or that does so if the order of this number is the trader's. */
type About = true | number;

/** Whether the bytes have what a match would name: parsing takes many times as long. */
function mayMatch({ command, outcome }: Entry, { market, event }: HistoryFilter): boolean {
  if (event !== undefined && !textBytes(outcome).includes(`"type":"${event}"`)) return false;
  return market === undefined || textBytes(outcome).includes(market) || textBytes(command).includes(market);
}

function eventsAbout(entry: Entry, { market, trader, event: type }: HistoryFilter): About[] {
  const command = JSON.parse(textBytes(entry.command).toString()) as Json;
  const { events } = JSON.parse(textBytes(entry.outcome).toString()) as { readonly events: readonly Json[] };
  const found: About[] = [];
  // A command that changed nothing is about what it names itself.
  for (const event of events.length === 0 ? [{}] : events) {
    if (type !== undefined && event['type'] !== type) continue;
    if (market !== undefined && !(marketsOf(event) ?? marketsOf(command) ?? []).includes(market)) continue;
    const about = trader === undefined ? true : aboutTrader(event, command, trader);
    if (about !== undefined) found.push(about);
  }
  return found;
}

function aboutTrader(event: Json, command: Json, trader: string): About | undefined {
  const { orderNumber } = event as { readonly orderNumber?: number };
  const named = tradersOf(event);
  if (named.length === 0 && orderNumber !== undefined) return orderNumber;
  return (named.length === 0 ? tradersOf(command) : named).includes(trader) ? true : undefined;
}

function marketsOf({ marketId, claims }: Json): readonly unknown[] | undefined {
  if (marketId !== undefined) return [marketId];
  return (claims as readonly Json[] | undefined)?.map((claim) => claim['marketId']);
}

function tradersOf(of: Json): unknown[] {
  return TRADER_FIELDS.flatMap((field) => of[field] === undefined ? [] : [of[field]]);
}

function textBytes({ data }: LogRecord): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
