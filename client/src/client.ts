/** The client of the exchange: orders, reads, streams, and the relayer, over one session. */
import { followBook, type Book } from './book.js';
import { Cancels } from './cancels.js';
import { BadArgument, type CallOptions, type SentRequest } from './errors.js';
import { memoryNonceStore, nonceSource, type NonceSource, type NonceStore } from './nonces.js';
import { Orders, postOf } from './orders.js';
import { readsOf, type Reads } from './reads.js';
import { Relay } from './relay.js';
import { Session, type MarketReference, type OnChain } from './session.js';
import { Signing } from './signing.js';
import { signerOf, type AnySigner } from './signer.js';
import type { Fetch } from './transport.js';
import type { Hex } from './vocabulary.js';
import { watch, type Gap, type Message, type WatchOptions } from './watch.js';

export interface ClientOptions {
  /** Where the exchange is, such as `https://exchange.example`. */
  readonly url: string;
  /** Who trades. Without one, the client reads and watches. */
  readonly signer?: AnySigner | undefined;
  /** A bearer token for the relayer. */
  readonly token?: string | undefined;
  /** Instead of the global one. */
  readonly fetch?: Fetch | undefined;
  /** Keeps the trader's nonces; default: in memory, where the clock makes them rise across restarts. */
  readonly nonces?: NonceStore | undefined;
  /** How long a call may take with all its attempts, unless it says so itself. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
  /** How long one attempt may take. Default: 10 s. */
  readonly attemptMs?: number | undefined;
  /** Reads include everything up to this log position: `position` of a client before. */
  readonly position?: number | undefined;
}

/** What a wallet has after it was filled up: stablecoin, and the chain's coin in its smallest unit. */
export interface Funds {
  readonly address: Hex;
  readonly chainId: number;
  readonly collateral: bigint;
  readonly native: string;
  readonly status: 'confirmed' | 'pending';
  readonly txHash: Hex | '';
}

const TIMEOUT_MS = 30_000;
const ATTEMPT_MS = 10_000;

/** A client of the exchange at this address. Nothing is sent before the first call. */
export function connect(options: ClientOptions): Client {
  return new Client(options);
}

export class Client {
  /** All reads. */
  readonly read: Reads;
  /** What the relayer does: approve, permit, split, merge, redeem, propose, settle. */
  readonly relay: Relay;
  readonly place: Orders['place'];
  readonly placeBatch: Orders['placeBatch'];
  readonly sign: Orders['sign'];
  readonly check: Orders['check'];
  readonly cancel: Cancels['cancel'];
  readonly cancelMany: Cancels['cancelMany'];
  readonly cancelAll: Cancels['cancelAll'];
  readonly cancelAfter: Cancels['cancelAfter'];
  readonly reduce: Cancels['reduce'];
  private readonly session: Session;
  private readonly signing: Signing;

  constructor({
    url, signer, token, fetch = (input, init) => globalThis.fetch(input, init), nonces = memoryNonceStore(),
    timeoutMs = TIMEOUT_MS, attemptMs = ATTEMPT_MS, position = -1,
  }: ClientOptions) {
    const delivery = { wire: { url: addressOf(url), fetch }, timeoutMs, attemptMs };
    const session = this.session = new Session(delivery, position);
    const signing = this.signing = new Signing(session, signer === undefined ? undefined : signerOf(signer));
    let source: NonceSource | undefined;
    const orders = new Orders(session, signing, () => source ??= nonceSource(nonces, signing.trader));
    const cancels = new Cancels(session, signing);
    this.read = readsOf(session);
    this.relay = new Relay(session, signing, token);
    this.place = orders.place.bind(orders);
    this.placeBatch = orders.placeBatch.bind(orders);
    this.sign = orders.sign.bind(orders);
    this.check = orders.check.bind(orders);
    this.cancel = cancels.cancel.bind(cancels);
    this.cancelMany = cancels.cancelMany.bind(cancels);
    this.cancelAll = cancels.cancelAll.bind(cancels);
    this.cancelAfter = cancels.cancelAfter.bind(cancels);
    this.reduce = cancels.reduce.bind(cancels);
  }

  /** The signer's address, in lower case. Throws BadArgument without a signer. */
  get address(): Hex {
    return this.signing.trader;
  }

  /** The log position of this client's last write, which its reads include; -1 before the first one. */
  get position(): number {
    return this.session.position;
  }

  /**
   * What happens in these channels, as it happens: `book:{marketId}`, `trades:{marketId}`, `orders:{address}`,
   * `prices:{asset}`, `markets`. Connects again by itself, and says by a `gap` where something may be missing.
   */
  watch(channels: readonly string[], options: WatchOptions = {}): AsyncGenerator<Message | Gap, never> {
    return watch(this.session, channels, options);
  }

  /** A market's books: now, and after each change. */
  book(market: MarketReference, options: Omit<WatchOptions, 'from'> = {}): AsyncGenerator<Book, never> {
    return followBook(this.session, market, options);
  }

  /**
   * Fills a wallet up with test money, on a development stack; there is no such thing elsewhere (`not_found`). Default:
   * the signer's wallet.
   */
  async funds(
    { address = this.address, chainId }: OnChain & { readonly address?: Hex } = {}, options: CallOptions = {},
  ): Promise<Funds> {
    const request = postOf('/api/v1/dev/funds', { address, chainId });
    return this.session.send(request, { result: ({ body }) => body as Funds }, options);
  }

  /** Sends the request of an OutcomeUnknown again, also after a restart. The answer is the API's, as it is. */
  resend(request: SentRequest, options: CallOptions = {}): Promise<unknown> {
    return this.session.send(request, { result: ({ body }) => body }, options);
  }
}

/** The address without a slash at its end. */
function addressOf(url: string): string {
  if (/^https?:\/\/./.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '');
  throw new BadArgument('url', `is an http or https address, not ${JSON.stringify(url)}`);
}

export type { Book, Level, OutcomeBook } from './book.js';
export type { CancelAfterRequest, CancelAllRequest, OrderReference } from './cancels.js';
export {
  BadArgument, ExchangeError, OutcomeUnknown, Refusal, TransportError, type CallOptions, type ErrorCode,
  type SentRequest,
} from './errors.js';
export { memoryNonceStore, type NonceStore } from './nonces.js';
export type { BatchResult, OrderPermit, OrderRequest, OrderTerms, Placed, SignedOrder } from './orders.js';
export type { PageOptions, Pages } from './pages.js';
export { UNLIMITED, type Relayed } from './relay.js';
export type { MarketReference } from './session.js';
export { eip1193Signer, type AnySigner, type Eip1193Provider, type Signer, type TypedData } from './signer.js';
export { decimalOf } from './arguments.js';
export { Outcome, Side, type Amount, type Hex } from './vocabulary.js';
export type { Gap, Message, WatchOptions } from './watch.js';
