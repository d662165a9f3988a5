/** Decides the history again in the browser. */

export function Verify() {
  return <h1>Verify</h1>;
}
