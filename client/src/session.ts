/**
 * What all calls of a client share: the way to the exchange, its configuration, its time, and the log position of the
 * client's own writes.
 */
import { BadArgument, ExchangeError, type CallOptions, type SentRequest } from './errors.js';
import { deliver, read, type Delivered, type Delivery, type Taking } from './delivery.js';
import { listIn, type ApiAnswer } from './transport.js';
import type { Hex } from './vocabulary.js';
import { unlessAborted } from './waiting.js';
import type { Configuration, ChainConfiguration, Market } from './answers.js';

/** Values of a query; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | bigint | undefined>>;

/**
 * A market by its id, or with the chain that it is on, as every listing has it: that spares a look-up where the
 * exchange has several chains.
 */
export type MarketReference = Hex | { readonly id: Hex; readonly chainId: number };

export interface OnChain {
  /** Needed where the exchange has several chains. */
  readonly chainId?: number;
}

/** How long the configuration, with the difference of the clocks, is taken for true. */
const CONFIG_AGE_MS = 300_000;

export class Session {
  /** The log position of the last write: reads wait until they include it. */
  private written: number;
  private known: Promise<Configuration> | undefined;
  private knownSinceMs = 0;
  /** How far the exchange's clock is ahead of this one. */
  private aheadMs = 0;

  constructor(readonly delivery: Delivery, position: number) {
    this.written = position;
  }

  get position(): number {
    return this.written;
  }

  /** The body of an answer that includes all that this client has written. */
  async get<T>(path: string, query: Query = {}, options: CallOptions = {}): Promise<T> {
    return (await this.ask(path, query, options)).body as T;
  }

  async ask(path: string, query: Query = {}, options: CallOptions = {}): Promise<ApiAnswer> {
    return read(this.delivery, { method: 'GET', path: pathOf(path, query), headers: this.minPosition() }, options);
  }

  /** Of a read that includes what was written. */
  minPosition(): Record<string, string> {
    return this.written < 0 ? {} : { 'X-Min-Log-Position': String(this.written) };
  }

  /** Sends a request that changes something, the same bytes until there is an answer. */
  send<T>(request: SentRequest, taking: Taking<T>, options: CallOptions = {}): Promise<T> {
    return deliver(this.delivery, request, {
      ...taking,
      result: (answer) => {
        this.written = Math.max(this.written, positionOf(answer) ?? -1);
        return taking.result(answer);
      },
    }, options);
  }

  /** The exchange's configuration; asked for again when it is old. */
  config({ signal, ...patience }: CallOptions = {}): Promise<Configuration> {
    if (this.known === undefined || Date.now() - this.knownSinceMs >= CONFIG_AGE_MS) {
      const asked = this.askConfig(patience);
      asked.catch(() => { if (this.known === asked) this.known = undefined; });
      [this.known, this.knownSinceMs] = [asked, Date.now()];
    }
    return unlessAborted(this.known, signal);
  }

  forgetConfig(): void {
    this.known = undefined;
  }

  /** The exchange's time, in Unix seconds. */
  async now(options: CallOptions = {}): Promise<number> {
    await this.config(options);
    return Math.floor((Date.now() + this.aheadMs) / 1_000);
  }

  /** A chain by its id, else the only one. Throws BadArgument. */
  async chain(chainId: number | undefined, options: CallOptions = {}): Promise<ChainConfiguration> {
    const { chains } = await this.config(options);
    const [only, ...others] = chains;
    if (chainId === undefined && only !== undefined && others.length === 0) return only;
    const found = chains.find((each) => each.chainId === chainId);
    if (found !== undefined) return found;
    const known = chains.map((each) => each.chainId).join(', ');
    throw new BadArgument('chainId', `is one of ${known}, not ${String(chainId)}`);
  }

  /** The chain of a market. */
  async chainOfMarket(market: MarketReference, options: CallOptions = {}): Promise<ChainConfiguration> {
    if (typeof market !== 'string') return this.chain(market.chainId, options);
    const { chains: [only, ...others] } = await this.config(options);
    if (only !== undefined && others.length === 0) return only;
    return this.chain((await this.get<Market>(`/api/v1/markets/${market}`, {}, options)).chainId, options);
  }

  private async askConfig(options: CallOptions): Promise<Configuration> {
    const answer = await read(this.delivery, { method: 'GET', path: '/api/v1/config' }, options);
    const config = { ...answer.body as Configuration, chains: listIn<ChainConfiguration>(answer, 'chains') };
    this.aheadMs = config.serverTime * 1_000 - Date.now();
    return config;
  }
}

/** The id of a market. */
export function marketIdOf(market: MarketReference): Hex {
  return typeof market === 'string' ? market : market.id;
}

/** `X-Log-Position` of an answer. */
export function positionOf({ headers }: Pick<ApiAnswer, 'headers'>): number | undefined {
  const header = headers.get('X-Log-Position');
  return header === null || !/^-?\d+$/.test(header) ? undefined : Number(header);
}

/** The position of an answer that has to have one. */
export function positionIn(answer: Delivered): number {
  const position = positionOf(answer);
  if (position === undefined) throw new ExchangeError('the answer has no X-Log-Position: does a proxy take it away?');
  return position;
}

export function isReplay({ headers }: Pick<ApiAnswer, 'headers'>): boolean {
  return headers.get('Idempotent-Replayed') === 'true';
}

export function pathOf(path: string, query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.append(name, String(value));
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}
