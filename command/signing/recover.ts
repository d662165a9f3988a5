/**
 * Recovers who signed a digest: secp256k1 in the native library, or in WebAssembly where the native library does not
 * load. Below are the forms in which requests and records have a signature.
 *
 * The `secp256k1` package falls back silently to `elliptic`, which is slow and has open vulnerabilities. So its binding
 * is loaded here directly, and a backend that fails a known-answer test is not used. Neither backend rejects signatures
 * that EIP-2 and EIP-712 wallets never make (a high s, another v), so these are checked here.
 */
import { createRequire } from 'node:module';
import type * as Secp256k1 from 'secp256k1';
import { SIGNATURE, toHex } from '../../engine/records/hex.js';
import type { Keccak256 } from './typed-data.js';

export type Backend = 'native' | 'wasm';

/** Why no signer can be recovered. */
export type RecoveryFailure = 'length' | 'v' | 'r' | 's' | 'high_s' | 'no_key';

export type Recovery
  /** `signer` is a lower-case address. */
  = | { readonly ok: true; readonly signer: string }
    | { readonly ok: false; readonly failure: RecoveryFailure };

export interface SignerRecovery {
  /** For metrics: `wasm` takes three times as long. */
  readonly backend: Backend;
  /**
   * The signer of a 32-byte digest by a 65-byte signature r, s, v (v of 0, 1, 27 or 28). Never throws for a bad
   * signature.
   */
  recover(digest: Uint8Array, signature: Uint8Array): Recovery;
}

/** The failures as texts for the trader. */
export const recoveryFailures: Readonly<Record<RecoveryFailure, string>> = {
  length: 'a signature has 65 bytes: r, s and v',
  v: 'v is 0, 1, 27 or 28',
  r: 'r is not within the curve\'s order',
  s: 's is not within the curve\'s order',
  high_s: 's is in the upper half of the curve\'s order; send n - s with the other v (EIP-2)',
  no_key: 'r is not a point of the curve: no key can have made this signature',
};

/** The uncompressed public key, or undefined. `rs` is 64 bytes. */
export type RecoverKey = (rs: Uint8Array, parity: 0 | 1, digest: Uint8Array) => Uint8Array | undefined;

type Loaders = Readonly<Record<Backend, () => Promise<RecoverKey>>>;

export const loaders: Loaders = { native: loadNative, wasm: loadWasm };

/** The first backend that loads and passes its test. Throws an AggregateError with the reasons when none does. */
export async function createSignerRecovery(
  keccak256: Keccak256, backends: readonly Backend[] = ['native', 'wasm'], load: Loaders = loaders,
): Promise<SignerRecovery> {
  const faults: unknown[] = [];
  for (const backend of backends) {
    try {
      const recovery = { backend, recover: recoverWith(await load[backend](), keccak256) };
      selfTest(recovery);
      return recovery;
    } catch (fault) {
      faults.push(fault);
    }
  }
  throw new AggregateError(faults, `no secp256k1 backend works here (tried ${backends.join(', ')})`);
}

function recoverWith(recoverKey: RecoverKey, keccak256: Keccak256): SignerRecovery['recover'] {
  return (digest, signature) => {
    if (signature.length !== 65) return failures.length;
    const v = signature[64]!;
    if (v > 1 && v !== 27 && v !== 28) return failures.v;
    if (!withinOrder(signature, 0)) return failures.r;
    if (!withinOrder(signature, 32)) return failures.s;
    if (compareWord(signature, 32, HALF_ORDER) > 0) return failures.high_s;
    const key = recoverKey(signature.subarray(0, 64), (v === 0 || v === 27) ? 0 : 1, digest);
    if (key === undefined) return failures.no_key;
    return { ok: true, signer: toHex(keccak256(key.subarray(1)).subarray(12)) };
  };
}

const failures = Object.fromEntries(Object.keys(recoveryFailures).map((failure) => (
  [failure, { ok: false, failure }]))) as
  Readonly<Record<RecoveryFailure, Recovery>>;

const givenSignature = new RegExp(SIGNATURE.given);

/** The 65 bytes of a signature that a request has as hex; undefined for anything else. */
export function signatureBytes(value: unknown): Buffer | undefined {
  if (typeof value !== 'string' || !givenSignature.test(value)) return undefined;
  return Buffer.from(value.slice(2), 'hex');
}

/** A valid signature in the form of records and the settlement contract: lower-case hex, v of 27 or 28. */
export function normalSignature(signature: Uint8Array): string {
  return `${toHex(signature.subarray(0, 64))}${signature[64] === 0 || signature[64] === 27 ? '1b' : '1c'}`;
}

/** The order n of the curve's group, and half of it rounded down (SEC 2, 2.4.1). */
const ORDER = Buffer.from('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141', 'hex');
const HALF_ORDER = Buffer.from('7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0', 'hex');
const ZERO = Buffer.alloc(32);

function withinOrder(signature: Uint8Array, start: number): boolean {
  return compareWord(signature, start, ZERO) > 0 && compareWord(signature, start, ORDER) < 0;
}

/**
 * Compares the 32 big-endian bytes from `start` on with a word; returns a negative number, zero or a positive number.
 */
function compareWord(bytes: Uint8Array, start: number, word: Uint8Array): number {
  for (let i = 0; i < 32; i++) {
    const difference = bytes[start + i]! - word[i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A signature by the key 1, made with ethers 6: the address is that of the curve's generator. */
const KNOWN = {
  digest: Buffer.from('9de0926b9c90bba44f7906fd99354267186ff05d1b0c169b1e3fc05aff8b7fdc', 'hex'),
  signature: Buffer.from(
    '7ef648f462f9e88077de0861acd0b5f6906adbc30f10c623eeb1690fb6bd2195'
    + '3272792273e94086b3e6152f7c628ff7a1073ca0b4c2249d0d5c33ba9b3106f41c', 'hex',
  ),
  signer: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
};

function selfTest({ backend, recover }: SignerRecovery): void {
  const good = recover(KNOWN.digest, KNOWN.signature);
  if (!good.ok || good.signer !== KNOWN.signer) throw new Error(`secp256k1 (${backend}) does not recover a known signer`);
  const other = Buffer.from(KNOWN.signature);
  other[64] = 27;
  const wrong = recover(KNOWN.digest, other);
  if (wrong.ok && wrong.signer === KNOWN.signer) throw new Error(`secp256k1 (${backend}) recovers the same signer for either v`);
}

async function loadNative(): Promise<RecoverKey> {
  const binding = createRequire(import.meta.url)('secp256k1/bindings.js') as typeof Secp256k1;
  const key = new Uint8Array(65);
  return (rs, parity, digest) => {
    try {
      return binding.ecdsaRecover(rs, parity, digest, false, key);
    } catch {
      return undefined;
    }
  };
}

async function loadWasm(): Promise<RecoverKey> {
  const { instantiateSecp256k1 } = await import('@bitauth/libauth');
  const library = await instantiateSecp256k1();
  return (rs, parity, digest) => {
    const key = library.recoverPublicKeyUncompressed(rs, parity, digest);
    return typeof key === 'string' ? undefined : key;
  };
}
