/** Signs a key's transactions, and refuses those that no node would ever take: a recorded one cannot be taken back. */
import { SigningKey, computeAddress } from 'ethers';
import { isAddress, isHexBytes, toHex } from '../../engine/records/hex.js';
import type { Keccak256 } from '../signing/keccak.js';
import { serializeTransaction } from './eip1559.js';
import type { Fees } from './fees.js';
import { UnsendableTransaction, type Attempt, type TransactionRequest } from './requests.js';

/** What is signed of a request. */
export type Payload = Pick<TransactionRequest, 'to' | 'data' | 'gasLimit'>;

export interface Signer {
  /** Lower-case hex. */
  readonly address: string;
  /** The same arguments always give the same transaction (RFC 6979). */
  sign(transaction: { readonly nonce: number; readonly request: Payload; readonly fees: Fees }): Attempt;
}

/** Nodes' pools refuse larger transactions; the signature and the other fields take the rest of 128 KiB. */
export const MAX_DATA_BYTES = 127 * 1024;

/** Throws an error that does not show the key. */
export function createSigner({ chainId, privateKey, keccak256 }: { chainId: number; privateKey: string; keccak256: Keccak256 }): Signer {
  let key: SigningKey;
  try {
    key = new SigningKey(privateKey);
  } catch {
    throw new Error(`the private key for chain ${chainId} is not one: it must be 32 bytes as 0x and 64 hex digits`);
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

/** Throws UnsendableTransaction. */
export function checkRequest({ to, data, gasLimit }: Payload, maxGasLimit: bigint): void {
  if (!isAddress(to)) throw new UnsendableTransaction('`to` is not an address');
  if (!isHexBytes(data)) throw new UnsendableTransaction('`data` is not hex');
  const bytes = data.length / 2 - 1;
  if (bytes > MAX_DATA_BYTES) throw new UnsendableTransaction(`its data has ${bytes} bytes, nodes take ${MAX_DATA_BYTES}: make the batch smaller`);
  const least = leastGas(data);
  if (gasLimit < least) throw new UnsendableTransaction(`its gas limit ${gasLimit} is below the ${least} that its data alone costs`);
  if (gasLimit > maxGasLimit) throw new UnsendableTransaction(`its gas limit ${gasLimit} is above ${maxGasLimit}: make the batch smaller`);
}

/** The gas below which nodes refuse a transaction: EIP-2028's price of data, and EIP-7623's floor. */
function leastGas(data: string): bigint {
  let tokens = 0;
  for (let i = 2; i < data.length; i += 2) tokens += data[i] === '0' && data[i + 1] === '0' ? 1 : 4;
  return 21_000n + 10n * BigInt(tokens);
}
