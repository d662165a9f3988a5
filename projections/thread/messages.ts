/** The messages between the projections' thread and the main thread. */
import type { Report } from '../../engine/report.js';

export interface ProjectionThreadData {
  /** Postgres URLs of the read models and of the log. */
  readonly url: string;
  readonly logUrl: string;
}

/** From the thread. */
export type ProjectionMessage
  = | { readonly kind: 'progress'; readonly position: number }
    | { readonly kind: 'report'; readonly report: Parameters<Report> };

/** To the thread: finish the current batch, then end. */
export const STOP = 'stop';
