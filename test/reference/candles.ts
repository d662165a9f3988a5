/** Candles, made from all trades at once: for the comparison with those of the read models, which follow the history. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { FillMatched } from '../../engine/records/events.js';

/** The rows of the table `candles`, in the order of their text. */
export function referenceCandles(outcomes: readonly CommandOutcome[]): Record<string, unknown>[] {
  const failed = new Set(outcomes.flatMap(({ events }) => events.flatMap((event) => event.type === 'FillFailed' ? [event.fill] : [])));
  const trades = outcomes.flatMap(({ at, events }) => events.flatMap((event) => event.type === 'FillMatched' ? [{ at, event }] : []));
  const firstFills = new Map<string, number>();
  for (const { event } of trades) if (!firstFills.has(event.marketId)) firstFills.set(event.marketId, event.fill);
  const groups = new Map<string, { key: object; fills: FillMatched[] }>();
  for (const { at, event } of trades.filter((trade) => !failed.has(trade.event.fill))) {
    for (const length of [60, 300, 900, 3_600, 86_400]) {
      const seconds = Math.floor(at / 1_000);
      const key = {
        series: String(firstFills.get(event.marketId)! * 2 + event.outcome), interval_s: length, start: String(seconds - seconds % length),
      };
      const name = JSON.stringify(key);
      if (!groups.has(name)) groups.set(name, { key, fills: [] });
      groups.get(name)!.fills.push(event);
    }
  }
  const rows = [...groups.values()].map(({ key, fills }) => {
    const prices = fills.map(({ price }) => price);
    return {
      ...key, open: prices[0], high: Math.max(...prices), low: Math.min(...prices), close: prices.at(-1),
      volume: String(fills.reduce((sum, { cost }) => sum + BigInt(cost), 0n)), trades: String(fills.length),
      first_fill: String(fills[0]!.fill), last_fill: String(fills.at(-1)!.fill),
    };
  });
  const text = (row: object) => `(${Object.values(row).join()})`;
  return rows.sort((a, b) => text(a) < text(b) ? -1 : 1);
}
