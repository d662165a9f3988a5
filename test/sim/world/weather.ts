/** What is wrong in the world at the moment: faults are put here, and struck by whoever comes by. */

export type LogFate = 'request lost' | 'reply lost' | 'duplicated' | 'delayed';

/** One node's. Times are virtual. */
export interface NodeWeather {
  awayUntilMs: number;
  /** It shows this many blocks less than there are. */
  lagBlocks: number;
  lagUntilMs: number;
  /** It counts so many transactions of the key more or less. */
  countsBy: number;
  countsUntilMs: number;
  hidesReceiptsUntilMs: number;
  /** It shows the branch that a reorganisation has left. */
  staleUntilMs: number;
  losesRequests: number;
  losesReplies: number;
  swallowsBroadcasts: number;
}

export interface Weather {
  logAwayUntilMs: number;
  diskFullUntilMs: number;
  readersDelayedUntilMs: number;
  /** Of the next appends. */
  readonly logFates: LogFate[];
  readonly nodes: readonly NodeWeather[];
  /** The next statement of this kind, or any, ends its session: before or after it is carried out. */
  readonly outboxCuts: { readonly statement: string | undefined; readonly applied: boolean }[];
  losesWakeUps: number;
}

export function goodWeather(nodes: number): Weather {
  return {
    logAwayUntilMs: 0, diskFullUntilMs: 0, readersDelayedUntilMs: 0, logFates: [], outboxCuts: [], losesWakeUps: 0,
    nodes: Array.from({ length: nodes }, () => ({
      awayUntilMs: 0, lagBlocks: 0, lagUntilMs: 0, countsBy: 0, countsUntilMs: 0, hidesReceiptsUntilMs: 0, staleUntilMs: 0, losesRequests: 0,
      losesReplies: 0, swallowsBroadcasts: 0,
    })),
  };
}

/** Ends every fault that has not struck yet. */
export function clearUp(weather: Weather): void {
  const { nodes, logAwayUntilMs, diskFullUntilMs, readersDelayedUntilMs, losesWakeUps } = goodWeather(weather.nodes.length);
  weather.logFates.length = 0;
  weather.outboxCuts.length = 0;
  Object.assign(weather, { logAwayUntilMs, diskFullUntilMs, readersDelayedUntilMs, losesWakeUps });
  weather.nodes.forEach((node, i) => Object.assign(node, nodes[i]));
}
