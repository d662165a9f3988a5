/** Keeps a development chain's state on disk: writes it when there are new blocks, and knows the last block that survives a crash. */
import { createBell, pause } from '../../engine/waiting.js';
import { nodeRequest } from './node-request.js';

/** How far the disk is behind the chain. */
export interface KeptStatus {
  /** Number of the last block whose state is on disk. */
  readonly keptBlock: number;
  /** Number of blocks that were mined and are not on disk, as far as the keeper has seen them. */
  readonly unkeptBlocks: number;
  /** Since when there have been such blocks, on the clock `now`; undefined while there are none. */
  readonly unkeptSinceMs: number | undefined;
  /** Why the last write failed; undefined after one that succeeded. */
  readonly trouble: string | undefined;
}

export interface ChainKeeper {
  status(): KeptStatus;
  /** Number of the last block whose state is on disk. */
  keptBlock(): number;
  /** Writes the state now, unless the latest block is on disk already. Rejects when that fails. */
  keep(): Promise<void>;
  /**
   * Requests a write of the state as soon as the pause after the last write is over. Resolves with the kept block's number when the block
   * that was the latest at the call is kept, or after `withinMs` with the block that is kept then. Rejects when the chain does not answer.
   */
  keptSoon(withinMs: number): Promise<number>;
  /** Stops the keeper and writes the last state, including changes that were made without a block. */
  stop(): Promise<void>;
}

export interface ChainKeeperOptions {
  /** The node's JSON-RPC. */
  readonly url: string;
  /** The latest block, whose state is on disk already. */
  readonly kept: Block;
  /** Replaces the kept state by a new one, as the node packs it. The state is on disk when the promise resolves. */
  readonly write: (state: Uint8Array) => Promise<void>;
  readonly log: (line: string) => void;
  /** Least time between two writes, and time between two checks for new blocks. */
  readonly keepEveryMs?: number | undefined;
  /** Milliseconds, not going back. */
  readonly now?: () => number;
  /** Waits between two writes; `pause` unless a test says otherwise. */
  readonly rest?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const KEEP_EVERY_MS = 250;
/** A dump blocks the chain for a moment (0.1 s for 2,000 transactions). The keeper then pauses this many times as long. */
const REST_RATIO = 20;
/**
 * The longest pause. A dump that took seconds says nothing about the next one: the node or the machine may have been suspended. Shorter
 * than the time for which a request for the latest block waits (see held-chain.ts), so that the request still finds its block.
 */
const LONGEST_REST_MS = 2_000;
/** After a failed write, the keeper pauses as after a write that took this time. */
const SHORT_MS = 1;

/** The pause after a write that has blocked the chain for `heldUpMs`. */
export function restAfter(heldUpMs: number, keepEveryMs: number): number {
  return Math.max(keepEveryMs, Math.min(LONGEST_REST_MS, REST_RATIO * heldUpMs));
}

/** Starts to keep the chain, until stop(). Failed writes are logged and retried. */
export function keepChain({
  url, kept: onDisk, write, log, keepEveryMs = KEEP_EVERY_MS, now = () => performance.now(), rest = pause,
}: ChainKeeperOptions): ChainKeeper {
  const stopping = new AbortController();
  const { signal } = stopping;
  const blocks = trackBlocks(onDisk, now);
  const wanted = createBell();
  const written = createBell();
  let saving: Promise<number> = Promise.resolve(0);
  let waiting: Promise<number> | undefined;

  const look = async (): Promise<Block> => blocks.mined(await latestBlock(url));

  /**
   * Writes the state. Resolves with the milliseconds for which the chain was blocked; 0 when there was nothing to write. Writes run one at a
   * time; all calls during a write share the next one. The written state has the block that was the latest when the write began.
   */
  function save(): Promise<number> {
    waiting ??= saving.catch(() => undefined).then(async () => {
      waiting = undefined;
      const latest = await look();
      if (latest.hash === blocks.kept().hash) return 0;
      const begunMs = now();
      const state = await dumpState(url);
      const heldUpMs = now() - begunMs;
      await write(state);
      blocks.written(latest, begunMs);
      written.ring();
      return heldUpMs;
    });
    return saving = waiting;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const heard = wanted.rung();
      const heldUpMs = await save().catch((error: unknown) => {
        blocks.failed(error as Error);
        log(`the development chain's state could not be kept: ${(error as Error).message}`);
        return SHORT_MS;
      });
      if (heldUpMs > 0) await rest(restAfter(heldUpMs, keepEveryMs), signal);
      else if (wanted.rung() === heard) await wanted.wait(signal, keepEveryMs);
    }
  }

  const running = run();
  return {
    status: blocks.status,
    keptBlock: () => blocks.kept().number,
    keep: async () => { await save(); },
    async keptSoon(withinMs) {
      const deadlineMs = now() + withinMs;
      const latest = await look();
      while (blocks.kept().hash !== latest.hash && blocks.kept().number < latest.number && !signal.aborted) {
        const leftMs = deadlineMs - now();
        if (leftMs <= 0) break;
        wanted.ring();
        await written.wait(signal, leftMs);
      }
      return blocks.kept().number;
    },
    async stop() {
      stopping.abort();
      await running;
      await saving.catch(() => undefined);
      await dumpState(url).then(write).catch((error: unknown) => { log(`the development chain's last state could not be kept: ${(error as Error).message}`); });
    },
  };
}

/** Which blocks are on disk and which are not, as far as the keeper has seen them. */
function trackBlocks(onDisk: Block, now: () => number) {
  let kept = onDisk;
  let latest = onDisk.number;
  let unkeptSinceMs: number | undefined;
  let trouble: string | undefined;
  return {
    kept: () => kept,
    mined(block: Block): Block {
      latest = block.number;
      unkeptSinceMs = latest > kept.number ? unkeptSinceMs ?? now() : undefined;
      return block;
    },
    /** The block is on disk. Later ones were mined after the write began. */
    written(block: Block, begunMs: number): void {
      kept = block;
      trouble = undefined;
      unkeptSinceMs = latest > kept.number ? begunMs : undefined;
    },
    failed({ message }: Error): void { trouble = message; },
    status: (): KeptStatus => ({ keptBlock: kept.number, unkeptBlocks: Math.max(0, latest - kept.number), unkeptSinceMs, trouble }),
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
