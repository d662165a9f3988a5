/** Audits of a history in memory, with its chain on a node in memory. */
import { ok } from 'node:assert/strict';
import type { RawChainEvent } from '../../command/chain/block-range.js';
import type { Rpc } from '../../command/chain/chain.js';
import { audit } from '../../tools/audit/audit.js';
import type { AuditOptions } from '../../tools/audit/audit-options.js';
import type { Difference } from '../../tools/audit/difference.js';
import type { AuditReport } from '../../tools/audit/report.js';
import { CHAIN_ID, linesOfHistory, nodeOf, sourceOf, type AuditedHistory, type HistoryRecord } from './audited-history.js';

export interface AuditedAs extends Omit<Partial<AuditOptions>, 'rpcs'> {
  /** What the history says instead. */
  readonly records?: readonly HistoryRecord[];
  /** What the chain says instead. */
  readonly events?: readonly RawChainEvent[];
  /** The node; null: no node is given. */
  readonly node?: Rpc | null;
}

/** The report on a history, without signatures unless threads are given. */
export async function auditOf(history: AuditedHistory, given: AuditedAs = {}): Promise<AuditReport> {
  const { records = history.records, events = history.chainEvents, node = nodeOf(events, history.blocks), ...options } = given;
  return await audit({
    source: sourceOf(linesOfHistory(records)), threads: 0, patienceMs: 0, ...node === null ? {} : { rpcs: new Map([[CHAIN_ID, node]]) }, ...options,
  });
}

/** The difference that the audit must find. */
export async function differenceOf(history: AuditedHistory, given: AuditedAs = {}): Promise<Difference> {
  const { difference, passed } = await auditOf(history, given);
  ok(difference !== null && !passed, 'nothing was found');
  return difference;
}
