/** Quick markets: the countdown, the strike, and the live price. */

export function QuickMarkets() {
  return <h1>Quick markets</h1>;
}
