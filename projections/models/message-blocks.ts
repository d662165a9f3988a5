/** Where the channels of the streams have messages: their positions, by channel, in blocks. */
import { byteaArray, int8Array, rowsFrom, textArray } from '../columns.js';
import { remember, type PreparedStatement, type Query, type Remembered } from '../projection.js';

/** A position at which a channel has a message; `at` is the position of the outcome that made it known, which is also one of the channel's. */
export interface ChannelMessage {
  readonly place: number;
  readonly at: number;
}

/** Each batch writes the positions since the last block anew. */
const BLOCK = 16;
/** So many channels are remembered between batches. */
const REMEMBERED = 100_000;

/** What is known of a channel since its last block, and whether the table has its row. */
interface Recent {
  readonly positions: readonly number[];
  readonly isStored: boolean;
}

/** Adds messages, of each channel in the order of the log. */
export type WriteMessages = (messages: ReadonlyMap<string, readonly ChannelMessage[]>, query: Query) => Promise<void>;

/**
 * SQL of two tables. `NAME_messages` has the channels' positions in the order in which they became known, in blocks of sixteen and the rest of the
 * outcome with the last of them, each with that outcome's position: none in it is higher, and the channel has a message there. A channel so has no
 * two blocks of one outcome, which closes hundreds of orders when a trader cancels all. `recent_NAME_messages` has those since the last block. So a
 * message costs no row and no index entry of its own, which would be at random over the channels. A position is known later than it came where
 * another table has it until then, so whoever looks for the last one up to a position also looks into all later blocks.
 */
export function messageTables(name: string, channel: string): string[] {
  return [`
create table ${name}_messages (
  ${channel} bytea not null,
  position bigint not null,
  positions bigint[] not null,
  primary key (${channel}, position)
)`, `
create table recent_${name}_messages (
  ${channel} bytea primary key,
  positions bigint[] not null
) with (fillfactor = 50)`];
}

/** The fold's part for these tables; it remembers channels for one session. */
export function startMessages(name: string, channel: string): WriteMessages {
  const known = remember<string, Recent>(REMEMBERED);
  const load = {
    name: `load_${name}_messages`,
    text: `select '0x' || encode(${channel}, 'hex'), positions from recent_${name}_messages where ${channel} = any($1::bytea[])`,
  };
  const write = {
    name: `write_${name}_messages`,
    text: `
      with moved as (
        update recent_${name}_messages recent set positions = now.positions::bigint[]
        from ${rowsFrom(1, 'channel bytea, positions text')} now where recent.${channel} = now.channel
      ), made as (
        insert into recent_${name}_messages (${channel}, positions)
        select channel, positions::bigint[] from ${rowsFrom(3, 'channel bytea, positions text')} made
      )
      insert into ${name}_messages (${channel}, position, positions)
      select channel, position, positions::bigint[] from ${rowsFrom(5, 'channel bytea, position bigint, positions text')} block`,
  };
  return async (messages, query) => {
    if (messages.size === 0) return;
    await loadRecent([...messages.keys()].filter((each) => !known.has(each)), { known, query, load });
    const blocks: Block[] = [];
    const now = [...messages].map(([each, added]) => {
      const before = known.get(each) ?? { positions: [], isStored: false };
      const positions = addTo(before.positions, added, (block) => { blocks.push({ channel: each, ...block }); });
      known.set(each, { positions, isStored: true });
      return { channel: each, positions, isStored: before.isStored };
    });
    const rows = (all: readonly Positions[]) => ({
      channels: byteaArray(all.map((row) => row.channel)), positions: textArray(all.map((row) => `{${row.positions.join()}}`)),
    });
    const moved = rows(now.filter(({ isStored }) => isStored));
    const made = rows(now.filter(({ isStored }) => !isStored));
    const full = rows(blocks);
    await query(write, [
      moved.channels, moved.positions, made.channels, made.positions,
      full.channels, int8Array(blocks.map(({ position }) => position)), full.positions,
    ]);
  };
}

interface Positions {
  readonly channel: string;
  readonly positions: readonly number[];
}

interface Block extends Positions {
  readonly position: number;
}

/** The positions since the last block, after these messages. */
function addTo(
  before: readonly number[], added: readonly ChannelMessage[], filled: (block: Omit<Block, 'channel'>) => void,
): readonly number[] {
  let positions = [...before];
  for (const [i, { place, at }] of added.entries()) {
    positions.push(place);
    if (positions.length < BLOCK || added[i + 1]?.at === at) continue;
    filled({ position: at, positions });
    positions = [];
  }
  return positions;
}

async function loadRecent(
  channels: readonly string[],
  { known, query, load }: { readonly known: Remembered<string, Recent>; readonly query: Query; readonly load: PreparedStatement },
): Promise<void> {
  if (channels.length === 0) return;
  for (const [channel, positions] of await query<[string, string[]]>(load, [byteaArray(channels)])) {
    known.set(channel, { positions: positions.map(Number), isStored: true });
  }
}
