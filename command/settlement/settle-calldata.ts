/**
 * Encodes the calldata of Settlement.settleBatch word by word, in a fraction of the time that a general encoder takes.
 */
import type { OrderPermit, PlaceOrder } from '../../engine/records/commands.js';

/** The arguments of settleBatch. Each order is listed once; fills name it by its index in the list. */
export interface SettleBatch {
  readonly orders: readonly SettledOrder[];
  readonly permits: readonly SettledPermit[];
  readonly fills: readonly SettledFill[];
  /** The latest position of the history and its digest. */
  readonly history: { readonly position: number; readonly digest: Uint8Array };
}

export type SettledOrder = Pick<
  PlaceOrder, 'marketId' | 'trader' | 'side' | 'outcome' | 'price' | 'size' | 'nonce' | 'expiration' | 'signature'
>;

export interface SettledPermit {
  readonly owner: string;
  readonly permit: OrderPermit;
}

export interface SettledFill {
  /** The fill's number. The contract settles each number once. */
  readonly seq: number;
  readonly buyIndex: number;
  readonly sellIndex: number;
  readonly price: number;
  readonly size: bigint;
}

/** The function selector: the first four bytes of the hash of settleBatch's name and types. */
const SELECTOR = '8d8270dc';

const WORD = 32;
const HEAD_WORDS = 6;
const ORDER_WORDS = 9;
/** A signature's offset, its length, and its 65 bytes in three words. */
const SIGNATURE_WORDS = 5;
const PERMIT_WORDS = 6;
const FILL_WORDS = 5;
/** The selector, the head and the lengths of the four arrays. */
const FIXED_BYTES = 4 + (HEAD_WORDS + 4) * WORD;

/** The size in bytes of the calldata of a batch with these counts. */
export function settleBytes({ orders, permits, fills }: { orders: number; permits: number; fills: number }): number {
  return FIXED_BYTES + WORD * (orders * (ORDER_WORDS + SIGNATURE_WORDS) + permits * PERMIT_WORDS + fills * FILL_WORDS);
}

/** The calldata as hex with `0x` (Solidity's contract ABI specification). */
export function encodeSettleBatch({ orders, permits, fills, history }: SettleBatch): string {
  const data = Buffer.alloc(settleBytes({ orders: orders.length, permits: permits.length, fills: fills.length }));
  data.write(SELECTOR, 'hex');
  const to = new Words(data.subarray(4));
  const lengths = [
    1 + orders.length * ORDER_WORDS, 1 + orders.length * SIGNATURE_WORDS, 1 + permits.length * PERMIT_WORDS,
  ];
  let offset = HEAD_WORDS;
  for (const words of [...lengths, 0]) {
    to.number(offset * WORD);
    offset += words;
  }
  to.number(history.position);
  to.bytes(history.digest);
  writeOrders(to, orders);
  to.number(permits.length);
  for (const { owner, permit } of permits) {
    to.hex(owner);
    to.uint256(permit.value);
    to.uint64(BigInt(permit.deadline));
    to.number(permit.v);
    to.hex(permit.r);
    to.hex(permit.s);
  }
  to.number(fills.length);
  for (const { seq, buyIndex, sellIndex, price, size } of fills) {
    to.number(seq);
    to.number(buyIndex);
    to.number(sellIndex);
    to.number(price);
    to.uint64(size);
  }
  return `0x${data.toString('hex')}`;
}

/** The array of orders, then the array of their signatures. */
function writeOrders(to: Words, orders: readonly SettledOrder[]): void {
  to.number(orders.length);
  for (const order of orders) {
    to.hex(order.marketId);
    to.hex(order.trader);
    to.number(order.side);
    to.number(order.outcome);
    to.number(order.price);
    to.uint64(BigInt(order.size));
    to.uint64(BigInt(order.nonce));
    to.uint64(BigInt(order.expiration));
    // The maker's fee recipient is always the zero address.
    to.number(0);
  }
  to.number(orders.length);
  // Offsets count from the end of the array's length word.
  orders.forEach((_, i) => { to.number((orders.length + i * (SIGNATURE_WORDS - 1)) * WORD); });
  for (const { signature } of orders) {
    to.number(65);
    to.leading(signature, 3);
  }
}

/** Writes words one after the other into zeroed bytes. */
class Words {
  #at = 0;

  constructor(private readonly data: Buffer) {}

  /** A whole number of at most 2^53. */
  number(value: number): void {
    this.data.writeUInt32BE(Math.floor(value / 0x1_0000_0000), this.#at + WORD - 8);
    this.data.writeUInt32BE(value % 0x1_0000_0000, this.#at + WORD - 4);
    this.#at += WORD;
  }

  uint64(value: bigint): void {
    this.data.writeBigUInt64BE(value, this.#at + WORD - 8);
    this.#at += WORD;
  }

  /** Decimal digits. */
  uint256(value: string): void {
    this.hex(`0x${BigInt(value).toString(16).padStart(2 * WORD, '0')}`);
  }

  /** An address or 32 bytes, right-aligned in its word. */
  hex(value: string): void {
    this.data.write(value.slice(2), this.#at + WORD - (value.length - 2) / 2, 'hex');
    this.#at += WORD;
  }

  bytes(value: Uint8Array): void {
    this.data.set(value, this.#at);
    this.#at += WORD;
  }

  /** Bytes, left-aligned in so many words, followed by zeros. */
  leading(value: string, words: number): void {
    this.data.write(value.slice(2), this.#at, 'hex');
    this.#at += words * WORD;
  }
}
