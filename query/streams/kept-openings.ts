/**
 * The openings that were read last. After a restart of the process its readers come back with the same few positions:
 * each channel is looked up once for all of them.
 */
import type { Database } from '../database.js';
import { mustBeKept } from '../kept-history.js';
import type { Turns } from '../turns.js';
import type { Channel } from './channel.js';
import type { Opening } from './channels.js';
import { openingAt } from './openings.js';

/**
 * An opening, and the position up to which the read models were when it was read: what was over there may not be in it.
 */
export interface Opened {
  readonly opening: Opening;
  readonly known: number;
}

export interface Openings {
  /** Those of the channels, in their order, at a position that the read models include. Throws RequestError `history_removed`. */
  at(channels: readonly Channel[], position: number): Promise<readonly Opened[]>;
}

/** A book may have thousands of levels. */
const KEPT = 64;

/**
 * `turns`: so many channels are read at a time, after a restart for example, that other reads have connections, too.
 */
export function createOpenings(db: Pick<Database, 'rows' | 'position'>, turns: Turns): Openings {
  const kept = new Map<string, Promise<Opened>>();

  const open = (channel: Channel, position: number): Promise<Opened> => {
    const key = `${position} ${channel.name}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const opened = turns(async () => {
      const opening = await openingAt({ db, position }, channel);
      await mustBeKept(db, position);
      return { opening, known: await db.position() };
    });
    kept.set(key, opened);
    opened.catch(() => { if (kept.get(key) === opened) kept.delete(key); });
    for (const oldest of kept.keys()) if (kept.size > KEPT) kept.delete(oldest); else break;
    return opened;
  };
  return { at: (channels, position) => Promise.all(channels.map((channel) => open(channel, position))) };
}
