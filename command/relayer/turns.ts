/**
 * Lets few requests wait for the lane at a time; the others wait here. Bearer tokens take turns, and within a token its
 * owners do, so that hundreds of requests by one token keep nobody else waiting for more than one of them at a time.
 */
import { RequestError } from '../../engine/records/errors.js';
import type { Bell } from '../../engine/waiting.js';

export interface Requester {
  /** Names the bearer token. */
  readonly token: string;
  /** Lower-case hex. */
  readonly owner: string;
}

/** A place in the queue. */
export interface Turn {
  isDue(): boolean;
  /** Gives the place up; nothing happens when it is due already. */
  leave(): void;
}

export interface RelayTurns {
  join(requester: Requester): Turn;
  /** Makes the next one due; false when nobody waits. */
  next(): boolean;
}

interface Place extends Requester {
  isDue: boolean;
}

/** The queue alone: it does no input or output. The caller says when there is room, and waits. */
export function createTurns(): RelayTurns {
  /** By token, then by owner, each in the order of their next turns. No empty queues. */
  const tokens = new Map<string, Map<string, Place[]>>();

  function remove(place: Place): void {
    const { token, owner, isDue } = place;
    const owners = tokens.get(token);
    const left = owners?.get(owner)?.filter((each) => each !== place);
    if (owners === undefined || left === undefined) return;
    // Those whose turn it was go to the end.
    if (isDue || left.length === 0) owners.delete(owner);
    if (left.length > 0) owners.set(owner, left);
    if (isDue || owners.size === 0) tokens.delete(token);
    if (owners.size > 0) tokens.set(token, owners);
  }

  return {
    join({ token, owner }) {
      const place: Place = { token, owner, isDue: false };
      const owners = tokens.get(token) ?? new Map<string, Place[]>();
      tokens.set(token, owners.set(owner, [...owners.get(owner) ?? [], place]));
      return { isDue: () => place.isDue, leave: () => { if (!place.isDue) remove(place); } };
    },
    next() {
      const [owners] = tokens.values();
      const [queue] = owners?.values() ?? [];
      const [place] = queue ?? [];
      if (place === undefined) return false;
      place.isDue = true;
      remove(place);
      return true;
    },
  };
}

/** Requests that the lane has not signed, at most. */
const MAX_UNSIGNED = 8;
const NOT_TAKEN = 'many requests wait for the lane, and this one has not been taken';

export interface AdmissionOptions {
  /** The number of requests at the lane that it has not signed. */
  readonly unsigned: () => number;
  /** Why nothing can be sent at present; undefined when something can. */
  readonly problem: () => string | undefined;
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
   * Resolves at the request's turn, with a function to call once the request is at the lane, or will not be. Throws
   * RequestError `relay_unavailable` when the turn does not come in time, and while there is a problem.
   */
  enter(requester: Requester): Promise<() => void>;
  /** To be called when the lane has signed something. */
  letIn(): void;
}

export function createAdmission({ unsigned, problem, bell, withinMs, now, signal }: AdmissionOptions): Admission {
  const turns = createTurns();
  /** Requests that have entered, and are not at the lane yet. */
  let entered = 0;

  function letIn(): void {
    for (let room = MAX_UNSIGNED - unsigned() - entered; room > 0 && turns.next(); room--) {
      entered++;
      bell.ring();
    }
  }

  return {
    letIn,
    async enter(requester) {
      const turn = turns.join(requester);
      letIn();
      for (const end = now() + withinMs; !turn.isDue();) {
        const left = end - now();
        const isTooLate = left <= 0 || signal.aborted;
        const why = problem() ?? (isTooLate ? NOT_TAKEN : undefined);
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
