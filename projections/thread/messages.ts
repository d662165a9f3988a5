/** The messages between the projections' thread and the main thread. */
import type { Report } from '../../engine/report.js';

export interface ProjectionThreadData {
  /** Postgres URLs of the read models and of the log. */
  readonly url: string;
  readonly logUrl: string;
  /** For how many days the read models keep what is over; undefined: for ever. */
  readonly keepHistoryDays: number | undefined;
}

/** How far back the read models go, where history is removed. */
export interface KeptHistory {
  /** What was over before this log position is removed. */
  readonly from: number;
  /** How many rows this process has removed. */
  readonly removedRows: number;
}

/** From the thread. */
export type ProjectionMessage
  = | { readonly kind: 'progress'; readonly position: number }
    | ({ readonly kind: 'history' } & KeptHistory)
    | { readonly kind: 'report'; readonly report: Parameters<Report> };

/** To the thread: finish the current batch, then end. */
export const STOP = 'stop';
