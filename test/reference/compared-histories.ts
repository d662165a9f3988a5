/** Both engines through a random history in lockstep, and what such a history must have led to. */
import { ok } from 'node:assert/strict';
import { CancelReason, eventSchemas, RejectionCode } from '../../engine/records/events.js';
import type { RandomCommands } from '../support/random-commands.js';
import { createLockstep, createRealEngine } from './compared-engines.js';
import { createReferenceEngine } from './engine.js';

/**
 * Every event type, rejection code and cancel reason that a crowd with chains, a relayer and prices must lead to; match_limit takes a pile,
 * too_many_relays takes 100,000 requests, and too_many_markets 100 markets at one time. post_only takes a book that has moved across a filled
 * order by the time its fill fails, which is rare: scenarios have it.
 * AnchorPassedOver is in the scenarios and the scripts only: nothing depends on it, and without it the crowd's histories keep the digests of
 * earlier versions.
 */
export const everything: readonly string[] = [
  ...names(RejectionCode).filter((name) => !name.startsWith('too_many_')), ...names(CancelReason).filter((name) => name !== 'match_limit' && name !== 'post_only'),
  ...Object.keys(eventSchemas).filter((name) => !['CommandRejected', 'OrderCancelled', 'AnchorPassedOver'].includes(name)),
];

function names({ anyOf }: { anyOf: readonly { const: string }[] }): string[] {
  return anyOf.map((literal) => literal.const);
}

/** Throws where the engines differ, and when an event of `expected` came fewer than `times` times: such a history tests too little. */
export function compareHistories(
  generator: RandomCommands, { commands, expected = [], times = 1 }: { commands: number; expected?: readonly string[]; times?: number },
): void {
  const step = createLockstep(createReferenceEngine(), createRealEngine());
  const seen = new Map<string, number>();
  for (let i = 0; i < commands; i++) {
    const { outcome } = step(generator.next());
    generator.learn(outcome);
    for (const event of outcome.events) {
      const name = 'code' in event ? event.code : event.type === 'OrderCancelled' ? event.reason : event.type;
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }
  }
  for (const name of expected) {
    ok((seen.get(name) ?? 0) >= times, `${name} came ${seen.get(name) ?? 0} times: the history is too tame: see createControlCommands`);
  }
}
