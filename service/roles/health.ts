/** Health: whether the process answers, and whether it should be sent requests. */
import type { Reply } from '../api/endpoint.js';

export interface EngineState {
  /** Commands that the engine has decided. */
  readonly position: number;
  /** Commands in the log. */
  readonly logLength: number;
  /** Another engine is at work; this one waits. */
  readonly standby: boolean;
}

export interface ProjectionState {
  readonly name: string;
  /** Outcomes folded. */
  readonly position: number;
}

/** How far a chain's indexer and settlement are. */
export interface ChainState {
  readonly chainId: number;
  /** The last final block; null before the chain has answered. */
  readonly finalBlock: number | null;
  /** Final blocks that the history does not have yet. */
  readonly lagBlocks: number;
  /** Whether the last look at the chain succeeded, and how often in a row it has not. */
  readonly reachable: boolean;
  readonly failures: number;
  /** Why the last look failed; null when it did not. Holds hosts, and nothing that is secret. */
  readonly lastError: string | null;
  /** Seconds since a look succeeded; since the start, before one has. */
  readonly sinceLookS: number;
  /** It has had no new block for too long. */
  readonly stalled: boolean;
  /** Fills that wait to be sent, counted up to 10,000, and fills in transactions that are not over. */
  readonly waitingFills: number;
  readonly sentFills: number;
  /** Seconds that the first of those that wait has waited, as far as this process knows; null when none waits, or another process settles. */
  readonly oldestWaitingS: number | null;
  /** What keeps settlement from going on; null when nothing does. */
  readonly settlementTrouble: string | null;
  /** Why nothing of this chain is recorded any more: it contradicts the history, and somebody must look. Else null. */
  readonly stopped: string | null;
}

export interface HealthSources {
  /** Undefined until the engine has started. */
  readonly engine: () => EngineState | undefined;
  /** Rejects when the read models cannot be reached. */
  readonly projections: () => Promise<readonly ProjectionState[]>;
  readonly chains: () => readonly ChainState[];
  /** Whether the service is stopping: it then asks for no more requests. */
  readonly stopping: () => boolean;
  /** Records that the engine or a read model may be behind. */
  readonly maxLag: number;
}

export interface Health {
  live(): Reply;
  ready(): Promise<Reply>;
}

export function createHealth(sources: HealthSources): Health {
  return { live: () => ({ body: '{"live":true}' }), ready: () => ready(sources) };
}

async function ready({ engine, projections, chains, stopping, maxLag }: HealthSources): Promise<Reply> {
  const reasons = stopping() ? ['the service is stopping'] : [];
  const state = engine() ?? { position: 0, logLength: 0, standby: false };
  if (engine() === undefined) reasons.push('the engine has not started');
  else if (state.standby) reasons.push('another engine is at work; this one stands by');
  else if (state.logLength - state.position > maxLag) reasons.push(`the engine is ${state.logLength - state.position} commands behind the log`);
  const models = await projections().catch(() => {
    reasons.push('the read models cannot be reached');
    return [];
  });
  const lags = models.map(({ name, position }) => ({ name, position, lag: Math.max(0, state.position - position) }));
  for (const { name, lag } of lags) if (lag > maxLag) reasons.push(`read model ${name} is ${lag} records behind`);
  // A chain that is away or late passes: orders can be taken, and their fills wait.
  const followed = chains();
  for (const { chainId, stopped } of followed) if (stopped !== null) reasons.push(`chain ${chainId} is not followed any more: ${stopped}`);
  return {
    status: reasons.length === 0 ? 200 : 503,
    body: JSON.stringify({ ready: reasons.length === 0, reasons, engine: state, projections: lags, chains: followed }),
  };
}
