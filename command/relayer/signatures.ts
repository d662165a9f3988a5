/**
 * Checks the signatures of a plan off the chain: by the present nonces, or by the ones before, which means that the
 * request is a repeat.
 */
import { toHex } from '../../engine/records/hex.js';
import { prepareAction, type ActionDigest } from '../signing/action-digest.js';
import type { Keccak256, SigningDomain } from '../signing/typed-data.js';
import { recoveryFailures, type Recovery, type SignerRecovery } from '../signing/recover.js';
import {
  counterOf, nonceKey, nonceMeanings, signedActions, type NonceKind, type SigningContract,
} from '../signing/signed-actions.js';
import type { Contracts } from '../chain/chain.js';
import type { ContractCall } from '../chain/abi.js';
import type { Plan, SignedPart } from './plan.js';

/** The nonces of one signer that count up together: all of them, or those of a condition or market. */
export interface NonceSpace {
  /** Names it among all spaces of a chain. */
  readonly id: string;
  readonly kind: NonceKind;
  /** The view that gives the next nonce. */
  readonly call: ContractCall;
}

export function nonceSpaceOf({ name, nonceOf }: Pick<SignedPart, 'name' | 'nonceOf'>, owner: string, contracts: Contracts): NonceSpace {
  const { nonce: kind } = signedActions[name];
  const { contract } = nonceMeanings[kind];
  if (contract === undefined || contract === 'settlement') throw new Error(`${name} has no nonce on the chain`);
  const [method, args] = nonceOf === undefined ? ['nonces(address)', [owner]] : ['nonces(address,uint192)', [owner, nonceKey(nonceOf)]];
  const call = { abi: contract, to: contracts[contract], method: method as string, args: args as unknown[] };
  return { id: [contract, owner, nonceOf ?? ''].join(':'), kind, call };
}

/** A signed message with the nonce that it was signed with. */
export interface FoundNonce {
  readonly space: NonceSpace;
  readonly nonce: bigint;
  /** 32 bytes. */
  readonly digest: Uint8Array;
}

export type SignatureVerdict
  /** Every message is signed with its next nonce. `used` has them in the order of the parts. */
  = | { readonly kind: 'next' | 'repeat'; readonly requestId: string; readonly used: readonly FoundNonce[] }
    /** Some messages are signed with nonces that are used already. */
    | { readonly kind: 'used'; readonly items: readonly number[] }
    /** A message is not signed by the owner with any nonce that comes into question. */
    | { readonly kind: 'wrong'; readonly item: number; readonly detail: string };

export interface SignatureParts {
  readonly keccak256: Keccak256;
  readonly recovery: SignerRecovery;
  readonly domains: Readonly<Record<SigningContract, SigningDomain | undefined>>;
}

/** `nonceOf` gives the next nonce of a space, as just read from the chain. */
export function createSignatureCheck({ keccak256, recovery, domains }: SignatureParts) {
  const digests = new Map<string, ActionDigest>();
  const digestOf = (name: SignedPart['name']): ActionDigest => {
    const action = signedActions[name];
    const domain = domains[action.contract];
    if (domain === undefined) throw new Error(`the domain of ${name} has not been read yet`);
    const digest = digests.get(name) ?? prepareAction(keccak256, action, domain);
    digests.set(name, digest);
    return digest;
  };

  function signerOf({ name, message, signature }: SignedPart, nonce: bigint) {
    const digest = digestOf(name)({ ...message, nonce });
    const { r, s, v } = signature;
    return { digest, recovered: recovery.recover(digest, Buffer.from(`${r.slice(2)}${s.slice(2)}${v.toString(16)}`, 'hex')) };
  }

  return (plan: Plan, spaces: readonly NonceSpace[], nonceOf: (space: NonceSpace) => bigint): SignatureVerdict => {
    const totals = new Map<string, number>();
    for (const { id } of spaces) totals.set(id, (totals.get(id) ?? 0) + 1);
    const places = new Map<string, number>();
    const found: (FoundNonce & { readonly age: Age })[] = [];
    for (const [item, part] of plan.parts.entries()) {
      const space = spaces[item];
      if (space === undefined) throw new Error(`part ${item} has no nonces`);
      const place = places.get(space.id) ?? 0;
      places.set(space.id, place + 1);
      const total = totals.get(space.id) ?? 1;
      const tried = candidates(nonceOf(space), { place, total, isKeyed: part.nonceOf !== undefined });
      const hit = tried.find(({ nonce }) => {
        const { recovered } = signerOf(part, nonce);
        return recovered.ok && recovered.signer === plan.owner;
      });
      const [{ nonce: due }] = tried;
      if (hit === undefined) return { kind: 'wrong', item, detail: detailOf(part, signerOf(part, due), due) };
      found.push({ space, ...hit, digest: signerOf(part, hit.nonce).digest });
    }
    for (const kind of ['next', 'repeat'] as const) {
      if (found.every(({ age }) => age === kind)) {
        return { kind, requestId: requestIdOf(keccak256, found), used: found };
      }
    }
    const items = found.flatMap(({ age }, item) => age === 'repeat' || age === 'used' ? [item] : []);
    if (items.length > 0) return { kind: 'used', items };
    const item = found.findIndex(({ age }) => age === 'early');
    return { kind: 'wrong', item, detail: `it is signed with nonce ${found[item]?.nonce}, which is another item's` };
  };
}

/** `early`: the nonce is not used, but due for another message of the request. */
type Age = 'next' | 'repeat' | 'used' | 'early';

interface Candidate {
  readonly nonce: bigint;
  readonly age: Age;
}

/**
 * The nonces that a message may be signed with, the likeliest first: the nonce that is due after the request's earlier
 * messages; the nonce that was due before the request was carried out; then the others around them.
 */
function candidates(
  base: bigint, { place, total, isKeyed }: { place: number; total: number; isKeyed: boolean },
): [Candidate, ...Candidate[]] {
  const counter = counterOf(base, isKeyed);
  const at = (step: number, age: Age): Candidate[] => (
    counter + BigInt(step) >= 0n ? [{ nonce: base + BigInt(step), age }] : []);
  const others = Array.from(
    { length: 2 * total }, (_, i) => i - total,
  ).filter((step) => step !== place && step !== place - total);
  return [{ nonce: base + BigInt(place), age: 'next' }, ...at(place - total, 'repeat'), ...others.flatMap((step) => at(step, step < 0 ? 'used' : 'early'))];
}

/** The digest of the one message; of several, the hash of their digests one after the other. */
function requestIdOf(keccak256: Keccak256, found: readonly FoundNonce[]): string {
  const [first] = found;
  return toHex(found.length === 1 && first !== undefined
    ? first.digest
    : keccak256(
        Buffer.concat(found.map(({ digest }) => digest)),
      ));
}

function detailOf(
  { name, message }: SignedPart, { digest, recovered }: { digest: Uint8Array; recovered: Recovery }, nonce: bigint,
): string {
  const fault = recovered.ok ? `it is by ${recovered.signer}` : recoveryFailures[recovered.failure];
  // The one member that neither the request nor the nonces tell, and that changes with the oracle's minimum.
  const bond = message['bond'] === undefined ? '' : ` and bond ${String(message['bond'])}`;
  return `${fault}; ${signedActions[name].primaryType} with the present nonce ${nonce}${bond} has the digest ${toHex(digest)}`;
}
