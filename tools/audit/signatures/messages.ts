/** What the audit and its signature threads tell each other. */
import type { OrderDomain } from '../../../command/signing/typed-data.js';
import type { SignatureFault } from './signature-check.js';

export interface SignatureThreadData {
  readonly domains: readonly OrderDomain[];
}

/** Recorded commands, one after the other in `data`. The buffers are handed over, and come back with the answer. */
export interface SignatureBatch {
  readonly data: Uint8Array<ArrayBuffer>;
  /** Where each command ends in `data`; as many as there are commands. */
  readonly ends: Uint32Array<ArrayBuffer>;
  readonly positions: Float64Array<ArrayBuffer>;
  /** The chain of each command's market; -1 where the market is not known. */
  readonly chains: Float64Array<ArrayBuffer>;
  readonly count: number;
}

export interface SignatureAnswer {
  readonly batch: SignatureBatch;
  /** The fault at the lowest position. */
  readonly fault: PlacedFault | undefined;
}

export interface PlacedFault extends SignatureFault {
  readonly position: number;
}
