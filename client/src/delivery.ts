/**
 * A request is sent, byte for byte the same, until there is an answer that counts: lost connections, restarts of the
 * exchange and limits are waited out. The exchange carries such a request out once, and answers its repeat with the
 * first answer.
 */
import {
  OutcomeUnknown, Refusal, TransportError, type CallOptions, type ExchangeError, type SentRequest,
} from './errors.js';
import { ask, refusalOf, type ApiAnswer, type ApiRequest, type Wire } from './transport.js';
import { backOffMs, pause, within } from './waiting.js';

export interface Delivery {
  readonly wire: Wire;
  /** How long a call may take whose caller does not say. */
  readonly timeoutMs: number;
  /** How long one attempt may take. */
  readonly attemptMs: number;
}

/** An answer of success. */
export interface Delivered extends ApiAnswer {
  /**
   * Whether an attempt before may have been carried out: then an answer of a repeat is the first answer to this call.
   */
  readonly wasUnsure: boolean;
}

/** Refusals after which nothing has been carried out, and the same request may be taken later. */
const NOT_TAKEN = new Set([
  'rate_limited', 'overloaded', 'clock_untrusted', 'disk_full', 'trading_halted', 'relay_quota_used',
  'relay_owner_paused',
]);

/** The answer to a read. Throws Refusal, TransportError, or the signal's reason. */
export async function read(delivery: Delivery, request: ApiRequest, options: CallOptions = {}): Promise<ApiAnswer> {
  const attempts = new Attempts(delivery, options);
  for (;;) {
    const result = await attempts.next(request);
    if (!(result instanceof Error)) return result;
    if (!mayPass(result) || (result instanceof Refusal && result.code === 'internal')) throw result;
    if (!await attempts.waitAfter(result)) throw result;
  }
}

/** How an answer of success is taken. */
export interface Taking<T> {
  readonly result: (answer: Delivered) => T;
  /** Throws TransportError for an answer that cannot be the exchange's: then the request is sent again. */
  readonly check?: (answer: ApiAnswer) => void;
  /** An answer of several results of which some may pass is not: then the request is sent again. */
  readonly isFinal?: (answer: ApiAnswer) => boolean;
}

/**
 * The result of a request that changes something. Throws Refusal, OutcomeUnknown, or before the first attempt the
 * signal's reason.
 */
export async function deliver<T>(
  delivery: Delivery, request: SentRequest, taking: Taking<T>, options: CallOptions = {},
): Promise<T> {
  const { result: take, check, isFinal = () => true } = taking;
  options.signal?.throwIfAborted();
  const attempts = new Attempts(delivery, options);
  let wasUnsure = false;
  const ask = (again?: CallOptions) => deliver(delivery, request, taking, again);
  const unknown = (cause: unknown) => new OutcomeUnknown(request, ask, cause);
  for (;;) {
    let result: ApiAnswer | ExchangeError;
    try {
      result = await attempts.next(request);
      if (!(result instanceof Error)) check?.(result);
    } catch (error) {
      if (!(error instanceof TransportError)) throw unknown(error);
      result = error;
    }
    if (!(result instanceof Error)) {
      const goesOn = !isFinal(result) && await attempts.waitAfter(undefined).catch(() => false);
      if (!goesOn) return take({ ...result, wasUnsure });
      continue;
    }
    if (!mayPass(result)) throw result;
    wasUnsure ||= !(result instanceof Refusal && NOT_TAKEN.has(result.code));
    const goesOn = await attempts.waitAfter(result).catch((reason: unknown) => {
      throw wasUnsure ? unknown(reason) : reason;
    });
    if (!goesOn) throw wasUnsure ? unknown(result) : result;
  }
}

/** Whether the same request may be answered otherwise later. */
export function mayPass(error: ExchangeError): boolean {
  if (!(error instanceof Refusal)) return error instanceof TransportError;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}

/** The attempts of one call, until its time is up. */
class Attempts {
  private readonly end: number;
  private failures = 0;

  constructor(private readonly delivery: Delivery, private readonly options: CallOptions) {
    this.end = Date.now() + (options.timeoutMs ?? delivery.timeoutMs);
  }

  /** Returns what failed. Throws the signal's reason. */
  async next(request: ApiRequest): Promise<ApiAnswer | ExchangeError> {
    const { signal } = this.options;
    signal?.throwIfAborted();
    const { wire, attemptMs } = this.delivery;
    try {
      const ms = Math.max(1, Math.min(attemptMs, this.end - Date.now()));
      const answer = await within(ms, signal, (ended) => ask(wire, request, ended));
      return answer.status < 400 ? answer : refusalOf(answer);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TransportError) return error;
      throw error;
    }
  }

  /** Waits for the next attempt; false where it would come too late. */
  async waitAfter(error: ExchangeError | undefined): Promise<boolean> {
    const askedFor = error instanceof Refusal ? error.retryAfterMs ?? 0 : 0;
    const ms = Math.max(askedFor, backOffMs(this.failures++));
    if (Date.now() + ms >= this.end) return false;
    await pause(ms, this.options.signal);
    return true;
  }
}
