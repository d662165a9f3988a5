/** What the exchange says that an order would do, asked for as it is typed, and again as the book changes. */
import { effect, signal, untracked, type ReadonlySignal } from '@preact/signals';
import type { CheckedOrder, Market } from '../../../client/src/answers.js';
import type { OrderPermit } from '../../../client/src/orders.js';
import { exchange, signer } from '../exchange.js';
import { follow } from '../live.js';
import { requestOf, type TicketFields } from './placing.js';

/** `checked` is of the present order; while another one is asked for, there is none. */
export type CheckState
  = { readonly kind: 'none' | 'checking'; readonly checked?: undefined } | { readonly kind: 'checked'; readonly checked: CheckedOrder }
    | { readonly kind: 'failed'; readonly error: unknown; readonly checked?: undefined };

export interface OrderCheck {
  readonly state: ReadonlySignal<CheckState>;
  /** Asks for this order from now on; undefined for none. */
  show(fields: TicketFields | undefined, permit: OrderPermit | undefined): void;
  /** Asks again, several times: what was mended shows once the history has it. */
  again(): void;
  close(): void;
}

const TYPING_MS = 250;
/** A book may change twenty times a second. */
const BOOK_MS = 2_000;
const FAILED_MS = 3_000;
const AGAIN_EVERY_MS = 1_500;
const AGAIN_TIMES = 40;
const TIMEOUT_MS = 10_000;

type Shown = readonly [fields: TicketFields, permit: OrderPermit | undefined];

function answerTo(market: Market, [fields, permit]: Shown, signal: AbortSignal): Promise<CheckedOrder> {
  return exchange.peek().check({ ...requestOf(market, fields), ...permit && { permit } }, { signal, timeoutMs: TIMEOUT_MS });
}

export function createOrderCheck(market: Market): OrderCheck {
  const state = signal<CheckState>({ kind: 'none' });
  let shown: Shown | undefined;
  let leaving: AbortController | undefined;
  let due: ReturnType<typeof setTimeout> | undefined;
  let dueAt = 0;
  let times = 0;

  function askIn(ms: number): void {
    clearTimeout(due);
    dueAt = performance.now() + ms;
    due = setTimeout(() => { void ask(); }, ms);
  }

  async function ask(): Promise<void> {
    due = undefined;
    leaving?.abort();
    if (shown === undefined || signer.peek() === undefined) return;
    const mine = leaving = new AbortController();
    try {
      const checked = await answerTo(market, shown, mine.signal);
      if (mine.signal.aborted) return;
      state.value = { kind: 'checked', checked };
      if (checked.accepted) times = 0;
    } catch (error) {
      if (mine.signal.aborted) return;
      state.value = { kind: 'failed', error };
      // A refusal is an answer; this is a service that starts, or a network that has gone.
      askIn(FAILED_MS);
    }
    if (times > 0 && !mine.signal.aborted) {
      times -= 1;
      askIn(AGAIN_EVERY_MS);
    }
  }

  const unfollow = follow({
    channels: [`book:${market.id}`], begins: () => { askIn(TYPING_MS); },
    take: () => { if (due === undefined || dueAt > performance.now() + BOOK_MS) askIn(BOOK_MS); },
  });
  const unsigned = effect(() => {
    // Whose order it is changes what the exchange says of it.
    const has = signer.value !== undefined;
    untracked(() => {
      state.value = { kind: 'none' };
      if (has && shown !== undefined) askIn(0);
    });
  });
  return {
    state,
    show(fields, permit) {
      leaving?.abort();
      times = 0;
      shown = fields === undefined ? undefined : [fields, permit];
      state.value = { kind: fields === undefined || signer.peek() === undefined ? 'none' : 'checking' };
      if (fields !== undefined) askIn(TYPING_MS);
    },
    again() {
      times = AGAIN_TIMES;
      askIn(0);
    },
    close() {
      unsigned();
      unfollow();
      clearTimeout(due);
      leaving?.abort();
    },
  };
}
