/** Keeps a development chain's state on disk: writes it when there are new blocks, and knows the last block that a crash cannot take. */
import { createBell, pause } from '../../../engine/waiting.js';
import { nodeRequest } from './node-request.js';

export interface ChainKeeper {
  /** Number of the last block whose state is on disk. */
  keptBlock(): number;
  /** Writes the state now, unless the latest block is on disk already. Rejects when that fails. */
  keep(): Promise<void>;
  /**
   * Has the state written as soon as the keeper's rest allows. Resolves with the kept block once that is the block which was the
   * latest at the call, or a later one; after `withinMs` with the kept block as it is then. Rejects when the chain does not answer.
   */
  keptSoon(withinMs: number): Promise<number>;
  /** Writes the last state, also what has been changed in it without a block. */
  stop(): Promise<void>;
}

export interface ChainKeeperOptions {
  /** The node's JSON-RPC. */
  readonly url: string;
  /** The latest block, whose state is on disk already. */
  readonly kept: Block;
  /** Puts a state, as the node packs it, in the place of the kept one. It is on disk when the promise resolves. */
  readonly write: (state: Uint8Array) => Promise<void>;
  readonly log: (line: string) => void;
  /** Least time between two writes; also the time between two looks for new blocks. */
  readonly keepEveryMs?: number | undefined;
}

const KEEP_EVERY_MS = 250;
/** A dump holds up the chain for a moment (0.1 s for 2,000 transactions): the keeper then rests this many times as long. */
const REST_RATIO = 20;
/** After a write that failed it rests as after a short one. */
const SHORT_MS = 1;

/** Starts to keep the chain; ends with stop(). Writes that fail are logged and tried again. */
export function keepChain({ url, kept: onDisk, write, log, keepEveryMs = KEEP_EVERY_MS }: ChainKeeperOptions): ChainKeeper {
  const stopping = new AbortController();
  const { signal } = stopping;
  let kept = onDisk;
  const wanted = createBell();
  const written = createBell();
  let saving: Promise<number> = Promise.resolve(0);
  let waiting: Promise<number> | undefined;

  /**
   * For how many milliseconds it held up the chain, 0 when there was nothing to write. One at a time, and one for all who ask while another
   * is under way: the state has the block that was the latest when the write began.
   */
  function save(): Promise<number> {
    waiting ??= saving.catch(() => undefined).then(async () => {
      waiting = undefined;
      const latest = await latestBlock(url);
      if (latest.hash === kept.hash) return 0;
      const begunMs = performance.now();
      const state = await dumpState(url);
      const heldUpMs = performance.now() - begunMs;
      await write(state);
      kept = latest;
      written.ring();
      return heldUpMs;
    });
    return saving = waiting;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const heard = wanted.rung();
      const heldUpMs = await save().catch((error: unknown) => {
        log(`the development chain's state could not be kept: ${(error as Error).message}`);
        return SHORT_MS;
      });
      if (heldUpMs > 0) await pause(Math.max(keepEveryMs, REST_RATIO * heldUpMs), signal);
      else if (wanted.rung() === heard) await wanted.wait(signal, keepEveryMs);
    }
  }

  const running = run();
  return {
    keptBlock: () => kept.number,
    keep: async () => { await save(); },
    async keptSoon(withinMs) {
      const deadlineMs = performance.now() + withinMs;
      const latest = await latestBlock(url);
      while (kept.hash !== latest.hash && kept.number < latest.number && !signal.aborted) {
        const leftMs = deadlineMs - performance.now();
        if (leftMs <= 0) break;
        wanted.ring();
        await written.wait(signal, leftMs);
      }
      return kept.number;
    },
    async stop() {
      stopping.abort();
      await running;
      await saving.catch(() => undefined);
      await dumpState(url).then(write).catch((error: unknown) => { log(`the development chain's last state could not be kept: ${(error as Error).message}`); });
    },
  };
}

export interface Block {
  readonly hash: string;
  readonly number: number;
}

/** Number and hash of the node's latest block. */
export async function latestBlock(url: string): Promise<Block> {
  const { hash, number } = await nodeRequest<{ hash: string; number: string }>(url, 'eth_getBlockByNumber', ['latest', false]);
  return { hash, number: Number(number) };
}

/** The whole chain as anvil packs it: accounts, blocks, receipts. */
export async function dumpState(url: string): Promise<Uint8Array> {
  return Buffer.from((await nodeRequest<string>(url, 'anvil_dumpState', [])).slice(2), 'hex');
}
