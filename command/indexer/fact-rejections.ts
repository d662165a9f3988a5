/** Reports the facts that the engine rejects: an alert where somebody must look, info for the harmless ones. */
import type { Event, RejectionCode } from '../../engine/records/events.js';
import type { FactCommand } from './facts.js';
import type { Report } from '../../engine/report.js';

/** A fact that is in the history, with the events that it caused. */
export interface WrittenFact {
  readonly command: FactCommand;
  readonly events: readonly Event[];
}

/**
 * Rejections that are no reason for an alert: anybody can cause them on the chain, or they come from the time before
 * this history began (unknown orders), or they concern a quick market of an impossible length. Every other rejection
 * means that the chain and the history contradict each other.
 */
const HARMLESS: Readonly<Record<FactCommand['kind'], readonly RejectionCode[]>> = {
  OpenMarket: ['invalid_expiration'], CancelOrder: ['unknown_order', 'not_order_owner', 'already_filled'], CancelOrdersBelow: ['nonce_cancelled'],
  RecordTransfer: ['unknown_token'], RecordRedemption: ['unknown_market'], RecordProposal: ['unknown_market'], RecordDispute: ['unknown_market'],
  RecordRejection: ['unknown_market'], ResolveMarket: ['unknown_market'], HalveMarket: ['unknown_market'], SettleFill: [], FailFill: [], PassOverAnchor: [],
};

/** Alerts per batch; further ones are only counted. */
const MAX_ALERTS = 10;

/**
 * Reports an alert per fact that should not have been rejected, and one info for all harmless rejections. Known facts
 * are not reported.
 */
export function reportRejections(chainId: number, written: readonly WrittenFact[], report: Report): void {
  const harmless = new Map<string, number>();
  let alerts = 0;
  for (const { command: { kind, fact: { block, logIndex } }, events: [event] } of written) {
    if (event?.type !== 'CommandRejected' || event.code === 'known_fact') continue;
    if (HARMLESS[kind].includes(event.code)) {
      const what = `${kind} (${event.code})`;
      harmless.set(what, (harmless.get(what) ?? 0) + 1);
    } else if (++alerts <= MAX_ALERTS) {
      const place = `chain ${chainId}, block ${block}, event ${logIndex}`;
      report('alert', `${place}: the history refused ${kind} as ${event.code}: ${event.subject}. ${meaningOf(event.code)}`);
    }
  }
  const upTo = `up to block ${written.at(-1)?.command.fact.block}`;
  if (alerts > MAX_ALERTS) report('alert', `chain ${chainId}: the history refused ${alerts - MAX_ALERTS} more facts ${upTo}`);
  if (harmless.size === 0) return;
  const counts = [...harmless].map(([what, count]) => `${count} ${what}`).join(', ');
  report('info', `chain ${chainId}: ${upTo}, facts were ignored that do not concern this exchange: ${counts}`);
}

function meaningOf(code: RejectionCode): string {
  switch (code) {
    case 'unknown_fill': return 'The chain settled a fill that the history does not have, or that has already settled or failed: was the history '
      + 'restored from an old copy, or is the key used elsewhere?';
    case 'market_exists': return 'A market with this id or these tokens exists already, perhaps on another chain: the new one cannot be traded here';
    default: return 'The chain and the history contradict each other: keep both for the developers';
  }
}
