/** A discrete-event simulation of jobs that visit stations with queues. The same seed gives the same result. No input or output. */
import { Latencies, type LatencySummary } from '../bench/latencies.js';
import { createRandom } from '../support/random-commands.js';

/** Servers with one queue in order of arrival. A free server takes the first job and up to `batch` of its group, and serves them together. */
export interface Station {
  readonly name: string;
  readonly servers: number;
  /** The most jobs of one service; absent: 1. */
  readonly batch?: number;
}

/** What a job needs at a station. A service of n jobs takes the first job's `baseUs`, and `jobUs` of each job. */
export interface Visit {
  /** The station's index. */
  readonly at: number;
  readonly baseUs?: number;
  readonly jobUs: number;
  /** Only jobs of one group are served together; absent: all jobs are of one group. */
  readonly group?: number;
  /** `fixed`: always `jobUs`; `exponential`: on average `jobUs`, often much less, sometimes several times as much. */
  readonly spread: 'fixed' | 'exponential';
}

export interface Simulation {
  readonly stations: readonly Station[];
  /** The visits of a job, in order. `random`: a number from 0 to below 1, to choose among routes. */
  readonly route: (random: () => number) => readonly Visit[];
  /** Jobs arrive at random (Poisson) at this rate. */
  readonly jobsPerS: number;
  readonly jobs: number;
  /** The first jobs, which find everything idle, are not counted. */
  readonly warmUp: number;
  readonly seed: number;
}

export interface SimulationResult {
  /** From arrival to the end of the last visit. */
  readonly latencyMs: LatencySummary & { readonly mean: number };
  /** By station: the share of its servers' time in which they work, and the jobs per service. */
  readonly stations: readonly { readonly name: string; readonly busy: number; readonly jobsPerService: number }[];
}

interface Job {
  readonly arrivedUs: number;
  readonly counts: boolean;
  readonly visits: readonly Visit[];
  step: number;
}

interface Running {
  /** In order of arrival. */
  waiting: Job[];
  free: number;
  busyUs: number;
  services: number;
  served: number;
}

type SimulatedEvent = { readonly atUs: number } & ({ readonly kind: 'arrival' } | { readonly kind: 'end'; readonly at: number; readonly jobs: readonly Job[] });

export function simulate({ stations, route, jobsPerS, jobs, warmUp, seed }: Simulation): SimulationResult {
  const next = createRandom(seed);
  const random = () => next() / 2 ** 32;
  const exponential = (mean: number) => -Math.log(1 - random()) * mean;
  const events = createEventQueue();
  const running = stations.map(({ servers }): Running => ({ waiting: [], free: servers, busyUs: 0, services: 0, served: 0 }));
  const latencies = new Latencies();
  let [arrived, sumUs, counted, nowUs] = [0, 0, 0, 0];

  function begin(at: number): void {
    const place = running[at]!;
    while (place.free > 0 && place.waiting.length > 0) {
      const batch = takeBatch(place, stations[at]!.batch ?? 1);
      const visits = batch.map(visitOf);
      const lastsUs = visits.reduce((sum, { jobUs, spread }) => sum + (spread === 'fixed' ? jobUs : exponential(jobUs)), visits[0]!.baseUs ?? 0);
      place.free -= 1;
      place.busyUs += lastsUs;
      place.services += 1;
      place.served += batch.length;
      events.add({ kind: 'end', atUs: nowUs + lastsUs, at, jobs: batch });
    }
  }

  function visit(job: Job): void {
    const there = job.visits[job.step];
    if (there !== undefined) {
      running[there.at]!.waiting.push(job);
      begin(there.at);
    } else if (job.counts) {
      latencies.add((nowUs - job.arrivedUs) / 1_000);
      sumUs += nowUs - job.arrivedUs;
      counted += 1;
    }
  }

  events.add({ kind: 'arrival', atUs: 0 });
  for (let event = events.take(); event !== undefined; event = events.take()) {
    nowUs = event.atUs;
    if (event.kind === 'arrival') {
      visit({ arrivedUs: nowUs, counts: arrived >= warmUp, visits: route(random), step: 0 });
      if (++arrived < jobs) events.add({ kind: 'arrival', atUs: nowUs + exponential(1_000_000 / jobsPerS) });
    } else {
      running[event.at]!.free += 1;
      for (const job of event.jobs) {
        job.step += 1;
        visit(job);
      }
      begin(event.at);
    }
  }
  return {
    latencyMs: { ...latencies.summary(), mean: sumUs / counted / 1_000 },
    stations: running.map(({ busyUs, services, served }, i) => (
      { name: stations[i]!.name, busy: busyUs / nowUs / stations[i]!.servers, jobsPerService: served / Math.max(1, services) })),
  };
}

function takeBatch(place: Running, most: number): readonly Job[] {
  if (most === 1) return place.waiting.splice(0, 1);
  const group = visitOf(place.waiting[0]!).group;
  const batch: Job[] = [];
  place.waiting = place.waiting.filter((job) => batch.length === most || visitOf(job).group !== group || batch.push(job) === 0);
  return batch;
}

const visitOf = ({ visits, step }: Job): Visit => visits[step]!;

/** A binary heap of what happens next. */
function createEventQueue() {
  const heap: SimulatedEvent[] = [];
  const swap = (a: number, b: number) => { [heap[a], heap[b]] = [heap[b]!, heap[a]!]; };
  return {
    add(event: SimulatedEvent): void {
      heap.push(event);
      for (let i = heap.length - 1; i > 0 && heap[i]!.atUs < heap[(i - 1) >> 1]!.atUs; i = (i - 1) >> 1) swap(i, (i - 1) >> 1);
    },
    take(): SimulatedEvent | undefined {
      const first = heap[0];
      const last = heap.pop();
      if (last === undefined || heap.length === 0) return first;
      heap[0] = last;
      for (let i = 0; ;) {
        let least = i;
        for (const child of [2 * i + 1, 2 * i + 2]) if (child < heap.length && heap[child]!.atUs < heap[least]!.atUs) least = child;
        if (least === i) return first;
        swap(i, least);
        i = least;
      }
    },
  };
}
