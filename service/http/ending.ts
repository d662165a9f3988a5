/**
 * How far an application is from its end. First each answer asks its client to close the connection, then the streams
 * end.
 */

/** How long a client may take to read the last answer on its connection. */
export const LINGER_MS = 1_000;

export interface AppEnding {
  isLeaving: boolean;
  isStopping: boolean;
  /** What ends each open stream. */
  readonly streams: Set<() => void>;
}

export function notEnding(): AppEnding {
  return { isLeaving: false, isStopping: false, streams: new Set() };
}

export function stop(ending: AppEnding): void {
  ending.isLeaving = ending.isStopping = true;
  for (const end of ending.streams) end();
}
