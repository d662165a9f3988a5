/** An order's whole life, any record with its digest, and the book at that position. */

export function HistoryView() {
  return <h1>History</h1>;
}
