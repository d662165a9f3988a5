/** What a trader has: orders, positions, value, payouts, and what failed. */

export function Portfolio() {
  return <h1>Portfolio</h1>;
}
