/** Collects the positions of a batch at which the streams have messages about orders, by trader, in the order of the log. */
import type { ChannelMessage } from './message-blocks.js';

export interface OrderMessages {
  readonly byTrader: ReadonlyMap<string, readonly ChannelMessage[]>;
  /** Something happened to orders of these traders at a position; where the trader placed an order there, that order says so. */
  add(traders: readonly string[], position: number): void;
  /** The order that was placed at `place` is not open after the outcome at `at`. */
  addPlaced(trader: string, place: number, at: number): void;
}

/** `hasPlaced`: whether the trader placed an order of the batch at that position. */
export function collectMessages(hasPlaced: (trader: string, position: number) => boolean): OrderMessages {
  const byTrader = new Map<string, ChannelMessage[]>();
  const newest = new Map<string, number>();
  const push = (trader: string, message: ChannelMessage): void => {
    const messages = byTrader.get(trader);
    if (messages === undefined) byTrader.set(trader, [message]); else messages.push(message);
  };
  return {
    byTrader,
    add(traders, position) {
      for (const trader of traders) {
        if (newest.get(trader) === position || hasPlaced(trader, position)) continue;
        newest.set(trader, position);
        push(trader, { place: position, at: position });
      }
    },
    addPlaced: (trader, place, at) => { push(trader, { place, at }); },
  };
}
