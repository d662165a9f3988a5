/** Why a provider gives no prices, and how long it wants to be left alone. */
import { shown } from '../observation.js';

/** The provider cannot be reached, refuses, or has ended the connection. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  /** The least time until the next try, in milliseconds. */
  readonly waitMs: number;
  /** Only the operator can help: the key is wrong. */
  readonly forOperator: boolean;

  constructor(
    text: string, { waitMs = 0, forOperator = false }: { readonly waitMs?: number; readonly forOperator?: boolean } = {},
  ) {
    super(text);
    this.waitMs = waitMs;
    this.forOperator = forOperator;
  }
}

/** After a refused key: it may have been made valid at the provider. */
const REFUSED_MS = 15 * 60_000;
/** Where a provider limits requests and does not say for how long: Hermes does so for a minute. */
const LIMITED_MS = 60_000;
/** Binance's longest ban. */
const LONGEST_WAIT_MS = 3 * 24 * 3_600_000;

const LIMITED = [429, 418];
const REFUSED = [401, 403];

export interface RefusedAnswer {
  readonly status: number;
  readonly retryAfter: string | null | undefined;
  /** The beginning of the answer's body. */
  readonly text: string;
  readonly nowMs: number;
}

/** The failure that an HTTP answer with another status than asked for means. */
export function failureOf({ status, retryAfter, text, nowMs }: RefusedAnswer): ProviderFailure {
  const said = `answers HTTP ${status}${text.trim() === '' ? '' : ` (${shown(text.trim())})`}`;
  if (REFUSED.includes(status)) return new ProviderFailure(`${said}: check its key`, { waitMs: REFUSED_MS, forOperator: true });
  const askedMs = retryAfterMs(retryAfter, nowMs);
  return new ProviderFailure(
    said, { waitMs: Math.min(LONGEST_WAIT_MS, askedMs ?? (LIMITED.includes(status) ? LIMITED_MS : 0)) },
  );
}

/** Retry-After is a number of seconds or a date. */
function retryAfterMs(value: string | null | undefined, nowMs: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}
