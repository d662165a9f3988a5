/**
 * A market maker of YES: a bid and an ask around a price that falls as it holds more, until Ctrl-C. It keeps nothing
 * but its nonces: what it holds and what is open, the stream of its own orders tells.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Wallet } from 'ethers';
import { connect, decimalOf, ExchangeError, Outcome, Side, type Hex, type Message } from '../src/client.js';
import { fileNonceStore } from '../src/node/nonce-file.js';

const { EXCHANGE_URL: url = 'http://127.0.0.1:8080', MARKET = '', PRIVATE_KEY: key = '', NONCES = '' } = process.env;
const market = MARKET as Hex;
const [SIZE, HALF_SPREAD] = [10_000_000n, 20_000n];
/** How far the price moves for each SIZE that it holds, and how much it may hold or owe. */
const [STEP, MOST] = [5_000n, 20n * SIZE];
/** All orders are cancelled when the exchange has not heard of this program for so long. */
const SWITCH_S = 30;
const stopping = new AbortController();
const { signal } = stopping;
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => { stopping.abort(new Error('stopped')); });
const nonces = fileNonceStore(NONCES || 'nonces.json');
const client = connect({ url, signer: new Wallet(key), nonces, timeoutMs: 60_000 });

interface Quote { readonly side: Side; readonly price: bigint }
const orders = new Map<Hex, Quote & { isOpen: boolean }>();
let held = 0n;
/** What the stream has told, and the last order: no quote is made before it is known what became of that. */
let [told, placed] = [-1, -1];

/** Takes what has happened to an order. */
function take(message: Message): void {
  if (!('orderHash' in message)) return;
  const { orderHash, type, remainingSize } = message;
  if (type === 'accepted') orders.set(orderHash, { side: message.side, price: message.price, isOpen: true });
  const order = orders.get(orderHash);
  if (order === undefined) return;
  const sign = order.side === Side.Buy ? 1n : -1n;
  if (type === 'filled') held += sign * message.size;
  // The chain has refused the trade: it never happened.
  if (type === 'failed') held -= sign * message.size;
  if (type === 'reinstated') order.isOpen = true;
  if (type === 'cancelled' || remainingSize === 0n) order.isOpen = false;
  if (message.more !== true) told = message.position;
}

function wanted(): Quote[] {
  const middle = 500_000n - STEP * held / SIZE;
  const both = [{ side: Side.Buy, price: middle - HALF_SPREAD }, { side: Side.Sell, price: middle + HALF_SPREAD }];
  return both.filter(({ side }) => side === Side.Buy ? held < MOST : held > -MOST);
}

const isAmong = (quotes: readonly Quote[], { side, price }: Quote): boolean => (
  quotes.some((each) => each.side === side && each.price === price));

/** Cancels what it does not want any more, and places what is missing. No signal ends that: each order is answered. */
async function quote(): Promise<void> {
  if (told < placed) return;
  const goal = wanted();
  const open = [...orders].filter(([, { isOpen }]) => isOpen);
  const quotes = open.map(([, order]) => order);
  // A quote whose answer was lost may be there twice.
  const stale = open.filter(([, order], i) => !isAmong(goal, order) || isAmong(quotes.slice(0, i), order));
  if (stale.length > 0) await client.cancelMany(stale.map(([orderHash]) => ({ orderHash })));
  const missing = goal.filter((each) => !isAmong(quotes, each));
  if (missing.length === 0) return;
  const results = await client.placeBatch(missing.map((each) => (
    { ...each, market, outcome: Outcome.Yes, size: SIZE, postOnly: true })));
  for (const result of results) {
    if (result instanceof Error) console.error(`a quote was not taken: ${result.message}`);
    else placed = Math.max(placed, result.position);
  }
}

async function follow(from: number): Promise<void> {
  for await (const message of client.watch([`orders:${client.address}`], { signal, from })) {
    if (message.type === 'gap') throw new Error('what became of its orders is not known any more: start it again');
    take(message);
  }
}

/**
 * Does the work again and again. What the exchange refuses, or has not answered in time, is tried again: the stream
 * tells what it has done.
 */
async function every(ms: number, work: () => Promise<unknown>): Promise<void> {
  for (;; await pause(ms, undefined, { signal })) {
    await work().catch((error: unknown) => {
      if (!(error instanceof ExchangeError)) throw error;
      console.error(error.message);
    });
  }
}

const { position } = await client.cancelAll({ market });
const arm = () => client.cancelAfter({ seconds: SWITCH_S });
const work = [follow(position), every(200, quote), every(SWITCH_S * 300, arm)];
await Promise.race(work).catch((error: unknown) => { if (!signal.aborted) console.error(error); });
stopping.abort();
await Promise.allSettled(work); // Else an order on its way could come after the cancel.
await client.cancelAll({ market });
console.log(JSON.stringify({ held: decimalOf(held) }));
