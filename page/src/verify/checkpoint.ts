/** A place up to which this browser has decided the history again, with the engine's state there: a later run goes on from it. */
import {
  LAYOUT, partsOf, restoreParts, type NumberArray, type PartReader, type Restored, type SnapshotPart,
} from '../../../engine/run/snapshot-state.js';
import type { Engine } from '../../../engine/run/stepping.js';

export interface VerifierCheckpoint {
  /** Records that agree: the next one's position. */
  readonly records: number;
  /** The digest after them. */
  readonly digest: string;
  readonly layout: string;
  readonly parts: readonly SnapshotPart[];
}

export function checkpointOf(engine: Engine, { records, digest }: Pick<VerifierCheckpoint, 'records' | 'digest'>): VerifierCheckpoint {
  return { records, digest, layout: LAYOUT, parts: partsOf(engine) };
}

/** The state at a checkpoint; undefined for one that was made by other rules, or is damaged. */
export function restored({ layout, parts, records }: VerifierCheckpoint): Restored | undefined {
  if (layout !== LAYOUT) return undefined;
  try {
    const found = restoreParts(readerOf(parts));
    return found?.position === records ? found : undefined;
  } catch {
    return undefined;
  }
}

function readerOf(parts: readonly SnapshotPart[]): PartReader {
  let next = 0;
  return {
    json: () => JSON.parse(String(parts[next++])) as unknown,
    numbers<A extends NumberArray>(kind: new (...given: never[]) => A): A {
      const part = parts[next++];
      // The state takes the numbers over, and the checkpoint is kept.
      if (part instanceof kind) return part.slice() as A;
      throw new TypeError('the checkpoint has another part here');
    },
  };
}
