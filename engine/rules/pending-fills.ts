/**
 * The fills that the chain has not settled yet, by number, in chunks of fixed size. A chunk is deleted when none of its
 * fills is pending.
 */

const CHUNK_BITS = 10;
const CHUNK = 1 << CHUNK_BITS;

/** The fills with numbers from a multiple of 1,024 on. */
export interface PendingFillChunk {
  pending: number;
  readonly buySlots: Int32Array;
  readonly sellSlots: Int32Array;
  readonly prices: Uint32Array;
  readonly sizes: BigUint64Array;
  /** 0 not pending, 1 pending with a BUY taker, 2 pending with a SELL taker. */
  readonly states: Uint8Array;
}

/**
 * One unsettled fill: the slots of its two orders in the order pool, its price in ticks and its size in 1e-6 shares.
 */
export interface PendingFill {
  readonly buySlot: number;
  readonly sellSlot: number;
  readonly price: number;
  readonly size: bigint;
  readonly takerSide: 0 | 1;
}

export class PendingFills {
  /** By key, ascending, because fills are added in ascending order. */
  readonly #chunks = new Map<number, PendingFillChunk>();
  /** The key of the newest chunk. */
  #newest = -1;

  /** Adds a fill, whose number must be higher than that of every fill added before. */
  add(fill: number, pending: PendingFill): void {
    const key = Math.floor(fill / CHUNK);
    let chunk = this.#chunks.get(key);
    if (chunk === undefined) {
      chunk = {
        pending: 0, buySlots: new Int32Array(CHUNK), sellSlots: new Int32Array(CHUNK), prices: new Uint32Array(CHUNK),
        sizes: new BigUint64Array(CHUNK), states: new Uint8Array(CHUNK),
      };
      this.#chunks.set(key, chunk);
      this.#newest = key;
    }
    const i = fill % CHUNK;
    chunk.buySlots[i] = pending.buySlot;
    chunk.sellSlots[i] = pending.sellSlot;
    chunk.prices[i] = pending.price;
    chunk.sizes[i] = pending.size;
    chunk.states[i] = pending.takerSide + 1;
    chunk.pending++;
  }

  get(fill: number): PendingFill | undefined {
    const chunk = this.#chunks.get(Math.floor(fill / CHUNK));
    const i = fill % CHUNK;
    if (chunk === undefined || chunk.states[i] === 0) return undefined;
    return {
      buySlot: chunk.buySlots[i]!, sellSlot: chunk.sellSlots[i]!, price: chunk.prices[i]!, size: chunk.sizes[i]!,
      takerSide: chunk.states[i] === 1 ? 0 : 1,
    };
  }

  delete(fill: number): void {
    const key = Math.floor(fill / CHUNK);
    const chunk = this.#chunks.get(key);
    const i = fill % CHUNK;
    if (chunk === undefined || chunk.states[i] === 0) return;
    chunk.states[i] = 0;
    chunk.pending--;
    if (chunk.pending === 0) this.#chunks.delete(key);
  }

  /** The numbers of the pending fills from `from` on, ascending. Do not add or delete fills while reading. */
  * numbers(from: number): Generator<number> {
    const [oldest = Infinity] = this.#chunks.keys();
    for (let key = Math.max(oldest, Math.floor(from / CHUNK)); key <= this.#newest; key++) {
      const states = this.#chunks.get(key)?.states;
      if (states === undefined) continue;
      const start = key * CHUNK;
      for (let i = Math.max(0, from - start); i < CHUNK; i++) {
        if (states[i] !== 0) yield start + i;
      }
    }
  }

  /** The chunks by key, ascending, in the memory of these fills. */
  dump(): ReadonlyMap<number, PendingFillChunk> {
    return this.#chunks;
  }

  static restore(chunks: Iterable<readonly [number, PendingFillChunk]>): PendingFills {
    const fills = new PendingFills();
    for (const [key, { pending, buySlots, sellSlots, prices, sizes, states }] of chunks) {
      fills.#newest = key;
      // Copies, because the dump's arrays may be views of a snapshot's bytes.
      fills.#chunks.set(key, {
        pending, buySlots: buySlots.slice(), sellSlots: sellSlots.slice(), prices: prices.slice(), sizes: sizes.slice(),
        states: states.slice(),
      });
    }
    return fills;
  }
}
