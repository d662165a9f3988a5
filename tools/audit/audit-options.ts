/** What an audit is asked to do, and where it stands at its end. */
import type { Rpc } from '../../command/chain/chain.js';
import type { ChainTail } from './chain/chain-tail.js';
import type { ChainAudit } from './chain/chain-audit.js';
import type { Difference } from './difference.js';
import type { Replay } from './replay.js';
import type { AuditSource } from './source/source.js';

export interface AuditOptions {
  readonly source: AuditSource;
  /** By chain id; the chains of the description without one here are not compared. */
  readonly rpcs?: ReadonlyMap<number, Rpc>;
  /** Threads that check signatures; 0: signatures are not checked. Absent: all cores but one. */
  readonly threads?: number | undefined;
  /** Accept cancels without a signature also where the service says that they need one. */
  readonly unsignedCancels?: boolean;
  /** Hashes of transactions whose anchors the auditor knows to be false, lower-case; any other that the history passes over is a difference. */
  readonly passedOverAnchors?: ReadonlySet<string>;
  /** The same of transactions with fills. */
  readonly passedOverFills?: ReadonlySet<string>;
  /** The database with the read models; absent: they are not compared. */
  readonly databaseUrl?: string | undefined;
  readonly checkpoint?: { readonly path: string; readonly everyRecords?: number } | undefined;
  readonly onProgress?: (stage: Stage, done: number, total: number | undefined) => void;
  /** Aborts the audit; what was checked is in the checkpoint then. */
  readonly signal?: AbortSignal | undefined;
  /** How long a chain's nodes may fail, and a service may lack what its chain anchors. */
  readonly patienceMs?: number | undefined;
}

/** `blocks`: those of a chain behind the records that were replayed. `tail`: records that the chain anchors and the service does not show yet. */
export type Stage = 'records' | 'blocks' | 'tail' | 'read models';

/** Where the audit stands at its end. */
export interface AuditEnd {
  readonly replay: Replay;
  readonly chains: readonly ChainAudit[];
  readonly tails: ReadonlyMap<number, ChainTail>;
  readonly rows: number;
  /** What was over before this position is not compared, since the read models do not keep it; 0: they keep everything. */
  readonly historyFrom: number;
  readonly difference: Difference | undefined;
  readonly resumedAt: number;
}
