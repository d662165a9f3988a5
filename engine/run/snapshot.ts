/** The engine's state as bytes and back. */
import { joinParts, readParts } from './snapshot-parts.js';
import { LAYOUT, partsOf, restoreParts, type Restored } from './snapshot-state.js';
import type { Engine } from './stepping.js';

/** The snapshot's bytes. Engines with the same history give the same bytes. */
export function encodeSnapshot(engine: Engine): Buffer {
  return joinParts(LAYOUT, partsOf(engine));
}

/**
 * The state in a snapshot's bytes; undefined when the bytes are damaged or have another layout or other rules. The state takes the bytes over and
 * changes them: copies of millions of orders would take memory, and V8 collects garbage again and again while it is allocated.
 */
export function decodeSnapshot(data: Buffer): Restored | undefined {
  const parts = readParts(LAYOUT, data);
  return parts === undefined ? undefined : restoreParts(parts);
}
