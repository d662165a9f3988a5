/** Lets few requests wait for the lane at a time; the others wait here for their turn (turns.ts), where no token's hundreds are before them. */
import { RequestError } from '../../../engine/records/errors.js';
import type { Bell } from '../../../engine/waiting.js';
import { createTurns, type TurnAsked } from './turns.js';

/** Requests that the lane has not signed, at most. */
const UNSIGNED = 8;

export interface AdmissionParts {
  /** The number of requests that the lane has been asked for and has not signed. */
  readonly unsigned: () => number;
  /** Why nothing can be sent at present; undefined when something can. */
  readonly trouble: () => string | undefined;
  /** Rung when a turn has come. */
  readonly bell: Pick<Bell, 'ring' | 'wait'>;
  /** How long a request waits for its turn, in milliseconds. */
  readonly withinMs: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export interface Admission {
  /**
   * Resolves at the request's turn, with a function to call once the lane has been asked for it, or will not be. Throws RequestError
   * `relay_unavailable` when the turn does not come in time, and while there is trouble.
   */
  enter(asked: TurnAsked): Promise<() => void>;
  /** To be called when the lane has signed something. */
  letIn(): void;
}

export function createAdmission({ unsigned, trouble, bell, withinMs, now, signal }: AdmissionParts): Admission {
  const turns = createTurns();
  /** Requests that have entered, and of which the lane has not been asked yet. */
  let entered = 0;

  function letIn(): void {
    for (let room = UNSIGNED - unsigned() - entered; room > 0 && turns.next(); room--) {
      entered++;
      bell.ring();
    }
  }

  return {
    letIn,
    async enter(asked) {
      const turn = turns.join(asked);
      letIn();
      for (const end = now() + withinMs; !turn.isDue();) {
        const left = end - now();
        const why = trouble() ?? (left <= 0 || signal.aborted ? 'many requests wait for the lane, and this one has not been taken' : undefined);
        if (why !== undefined) {
          turn.leave();
          throw new RequestError('relay_unavailable', why);
        }
        await bell.wait(signal, left);
      }
      return () => {
        entered--;
        letIn();
      };
    },
  };
}
