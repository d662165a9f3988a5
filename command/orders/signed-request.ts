/**
 * What the requests about a trader's orders share: their parts, the chain, the signature, and the answer of a repeat.
 */
import { RequestError } from '../../engine/records/errors.js';
import { toHex } from '../../engine/records/hex.js';
import type { EngineView } from '../../engine/run/view.js';
import { normalSignature, recoveryFailures, type SignerRecovery } from '../signing/recover.js';
import type { PreparedDomain, RequestFields } from '../signing/typed-data.js';
import type { FindOrder, KnownOrder, OriginalOutcome, Submit } from './order-ports.js';
import { passed, type Written, type Underway } from './command-writer.js';
import { fieldError } from './order-request.js';

export interface SignedRequestParts {
  readonly view: Pick<EngineView, 'position' | 'market' | 'cancelledAllAt' | 'hasOrders' | 'switchOf'>;
  /** `open`: a request without a signature is accepted too; only for a development stack on loopback. */
  readonly auth: 'required' | 'open';
  /** The signing domains of orders by chain id. */
  readonly domains: ReadonlyMap<number, PreparedDomain>;
  readonly recovery: SignerRecovery;
  readonly submit: Submit<Written>;
  readonly findOrder: FindOrder;
  readonly originalOutcome: OriginalOutcome;
  /**
   * Resolves once the view has everything that is in the log now: no command of before is missed. Throws RequestError
   * `unavailable`.
   */
  readonly caughtUp: () => Promise<void>;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

/** The chain that a request names, or the only one there is. Throws RequestError. */
export function chainOf({ domains }: Pick<SignedRequestParts, 'domains'>, chainId: number | undefined): number {
  const [only, ...others] = domains.keys();
  if (chainId === undefined) {
    if (only !== undefined && others.length === 0) return only;
    throw fieldError('invalid_chain_id', '/chainId', 'is missing, and there are several chains');
  }
  if (!domains.has(chainId)) throw fieldError('unknown_chain', '/chainId', 'names it');
  return chainId;
}

interface Authority {
  readonly chainId: number;
  readonly at: number;
  readonly deadline: string | undefined;
  readonly signature: Buffer | undefined;
  /** The signed fields, but for the deadline. */
  readonly fields: RequestFields extends infer R ? R extends unknown ? Omit<R, 'deadline'> : never : never;
}

/**
 * The signature and the deadline as records have them; empty where none are given and none are needed. Throws
 * RequestError `signature_required` or `invalid_request_signature`.
 */
export function checkRequest(
  { auth, domains, recovery }: SignedRequestParts, { chainId, at, deadline, signature, fields }: Authority,
): { readonly signature?: string; readonly deadline?: string } {
  if (deadline === undefined && signature === undefined && auth === 'open') return {};
  if (deadline === undefined || signature === undefined) throw new RequestError('signature_required');
  if (Number(deadline) * 1_000 <= at) {
    throw fieldError('invalid_request_signature', '/deadline', `has passed: the server's time is ${Math.floor(at / 1_000)}`);
  }
  const prepared = domains.get(chainId);
  if (prepared === undefined) throw new Error(`chain ${chainId} has no signing domain`);
  const digest = prepared.requestDigest({ ...fields, deadline });
  const recovered = recovery.recover(digest, signature);
  if (recovered.ok && recovered.signer === fields.trader) return { signature: normalSignature(signature), deadline };
  const { domain } = prepared;
  const fault = recovered.ok ? `is by ${recovered.signer}, not by the trader ${fields.trader}` : `recovers no signer: ${recoveryFailures[recovered.failure]}`;
  throw fieldError('invalid_request_signature', '/signature', fault, {
    digest: toHex(digest), recoveredSigner: recovered.ok ? recovered.signer : null, domain,
  });
}

/** Does the work once the same request has none under way: many of one request at the same time are written once. */
export async function inTurn<T>(
  underway: Underway, { request, trader, signal }: {
    readonly request: string;
    readonly trader: string;
    readonly signal: AbortSignal | undefined;
  },
  run: () => Promise<T>,
): Promise<T> {
  for (let ahead = underway.find(request); ahead !== undefined; ahead = underway.find(request)) await passed(ahead, request);
  return underway.start({ key: request, trader, orderHash: request, request, signal, run });
}

/** An order by its hash, also one that was accepted a moment ago by another process; undefined for an unknown one. */
export async function findAny({ findOrder, caughtUp }: Pick<SignedRequestParts, 'findOrder' | 'caughtUp'>, orderHash: string): Promise<KnownOrder | undefined> {
  const found = await findOrder(orderHash);
  if (found !== undefined) return found;
  await caughtUp();
  return findOrder(orderHash);
}

/** The body that tells of a cancelled order, with exact JSON integers. */
export function cancelledBody(orderHash: string, { size, remaining }: Pick<KnownOrder, 'size' | 'remaining'>): string {
  return `{"status":"cancelled","orderHash":"${orderHash}","filledSize":${BigInt(size) - BigInt(remaining)},"remainingSize":${remaining}}`;
}
