/** Positions and settlements folded one event after the other, slow and obvious: what the tables must come to. */
import type { CommandOutcome as Recorded } from '../../engine/records/codec.js';
import type { Event, SharesTransferred } from '../../engine/records/events.js';

interface Held { shares: bigint; cost: bigint }

const NOBODY = `0x${'0'.repeat(40)}`;

/** Shares and cost by `market user outcome`, of everybody who was ever part of a movement. */
export function referencePositions(outcomes: readonly Recorded[]): Map<string, Held> {
  const positions = new Map<string, Held>();
  const at = (marketId: string, user: string, outcome: number): Held => {
    for (const each of [0, 1]) {
      const key = `${marketId} ${user} ${each}`;
      if (!positions.has(key)) positions.set(key, { shares: 0n, cost: 0n });
    }
    return positions.get(`${marketId} ${user} ${outcome}`)!;
  };
  for (const event of outcomes.flatMap(({ events }) => events)) move(event, at);
  return positions;
}

function move(event: Event, at: (marketId: string, user: string, outcome: number) => Held): void {
  switch (event.type) {
    case 'FillSettled':
      add(at(event.marketId, event.buyer, event.outcome), BigInt(event.size), BigInt(event.cost));
      take(at(event.marketId, event.seller, event.outcome), BigInt(event.size));
      return;
    case 'SharesTransferred': transfer(event, at); return;
    case 'PositionSynced':
      for (const [outcome, text] of [event.yesShares, event.noShares].entries()) {
        const held = at(event.marketId, event.user, outcome);
        if (BigInt(text) < held.shares) take(held, held.shares - BigInt(text));
        held.shares = BigInt(text);
      }
      return;
    default:
  }
}

function transfer({ marketId, outcome, from, to, amount }: SharesTransferred, at: (marketId: string, user: string, outcome: number) => Held): void {
  const size = BigInt(amount);
  if (from === to || size === 0n) return;
  const half = outcome === 0 ? (size + 1n) / 2n : size / 2n;
  const cost = from === NOBODY ? half : take(at(marketId, from, outcome), size);
  if (to !== NOBODY) add(at(marketId, to, outcome), size, cost);
}

function add(held: Held, size: bigint, cost: bigint): void {
  const covered = held.shares >= 0n ? size : held.shares + size;
  held.shares += size;
  if (covered > 0n) held.cost += cost * covered / size;
}

/** Returns the cost that went. */
function take(held: Held, size: bigint): bigint {
  const gone = size >= held.shares ? held.cost : held.cost * size / held.shares;
  held.shares -= size;
  held.cost -= gone;
  return gone;
}

/** Each fill's settlement (0 to 3) and transaction, and each transaction's fills with their places. */
export function referenceSettlements(outcomes: readonly Recorded[]) {
  const fills = new Map<number, { settlement: number; txHash: string | null }>();
  const submissions = new Map<string, number>();
  for (const event of outcomes.flatMap(({ events }) => events)) {
    if (event.type === 'FillMatched') fills.set(event.fill, { settlement: 0, txHash: null });
    else if (event.type === 'FillSettled') fills.set(event.fill, { settlement: 2, txHash: event.txHash });
    else if (event.type === 'FillFailed') fills.set(event.fill, { settlement: 3, txHash: event.txHash });
    else if (event.type === 'SettlementSubmitted') {
      for (const [index, number] of event.fills.entries()) {
        const key = `${event.txHash} ${number}`;
        if (!submissions.has(key)) submissions.set(key, index);
        const fill = fills.get(number);
        if (fill !== undefined && fill.settlement < 2) fills.set(number, { settlement: 1, txHash: event.txHash });
      }
    }
  }
  return { fills, submissions };
}
