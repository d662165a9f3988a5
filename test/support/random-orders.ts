/** What traders ask for beside an order's price and size: terms, and requests about orders that they have; on top of another generator's commands. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { CancelAfter, CancelAll, Command, FailFill, PlaceOrder } from '../../engine/records/commands.js';
import type { FillMatched, OrderAccepted } from '../../engine/records/events.js';
import { ALL_MARKETS, BUY } from '../../engine/records/fields.js';
import { newCommand } from './commands.js';
import { createDice, txHash, UINT64_MAX, type Dice, type Profile, type RandomCommands } from './random-commands.js';
import { createLateCommands } from './random-late-markets.js';

interface Memory extends Dice {
  /** The highest time of any command. */
  now: number;
  /** The latest markets' chains. */
  readonly markets: Map<string, number>;
  /** The latest orders. */
  readonly accepted: OrderAccepted[];
  /** The latest requests that were signed with a deadline. */
  readonly signed: (CancelAll | CancelAfter)[];
  /** The numbers of orders that never take. */
  readonly postOnly: Set<number>;
  /** What comes next in any case. */
  readonly due: Command[];
}

/**
 * The commands of `inner`, some of whose orders have terms, and one request about orders in `every`. Draws from a stream of its own, so that the
 * others stay as they are.
 */
export function withOrderControl(inner: RandomCommands, seed: number, every = 12): RandomCommands {
  const memory: Memory = { ...createDice(seed ^ 0x7e45), now: 0, markets: new Map(), accepted: [], signed: [], postOnly: new Set(), due: [] };
  return {
    next() {
      const { once, due, accepted } = memory;
      const own = once(4) ? due.shift() : accepted.length > 0 && once(every) ? request(memory) : undefined;
      const command = own === undefined ? changed(memory, inner.next()) : { ...own, at: memory.now };
      memory.now = Math.max(memory.now, command.at);
      return command;
    },
    learn(outcome) {
      inner.learn(outcome);
      learn(memory, outcome);
    },
  };
}

/**
 * Every kind of command: what chains tell, prices, late markets, and all that traders ask for. A new kind is added around these, as in
 * `withOrderControl`: digests of the other generators' histories are recorded, and another number drawn from their streams gives other histories.
 */
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

/** A request of one of the four kinds; signed ones come again, too late or out of their order. */
function request(memory: Memory): Command {
  const { accepted, markets, signed, once, pick, below, now } = memory;
  const { orderHash, trader, marketId, size } = pick(accepted.slice(once(2) ? 0 : -10));
  const chainId = once(20) ? 1 + below(2) : markets.get(marketId) ?? 1;
  const deadline = String(Math.floor(now / 1_000) + pick([0, 1, 5, 60]));
  const head = { at: 0 };
  const asked = { ...head, chainId, trader, ...once(4) ? {} : { deadline } };
  switch (below(8)) {
    case 0: case 1: {
      const orderHashes = Array.from({ length: 1 + below(6) }, () => once(10) ? txHash(below(100)) : pick(accepted).orderHash);
      return newCommand('CancelOrders', { ...asked, orderHashes: once(3) ? [...orderHashes, orderHash, orderHash] : orderHashes });
    }
    case 2: return remembered(memory, newCommand('CancelAll', { ...asked, marketId: once(3) ? ALL_MARKETS : once(20) ? txHash(1) : marketId }));
    case 3: return remembered(memory, newCommand('CancelAfter', { ...asked, seconds: pick([0, 1, 1, 2, 5]) }));
    case 4: return signed.length === 0 ? newCommand('AdvanceClock', { ...head }) : pick(signed);
    default: {
      const some = 1n + BigInt(below(2 ** 31)) * BigInt(size) / BigInt(2 ** 31);
      return newCommand('ReduceOrder', {
        ...head, orderHash, size: once(10) ? size : once(30) ? UINT64_MAX : String(some),
        ...once(4) ? {} : { trader: once(20) ? pick(accepted).trader : trader, deadline },
      });
    }
  }
}

function remembered({ signed, due, once }: Memory, command: CancelAll | CancelAfter): Command {
  if (command.deadline !== undefined) signed.push(command);
  if (signed.length > 12) signed.shift();
  if (once(3)) due.push(command);
  return command;
}

function learn({ postOnly, due, once, accepted, markets }: Memory, { events }: CommandOutcome): void {
  for (const event of events) {
    if (event.type === 'MarketOpened') markets.set(event.marketId, event.chainId);
    if (event.type === 'OrderAccepted') {
      accepted.push(event);
      if (accepted.length > 200) accepted.splice(0, 100);
    }
    if (event.type === 'OrderTermsSet' && event.postOnly) postOnly.add(event.orderNumber);
    if (event.type !== 'FillMatched') continue;
    if (postOnly.has(event.makerNumber) && once(2)) due.push(failure(event, 'unknown'));
    else if (once(30)) due.push(failure(event, event.takerSide === BUY ? 'buyer_insufficient_balance' : 'seller_not_approved'));
  }
}

/** A fill's failure because of its taker, stamped when it is given. */
function failure({ fill, takerSide }: FillMatched, reason: FailFill['reason']): FailFill {
  return newCommand('FailFill', { at: 0, fill, txHash: txHash(fill), reason, culprit: takerSide === BUY ? 'buyer' : 'seller' });
}
