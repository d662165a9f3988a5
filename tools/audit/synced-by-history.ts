/** Holdings that a history took over from a chain which is not compared: the facts that it recorded before must give the same. */
import type { Event } from '../../engine/records/events.js';
import { Differs, type Difference } from './difference.js';
import { splitLine } from './records/record-check.js';
import type { RecordedSync } from './chain/synced-positions.js';
import type { AuditSource } from './source/source.js';

type Moved = Extract<Event, { type: 'FillSettled' | 'SharesTransferred' | 'PositionSynced' }>;
type Held = [yes: bigint, no: bigint];

const MOVES = ['FillSettled', 'SharesTransferred', 'PositionSynced'].map((type) => Buffer.from(`"type":"${type}"`));

/**
 * The first of these positions that the history's own facts do not give; undefined when there is none. Reads the history once more, up to the
 * last of them, since nobody knows beforehand whose holdings will be wanted. Throws CannotAudit.
 */
export async function unsupportedSync(synced: readonly RecordedSync[], source: AuditSource): Promise<Difference | undefined> {
  const last = synced.at(-1);
  if (last === undefined) return undefined;
  const held = new Map<string, Held>(synced.map((sync) => [keyOf(sync), [0n, 0n]]));
  const wanted = new Map(synced.map((sync) => [sync.position, sync]));
  let position = 0;
  try {
    for await (const lines of source.lines(0, last.position + 1)) {
      for (const line of lines) {
        const sync = wanted.get(position);
        if (sync !== undefined) confirm(sync, held.get(keyOf(sync)) ?? [0n, 0n]);
        if (MOVES.some((text) => line.includes(text))) for (const event of movesIn(line, position)) apply(event, held);
        position++;
      }
      if (position > last.position) break;
    }
  } catch (error) {
    if (error instanceof Differs) return error.difference;
    throw error;
  }
  return undefined;
}

function keyOf({ marketId, user }: { readonly marketId: string; readonly user: string }): string {
  return `${marketId}:${user}`;
}

function movesIn(line: Buffer, position: number): readonly Moved[] {
  const { events } = JSON.parse(splitLine(line, position).outcome) as { events: readonly Event[] };
  return events.filter((event): event is Moved => event.type === 'FillSettled' || event.type === 'SharesTransferred' || event.type === 'PositionSynced');
}

function apply(event: Moved, all: ReadonlyMap<string, Held>): void {
  const { marketId } = event;
  const move = (user: string, outcome: 0 | 1, by: bigint): void => {
    const held = all.get(keyOf({ marketId, user }));
    if (held !== undefined) held[outcome] += by;
  };
  switch (event.type) {
    case 'FillSettled':
      move(event.buyer, event.outcome, BigInt(event.size));
      move(event.seller, event.outcome, -BigInt(event.size));
      return;
    case 'SharesTransferred':
      move(event.from, event.outcome, -BigInt(event.amount));
      move(event.to, event.outcome, BigInt(event.amount));
      return;
    case 'PositionSynced': {
      const held = all.get(keyOf(event));
      if (held !== undefined) [held[0], held[1]] = [BigInt(event.yesShares), BigInt(event.noShares)];
    }
  }
}

function confirm({ position, marketId, user, block, yes, no }: RecordedSync, [heldYes, heldNo]: Held): void {
  if (String(heldYes) === yes && String(heldNo) === no) return;
  throw new Differs({
    check: 'syncedPositions', place: { position, block }, expected: { yesShares: String(heldYes), noShares: String(heldNo) }, found: { yesShares: yes, noShares: no },
    what: `the history gives ${user} ${yes} YES and ${no} NO of market ${marketId} at position ${position}, and its own facts before give ${heldYes} and ${heldNo}`,
    means: 'The record says that these were the chain\'s balances, and that the history had all of the chain by then: both cannot be. Either no fact supports the '
      + 'holding, or facts are missing. With --rpc the chain decides: a holding that it confirms is no difference.',
  });
}
