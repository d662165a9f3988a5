/** Decides a recorded history again, record by record, and says where it first differs. Runs in a worker, and in tests. */
import { decodeCommand } from '../../../engine/records/codec.js';
import { toHex } from '../../../engine/records/hex.js';
import type { Restored } from '../../../engine/run/snapshot-state.js';
import { engineOf, type Engine, type Step } from '../../../engine/run/stepping.js';
import { readAnchors, type ChainAnchor, type AnchorSource } from './anchors.js';
import { checkpointOf, restored, type VerifierCheckpoint } from './checkpoint.js';
import { createDigestChain, type RecordedDigests } from './digest-chain.js';
import { readHistory, type Ask, type RecordedEntry } from './history-lines.js';

/** The first place where the history is not what the engine decides, or the chain says. */
export interface HistoryDifference {
  readonly position: number;
  readonly field: 'position' | 'command' | 'outcome' | 'digest' | 'anchor';
  readonly expected: string;
  readonly got: string;
}

export interface VerifyProgress {
  /** Records that were decided again and agree: also the next position. */
  readonly records: number;
  /** The newest position, as the exchange says. */
  readonly newest: number;
  readonly recordsPerSecond: number;
}

export interface Verification {
  /** `failed`: something could not be asked, or was no history; nothing is proven beyond `records`. */
  readonly verdict: 'verified' | 'differs' | 'failed' | 'stopped';
  /** The position at which it began: 0, or that of a checkpoint, up to which an earlier run of this browser has agreed. */
  readonly from: number;
  readonly records: number;
  /** The digest after the last record that agrees. */
  readonly digest: string;
  readonly recordsPerSecond: number;
  /** How many anchors of the chain agree; or why none was compared. */
  readonly anchors: number | string;
  readonly difference?: HistoryDifference;
  readonly error?: string;
}

export interface VerifierParts {
  readonly ask: Ask;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Without one, the chain is not asked. */
  readonly anchors: AnchorSource | undefined;
  readonly progress: (progress: VerifyProgress) => void;
  /** Takes a place to go on from, every 200,000 records and at a run's end, and copies it at once. */
  readonly keep?: (checkpoint: VerifierCheckpoint) => Promise<void>;
}

const KEEP_EVERY = 200_000;

export interface Verifier {
  /** Goes on from where the last run stopped, to the newest record, until `signal` aborts. */
  run(signal: AbortSignal): Promise<Verification>;
}

/** What the difference is; ends a run. */
class Differs extends Error {
  constructor(readonly difference: HistoryDifference) {
    super(`differs at ${difference.position}`);
  }
}

/**
 * A verifier at position 0, or at a checkpoint that these rules have made; its run first finds the checkpoint's digest in
 * the history. It keeps its engine between runs.
 */
export async function createVerifier(parts: VerifierParts, checkpoint?: VerifierCheckpoint): Promise<Verifier> {
  const found = checkpoint === undefined ? undefined : restored(checkpoint);
  return new HistoryVerifier(parts, await createDigestChain(found?.digest), found);
}

class HistoryVerifier implements Verifier {
  readonly #parts: VerifierParts;
  readonly #digests: RecordedDigests;
  readonly #engine: Engine;
  readonly #from: number;
  /** Whether the record before the next one has the digest that is known, as the history says now. */
  #isContinued: boolean;
  /** The records that agree: the next one's position. */
  #records: number;
  #kept: number;
  #digest: string;
  #anchors: ReadonlyMap<number, readonly ChainAnchor[]> | undefined;
  #compared = 0;
  #spentMs = 0;
  #found: HistoryDifference | undefined;

  constructor(parts: VerifierParts, digests: RecordedDigests, from?: Restored) {
    this.#parts = parts;
    this.#digests = digests;
    this.#engine = engineOf(digests, from?.state);
    this.#digest = toHex(digests.last);
    this.#from = this.#records = this.#kept = from?.position ?? 0;
    this.#isContinued = this.#from === 0;
  }

  async run(signal: AbortSignal): Promise<Verification> {
    // A history that differs once does so for good: the engine has gone past the place.
    if (this.#found !== undefined) return this.#result('differs', { difference: this.#found });
    try {
      await this.#follow(signal);
      await this.#keep();
      return this.#result('verified');
    } catch (error) {
      if (error instanceof Differs) {
        this.#found = error.difference;
        return this.#result('differs', { difference: error.difference });
      }
      await this.#keep();
      if (signal.aborted) return this.#result('stopped');
      return this.#result('failed', { error: error instanceof Error ? error.message : String(error) });
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { ask, now, anchors, progress } = this.#parts;
    // Before the history: what is anchored by now is in what is read then.
    if (anchors !== undefined) this.#anchors ??= byPosition(await readAnchors(ask, anchors, signal));
    const { newest, batches } = await readHistory(ask, this.#isContinued ? this.#records : this.#records - 1, signal);
    let begunMs = now();
    for await (const batch of batches) {
      for (const entry of batch) {
        if (entry.position > newest) throw new Error(`the exchange sends more than it has announced: position ${entry.position} after ${newest}`);
        if (this.#isContinued) this.#check(entry); else this.#continue(entry);
      }
      this.#spentMs += now() - begunMs;
      begunMs = now();
      signal.throwIfAborted();
      progress({ records: this.#records, newest, recordsPerSecond: this.#rate() });
      if (this.#records - this.#kept >= KEEP_EVERY) await this.#keep();
    }
    if (!this.#isContinued) this.#differsBefore(`a history that ends at position ${newest}`);
    if (this.#records <= newest) {
      throw new Error(`the history breaks off: the exchange announced position ${newest} and sent ${this.#records - 1} as the last one`);
    }
    this.#findBeyond();
  }

  /** The record before the checkpoint: the history is the one that has led to it. */
  #continue({ position, digest }: RecordedEntry): void {
    if (position !== this.#records - 1) this.#differsBefore(`position ${position}`);
    if (digest !== this.#digest) this.#differsBefore(digest);
    this.#isContinued = true;
  }

  #differsBefore(got: string): never {
    throw new Differs({ position: this.#records - 1, field: 'digest', expected: `${this.#digest}, as this browser has verified before`, got });
  }

  async #keep(): Promise<void> {
    if (this.#records === this.#kept || this.#parts.keep === undefined) return;
    this.#kept = this.#records;
    await this.#parts.keep(checkpointOf(this.#engine, { records: this.#records, digest: this.#digest }));
  }

  #check(entry: RecordedEntry): void {
    const position = this.#records;
    if (entry.position !== position) throw new Differs({ position, field: 'position', expected: String(position), got: String(entry.position) });
    const step = this.#decide(entry);
    if (step.text !== entry.outcome.text) throw new Differs({ position, field: 'outcome', expected: step.text, got: entry.outcome.text });
    if (step.digest !== entry.digest) throw new Differs({ position, field: 'digest', expected: step.digest, got: entry.digest });
    for (const anchor of this.#anchors?.get(position) ?? []) {
      if (anchor.digest !== step.digest) throw new Differs({ position, field: 'anchor', expected: step.digest, got: textOf(anchor) });
      this.#compared += 1;
    }
    this.#digest = step.digest;
    this.#records += 1;
  }

  #decide({ command, outcome }: RecordedEntry): Step {
    this.#digests.expect(outcome);
    try {
      return this.#engine.step(command.data, decodeCommand(command.data, command.text));
    } catch (error) {
      const got = error instanceof Error ? error.message : String(error);
      throw new Differs({ position: this.#records, field: 'command', expected: 'a command that this engine can decide', got });
    }
  }

  /** What the chain anchors beyond the end was kept back. */
  #findBeyond(): void {
    for (const [position, [anchor]] of this.#anchors ?? []) {
      if (position >= this.#records && anchor !== undefined) {
        throw new Differs({ position, field: 'anchor', expected: textOf(anchor), got: `a history that ends at position ${this.#records - 1}` });
      }
    }
  }

  #rate(): number {
    return this.#spentMs === 0 ? 0 : Math.round((this.#records - this.#from) / this.#spentMs * 1_000);
  }

  #result(verdict: Verification['verdict'], more: Partial<Verification> = {}): Verification {
    const anchors = this.#parts.anchors === undefined ? 'skipped: no node URL was given' : this.#anchors === undefined ? 'not read' : this.#compared;
    return { verdict, from: this.#from, records: this.#records, digest: this.#digest, recordsPerSecond: this.#rate(), anchors, ...more };
  }
}

function textOf({ digest, txHash }: ChainAnchor): string {
  return `${digest} in transaction ${txHash}`;
}

function byPosition(anchors: readonly ChainAnchor[]): ReadonlyMap<number, readonly ChainAnchor[]> {
  const found = new Map<number, ChainAnchor[]>();
  for (const anchor of anchors) {
    const others = found.get(anchor.position);
    if (others === undefined) found.set(anchor.position, [anchor]); else others.push(anchor);
  }
  return found;
}
