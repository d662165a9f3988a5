/** How many streams a process and each client address may have. */
import { RequestError } from '../engine/records/errors.js';
import type { ClientErrorCode } from '../service/api/errors.js';

export interface PlaceLimits {
  /** Streams of the process. */
  readonly streams: number;
  /** Streams of one client address; 0 = no limit. IPv6 clients are counted by their /56 prefix. */
  readonly perAddress: number;
}

export interface Places {
  /** Takes a place; the function returned gives it back, once. Throws RequestError `overloaded`, `too_many_streams`. */
  enter(address: string): () => void;
  taken(): number;
}

/** When a client that was refused may ask again. */
const RETRY_AFTER_S = 5;

/** `what`: the streams, in the plural, as errors name them. */
export function createPlaces(what: string, { streams, perAddress }: PlaceLimits): Places {
  const byAddress = new Map<string, number>();
  let taken = 0;
  return {
    taken: () => taken,
    enter(address) {
      const own = byAddress.get(address) ?? 0;
      const retry = { retryAfterS: RETRY_AFTER_S };
      if (taken >= streams) throw new RequestError('overloaded', `${streams} ${what} are open`, [], retry);
      if (perAddress > 0 && own >= perAddress) throw new RequestError<ClientErrorCode>('too_many_streams', `at most ${perAddress}`, [], retry);
      taken += 1;
      byAddress.set(address, own + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        taken -= 1;
        const others = (byAddress.get(address) ?? 1) - 1;
        if (others === 0) byAddress.delete(address); else byAddress.set(address, others);
      };
    },
  };
}
