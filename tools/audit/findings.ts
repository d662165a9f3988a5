/** What an audit's end means for each check: counts, checks that were not made and why, and what a reader should know beside them. */
import { formatDigest } from '../../engine/records/codec.js';
import type { AuditOptions, AuditEnd } from './audit-options.js';
import type { CheckName } from './difference.js';
import { checkReports, type AuditReport } from './report.js';

export function findings(options: AuditOptions, ended: AuditEnd, seconds: number): AuditReport {
  const { replay: { engine, view, counts }, chains, difference, resumedAt, rows } = ended;
  // A record that differs was taken by the engine, and is not counted.
  const records = difference?.place.position === undefined ? view.position : Math.min(view.position, difference.place.position);
  const sum = (name: 'anchors' | 'settledFills' | 'failedFills' | 'quickResolutions' | 'chainFacts' | 'endedRelays') => chains.reduce((total, chain) => total + chain.counts[name], 0);
  return {
    v: 1, source: options.source.name, passed: difference === undefined, records, digest: digestOf(ended), resumedAt,
    checks: checkReports({
      difference, ...unmade(options), counts: {
        records, commands: records, outcomes: records, digests: records, ids: counts.ids, events: counts.events,
        orderSignatures: counts.orderSignatures, cancelSignatures: counts.cancelSignatures, anchors: sum('anchors'), settledFills: sum('settledFills'), failedFills: sum('failedFills'),
        quickResolutions: sum('quickResolutions'), chainFacts: sum('chainFacts'), endedRelays: sum('endedRelays'), syncedPositions: counts.syncedPositions,
        readModels: rows,
      },
    }),
    difference: difference ?? null, notes: notesOf(options, ended), seconds: Math.round(seconds * 10) / 10,
  };

  function digestOf({ difference: found }: AuditEnd): string {
    return found === undefined ? formatDigest(engine.digest) : '(not all records agree)';
  }
}

type Reasons = Partial<Record<CheckName, string>>;

function unmade({ source, threads, rpcs, databaseUrl }: AuditOptions): { readonly notMade: Reasons; readonly partly: Reasons } {
  const notMade: Reasons = {};
  const partly: Reasons = {};
  const onSignatures = source.described === undefined
    ? 'the file does not say the signing domains: export it with npm run tool -- export, or give --config'
    : threads === 0 ? '--no-signatures' : undefined;
  if (onSignatures !== undefined) Object.assign(notMade, { orderSignatures: onSignatures, cancelSignatures: onSignatures });
  const named = source.described?.chains ?? [];
  const left = named.filter(({ chainId }) => rpcs?.has(chainId) !== true).map(({ chainId }) => chainId);
  const chainChecks = ['anchors', 'settledFills', 'failedFills', 'quickResolutions', 'chainFacts', 'endedRelays'] as const;
  const reason = source.described === undefined
    ? 'the file does not say the chains'
    : named.length === 0 ? 'this exchange has no chain' : left.length > 0 ? `no --rpc for chain ${left.join(', ')}` : undefined;
  if (reason !== undefined) for (const name of chainChecks) (rpcs === undefined || rpcs.size === 0 ? notMade : partly)[name] = reason;
  if (reason !== undefined) partly.syncedPositions = `by the history's own facts: ${reason}`;
  if (databaseUrl === undefined) notMade.readModels = 'no --database';
  return { notMade, partly };
}

function notesOf({ source }: AuditOptions, { replay: { counts }, chains, tails, difference, historyFrom }: AuditEnd): string[] {
  const open = counts.matchedFills - counts.settledFills - counts.failedFills;
  const notes = [
    ...open > 0 ? [`${open} of ${counts.matchedFills} fills were matched and neither settled nor failed at the audited end`] : [],
    ...counts.unsignedCancels > 0 ? [`${counts.unsignedCancels} cancels have no signature: the exchange lets anybody cancel (cancelAuth open)`] : [],
    ...counts.relays > 0 ? [`signatures of ${counts.relays} relayed actions were not checked: the history has the digests of what was signed, the chain the signatures`] : [],
    ...counts.permits > 0 ? [`${counts.permits} permits sent with orders were not checked: the stablecoin checks them, and a wrong one has no effect`] : [],
    ...historyFrom > 0 ? [`the read models keep no history from before position ${historyFrom}: of what was over by then, nothing was compared`] : [],
    ...source.length === undefined && difference === undefined ? ['the file does not say how many records there are: records may be missing at its end'] : [],
  ];
  for (const { chainId, counts: { passedOver, passedOverFills, alerts } } of chains) {
    if (passedOver > 0) notes.push(`chain ${chainId}: ${passedOver} anchors differ from the history, and were passed over: the history says so (AnchorPassedOver), and so does this audit (--pass-over-anchor)`);
    if (passedOverFills > 0) notes.push(`chain ${chainId}: ${passedOverFills} fills on the chain are not those that were matched; the history passes them over, and so does this audit (--pass-over-fill)`);
    if (alerts > 0) notes.push(`chain ${chainId}: ${alerts} events of the contracts are of a form that no history can record`);
    const { finalBlock = 0, blocks = 0, events = 0, anchored } = tails.get(chainId) ?? {};
    if (blocks > 0) {
      notes.push(`chain ${chainId}: the audited history ends before block ${finalBlock - blocks + 1}; ${blocks} final blocks with ${events} events of the contracts come after it`
        + (anchored === undefined ? '' : `; they anchor position ${anchored}, which is after the audited end`));
    }
  }
  return notes;
}
