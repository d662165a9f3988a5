/** Brings a user's position in line with the chain's balances, by a command: for `POST /api/v1/positions/{marketId}/sync`. */
import type { SyncPosition } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { ChainUnavailable } from './chain.js';
import type { Submitted } from '../orders/answer.js';

export interface SyncParts {
  readonly marketId: string;
  readonly user: string;
  /** The last block whose facts are all in the history. */
  readonly recordedBlock: () => number | undefined;
  /** Resolves when the history has got to the chain's latest final block. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  /** The user's YES and NO shares at the end of a block. Throws ChainUnavailable. */
  readonly readShares: (block: number) => Promise<{ readonly yes: bigint; readonly no: bigint }>;
  /** The shares that the exchange knows of, after all that the history has. */
  readonly known: () => Promise<{ readonly yesShares: bigint; readonly noShares: bigint }>;
  readonly submit: (command: SyncPosition) => Promise<Submitted>;
  readonly now: () => number;
}

/** Tries while the history moves on between the read and the command. */
const MAX_TRIES = 10;

/**
 * Resolves with the log position of the correction; undefined where there was nothing to correct. Throws RequestError
 * `chain_unavailable`, also when the chain moves on so fast that no read holds, and what `known` and `submit` throw.
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
