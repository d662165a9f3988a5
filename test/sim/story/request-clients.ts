/** The traders' programs for requests about several orders: sent until they are answered or refused, and what the answer then means. */
import { createRandom } from '../../support/random-commands.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Endpoint, Reply } from '../../../service/api/endpoint.js';
import type { WorldParts } from '../world/parts.js';
import type { EndpointRequest, AskResult } from './line.js';
import type { SignedOrder, Trader } from './traders.js';

/** A request with the body that is sent every time. */
export interface TraderRequest {
  readonly endpoint: Endpoint;
  readonly params?: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** In words, for the trace. */
  readonly what: string;
}

/** The orders of a trader in a market, or, with a zero id, in all markets. */
export interface AllOf {
  readonly trader: Trader;
  readonly marketId: string;
}

export interface RequestWatch {
  /** A try ended: `written` tells whether the command may be in the log. */
  refused(order: SignedOrder, written: 'no' | 'perhaps', code: string): void;
  cancelled(order: SignedOrder, position: number | undefined): void;
  /** An order of a batch was answered as accepted, without a position. */
  acceptedInBatch(order: SignedOrder): void;
  /** The numbers of the orders that were acknowledged before now. */
  acknowledgedOf(of: AllOf): readonly number[];
  /** These orders are cancelled as a whole, but for those from `before` on. */
  allCancelled(numbers: readonly number[], before: number): void;
}

interface RequestParts {
  readonly parts: WorldParts;
  readonly watch: RequestWatch;
  /** What a client hears of one try. */
  readonly heardOf: (front: number, asking: EndpointRequest) => Promise<AskResult<Reply>>;
  /** Sends an order alone until its fate is known. */
  readonly untilKnown: (order: SignedOrder, seed: number, firstTry: number) => Promise<void>;
  readonly carry: (work: Promise<void>) => void;
}

const TRIES = 6;

export function createRequestClients({ parts: { time, trace }, watch, heardOf, untilKnown, carry }: RequestParts) {
  /** Sends the request until it is answered or refused; gives the answer. */
  async function untilAnswered({ endpoint, params = {}, body, what }: TraderRequest, seed: number): Promise<Reply | undefined> {
    const random = createRandom(seed);
    for (let tries = 0; tries < TRIES; tries++) {
      const heard = await heardOf(random(), { endpoint, params, rawBody: body });
      trace.note(`${what}: ${textOf(heard)}`);
      if (typeof heard === 'object' && !(heard instanceof RequestError)) return heard;
      if (heard instanceof RequestError && !heard.isUnavailable) return undefined;
      await time.sleep(300 + 2_000 * time.random());
    }
    return undefined;
  }

  /** An item that is refused because a part was away is sent alone. */
  async function batchUntilKnown(orders: readonly SignedOrder[], request: TraderRequest, seed: number): Promise<void> {
    const reply = await untilAnswered(request, seed);
    const results = reply === undefined ? [] : (JSON.parse(reply.body) as { results: { status: number; body: { code?: string } }[] }).results;
    await Promise.all(orders.map(async (order, i) => {
      const { status, body: { code = '' } } = results[i] ?? { status: 503, body: { code: 'outcome_unknown' } };
      if (status === 200) return watch.acceptedInBatch(order);
      watch.refused(order, code === 'outcome_unknown' ? 'perhaps' : 'no', code);
      if (status === 503) await untilKnown(order, seed + i, 1);
    }));
  }

  return {
    request(request: TraderRequest, seed: number): void { carry(untilAnswered(request, seed).then(() => undefined)); },
    placeBatch(orders: readonly SignedOrder[], request: TraderRequest, seed: number): void { carry(batchUntilKnown(orders, request, seed)); },
    cancelSeveral(orders: readonly SignedOrder[], request: TraderRequest, seed: number): void {
      carry((async () => {
        const reply = await untilAnswered(request, seed);
        const results = reply === undefined ? [] : (JSON.parse(reply.body) as { results: { status: number }[] }).results;
        orders.forEach((order, i) => { if (results[i]?.status === 200) watch.cancelled(order, reply?.position); });
      })());
    },
    cancelAll(of: AllOf, request: TraderRequest, seed: number): void {
      const numbers = watch.acknowledgedOf(of);
      carry((async () => {
        const reply = await untilAnswered(request, seed);
        if (reply === undefined) return;
        const isRepeat = reply.headers?.['Idempotent-Replayed'] === 'true';
        watch.allCancelled(numbers, isRepeat ? reply.position ?? 0 : Infinity);
      })());
    },
  };
}

export function textOf(heard: AskResult<Reply>): string {
  if (typeof heard === 'string') return heard;
  return heard instanceof RequestError ? heard.code : heard.body;
}
