/** Random terms of orders, on top of another generator's commands, and what becomes of their fills. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Command, FailFill, PlaceOrder } from '../../engine/records/commands.js';
import type { FillMatched } from '../../engine/records/events.js';
import { BUY } from '../../engine/records/fields.js';
import { createDice, txHash, type Dice, type Profile, type RandomCommands } from './random-commands.js';
import { createLateCommands } from './random-late-markets.js';

interface Memory extends Dice {
  /** The highest time of any command. */
  now: number;
  /** The numbers of orders that never take. */
  readonly postOnly: Set<number>;
  /** What comes next in any case. */
  readonly due: Command[];
}

/** The commands of `inner`, some of whose orders have terms. Draws from a stream of its own, so that the others stay as they are. */
export function withOrderControl(inner: RandomCommands, seed: number): RandomCommands {
  const memory: Memory = { ...createDice(seed ^ 0x7e45), now: 0, postOnly: new Set(), due: [] };
  return {
    next() {
      const command = (memory.once(4) ? memory.due.shift() : undefined) ?? changed(memory, inner.next());
      memory.now = Math.max(memory.now, command.at);
      return { ...command, at: command.at === 0 ? memory.now : command.at } as Command;
    },
    learn(outcome) {
      inner.learn(outcome);
      learn(memory, outcome);
    },
  };
}

/** Every kind of command: what chains tell, prices, late markets, and all that traders ask for. */
export function createControlCommands(seed: number, profile: Profile): RandomCommands {
  return withOrderControl(createLateCommands(seed, profile), seed);
}

function changed(memory: Memory, command: Command): Command {
  return command.kind === 'PlaceOrder' && memory.once(3) ? withTerms(command, memory) : command;
}

function withTerms(order: PlaceOrder, { once, pick, below }: Dice): PlaceOrder {
  const placed = { ...order };
  if (once(2)) placed.postOnly = true;
  if (placed.postOnly === undefined || once(8)) placed.timeInForce = pick(['FOK', 'FAK'] as const);
  if (once(3)) placed.selfTrade = 'cancel_newer';
  if (once(3)) placed.notAfter = placed.at + pick([-1, 0, 0, 1, 3_000]) * below(2_000);
  return placed;
}

function learn({ postOnly, due, once }: Memory, { events }: CommandOutcome): void {
  for (const event of events) {
    if (event.type === 'OrderTermsSet' && event.postOnly) postOnly.add(event.orderNumber);
    if (event.type !== 'FillMatched') continue;
    if (postOnly.has(event.makerNumber) && once(2)) due.push(failure(event, 'unknown'));
    else if (once(30)) due.push(failure(event, event.takerSide === BUY ? 'buyer_insufficient_balance' : 'seller_not_approved'));
  }
}

/** A fill's failure because of its taker, stamped when it is given. */
function failure({ fill, takerSide }: FillMatched, reason: FailFill['reason']): FailFill {
  return { kind: 'FailFill', v: 2, at: 0, fill, txHash: txHash(fill), reason, culprit: takerSide === BUY ? 'buyer' : 'seller', countDefault: true };
}
