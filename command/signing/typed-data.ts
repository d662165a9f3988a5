/**
 * EIP-712 digests of orders, cancels and permits, by Keccak-256: what a trader signs. An order's digest is also its
 * hash.
 */
import { createKeccak } from 'hash-wasm';
import type {
  CancelAfter, CancelAll, CancelOrder, CancelOrders, PlaceOrder, ReduceOrder,
} from '../../engine/records/commands.js';

/** The 32-byte Keccak-256 hash of the bytes, in a new array. */
export type Keccak256 = (data: Uint8Array) => Uint8Array;

/** Compiles the hash function, which is several times faster than one in JavaScript and needs no promise per hash. */
export async function createKeccak256(): Promise<Keccak256> {
  const hasher = await createKeccak(256);
  return (data) => hasher.init().update(data).digest('binary');
}

/** An EIP-712 domain of a contract. */
export interface SigningDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  /** Lower-case hex. */
  readonly verifyingContract: string;
}

/** The signing domain of a chain's settlement contract: an order's EIP-712 signature covers it. */
export interface OrderDomain extends SigningDomain {
  readonly version: '1';
}

/**
 * The signed fields of an order as records carry them: lower-case hex, decimal strings. `makerFeeRecipient` is always
 * zero.
 */
export type OrderFields = Pick<PlaceOrder, 'marketId' | 'trader' | 'side' | 'outcome' | 'price' | 'size' | 'nonce' | 'expiration'>;

/** The signed fields of a cancel. */
export type CancelFields = Required<Pick<CancelOrder, 'orderHash' | 'trader' | 'deadline'>>;

type Signed<C extends { readonly deadline?: string; readonly trader?: string }, Field extends keyof C> = Required<Pick<C, Field | 'deadline' | 'trader'>>
  & { readonly kind: C extends { readonly kind: infer K } ? K : never };

/** The signed fields of a request about a trader's orders, by the kind of its command. */
export type RequestFields
  = Signed<CancelOrders, 'orderHashes'> | Signed<CancelAll, 'marketId'> | Signed<CancelAfter, 'seconds'> | Signed<ReduceOrder, 'orderHash' | 'size'>;

/** A domain with its hashes computed beforehand. Its functions do not check their arguments: check the fields first. */
export interface PreparedDomain {
  readonly domain: OrderDomain;
  /** The order's EIP-712 digest, 32 bytes: its hash, and what its trader signs. */
  orderDigest(order: OrderFields): Uint8Array;
  /** The cancel's EIP-712 digest, 32 bytes. */
  cancelDigest(cancel: CancelFields): Uint8Array;
  /** The EIP-712 digest of a request about a trader's orders, 32 bytes. */
  requestDigest(request: RequestFields): Uint8Array;
}

/** The types for `signTypedData`, which `/api/v1/config` publishes. */
export const orderTypes = {
  Order: [
    { name: 'marketId', type: 'bytes32' }, { name: 'trader', type: 'address' }, { name: 'side', type: 'uint8' },
    { name: 'outcome', type: 'uint8' }, { name: 'price', type: 'uint64' }, { name: 'size', type: 'uint64' },
    { name: 'nonce', type: 'uint64' }, { name: 'expiration', type: 'uint64' }, { name: 'makerFeeRecipient', type: 'address' },
  ],
} as const;

export const cancelTypes = {
  CancelOrder: [{ name: 'orderHash', type: 'bytes32' }, { name: 'trader', type: 'address' }, { name: 'deadline', type: 'uint64' }],
} as const;

/** What traders sign about their orders beside orders and single cancels. */
export const requestTypes = {
  CancelOrders: [{ name: 'orderHashes', type: 'bytes32[]' }, { name: 'trader', type: 'address' }, { name: 'deadline', type: 'uint64' }],
  CancelAll: [{ name: 'trader', type: 'address' }, { name: 'marketId', type: 'bytes32' }, { name: 'deadline', type: 'uint64' }],
  CancelAfter: [{ name: 'trader', type: 'address' }, { name: 'seconds', type: 'uint32' }, { name: 'deadline', type: 'uint64' }],
  ReduceOrder: [
    { name: 'orderHash', type: 'bytes32' }, { name: 'trader', type: 'address' }, { name: 'size', type: 'uint64' }, { name: 'deadline', type: 'uint64' },
  ],
} as const;

export const permitTypes = {
  Permit: [
    { name: 'owner', type: 'address' }, { name: 'spender', type: 'address' }, { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' }, { name: 'deadline', type: 'uint256' },
  ],
} as const;

type Members = readonly { readonly name: string; readonly type: string }[];

const WORD = 32;

/** Computes the type hashes and the domain separator once, so that a digest takes two hashes over fixed buffers. */
export function prepareDomain(keccak256: Keccak256, domain: OrderDomain): PreparedDomain {
  const signed = Buffer.alloc(2 + 2 * WORD);
  signed.writeUInt16BE(0x1901, 0);
  signed.set(domainSeparator(keccak256, domain), 2);
  const order = struct(keccak256, 'Order', orderTypes.Order);
  const cancel = struct(keccak256, 'CancelOrder', cancelTypes.CancelOrder);
  const requests = Object.fromEntries(Object.entries(requestTypes).map(([name, members]) => (
    [name, struct(keccak256, name, members)]))) as
    Record<keyof typeof requestTypes, Buffer>;
  const digest = (fields: Buffer) => {
    signed.set(keccak256(fields), 2 + WORD);
    return keccak256(signed);
  };
  return {
    domain,
    orderDigest({ marketId, trader, side, outcome, price, size, nonce, expiration }) {
      writeHex(order, 1, marketId);
      writeHex(order, 2, trader);
      writeNumber(order, 3, side);
      writeNumber(order, 4, outcome);
      writeNumber(order, 5, price);
      writeUint64(order, 6, size);
      writeUint64(order, 7, nonce);
      writeUint64(order, 8, expiration);
      return digest(order);
    },
    cancelDigest({ orderHash, trader, deadline }) {
      writeHex(cancel, 1, orderHash);
      writeHex(cancel, 2, trader);
      writeUint64(cancel, 3, deadline);
      return digest(cancel);
    },
    requestDigest(request) {
      const words = requests[request.kind];
      writeRequest(keccak256, words, request);
      return digest(words);
    },
  };
}

/** Writes the members in their order; an array is the hash of its words. */
function writeRequest(keccak256: Keccak256, words: Buffer, request: RequestFields): void {
  switch (request.kind) {
    case 'CancelOrders':
      words.set(keccak256(Buffer.from(request.orderHashes.map((hash) => hash.slice(2)).join(''), 'hex')), WORD);
      writeHex(words, 2, request.trader);
      writeUint64(words, 3, request.deadline);
      return;
    case 'CancelAll':
      writeHex(words, 1, request.trader);
      writeHex(words, 2, request.marketId);
      writeUint64(words, 3, request.deadline);
      return;
    case 'CancelAfter':
      writeHex(words, 1, request.trader);
      writeNumber(words, 2, request.seconds);
      writeUint64(words, 3, request.deadline);
      return;
    case 'ReduceOrder':
      writeHex(words, 1, request.orderHash);
      writeHex(words, 2, request.trader);
      writeUint64(words, 3, request.size);
      writeUint64(words, 4, request.deadline);
  }
}

/** The signed fields of an ERC-2612 permit: lower-case hex, decimal strings. */
export interface PermitFields {
  readonly owner: string;
  readonly value: string;
  readonly nonce: string;
  readonly deadline: string;
}

/**
 * The EIP-712 digest, 32 bytes, of permits of a token (its domain) to one spender. Its argument must be of the right
 * form: check it first.
 */
export function preparePermits(
  keccak256: Keccak256, { token, spender }: { token: SigningDomain; spender: string },
): (permit: PermitFields) => Uint8Array {
  const signed = Buffer.alloc(2 + 2 * WORD);
  signed.writeUInt16BE(0x1901, 0);
  signed.set(domainSeparator(keccak256, token), 2);
  const permit = struct(keccak256, 'Permit', permitTypes.Permit);
  writeHex(permit, 2, spender);
  return ({ owner, value, nonce, deadline }) => {
    writeHex(permit, 1, owner);
    writeUint256(permit, 3, value);
    writeUint256(permit, 4, nonce);
    writeUint256(permit, 5, deadline);
    signed.set(keccak256(permit), 2 + WORD);
    return keccak256(signed);
  };
}

/** EIP-712's type hash: of `Name(type1 name1,...)`. */
export function typeHash(keccak256: Keccak256, name: string, members: Members): Uint8Array {
  return keccak256(Buffer.from(`${name}(${members.map((member) => `${member.type} ${member.name}`).join(',')})`));
}

/** A buffer for a struct's encoding with the type hash in place and its members, one word each, zero. */
function struct(keccak256: Keccak256, name: string, members: Members): Buffer {
  const words = Buffer.alloc((1 + members.length) * WORD);
  words.set(typeHash(keccak256, name, members));
  return words;
}

/** EIP-712's domain separator of a domain with these four fields. */
export function domainSeparator(keccak256: Keccak256, domain: SigningDomain): Uint8Array {
  const words = struct(keccak256, 'EIP712Domain', [
    { name: 'name', type: 'string' }, { name: 'version', type: 'string' }, { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ]);
  words.set(keccak256(Buffer.from(domain.name)), WORD);
  words.set(keccak256(Buffer.from(domain.version)), 2 * WORD);
  writeUint64(words, 3, String(domain.chainId));
  writeHex(words, 4, domain.verifyingContract);
  return keccak256(words);
}

/** Right-aligned in its word: the bytes before it are zero and stay so. */
function writeHex(words: Buffer, word: number, hex: string): void {
  const bytes = (hex.length - 2) / 2;
  words.write(hex.slice(2), (word + 1) * WORD - bytes, bytes, 'hex');
}

/** A number of at most 32 bits. */
function writeNumber(words: Buffer, word: number, value: number): void {
  words.writeUInt32BE(value, (word + 1) * WORD - 4);
}

function writeUint64(words: Buffer, word: number, decimal: string): void {
  if (decimal.length <= 15) {
    const value = Number(decimal);
    words.writeUInt32BE(Math.floor(value / 0x1_0000_0000), (word + 1) * WORD - 8);
    words.writeUInt32BE(value % 0x1_0000_0000, (word + 1) * WORD - 4);
  } else {
    words.writeBigUInt64BE(BigInt(decimal), (word + 1) * WORD - 8);
  }
}

function writeUint256(words: Buffer, word: number, decimal: string): void {
  words.write(BigInt(decimal).toString(16).padStart(2 * WORD, '0'), word * WORD, WORD, 'hex');
}
