/** Serializes EIP-1559 transactions: a general library blocks the event loop for 50 ms per batch of settlements. */

export interface FeeTransaction {
  readonly chainId: number;
  readonly nonce: number;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly gasLimit: bigint;
  /** Hex with `0x`, in any case. */
  readonly to: string;
  readonly data: string;
}

export interface TransactionSignature {
  readonly yParity: 0 | 1;
  readonly r: string;
  readonly s: string;
}

/**
 * The typed transaction (EIP-2718, type 2) without value and access list: the bytes to sign, or, with the signature,
 * the bytes to send.
 */
export function serializeTransaction(transaction: FeeTransaction, signature?: TransactionSignature): Buffer {
  const { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit, to, data } = transaction;
  const items = [
    ...[chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit].map((value) => item(integer(BigInt(value)))),
    item(bytes(to)), item(integer(0n)), item(bytes(data)), EMPTY_LIST,
    ...signature === undefined
      ? []
      : [BigInt(signature.yParity), BigInt(signature.r), BigInt(signature.s)].map((value) => item(integer(value))),
  ];
  const length = items.reduce((sum, each) => sum + each.length, 0);
  return Buffer.concat([TYPE, header(length, 0xc0), ...items]);
}

const TYPE = Buffer.from([2]);
const EMPTY_LIST = Buffer.from([0xc0]);

/** Recursive-length prefix (Ethereum's yellow paper, appendix B). */
function item(value: Buffer): Buffer {
  return value.length === 1 && value.readUInt8() < 0x80 ? value : Buffer.concat([header(value.length, 0x80), value]);
}

function header(length: number, base: number): Buffer {
  if (length < 56) return Buffer.from([base + length]);
  const digits = integer(BigInt(length));
  return Buffer.concat([Buffer.from([base + 55 + digits.length]), digits]);
}

/** Big-endian bytes without leading zeros; zero has no bytes. */
function integer(value: bigint): Buffer {
  if (value === 0n) return Buffer.alloc(0);
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}
