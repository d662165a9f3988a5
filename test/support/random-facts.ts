/** Random commands, most of them facts from chains, some repeated or out of order. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { Command, OpenMarket } from '../../engine/records/commands.js';
import type { Event } from '../../engine/records/events.js';
import type { ChainFact } from '../../engine/records/fields.js';
import { newCommand } from './commands.js';
import {
  createDice, createRandomCommands, marketId, traderAddress, txHash, UINT64_MAX, type Dice, type Profile, type RandomCommands,
} from './random-commands.js';

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const UINT256_MAX = String(2n ** 256n - 1n);
/** Commands after which nonces start from a higher base, so that floors of the past do not end all play. */
const EPOCH = 500;
const SMALL_NONCES = 8n;

interface KnownMarket {
  readonly id: string;
  readonly chainId: number;
}

interface Memory extends Dice {
  readonly profile: Profile;
  /** The highest time of any command. */
  now: number;
  /** Commands that the generator of orders has given. */
  turns: number;
  /** Where each chain is. */
  readonly heads: Map<number, { block: number; log: number }>;
  /** The latest markets. */
  readonly markets: KnownMarket[];
  /** The chains of the latest fills, by number. */
  readonly fills: Map<number, number>;
  /** What comes next in any case. */
  readonly due: ((memory: Memory) => Command)[];
}

/** The commands of createRandomCommands, as a chain would tell them, and in storms as many again that only chains give. */
export function createChainCommands(seed: number, profile: Profile): RandomCommands {
  const inner = createRandomCommands(seed, profile);
  const memory: Memory = {
    ...createDice(seed ^ 0xc4a1), profile, now: 0, turns: 0, heads: new Map(), markets: [], fills: new Map(), due: [],
  };
  return {
    next() {
      const command = ofChain(memory) ?? told(memory, inner.next());
      memory.now = Math.max(memory.now, command.at);
      return command;
    },
    learn(outcome) {
      inner.learn(outcome);
      learn(memory, outcome);
    },
  };
}

function learn(memory: Memory, { events }: CommandOutcome): void {
  for (const event of events as readonly Event[]) {
    if (event.type === 'MarketOpened') {
      memory.markets.push({ id: event.marketId, chainId: event.chainId });
      if (memory.markets.length > 8) memory.markets.shift();
    } else if (event.type === 'FillMatched') {
      memory.fills.set(event.fill, memory.markets.find(({ id }) => id === event.marketId)?.chainId ?? 1);
      memory.fills.delete(event.fill - 200);
    }
  }
}

/** A command that only chains give, or undefined: then one of the other generator is due. */
function ofChain(memory: Memory): Command | undefined {
  const { profile: { calm, storm }, turns, markets, once } = memory;
  const due = memory.due.shift();
  if (due !== undefined) return due(memory);
  const turn = turns % (calm + storm);
  if (markets.length === 0) return undefined;
  if (turn === calm && calm > 0 && once(2)) return atThePile(memory);
  return (turn < calm ? once(500) : once(2)) ? memory.pick(chainCommands)(memory) : undefined;
}

/** What happens to thousands of resting orders at once. */
function atThePile(memory: Memory): Command {
  const market = memory.markets.at(-1)!;
  if (memory.once(2)) memory.due.push(() => newCommand('AdvanceClock', { at: memory.now }));
  return memory.once(3)
    ? newCommand('ResolveMarket', { at: memory.now, marketId: market.id, winningOutcome: 0, ...facts(memory, market.chainId) })
    : newCommand('CancelOrdersBelow', {
        at: memory.now, chainId: market.chainId, trader: traderAddress(0), belowNonce: String(freshNonce(memory)),
        ...facts(memory, market.chainId),
      });
}

function baseNonce({ turns }: Memory): bigint {
  return BigInt(Math.floor(turns / EPOCH) * 2 * EPOCH);
}

function freshNonce(memory: Memory): bigint {
  return baseNonce(memory) + SMALL_NONCES + BigInt(memory.turns % EPOCH);
}

/** A command of the other generator as it comes where chains are. */
function told(memory: Memory, command: Command): Command {
  const { once } = memory;
  memory.turns++;
  switch (command.kind) {
    case 'PlaceOrder': {
      const nonce = BigInt(command.nonce);
      if (command.nonce === UINT64_MAX) return command;
      return { ...command, nonce: String(nonce < SMALL_NONCES ? baseNonce(memory) + nonce : freshNonce(memory)) };
    }
    case 'OpenMarket': return { ...command, ...(once(5) ? {} : { tokens: tokensFor(memory, command) }), ...(once(3) ? {} : facts(memory, command.chainId)) };
    case 'CancelOrder': return once(3) ? { ...command, ...facts(memory, chainOf(memory, command.marketId)) } : command;
    case 'SettleFill': case 'FailFill': return once(4) ? command : { ...command, ...facts(memory, memory.fills.get(command.fill) ?? 1) };
    default: return command;
  }
}

function chainOf({ markets }: Memory, id: string): number {
  return markets.find((market) => market.id === id)?.chainId ?? 1;
}

/** The ids of a market's shares. */
function tokenOf(market: string, outcome: 0 | 1): string {
  return `${market.slice(0, 3)}${outcome + 1}${market.slice(4)}`;
}

function tokensFor({ once, pick, markets }: Memory, { marketId: id }: OpenMarket): { yes: string; no: string } {
  const tokens = { yes: tokenOf(id, 0), no: tokenOf(id, 1) };
  if (once(60)) return { ...tokens, no: tokens.yes };
  return once(20) && markets.length > 0 ? { ...tokens, [pick(['yes', 'no'])]: tokenOf(pick(markets).id, 1) } : tokens;
}

/** A fact of the chain, or of another one; mostly a new one. */
function facts(memory: Memory, chain: number): { fact: ChainFact } {
  const { once, below, heads } = memory;
  const chainId = once(20) ? 1 + below(3) : chain;
  const head = heads.get(chainId) ?? { block: 0, log: 0 };
  const fact = once(10)
    ? { chainId, block: Math.max(0, head.block - below(3)), logIndex: below(head.log + 1) }
    : once(4)
      ? { chainId, block: head.block + 1 + below(3), logIndex: below(4) }
      : { chainId, block: head.block, logIndex: head.log + below(2) };
  if (fact.block > head.block || (fact.block === head.block && fact.logIndex >= head.log)) {
    heads.set(chainId, { block: fact.block, log: fact.logIndex + 1 });
  }
  return { fact };
}

/** Usually now, sometimes late. */
function stamp({ now, once, below }: Memory): { at: number } {
  return { at: once(20) ? Math.max(0, now - below(5_000)) : now };
}

function someMarket({ once, pick, markets }: Memory): KnownMarket {
  return once(25) ? { id: marketId(999_999), chainId: 1 } : pick(markets);
}

function someTrader({ below, profile }: Memory): string {
  return traderAddress(below(profile.traders));
}

function amount({ once, below }: Memory): string {
  return once(20) ? UINT256_MAX : String(below(6));
}

type Of = (memory: Memory) => Command;

const advanceChain: Of = (memory) => {
  const { below, once, heads, due } = memory;
  const { id, chainId } = memory.pick(memory.markets);
  const head = heads.get(chainId) ?? { block: 0, log: 0 };
  const block = Math.max(0, once(6) ? head.block - 1 - below(2) : head.block + below(3));
  if (block >= head.block) heads.set(chainId, { block: block + 1, log: 0 });
  if (once(2)) due.push(() => syncOf(memory, { id, chainId }));
  return newCommand('AdvanceChain', { ...stamp(memory), chainId, block, blockHash: txHash(below(1_000)) });
};

function syncOf(memory: Memory, { id, chainId }: KnownMarket): Command {
  const { once, below, heads } = memory;
  const head = heads.get(chainId) ?? { block: 0, log: 0 };
  const last = head.log === 0 ? head.block - 1 : head.block;
  return newCommand('SyncPosition', {
    ...stamp(memory), marketId: id, user: someTrader(memory), yesShares: amount(memory), noShares: amount(memory),
    block: Math.max(0, once(5) ? last + 1 - below(3) : last),
  });
}

const cancelOrdersBelow: Of = (memory) => {
  const { below, once } = memory;
  const { chainId } = memory.pick(memory.markets);
  const high = freshNonce(memory) - BigInt(below(60));
  const belowNonce = once(3) ? high : once(20) ? 0n : baseNonce(memory) + BigInt(below(10));
  return newCommand('CancelOrdersBelow', {
    ...stamp(memory), chainId, trader: once(30) ? traderAddress(below(1_000)) : someTrader(memory),
    belowNonce: String(belowNonce < 0n ? 0n : belowNonce), ...(once(5) ? {} : facts(memory, chainId)),
  });
};

const submitSettlement: Of = (memory) => {
  const { below, once, pick } = memory;
  const known = [...memory.fills.keys()];
  const fills = Array.from({ length: 1 + below(4) }, () => (known.length === 0 || once(8) ? below(10_000) : pick(known.slice(-20))));
  const chainId = once(6) ? 1 + below(3) : memory.fills.get(fills[0]!) ?? 1;
  return newCommand('SubmitSettlement', { ...stamp(memory), chainId, txHash: txHash(below(1_000)), fills });
};

const recordTransfer: Of = (memory) => {
  const { below, once, pick } = memory;
  const { chainId } = pick(memory.markets);
  const items = Array.from({ length: once(2) ? 1 : 1 + below(4) }, () => {
    const market = someMarket(memory);
    return { token: tokenOf(market.id, pick([0, 1])), amount: amount(memory) };
  });
  const [from, to] = pick([
    [ZERO_ADDRESS, someTrader(memory)], [someTrader(memory), ZERO_ADDRESS], [someTrader(memory), someTrader(memory)],
  ] as const);
  return newCommand('RecordTransfer', { ...stamp(memory), chainId, from, to, txHash: txHash(below(1_000)), items, ...facts(memory, chainId) });
};

const recordRedemption: Of = (memory) => {
  const { id, chainId } = someMarket(memory);
  return newCommand('RecordRedemption', {
    ...stamp(memory), marketId: id, user: someTrader(memory), payout: amount(memory), txHash: txHash(memory.below(1_000)),
    ...facts(memory, chainId),
  });
};

const resolution: Of = (memory) => {
  const { below, pick, once } = memory;
  const { id, chainId } = someMarket(memory);
  const about = { ...stamp(memory), marketId: id, assertionId: txHash(below(1_000)) };
  const fact = once(5) ? {} : facts(memory, chainId);
  const assertionTime = Math.floor(memory.now / 1_000);
  return pick<Command>([
    newCommand('RecordProposal', {
      ...about, proposer: someTrader(memory), outcome: 1, bond: amount(memory), assertionTime, expirationTime: assertionTime + 7_200,
      ...fact,
    }),
    newCommand('RecordDispute', { ...about, disputer: someTrader(memory), ...fact }),
    newCommand('RecordRejection', { ...about, ...fact }),
  ]);
};

const resolveMarket: Of = (memory) => {
  const { id, chainId } = memory.once(4) ? someMarket(memory) : memory.markets[0]!;
  return newCommand('ResolveMarket', { ...stamp(memory), marketId: id, winningOutcome: memory.pick([0, 1] as const), ...facts(memory, chainId) });
};

/** By weight. */
const chainCommands: readonly Of[] = [
  advanceChain, advanceChain, advanceChain, advanceChain, (memory) => syncOf(memory, someMarket(memory)), cancelOrdersBelow, cancelOrdersBelow,
  submitSettlement, submitSettlement, recordTransfer, recordTransfer, recordTransfer, recordRedemption, resolution, resolution, resolveMarket,
];
