/** What the projections' thread and the rest of the process say to each other. */

export interface ProjectionThreadData {
  /** Where the read models are, and where the log is. */
  readonly url: string;
  readonly logUrl: string;
}

/** From the thread. */
export type ProjectionMessage
  = | { readonly kind: 'progress'; readonly positions: ReadonlyMap<string, number> }
    | { readonly kind: 'trouble'; readonly message: string };

/** To the thread: finish the batch in hand and end. */
export const STOP = 'stop';
