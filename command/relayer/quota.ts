/** How much gas the relayer may be asked for: per signer and per bearer token, in windows of an hour. */
import { RequestError } from '../../engine/records/errors.js';

export interface QuotaLimits {
  /** Units of gas per window, by the ceilings of the transactions; 0 = no limit. */
  readonly gasPerOwner: bigint;
  readonly gasPerToken: bigint;
}

export interface Quota {
  /** Takes gas from both quotas, or throws RequestError `relay_quota_used` and takes none. */
  take(usage: { readonly owner: string; readonly token: string; readonly gas: bigint }): void;
  /** Gives back what was taken for a transaction that was not sent. */
  giveBack(taken: { readonly owner: string; readonly token: string; readonly gas: bigint }): void;
}

export const WINDOW_MS = 3_600_000;
/** Keys that are kept; then those whose windows have passed are dropped. */
const MANY = 10_000;

interface Used {
  readonly sinceMs: number;
  gas: bigint;
}

/** `now`: milliseconds of a clock that never goes back. A restart begins new windows. */
export function createQuota({ gasPerOwner, gasPerToken }: QuotaLimits, now: () => number): Quota {
  const windows = new Map<string, Used>();

  function windowOf(key: string): Used {
    const found = windows.get(key);
    if (found !== undefined && now() - found.sinceMs < WINDOW_MS) return found;
    const fresh = { sinceMs: now(), gas: 0n };
    windows.set(key, fresh);
    if (windows.size > MANY) {
      for (const [other, { sinceMs }] of windows) if (now() - sinceMs >= WINDOW_MS) windows.delete(other);
    }
    return fresh;
  }

  const limitsOf = ({ owner, token }: { owner: string; token: string }) => [
    { key: `owner ${owner}`, what: 'this owner', limit: gasPerOwner }, { key: `token ${token}`, what: 'this token', limit: gasPerToken },
  ].filter(({ limit }) => limit > 0n);

  return {
    take({ gas, ...whose }) {
      const limits = limitsOf(whose).map((each) => ({ ...each, used: windowOf(each.key) }));
      for (const { what, limit, used } of limits) {
        if (used.gas + gas <= limit) continue;
        const retryAfterS = Math.max(1, Math.ceil((used.sinceMs + WINDOW_MS - now()) / 1_000));
        throw new RequestError('relay_quota_used', `${what} may use ${limit} gas per hour, and has ${limit - used.gas} left of ${gas} needed`, [], { retryAfterS });
      }
      for (const { used } of limits) used.gas += gas;
    },
    giveBack({ gas, ...whose }) {
      for (const { key } of limitsOf(whose)) {
        const used = windows.get(key);
        if (used !== undefined) used.gas = used.gas > gas ? used.gas - gas : 0n;
      }
    },
  };
}
