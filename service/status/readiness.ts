/**
 * Whether requests should be sent to a process: the answer to `/health/ready`, from what its parts say of themselves.
 */
import type { Reading, Shown } from '../../engine/state-table.js';

export interface Readiness {
  readonly roles: readonly string[];
  /** Why not, beside what the parts say. */
  readonly reasons: readonly string[];
  /** A part that several roles share counts once. */
  readonly readings: readonly Reading[];
}

/**
 * Status 503 when there is a reason not to send requests to the process. A reason that several parts have appears once.
 */
export async function readinessAnswer({ roles, reasons: own, readings }: Readiness) {
  const found = await Promise.all([...new Set(readings)].map(async ({ table: { shows }, readiness }) => (
    { shows, ...await readiness() })));
  const reasons = [...new Set([...own, ...found.flatMap((each) => each.reasons)])];
  const parts: Record<string, unknown> = {};
  for (const { shows, shown } of found) if (shows !== undefined && shown !== undefined) show(parts, shows, shown);
  return {
    status: reasons.length === 0 ? 200 : 503,
    body: JSON.stringify({ ready: reasons.length === 0, roles, reasons, ...parts }),
  };
}

function show(parts: Record<string, unknown>, { part, single }: Shown, states: readonly object[]): void {
  if (single === true) {
    if (states[0] !== undefined) parts[part] = states[0];
    return;
  }
  const before = parts[part] as readonly object[] | undefined;
  parts[part] = before === undefined ? states : byChain([...before, ...states]);
}

/** What several tables have of a chain as one entry. */
function byChain(states: readonly object[]): readonly object[] {
  const merged = new Map<unknown, object>();
  for (const state of states) {
    const { chainId } = state as { readonly chainId?: number };
    merged.set(chainId, { ...merged.get(chainId), ...state });
  }
  return [...merged.values()];
}

/**
 * Why a process whose roles do not all work yet is not ready. Never nothing, also while it has just begun to ask for
 * what it needs.
 */
export function startingReasons(said: readonly string[]): readonly string[] {
  return said.length === 0 ? ['the process is starting'] : said;
}
