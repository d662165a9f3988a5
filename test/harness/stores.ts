/** The stores that roles take as ports, in Postgres or in memory. One suite holds both to the same promises. */
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createOutbox } from '../../command/lane/outbox.js';
import { openRecorderSession } from '../../command/prices/sole-recorder.js';
import { openStore } from '../../command/settlement/postgres-store.js';
import { createDatabase, type Carry, type Database } from './memory/database.js';
import { createIntakeTables, openMemoryStore, type IntakeTables } from './memory/intake.js';
import { createOutboxTables, memoryLaneUser, memoryOutbox, type OutboxParts, type OutboxTables } from './memory/outbox.js';
import { memoryRecorderSession } from './memory/recorder-session.js';
import type { RolePorts } from './ports.js';

export type Stores = Pick<RolePorts, 'outbox' | 'laneUser' | 'openIntakeStore' | 'openRecorderSession'>;

/** How long a session waits before it looks again whether another one has let go. */
const STAND_BY_MS = 20;

/** All in one Postgres. */
export function postgresStores(url: string): Stores {
  const session = { url, standByMs: STAND_BY_MS };
  return {
    outbox: createOutbox(session), laneUser: (whose) => openLaneUser({ ...whose, ...session }),
    openIntakeStore: (standBy) => openStore({ ...standBy, ...session }),
    openRecorderSession: (standBy) => openRecorderSession({ ...standBy, ...session }),
  };
}

/** What outlives the processes that use the stores in memory. */
export interface MemoryTables {
  readonly database: Database;
  readonly outbox: OutboxTables;
  readonly intake: IntakeTables;
}

export function createMemoryTables(): MemoryTables {
  return { database: createDatabase(), outbox: createOutboxTables(), intake: createIntakeTables() };
}

/** Carries a statement at once, and loses nothing. */
export const carryAtOnce: Carry = async (_, work) => work();

/** The same in memory, as one process sees it over `carry`; `asked` is called whenever a lane is asked for something. */
export function memoryStores(
  { database, outbox: tables, intake }: MemoryTables, { carry = carryAtOnce, ...options }: Partial<Pick<OutboxParts, 'carry' | 'asked' | 'standByMs'>> & Pick<OutboxParts, 'now'>,
): Stores {
  const { standByMs } = options;
  const session = { carry, ...standByMs === undefined ? {} : { standByMs } };
  const outbox = { ...options, database, tables, carry };
  return {
    outbox: memoryOutbox(outbox), laneUser: (whose) => memoryLaneUser(outbox, whose),
    openIntakeStore: (standBy) => openMemoryStore({ database, tables: intake, carry }, { ...standBy, ...session }),
    openRecorderSession: (standBy) => memoryRecorderSession(database, { ...standBy, ...session }),
  };
}
