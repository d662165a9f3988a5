/**
 * Who is next at the relayer: bearer tokens take turns, and within a token its owners do, so hundreds of requests by one token keep nobody else
 * waiting for more than one of them at a time. It does no input or output; the caller says when there is room, and waits.
 */

export interface TurnAsked {
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

export interface Turns {
  join(asked: TurnAsked): Turn;
  /** Makes the next one due; false when nobody waits. */
  next(): boolean;
}

interface Place extends TurnAsked {
  isDue: boolean;
}

export function createTurns(): Turns {
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
