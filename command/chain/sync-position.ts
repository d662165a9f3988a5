/** `POST /api/v1/positions/{marketId}/sync`: corrects a user's holding by a command when it differs from the chain's balances. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { SyncPosition } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { ChainUnavailable } from './chain.js';

export interface SyncParts {
  readonly marketId: string;
  readonly user: string;
  /** The last block whose facts are all in the history. */
  readonly recordedBlock: () => number | undefined;
  /** Resolves when the history has reached the chain's latest final block. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  /** The user's YES and NO shares at the end of a block. Throws ChainUnavailable. */
  readonly readShares: (block: number) => Promise<{ readonly yes: bigint; readonly no: bigint }>;
  /** The user's shares by the whole history. */
  readonly known: () => Promise<{ readonly yesShares: bigint; readonly noShares: bigint }>;
  /** Writes the command; resolves with its log position and the engine's answer. */
  readonly submit: (command: SyncPosition) => Promise<{ readonly position: number; readonly outcome: CommandOutcome }>;
  readonly now: () => number;
}

/** How often this is repeated because the history recorded another block between the read and the command. */
const MAX_TRIES = 10;

/**
 * Resolves with the log position of the correction; undefined when nothing was to be corrected. Throws RequestError `chain_unavailable`,
 * also when a new block was recorded during every try, and what `known` and `submit` throw.
 */
export async function syncPosition(
  { marketId, user, recordedBlock, catchUp, readShares, known, submit, now }: SyncParts,
): Promise<number | undefined> {
  try {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      await catchUp();
      const block = recordedBlock();
      if (block === undefined) continue;
      const [{ yes, no }, { yesShares, noShares }] = [await readShares(block), await known()];
      if (recordedBlock() !== block) continue;
      if (yes === yesShares && no === noShares) return undefined;
      const { position, outcome } = await submit({
        kind: 'SyncPosition', v: 1, at: now(), marketId, user, yesShares: String(yes), noShares: String(no), block,
      });
      if (outcome.events.some(({ type }) => type === 'PositionSynced')) return position;
    }
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    throw new RequestError('chain_unavailable', 'the balances cannot be read');
  }
  throw new RequestError('chain_unavailable', 'the chain moved on during every read');
}
