/**
 * What more load needs: the processes of each part, the load at which a part that cannot be divided is full, and what an order then waits. The
 * figures are those of docs/performance.md, measured on two shared cores; what was not measured is marked as assumed.
 */
import { simulate, type Visit } from './queueing.js';

/** A load: what the exchange is asked per second. */
export interface Load {
  readonly ordersPerS: number;
  readonly fillsPerS: number;
  readonly readsPerS: number;
  /** Prices that reach readers of the price stream. */
  readonly streamedPerS: number;
}

/** The load that is multiplied. */
export const ONE: Load = { ordersPerS: 100, fillsPerS: 25, readsPerS: 1_000, streamedPerS: 2_000 };

export const times = (load: Load, n: number): Load => (
  { ordersPerS: n * load.ordersPerS, fillsPerS: n * load.fillsPerS, readsPerS: n * load.readsPerS, streamedPerS: n * load.streamedPerS });

/** No part is planned to be busier than this: beyond it, waiting grows faster than load. */
export const BUSY = 0.7;

export const COSTS = {
  /** An api process's main thread, for an order that it takes: HTTP, parsing, digest (70), signature (66). */
  takeUs: 136,
  /** The same thread: encoding, appending and answering. Assumed: half of what log and engine take there beside the engine's step. */
  answerUs: 15,
  /** Every process with a replica, for each command of anybody: reading (4.4), decoding (3.7), the engine's step (7.3). */
  replicaUs: 15.4,
  /** The engine process, for an outcome: writing it. Assumed: the other half. */
  outcomeUs: 15,
  /** The store, for an append to a stream and for each record of it: a line through the measured 2.2, 16.7 and 48.8 k records/s. */
  appendUs: 440,
  recordUs: 16.1,
  /** Projections, for each outcome: 21.6 k outcomes/s. */
  projectedUs: 46,
  /** A read with its SQL: 4.7 k reads/s. */
  readUs: 213,
  /** A price to one reader: 83 k/s. */
  streamedUs: 12,
  /** Worker, outbox, lane, chain and indexer together on two cores: 1,224 fills/s. */
  settledUs: 817,
  /** Gas of a fill between two orders that nobody else filled. */
  fillGas: 108_625,
  /** In the log, for a command and its outcome. */
  commandBytes: 1_465,
} as const;

/** Assumed: 30 million gas per block of 2 s, all of it for us. */
export const CHAIN_GAS_PER_S = 15_000_000;
/** Assumed: the time of a message between two machines of one place, and back. */
export const ROUND_TRIP_US = 500;

const usable = BUSY * 1_000_000;

/** A part of which there may be any number of processes. */
export interface Divisible {
  readonly part: string;
  /** How many processes the load needs; undefined when no number is enough. */
  readonly processes: (load: Load) => number | undefined;
}

/** A part of which there is one: the share of its time (or gas) that the load takes. */
export interface Single {
  readonly part: string;
  readonly busy: (load: Load) => number;
}

const each = (perS: (load: Load) => number, us: number) => (load: Load) => Math.max(1, Math.ceil(perS(load) * us / usable));

export const DIVISIBLE: readonly Divisible[] = [
  { part: 'api', processes: apiProcesses },
  { part: 'query, reads', processes: each(({ readsPerS }) => readsPerS, COSTS.readUs) },
  { part: 'query, price streams', processes: each(({ streamedPerS }) => streamedPerS, COSTS.streamedUs) },
];

export const SINGLE: readonly Single[] = [
  { part: 'the chain\'s gas', busy: ({ fillsPerS }) => fillsPerS * COSTS.fillGas / CHAIN_GAS_PER_S },
  { part: 'settlement, lane, indexer', busy: ({ fillsPerS }) => fillsPerS * COSTS.settledUs / 1e6 },
  { part: 'projections', busy: ({ ordersPerS }) => ordersPerS * COSTS.projectedUs / 1e6 },
  { part: 'engine', busy: ({ ordersPerS }) => ordersPerS * (COSTS.replicaUs + COSTS.outcomeUs) / 1e6 },
  { part: 'replica of an api process', busy: ({ ordersPerS }) => ordersPerS * COSTS.replicaUs / 1e6 },
  { part: 'the log\'s stream of commands', busy: ({ ordersPerS }) => ordersPerS * (COSTS.recordUs + COSTS.appendUs / 1_000) / 1e6 },
];

/** Each process steps every command, so what is left of it for orders of its own shrinks as the load grows. */
function apiProcesses({ ordersPerS }: Load): number | undefined {
  const left = usable - ordersPerS * COSTS.replicaUs;
  const processes = Math.max(1, Math.ceil(ordersPerS * (COSTS.takeUs + COSTS.answerUs) / left));
  return left <= 0 || processes > 100 ? undefined : processes;
}

/** The multiple of the load at which the part is as busy as planned at most. */
export const fullAt = ({ busy }: Single): number => BUSY / busy(ONE);

/** Simulates an order from its arrival at an api process until it is answered, each process with a core of its own. */
export function orderLatency(ordersPerS: number, apis: number, jobs = 200_000) {
  const stations = [
    { name: 'network', servers: Number.MAX_SAFE_INTEGER }, { name: 'log', servers: 1, batch: 1_000 },
    ...Array.from({ length: apis }, (_, i) => ({ name: `api ${i + 1}`, servers: 1 })),
  ];
  // What the process does for the others' commands leaves it this share of its time.
  const left = 1 - ordersPerS * (1 - 1 / apis) * COSTS.replicaUs / 1e6;
  const route = (random: () => number): readonly Visit[] => {
    const group = Math.floor(random() * apis);
    const at = 2 + group;
    const network: Visit = { at: 0, jobUs: ROUND_TRIP_US / 2, spread: 'fixed' };
    return [
      { at, jobUs: COSTS.takeUs / left, spread: 'exponential' }, network,
      { at: 1, group, baseUs: COSTS.appendUs, jobUs: COSTS.recordUs, spread: 'fixed' }, network,
      { at, jobUs: (COSTS.replicaUs + COSTS.answerUs) / left, spread: 'exponential' },
    ];
  };
  return simulate({ stations, route, jobsPerS: ordersPerS, jobs, warmUp: jobs / 10, seed: 11 });
}
