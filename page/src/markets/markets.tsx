/** The list of markets: search, state, and live best prices. */

export function Markets() {
  return <h1>Markets</h1>;
}
