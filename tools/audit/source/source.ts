/** Where an audit takes the history from: a running service or an exported file. */
import type { DescribedExchange } from './described.js';

export interface AuditSource {
  /** How messages name it. Has no secrets. */
  readonly name: string;
  /** What the service says of its chains and signing domains; undefined when the source does not say it. */
  readonly described: DescribedExchange | undefined;
  /** How many records it had when it was opened; undefined for a file that does not say. */
  readonly length: number | undefined;
  /** The present length of a source that grows; absent for a file. Throws CannotAudit. */
  readonly newLength?: () => Promise<number>;
  /** Lines without line feeds, from a position on, up to `to` (absent: all), in batches. Throws CannotAudit, Differs. */
  lines(from: number, to?: number): AsyncIterable<readonly Buffer[]>;
}
