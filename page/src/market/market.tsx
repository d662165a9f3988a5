/** One market: its books, prices, trades, rules and resolution. */

export function MarketView() {
  return <h1>Market</h1>;
}
