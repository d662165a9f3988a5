/** Decides a recorded history again, record by record, and says where it first differs. Runs in a worker, and in tests. */
import { toHex } from '../../../engine/records/hex.js';
import { emptyState } from '../../../engine/rules/state.js';
import { engineOf } from '../../../engine/run/stepping.js';
import { readAnchors, type Anchor, type AnchorSource } from './anchors.js';
import { createDigestChain } from './digest-chain.js';
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
}

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

/** A verifier at position 0. It keeps its engine between runs. */
export async function createVerifier({ ask, now, anchors: source, progress }: VerifierParts): Promise<Verifier> {
  const engine = engineOf(emptyState(), await createDigestChain());
  let digest = toHex(engine.digest);
  let anchors: Map<number, Anchor[]> | undefined;
  let compared = 0;
  let spentMs = 0;
  let found: HistoryDifference | undefined;
  const records = (): number => engine.state.position;

  const check = (entry: RecordedEntry): void => {
    const position = records();
    const differs = (field: HistoryDifference['field'], expected: string, got: string): Differs => new Differs({ position, field, expected, got });
    if (entry.position !== position) throw differs('position', String(position), String(entry.position));
    let step;
    try {
      step = engine.step(entry.command);
    } catch (error) {
      throw differs('command', 'a command that this engine can decide', error instanceof Error ? error.message : String(error));
    }
    if (step.text !== entry.outcome) throw differs('outcome', step.text, entry.outcome);
    if (step.digest !== entry.digest) throw differs('digest', step.digest, entry.digest);
    for (const anchor of anchors?.get(position) ?? []) {
      if (anchor.digest !== step.digest) throw differs('anchor', step.digest, `${anchor.digest} in transaction ${anchor.txHash}`);
      compared += 1;
    }
    digest = step.digest;
  };

  const takeAnchors = async (signal: AbortSignal): Promise<void> => {
    if (source === undefined || anchors !== undefined) return;
    const byPosition = new Map<number, Anchor[]>();
    for (const anchor of await readAnchors(ask, source, signal)) byPosition.set(anchor.position, [...byPosition.get(anchor.position) ?? [], anchor]);
    anchors = byPosition;
  };

  const follow = async (signal: AbortSignal): Promise<void> => {
    // Before the history: what is anchored by now is in what is read then.
    await takeAnchors(signal);
    const { newest, batches } = await readHistory(ask, records(), signal);
    let begun = now();
    for await (const batch of batches) {
      for (const entry of batch) {
        if (entry.position > newest) throw new Error(`the exchange sends more than it has announced: position ${entry.position} after ${newest}`);
        check(entry);
      }
      spentMs += now() - begun;
      begun = now();
      signal.throwIfAborted();
      progress({ records: records(), newest, recordsPerSecond: rate() });
    }
    if (records() <= newest) throw new Error(`the history breaks off: the exchange announced position ${newest} and sent ${records() - 1} as the last one`);
    for (const [position, [anchor]] of anchors ?? []) {
      if (position >= records() && anchor !== undefined) {
        throw new Differs({ position, field: 'anchor', expected: `${anchor.digest} in transaction ${anchor.txHash}`, got: `a history that ends at ${records() - 1}` });
      }
    }
  };

  const rate = (): number => spentMs === 0 ? 0 : Math.round(records() / spentMs * 1_000);
  const result = (verdict: Verification['verdict'], more: Partial<Verification> = {}): Verification => ({
    verdict, records: found?.position ?? records(), digest, recordsPerSecond: rate(),
    anchors: source === undefined ? 'skipped: no node URL was given' : anchors === undefined ? 'not read' : compared, ...more,
  });

  return {
    async run(signal) {
      // A history that differs once does so for good: the engine has gone past the place.
      if (found !== undefined) return result('differs', { difference: found });
      try {
        await follow(signal);
        return result('verified');
      } catch (error) {
        if (error instanceof Differs) {
          found = error.difference;
          return result('differs', { difference: found });
        }
        if (signal.aborted) return result('stopped');
        return result('failed', { error: error instanceof Error ? error.message : String(error) });
      }
    },
  };
}
