/**
 * Nonces of orders. They rise, also across restarts and when the clock goes back, and two programs with one key hardly
 * ever take the same one: a millisecond has 4,096 of them, and a program begins anywhere among the first half. They
 * stay below 2^53, so that every tool reads them exactly.
 */

/**
 * Keeps one number per trader. In memory it lasts as long as the program; `fileNonceStore` of the package's `node` part
 * outlasts it.
 */
export interface NonceStore {
  /** What was saved last for the trader. */
  load(trader: string): Promise<bigint | undefined>;
  /** Resolves once the number is as durable as it gets. */
  save(trader: string, nonce: bigint): Promise<void>;
}

export function memoryNonceStore(): NonceStore {
  const kept = new Map<string, bigint>();
  return {
    load: (trader) => Promise.resolve(kept.get(trader)),
    save: (trader, nonce) => {
      kept.set(trader, nonce);
      return Promise.resolve();
    },
  };
}

const PER_MS_BITS = 12n;
/**
 * So many nonces are taken per write to the store: nonces of a reservation that a restart cuts short are never used.
 */
const RESERVED = 1_000n << PER_MS_BITS;

export interface NonceSource {
  /** A nonce that is higher than every one before. */
  next(): Promise<bigint>;
}

/** `now`: milliseconds since the Unix epoch. `random`: 0 to 1. */
export function nonceSource(
  store: NonceStore, trader: string, now: () => number = Date.now, random: () => number = Math.random,
): NonceSource {
  let last = -1n;
  let reserved = -1n;
  let turn: Promise<unknown> = Promise.resolve();

  async function take(): Promise<bigint> {
    if (reserved < 0n) last = reserved = await store.load(trader) ?? 0n;
    const byClock = (BigInt(now()) << PER_MS_BITS) + BigInt(Math.floor(random() * 2 ** (Number(PER_MS_BITS) - 1)));
    const nonce = byClock > last ? byClock : last + 1n;
    if (nonce > reserved) {
      await store.save(trader, nonce + RESERVED);
      reserved = nonce + RESERVED;
    }
    last = nonce;
    return nonce;
  }

  return {
    next() {
      const taken = turn.then(take);
      turn = taken.catch(() => undefined);
      return taken;
    },
  };
}
