/** What the main thread and the thread that recovers signers tell each other. */
import type { Recovery } from './recover.js';

/** The bytes of a digest, and of a digest with the signature that follows it. To the thread go any number of them, one after the other. */
export const DIGEST_BYTES = 32;
export const SIGNED_BYTES = DIGEST_BYTES + 65;

/** From the thread, once: it takes signatures. */
export const READY = 'ready';

/** From the thread. Those of a message are answered together, in its order. */
export type RecoveryMessage = typeof READY | readonly Recovery[];
