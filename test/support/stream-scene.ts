/**
 * One market's orders as outcomes in a log in memory, and read models that answer what a stream of its book asks at
 * once, and count it.
 */
import type { Log } from '../../engine/log/log.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { StreamOptions } from '../../query/streams/streams.js';
import { outcomeRecord } from './projected.js';

export const MARKET = `0x${'4d'.repeat(32)}`;

const AT = 1_700_000_000_000;

/** An order that rests: one message of the book. `trader`: the number of its trader. */
export function restingOrder(position: number, trader = 0): CommandOutcome {
  const order = {
    orderHash: `0x${position.toString(16).padStart(64, '0')}`, orderNumber: position, marketId: MARKET, side: 0,
    outcome: 0, price: 400_000 + position % 100, size: '12000000',
  } as const;
  return { at: AT + position, events: [
    {
      type: 'OrderAccepted', v: 1, ...order, trader: addressOf(trader), nonce: String(position), expiration: '4000000000',
    },
    { type: 'OrderRested', v: 1, ...order },
  ] };
}

export function addressOf(trader: number): string {
  return `0x7a${trader.toString(16).padStart(38, '0')}`;
}

/** Appends the next so many orders to the outcomes, in one append. Resolves with the last position. */
export async function appendOrders(log: Log, count = 1, trader = 0): Promise<number> {
  const length = await log.length('outcomes');
  const records = Array.from({ length: count }, (_, n) => outcomeRecord(restingOrder(length + n, trader)));
  await log.append('outcomes', records);
  return length + count - 1;
}

/**
 * Read models of a market without orders at every position, which know all outcomes. `asked` is told the name of each
 * statement.
 */
export function answeringModels(
  log: Pick<Log, 'length'>, asked: (name: string) => void = () => undefined,
): StreamOptions['db'] {
  const answers: Readonly<Record<string, object>> = {
    stream_markets_known: { id: MARKET }, past_book: { isMarket: true, levels: null, blocks: [], newest: null },
    stream_orders: { last: '-1', orders: [] }, stream_trades: { last: '-1', fills: [] }, stream_markets: { last: '-1' },
  };
  return {
    rows<Row>({ name = '' }: { readonly name?: string }) {
      asked(name);
      return Promise.resolve([answers[name]] as Row[]);
    },
    async position() {
      asked('position');
      return await log.length('outcomes') - 1;
    },
    waitForPosition: () => Promise.resolve(),
  };
}
