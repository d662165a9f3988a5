/** The roles that a process can have, apart from their code: a process loads the code of its own roles only. */
import type { Stream } from '../../engine/log/log.js';

export const DATABASES = ['log', 'read models', 'outbox'] as const;
export type DatabaseName = typeof DATABASES[number];

export interface RoleFacts {
  /** What the role reads and writes, as text for operators. */
  readonly reads: string;
  readonly writes: string;
  /** The databases without which it cannot start. */
  readonly databases: readonly DatabaseName[];
  /** Whether it stamps commands and writes them to the log, or writes their outcomes. */
  readonly stamps: boolean;
}

/** A process starts its roles in this order. */
export const ROLES = {
  projections: {
    reads: 'outcomes',
    writes: 'the read models',
    databases: ['log', 'read models'], stamps: false,
  },
  engine: {
    reads: 'commands',
    writes: 'outcomes; the clock\'s commands; snapshots in DATA_DIR',
    databases: ['log'], stamps: true,
  },
  indexer: {
    reads: 'the chains, each from the block after the last recorded one',
    writes: 'facts of the chains, as commands',
    databases: ['log'], stamps: true,
  },
  lane: {
    reads: 'requests in the outbox; the chains',
    writes: 'signed transactions to the outbox and the chains; SubmitSettlement and SubmitRelay commands',
    databases: ['log', 'outbox'], stamps: true,
  },
  feed: {
    reads: 'outcomes; commands, for the signed orders',
    writes: 'the fill feed, to two Kafka topics ([kafka.md](kafka.md)); how far each has got',
    databases: ['log', 'outbox'], stamps: false,
  },
  settlement: {
    reads: 'the fill feed, from Kafka and the outcomes; commands, for the signed orders; the chains',
    writes: 'the fills that are not settled; requests to the lane',
    databases: ['log', 'outbox'], stamps: true,
  },
  relayer: {
    reads: 'requests that users have signed; commands, through the replica; the read models, for requests that have ended; the chains',
    writes: 'RequestRelay and EndRelay commands; requests to the lane, also the keeper\'s',
    databases: ['log', 'read models', 'outbox'], stamps: true,
  },
  prices: {
    reads: 'the price sources; quick markets and their missing prices, through the replica; the chains',
    writes: 'RecordPrice commands; requests to the lane',
    databases: ['log', 'outbox'], stamps: true,
  },
  query: {
    reads: 'the read models; commands and outcomes, for the history and its times; the chains\' stablecoins, and what their oracles take',
    writes: 'nothing',
    databases: ['log', 'read models'], stamps: false,
  },
  api: {
    reads: 'commands, through the replica; the read models, for histories of orders and orders that the engine has forgotten; balances on the chains',
    writes: 'order, cancel and sync commands',
    databases: ['log', 'read models'], stamps: true,
  },
} as const satisfies Readonly<Record<string, RoleFacts>>;

export type RoleName = keyof typeof ROLES;
export const ROLE_NAMES = Object.keys(ROLES) as RoleName[];

const factsOf = (name: RoleName): RoleFacts => ROLES[name];

/** The databases without which these roles cannot start. */
export function databasesOf(roles: ReadonlySet<RoleName>): readonly DatabaseName[] {
  return DATABASES.filter((database) => [...roles].some((role) => factsOf(role).databases.includes(database)));
}

/** Whether one of the roles stamps commands, or writes their outcomes. */
export function stampsCommands(roles: ReadonlySet<RoleName>): boolean {
  return [...roles].some((role) => factsOf(role).stamps);
}

/** The streams of the log to which the roles append. */
export function writtenBy(roles: ReadonlySet<RoleName>): readonly Stream[] {
  return [...stampsCommands(roles) ? ['commands'] as const : [], ...roles.has('engine') ? ['outcomes'] as const : []];
}
