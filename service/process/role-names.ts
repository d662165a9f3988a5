/** The roles that a process can have, apart from their code: a process loads the code of its own roles only. */

export interface RoleText {
  /** What the role reads and writes, as text for operators. */
  readonly reads: string;
  readonly writes: string;
}

/** A process starts its roles in this order. */
export const ROLES = {
  projections: {
    reads: 'outcomes',
    writes: 'the read models',
  },
  engine: {
    reads: 'commands',
    writes: 'outcomes; the clock\'s commands; snapshots in DATA_DIR',
  },
  indexer: {
    reads: 'the chains, each from the block after the last recorded one',
    writes: 'facts of the chains, as commands',
  },
  lane: {
    reads: 'requests in the outbox; the chains',
    writes: 'signed transactions to the outbox and the chains; SubmitSettlement and SubmitRelay commands',
  },
  feed: {
    reads: 'outcomes; commands, for the signed orders',
    writes: 'the fill feed, to two Kafka topics ([kafka.md](kafka.md)); how far each has got',
  },
  settlement: {
    reads: 'the fill feed, from Kafka and the outcomes; commands, for the signed orders; the chains',
    writes: 'the fills that are not settled; requests to the lane',
  },
  relayer: {
    reads: 'requests that users have signed; commands, through the replica; the read models, for requests that have ended; the chains',
    writes: 'RequestRelay and EndRelay commands; requests to the lane, also the keeper\'s',
  },
  prices: {
    reads: 'the price sources; quick markets and their missing prices, through the replica; the chains',
    writes: 'RecordPrice commands; requests to the lane',
  },
  query: {
    reads: 'the read models; commands and outcomes, for the history and its times; the chains\' stablecoins, and what their oracles take',
    writes: 'nothing',
  },
  api: {
    reads: 'commands, through the replica; the read models, for histories of orders and orders that the engine has forgotten; balances on the chains',
    writes: 'order, cancel and sync commands',
  },
} as const satisfies Readonly<Record<string, RoleText>>;

export type RoleName = keyof typeof ROLES;
export const ROLE_NAMES = Object.keys(ROLES) as RoleName[];
