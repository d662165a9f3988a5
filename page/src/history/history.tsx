/** An order's whole life by its hash, any record with its digest by its position, and the book at that position. */
import { useEffect, useState } from 'preact/hooks';
import type { HistoryEntry, Order, Orderbook } from '../../../client/src/answers.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { exchange } from '../exchange.js';
import { shownPrice, shownShares } from '../figures.js';
import { Refused } from '../refusal.js';
import type { ViewProps } from '../routes.js';

const HASH = /^0x[0-9a-f]{64}$/;

export function HistoryView({ id }: ViewProps) {
  const what = id.toLowerCase();
  return (
    <>
      <h1>History</h1>
      <form class="row" onSubmit={(event) => { event.preventDefault(); go(new FormData(event.currentTarget).get('what')); }}>
        <label class="field grow">An order's hash, or a log position<input name="what" defaultValue={id} /></label>
        <button type="submit">Show</button>
      </form>
      {HASH.test(what)
        ? <OrderLife hash={what as Hex} />
        : /^\d{1,15}$/.test(what)
          ? <OneRecord position={Number(what)} />
          : id === '' ? <p class="hint">Every change of the exchange is a record of this history.</p> : <p class="refusal" role="alert">This is neither an order's hash nor a log position.</p>}
    </>
  );
}

function go(what: FormDataEntryValue | null): void {
  if (typeof what === 'string') location.hash = `#/history/${what.trim().toLowerCase()}`;
}

/** What `read` gives, read once per `key`. */
function useRead<T>(key: string, read: () => Promise<T>): { readonly value?: T; readonly error?: unknown } {
  const [state, setState] = useState<{ readonly key: string; readonly value?: T; readonly error?: unknown }>({ key });
  useEffect(() => {
    let isLeft = false;
    read().then((value) => { if (!isLeft) setState({ key, value }); }, (error: unknown) => { if (!isLeft) setState({ key, error }); });
    return () => { isLeft = true; };
  }, [key]);
  return state.key === key ? state : {};
}

const pretty = (value: unknown): string => JSON.stringify(value, (_, each: unknown) => typeof each === 'bigint' ? each.toString() : each, 2);

function OrderLife({ hash }: { readonly hash: Hex }) {
  const { value, error } = useRead<Order>(hash, () => exchange.peek().read.order(hash));
  if (value === undefined) return error === undefined ? <p role="status">Loading…</p> : <Refused error={error} />;
  return (
    <section class="panel stack" aria-label="Order">
      <p><a href={`#/markets/${value.marketId}`}>Its market</a></p>
      <table>
        <caption>What happened to the order, by log position</caption>
        <thead><tr><th scope="col">Position</th><th scope="col">What</th></tr></thead>
        <tbody>{value.history.map((each, i) => (
          <tr key={i}><td><a href={`#/history/${each.position}`}>{each.position}</a></td><td><pre class="mono">{pretty(each)}</pre></td></tr>
        ))}
        </tbody>
      </table>
    </section>
  );
}

async function recordAt(position: number): Promise<HistoryEntry | undefined> {
  for await (const entry of exchange.peek().read.history({ from: position }, { pageSize: 1 })) return entry;
  return undefined;
}

function OneRecord({ position }: { readonly position: number }) {
  const { value, error } = useRead<HistoryEntry | null>(String(position), async () => await recordAt(position) ?? null);
  if (value === undefined) return error === undefined ? <p role="status">Loading…</p> : <Refused error={error} />;
  if (value === null) return <p class="refusal" role="alert">The history has no position {position} yet.</p>;
  const market = /"marketId": "(0x[0-9a-f]{64})"/.exec(pretty(value))?.[1];
  const orders = [...new Set([...pretty(value).matchAll(/"(?:orderHash|buyOrder|sellOrder)": "(0x[0-9a-f]{64})"/g)].map(([, hash = '']) => hash))];
  return (
    <section class="panel stack" aria-label="Record">
      <p class="row">
        {position > 0 ? <a href={`#/history/${position - 1}`}>Before</a> : null}
        <a href={`#/history/${position + 1}`}>After</a>
        {orders.map((hash) => <a key={hash} class="mono" href={`#/history/${hash}`}>Order {hash.slice(0, 10)}…</a>)}
      </p>
      <dl class="facts">
        <dt>Position</dt><dd>{position}</dd>
        <dt>Id</dt><dd class="mono">{value.id}</dd>
        <dt>Digest</dt><dd class="mono" data-digest>{value.digest}</dd>
      </dl>
      <h2>Command</h2><pre class="mono scroll" tabIndex={0}>{pretty(value.command)}</pre>
      <h2>Outcome</h2><pre class="mono scroll" tabIndex={0}>{pretty(value.outcome)}</pre>
      {market === undefined ? null : <BookThen market={market as Hex} position={position} />}
    </section>
  );
}

function BookThen({ market, position }: { readonly market: Hex; readonly position: number }) {
  const { value, error } = useRead<Orderbook>(`${market} ${position}`, () => exchange.peek().read.orderbook(market, { at: position }));
  if (value === undefined) return error === undefined ? <p role="status">Loading…</p> : <Refused error={error} />;
  if (value.asks.length + value.bids.length === 0) {
    return <p class="hint">The book of <a href={`#/markets/${market}`}>its market</a> was empty at position {position}.</p>;
  }
  return (
    <table>
      <caption>The book at position {position}, of <a href={`#/markets/${market}`}>its market</a></caption>
      <thead><tr><th scope="col">Side</th><th scope="col" class="number">Price</th><th scope="col" class="number">Shares</th></tr></thead>
      <tbody>
        {value.asks.map(({ price, size }) => <tr key={`a${price}`}><td>ask</td><td class="number">{shownPrice(price)}</td><td class="number">{shownShares(size)}</td></tr>)}
        {value.bids.map(({ price, size }) => <tr key={`b${price}`}><td>bid</td><td class="number">{shownPrice(price)}</td><td class="number">{shownShares(size)}</td></tr>)}
      </tbody>
    </table>
  );
}
