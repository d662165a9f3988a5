/** Facts that the engine refuses: which of them somebody must look at, and which are only noted. */
import type { Event, RejectionCode } from '../../engine/records/events.js';
import type { FactCommand } from './facts.js';
import type { Report } from '../chain/report.js';

/** A fact that is in the history, with what it caused. */
export interface WrittenFact {
  readonly command: FactCommand;
  readonly events: readonly Event[];
}

/**
 * What anybody may do on the chain, and what an exchange meets that reads a chain's past: markets that expired before it, their
 * tokens, and orders that it never had. Everything else means that chain and history do not fit together.
 */
const HARMLESS: Readonly<Record<FactCommand['kind'], readonly RejectionCode[]>> = {
  OpenMarket: ['invalid_expiration'], CancelOrder: ['unknown_order', 'not_order_owner', 'already_filled'], CancelOrdersBelow: ['nonce_cancelled'],
  RecordTransfer: ['unknown_token'], RecordRedemption: ['unknown_market'], RecordProposal: ['unknown_market'], RecordDispute: ['unknown_market'],
  RecordRejection: ['unknown_market'], ResolveMarket: ['unknown_market'], SettleFill: [], FailFill: [],
};

/** Of one batch; so many more are counted only. */
const MAX_ALARMS = 10;

/** An alarm for every fact that should not have been refused, and one note for all that may be. Repeated facts are no news. */
export function reportRejections(chainId: number, written: readonly WrittenFact[], report: Report): void {
  const harmless = new Map<string, number>();
  let alarms = 0;
  for (const { command: { kind, fact: { block, logIndex } }, events: [event] } of written) {
    if (event?.type !== 'CommandRejected' || event.code === 'known_fact') continue;
    if (HARMLESS[kind].includes(event.code)) {
      const what = `${kind} (${event.code})`;
      harmless.set(what, (harmless.get(what) ?? 0) + 1);
    } else if (++alarms <= MAX_ALARMS) {
      const place = `chain ${chainId}, block ${block}, log ${logIndex}`;
      report('alarm', `${place}: the history refused ${kind} as ${event.code}: ${event.subject}. ${meaningOf(event.code)}`);
    }
  }
  const upTo = `up to block ${written.at(-1)?.command.fact.block}`;
  if (alarms > MAX_ALARMS) report('alarm', `chain ${chainId}: the history refused ${alarms - MAX_ALARMS} more facts ${upTo}`);
  if (harmless.size === 0) return;
  const counts = [...harmless].map(([what, count]) => `${count} ${what}`).join(', ');
  report('note', `chain ${chainId}: ${upTo} facts that concern nothing here: ${counts}`);
}

function meaningOf(code: RejectionCode): string {
  switch (code) {
    case 'unknown_fill': return 'The chain settled what the history does not have, or has concluded: was the history restored from an old copy, '
      + 'or is the key used elsewhere?';
    case 'market_exists': return 'The market or its tokens have these names already, perhaps on another chain: it cannot be traded here';
    default: return 'Chain and history do not fit together: keep both for the developers';
  }
}
