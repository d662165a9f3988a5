/** Traders who send orders and cancels to a service that dies all the time, each again until it is answered, and note what they were told. */
import { equal } from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Signature, TypedDataEncoder, ZeroAddress } from 'ethers';
import { cancelTypes, orderTypes, permitTypes } from '../../command/signing/typed-data.js';
import type { CrashChain, CrashTrader, Means } from './crash-chain.js';
import { extent } from './extent.js';
import type { WalletAnswer, WalletRequest } from './gasless-wallet.js';
import { createRandom } from './random-commands.js';
import { until } from './until.js';

/** Longer than any disaster lasts. */
const ANSWER_S = 240;

export interface DeliveryParts {
  /** Where the service is at present, or will be. */
  readonly url: () => Promise<string>;
  /** Is told every answer, also those after which the request is sent again. */
  readonly answered?: ((asked: WalletRequest, answer: WalletAnswer) => void) | undefined;
}

export function crashDelivery({ url, answered }: DeliveryParts) {
  const agent = new Agent({ keepAlive: true });
  let repeats = 0;
  return {
    /** How many were sent again because the service died before it answered. */
    repeats: () => repeats,
    deliver(asked: WalletRequest): Promise<WalletAnswer> {
      return until(`an answer to ${asked.method} ${asked.path} that is not 503`, async () => {
        try {
          const answer = await ask(agent, await url(), asked);
          answered?.(asked, answer);
          return answer.status !== 503 && answer;
        } catch (error) {
          // The connection's errors have codes.
          if ((error as NodeJS.ErrnoException).code === undefined) throw error;
          repeats++;
          return undefined;
        }
      }, ANSWER_S);
    },
  };
}

/** By node's own client: fetch hides which errors are the connection's. */
function ask(agent: Agent, url: string, { method, path, body, headers }: WalletRequest): Promise<WalletAnswer> {
  return new Promise((resolve, reject) => {
    const sized = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const sent = request(url + path, { agent, method, headers: { ...sized, ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => { text += chunk; });
      response.on('error', reject);
      response.on('end', () => {
        const headers = new Headers(response.headers as Record<string, string>);
        resolve({ status: response.statusCode!, headers, body: JSON.parse(text) as unknown });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** An order that was taken, as its trader was told. */
export interface Acknowledged {
  readonly orderHash: string;
  readonly position: number;
  readonly matches: number;
}

export interface CrashTraders {
  /** By order hash. */
  readonly acknowledged: ReadonlyMap<string, Acknowledged>;
  /** Hashes of orders that were refused, with the error's code. */
  readonly refused: ReadonlyMap<string, string>;
  /** Hashes of orders that were said to be cancelled. */
  readonly cancelled: ReadonlySet<string>;
  /** How many were sent again because the service died before it answered. */
  readonly repeats: () => number;
  /** The nonce of the latest order. */
  readonly nonce: () => number;
  /** An order that was taken lately, to cancel it elsewhere. */
  readonly recent: () => SignedOrder | undefined;
  /** Resolves after the signal, when everything sent is answered. */
  trade(signal: AbortSignal): Promise<void>;
  /** Sends an order that was taken before once more: its answer, and whether it says that it is a repeat. */
  repeat(orderHash: string): Promise<{ readonly told: Acknowledged; readonly isRepeat: boolean }>;
}

interface SignedOrder {
  readonly trader: CrashTrader;
  readonly order: Readonly<Record<string, unknown>> & { readonly marketId: string };
  readonly orderHash: string;
  readonly body: string;
}

interface CrashTradersParts extends DeliveryParts {
  readonly chain: CrashChain;
  readonly seed: number;
  /** The longest pause between two requests of a trader. */
  readonly restMs?: number;
}

const EXPIRATION = 4_000_000_000;
/** Whoever lacks something does not get it by trading the other way. */
const SIDES: Readonly<Partial<Record<Means, 0 | 1>>> = { penniless: 0, shareless: 1 };
/** What may be wrong with an order here. */
const REFUSALS = ['trader_suspended', 'insufficient_balance', 'insufficient_allowance', 'nonce_cancelled', 'unknown_market', 'market_closed'];

/** Of each trader; signing for all of them takes a core of its own in the long form. */
const REST_MS = extent({ push: 600, long: 80 });

export function crashTraders(parts: CrashTradersParts): CrashTraders {
  const { chain, seed, restMs = REST_MS } = parts;
  const { deliver, repeats } = crashDelivery(parts);
  const sign = signing(chain);
  const acknowledged = new Map<string, Acknowledged>();
  const refused = new Map<string, string>();
  const cancelled = new Set<string>();
  const taken = new Map<string, SignedOrder>();
  let recent: SignedOrder | undefined;
  let nonce = 0;

  async function place(signed: SignedOrder): Promise<WalletAnswer> {
    const answer = await deliver({ method: 'POST', path: '/api/v1/orders', body: signed.body });
    if (answer.status !== 200) return answer;
    equal(bodyOf(answer)['orderHash'], signed.orderHash);
    return answer;
  }

  async function placeNew(trader: CrashTrader, random: () => number): Promise<SignedOrder[]> {
    const signed = await sign.order(trader, { nonce: ++nonce, random });
    const answer = await place(signed);
    if (answer.status !== 200) {
      refused.set(signed.orderHash, refusalOf(answer, REFUSALS));
      return [];
    }
    acknowledged.set(signed.orderHash, toldBy(answer));
    taken.set(signed.orderHash, signed);
    recent = signed;
    return [signed];
  }

  async function cancel({ orderHash, order: { marketId, side }, trader }: SignedOrder): Promise<void> {
    const answer = await deliver({
      method: 'DELETE', path: `/api/v1/orders/${orderHash}?marketId=${marketId}&side=${side === 0 ? 'buy' : 'sell'}`,
      headers: { 'X-Cancel-Signature': await sign.cancel(trader, orderHash), 'X-Cancel-Deadline': String(EXPIRATION) },
    });
    if (answer.status === 200) cancelled.add(orderHash);
    else refusalOf(answer, ['already_filled']);
  }

  async function tradeAs(trader: CrashTrader, random: () => number, signal: AbortSignal): Promise<void> {
    const own: SignedOrder[] = [];
    while (!signal.aborted) {
      if (own.length > 0 && random() % 10 === 0) await cancel(own.splice(random() % own.length, 1)[0]!);
      else own.push(...await placeNew(trader, random));
      await sleep(random() % restMs);
    }
  }

  return {
    acknowledged, refused, cancelled, repeats,
    nonce: () => nonce,
    recent: () => recent,
    async trade(signal) {
      await Promise.all(chain.traders.map((trader, i) => tradeAs(trader, createRandom(seed + i), signal)));
    },
    async repeat(orderHash) {
      const answer = await place(taken.get(orderHash)!);
      return { told: toldBy(answer), isRepeat: answer.headers.get('idempotent-replayed') === 'true' };
    },
  };
}

function bodyOf({ body }: WalletAnswer): Readonly<Record<string, unknown>> {
  return body as Readonly<Record<string, unknown>>;
}

function toldBy(answer: WalletAnswer): Acknowledged {
  const { orderHash, matches } = bodyOf(answer);
  return { orderHash: orderHash as string, matches: matches as number, position: Number(answer.headers.get('x-log-position')) };
}

function refusalOf(answer: WalletAnswer, expected: readonly string[]): string {
  const { code } = bodyOf(answer);
  if (typeof code !== 'string' || !expected.includes(code)) throw new Error(`answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
  return code;
}

function signing(chain: CrashChain) {
  const { chainId, domainName, contracts } = chain.chain;
  const domain = { name: domainName, version: '1', chainId, verifyingContract: contracts.settlement };
  const types = { Order: [...orderTypes.Order] };

  async function permit({ wallet }: CrashTrader, value: bigint) {
    const nonce = await chain.read('collateral', 'nonces', [wallet.address]) as bigint;
    const collateral = { name: 'USD Coin (test)', version: '2', chainId, verifyingContract: contracts.collateral };
    const signature = await wallet.signTypedData(collateral, { Permit: [...permitTypes.Permit] }, {
      owner: wallet.address, spender: contracts.settlement, value, nonce, deadline: EXPIRATION,
    });
    const { v, r, s } = Signature.from(signature);
    return { nonce: Number(nonce), value: String(value), deadline: EXPIRATION, v, r, s };
  }

  return {
    /** An order that many others meet: few prices, both sides and outcomes. */
    async order(trader: CrashTrader, { nonce, random }: { nonce: number; random: () => number }): Promise<SignedOrder> {
      const [price, size] = [497_000 + 1_000 * (random() % 7), 1_000_000 + random() % 20_000_000];
      const { marketId } = chain.markets[random() % chain.markets.length]!;
      const order = {
        marketId, trader: trader.address, side: SIDES[trader.means] ?? random() % 2, outcome: random() % 2, price, size, nonce,
        expiration: EXPIRATION, makerFeeRecipient: ZeroAddress,
      };
      const signature = await trader.wallet.signTypedData(domain, types, order);
      const permitSignature = trader.means === 'permits' && order.side === 0 ? await permit(trader, BigInt(size)) : undefined;
      return { trader, order, orderHash: TypedDataEncoder.hash(domain, types, order), body: JSON.stringify({ order, signature, permitSignature }) };
    },
    cancel: ({ wallet, address }: CrashTrader, orderHash: string) => (
      wallet.signTypedData(domain, { CancelOrder: [...cancelTypes.CancelOrder] }, { orderHash, trader: address, deadline: EXPIRATION })),
  };
}
