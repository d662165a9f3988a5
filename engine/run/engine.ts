/** The deterministic engine as it runs in Node: recorded commands in, outcomes and digests out. No clock, no randomness, no I/O. */
import type { State } from '../rules/state.js';
import { DigestChain } from './digest-chain.js';
import { engineOf, type Engine } from './stepping.js';

/** An engine at the start of the history, or at the position of a snapshot. */
export function createEngine(state?: State, lastDigest?: Uint8Array): Engine {
  return engineOf(new DigestChain(lastDigest), state);
}
