/** Seeded commands about prices, late markets, relays and traders' orders, each generator on top of another one's commands. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Command, CancelAfter, CancelAll, FailFill, PlaceOrder } from '../../engine/records/commands.js';
import type { FillMatched, OrderAccepted } from '../../engine/records/events.js';
import { ALL_MARKETS, BUY, type Claim, type RelayAction } from '../../engine/records/fields.js';
import { newCommand } from './commands.js';
import { createDice, marketId, traderAddress, txHash, UINT64_MAX, type Dice, type Profile, type RandomCommands } from './random-commands.js';
import { createChainCommands } from './random-facts.js';

export const relayActions: readonly RelayAction[] = [
  'ctf-approval', 'usdc-permit', 'ctf-redemption', 'batch-ctf-redemption', 'propose-resolution', 'settle-market', 'ctf-split', 'ctf-merge',
];

/** The ids that requests have: so few that most are used again after they have ended. */
const REQUEST_IDS = 12;

/** The commands of createChainCommands, and one of the relayer after every fourth of them on average. Both draw from streams of their own. */
function createRelayCommands(seed: number, profile: Profile): RandomCommands {
  const inner = createChainCommands(seed, profile);
  const dice = createDice(seed ^ 0x5e1a);
  let now = 0;
  return {
    next() {
      if (now > 0 && dice.once(5)) return relayCommand(dice, now);
      const command = inner.next();
      now = Math.max(now, command.at);
      return command;
    },
    learn: (outcome) => { inner.learn(outcome); },
  };
}

function relayCommand({ below, once }: Dice, now: number): Command {
  const head = { at: once(20) ? Math.max(0, now - below(5_000)) : now };
  const n = below(REQUEST_IDS);
  const named = { requestId: marketId(700_000 + n), chainId: once(10) ? 1 + below(3) : 1 + (n % 2) };
  switch (below(3)) {
    case 0: return newCommand('RequestRelay', {
      ...head, ...named, action: relayActions[below(relayActions.length)]!, owner: traderAddress(below(4)),
      claims: Array.from({ length: once(2) ? 0 : 1 + below(once(5) ? 20 : 2) }, (_, i) => claim(i, below, once)),
    });
    case 1: return newCommand('SubmitRelay', { ...head, ...named, txHash: txHash(below(1_000)) });
    default: return newCommand('EndRelay', {
      ...head, ...named, ...(once(4) ? {} : { txHash: txHash(below(1_000)) }),
      results: Array.from({ length: 1 + below(once(5) ? 20 : 2) }, () => (
        once(3) ? { succeeded: false, reason: once(2) ? 'Ünïcode “reason”' : 'reverted' } : { succeeded: !once(10) })),
    });
  }
}

/** The claim's keys come in the schema's order, or in another one. */
function claim(n: number, below: Dice['below'], once: Dice['once']): Claim {
  const payout = once(20) ? String(2n ** 256n - 1n) : String(below(6));
  const winningOutcome = once(2) ? 0 : 1;
  return once(2) ? { marketId: marketId(n), payout, winningOutcome } : { winningOutcome, payout, marketId: marketId(n) };
}

/** Nobody publishes prices of the last one. */
const ASSETS = ['BTC', 'ETH', 'XYZ'] as const;
const SOURCES = ['pyth', 'coinbase', 'binance'] as const;
/** Markets start and end at multiples of this, so that they share their boundaries. */
const GRID_S = 20;
/** The latest quick markets, which may be halved or resolved. */
const KEPT = 12;

/** The commands of createRelayCommands, and one about prices after every second of them on average. Both draw from streams of their own. */
export function createPriceCommands(seed: number, profile: Profile): RandomCommands {
  const inner = createRelayCommands(seed, profile);
  const { below, once } = createDice(seed ^ 0x9e1c);
  let [now, opened] = [0, 0];

  function price(): Command {
    const publishedAt = Math.max(0, now + (once(12) ? below(4_000) : -below(once(3) ? 45_000 : 4_000)));
    const rank = below(3);
    const price = String(once(30) ? 2n ** 63n - 1n : 1 + below(3));
    return newCommand('RecordPrice', { at: now, asset: ASSETS[below(2)]!, source: SOURCES[rank]!, rank, price, publishedAt });
  }

  function open(): Command {
    const start = (Math.floor(now / 1_000 / GRID_S) + below(3) - 1) * GRID_S;
    const n = opened++;
    return newCommand('OpenMarket', {
      // All of them, in this order: the digests of earlier histories are known.
      ifOver: 'close', at: now, marketId: marketId(800_000 + n), question: 'Up?', description: '', category: 'general',
      contractAddress: traderAddress(9_000 + n), maker: traderAddress(400), expiration: start + GRID_S * below(once(20) ? 6_000 : 4),
      chainId: 1 + below(2), marketKind: 'quick', quick: { asset: ASSETS[below(3)]!, startTime: start },
    });
  }

  function end(): Command {
    const market = { at: now, marketId: marketId(800_000 + Math.max(0, opened - 1 - below(KEPT))) };
    return once(2) ? newCommand('HalveMarket', { ...market }) : newCommand('ResolveMarket', { ...market, winningOutcome: once(2) ? 0 : 1 });
  }

  return {
    next() {
      if (now > 0 && once(3)) return once(12) ? open() : once(12) ? end() : once(12) ? newCommand('AdvanceClock', { at: now }) : price();
      const command = inner.next();
      now = Math.max(now, command.at);
      return command;
    },
    learn: (outcome) => { inner.learn(outcome); },
  };
}

const PRICED_ASSETS = ['BTC', 'ETH'] as const;
/** How long ago they started, up to `GRID_S` less: before the boundaries of others were forgotten, after it, and around that moment. */
const AGES_S = [40, 60, 200, 2_592_000, 2_592_000, 2_592_040, 2_600_000] as const;

/** The commands of createPriceCommands, and now and then a late market, a price of its time, or its end. All draw from streams of their own. */
export function createLateCommands(seed: number, profile: Profile): RandomCommands {
  const inner = createPriceCommands(seed, profile);
  const { below, once, pick } = createDice(seed ^ 0x1a7e);
  const markets: { readonly id: string; readonly asset: string; readonly start: number }[] = [];
  let [now, opened] = [0, 0];

  function open(): Command {
    const n = opened++;
    const [asset, id] = [pick(PRICED_ASSETS), marketId(850_000 + n)];
    const earlier = markets.length > 0 && once(2) ? pick(markets).start : (Math.floor(now / 1_000 / GRID_S) * GRID_S) - pick(AGES_S);
    markets.push({ id, asset, start: earlier });
    if (markets.length > 12) markets.shift();
    return newCommand('OpenMarket', {
      ifOver: once(5) ? 'reject' : 'close', at: now, marketId: id, question: 'Up?', contractAddress: traderAddress(9_500),
      maker: traderAddress(400), expiration: earlier + GRID_S * (once(10) ? 0 : 1 + below(2)), chainId: 1 + below(2), marketKind: 'quick',
      quick: { asset, startTime: earlier }, ...once(2) ? {} : { tokens: { yes: txHash(2_000_000 + 2 * n), no: txHash(2_000_001 + 2 * n) } },
    });
  }

  function price({ asset, start }: (typeof markets)[number]): Command {
    const publishedAt = (start + GRID_S * below(3)) * 1_000 + below(16_000);
    return newCommand('RecordPrice', { at: now, asset, source: 'late', rank: below(3), price: String(1 + below(3)), publishedAt });
  }

  function late(): Command {
    const market = markets.length === 0 || once(3) ? undefined : pick(markets);
    if (market === undefined) return open();
    if (once(2)) return newCommand('AdvanceClock', { at: now });
    if (once(2)) return price(market);
    const end = { at: now, marketId: market.id };
    return once(2) ? newCommand('HalveMarket', { ...end }) : newCommand('ResolveMarket', { ...end, winningOutcome: once(2) ? 0 : 1 });
  }

  return {
    next() {
      if (now > 0 && once(20)) return late();
      const command = inner.next();
      now = Math.max(now, command.at);
      return command;
    },
    learn: (outcome) => { inner.learn(outcome); },
  };
}

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
