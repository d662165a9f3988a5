/**
 * Signs a key's transactions, and checks requests: a recorded transaction that no node accepts would block all later
 * nonces.
 */
import { SigningKey } from 'ethers/crypto';
import { computeAddress } from 'ethers/transaction';
import { isAddress, isHexBytes, toHex } from '../../engine/records/hex.js';
import type { Keccak256 } from '../signing/typed-data.js';
import { serializeTransaction } from './eip1559.js';
import type { Fees } from './fees.js';
import { UnsendableTransaction, type Attempt, type TransactionRequest } from './requests.js';

/** The part of a request that is signed. */
export type Payload = Pick<TransactionRequest, 'to' | 'data' | 'gasLimit'>;

export interface Signer {
  /** Lower-case hex. */
  readonly address: string;
  /** The same arguments always give the same transaction (RFC 6979). */
  sign(transaction: { readonly nonce: number; readonly request: Payload; readonly fees: Fees }): Attempt;
}

/** Nodes refuse transactions above 128 KiB; the signature and the other fields need the rest. */
export const MAX_DATA_BYTES = 127 * 1024;

/** Throws an error for an invalid private key; the error does not show the key. */
export function createSigner({ chainId, privateKey, keccak256 }: {
  chainId: number;
  privateKey: string;
  keccak256: Keccak256;
}): Signer {
  let key: SigningKey;
  try {
    key = new SigningKey(privateKey);
  } catch {
    throw new Error(`the private key for chain ${chainId} is invalid: it must be 32 bytes as 0x and 64 hex digits`);
  }
  return {
    address: computeAddress(key).toLowerCase(),
    sign({ nonce, request: { to, data, gasLimit }, fees: { maxFeePerGas, maxPriorityFeePerGas } }) {
      const transaction = { chainId, nonce, to, data, gasLimit, maxFeePerGas, maxPriorityFeePerGas };
      const { r, s, yParity } = key.sign(toHex(keccak256(serializeTransaction(transaction))));
      const raw = serializeTransaction(transaction, { r, s, yParity });
      return { txHash: toHex(keccak256(raw)), raw: toHex(raw) };
    },
  };
}

/** Throws UnsendableTransaction for a request that no node would accept. */
export function checkRequest({ to, data, gasLimit }: Payload, maxGasLimit: bigint): void {
  if (!isAddress(to)) throw new UnsendableTransaction('`to` is not an address');
  if (!isHexBytes(data)) throw new UnsendableTransaction('`data` is not hex');
  const bytes = data.length / 2 - 1;
  if (bytes > MAX_DATA_BYTES) throw new UnsendableTransaction(`its data has ${bytes} bytes, nodes take ${MAX_DATA_BYTES}: make the batch smaller`);
  const least = leastGas(data);
  if (gasLimit < least) throw new UnsendableTransaction(`its gas limit ${gasLimit} is below the ${least} that its data alone costs`);
  if (gasLimit > maxGasLimit) throw new UnsendableTransaction(`its gas limit ${gasLimit} is above ${maxGasLimit}: make the batch smaller`);
}

/** The gas limit below which nodes refuse a transaction: EIP-7623's floor, which is above EIP-2028's cost of data. */
function leastGas(data: string): bigint {
  let tokens = 0;
  for (let i = 2; i < data.length; i += 2) tokens += data[i] === '0' && data[i + 1] === '0' ? 1 : 4;
  return 21_000n + 10n * BigInt(tokens);
}
