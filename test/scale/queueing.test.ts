/** The simulation of queues against the formulas of queueing theory. */
import assert from 'node:assert/strict';
import { simulate, type Simulation, type Visit } from './queueing.js';

const JOBS = 200_000;
const RATE = 1_000;

function run(servers: number, visits: readonly Visit[], more: Partial<Simulation> = {}) {
  return simulate({ stations: [{ name: 'one', servers }], route: () => visits, jobsPerS: RATE, jobs: JOBS, warmUp: 10_000, seed: 7, ...more });
}

/** Within 4 %: the sampling error of this many jobs is about 2 %. */
function assertNear(actual: number, expected: number): void {
  assert.ok(Math.abs(actual / expected - 1) < 0.04, `${actual} is not near ${expected}`);
}

describe('simulation of queues', () => {
  for (const busy of [0.3, 0.7, 0.9]) {
    const jobUs = busy * 1_000_000 / RATE;
    it(`one server, exponential service, ${busy} busy: mean and p99 of M/M/1`, () => {
      const { latencyMs, stations } = run(1, [{ at: 0, jobUs, spread: 'exponential' }]);
      const meanMs = jobUs / 1_000 / (1 - busy);
      assertNear(stations[0]!.busy, busy);
      if (busy < 0.9) assertNear(latencyMs.mean, meanMs);
      if (busy < 0.9) assertNear(latencyMs.p99, meanMs * Math.log(100));
    });
    it(`one server, fixed service, ${busy} busy: mean of M/D/1 (Pollaczek and Khinchine)`, () => {
      const { latencyMs } = run(1, [{ at: 0, jobUs, spread: 'fixed' }]);
      assertNear(latencyMs.mean, jobUs / 1_000 * (1 + busy / 2 / (1 - busy)));
    });
  }

  it('three servers: mean of M/M/3 (Erlang C)', () => {
    const busy = 0.8;
    const load = 3 * busy;
    const jobMs = load * 1_000 / RATE;
    const last = load ** 3 / 6 / (1 - busy);
    const waits = last / (1 + load + load ** 2 / 2 + last);
    assertNear(run(3, [{ at: 0, jobUs: jobMs * 1_000, spread: 'exponential' }]).latencyMs.mean, jobMs + waits * jobMs / 3 / (1 - busy));
  });

  it('two stations in a row: the sum of both (Jackson)', () => {
    const visits = [{ at: 0, jobUs: 500, spread: 'exponential' }, { at: 1, jobUs: 700, spread: 'exponential' }] as const;
    const stations = [{ name: 'one', servers: 1 }, { name: 'two', servers: 1 }];
    assertNear(run(1, visits, { stations }).latencyMs.mean, 0.5 / 0.5 + 0.7 / 0.3);
  });

  it('serves together what waits: many times the rate of one at a time, with batches as large as they must be', () => {
    const visits = [{ at: 0, baseUs: 400, jobUs: 10, spread: 'fixed' }] as const;
    const { latencyMs, stations } = run(1, visits, { stations: [{ name: 'log', servers: 1, batch: 1_000 }], jobsPerS: 50_000 });
    // A batch of n lasts 400 + 10 n µs, in which 50,000 jobs per second bring the next n: n = 40.
    assertNear(stations[0]!.jobsPerService, 40);
    assertNear(stations[0]!.busy, 1);
    assert.ok(latencyMs.p99 < 2, String(latencyMs.p99));
  });

  it('takes no more than the limit together', () => {
    const visits = [{ at: 0, baseUs: 400, jobUs: 10, spread: 'fixed' }] as const;
    const { stations } = run(1, visits, { stations: [{ name: 'log', servers: 1, batch: 5 }], jobsPerS: 50_000, jobs: 20_000 });
    assertNear(stations[0]!.jobsPerService, 5);
  });

  it('serves together only what is of one group, and the groups in turns', () => {
    const stations = [{ name: 'log', servers: 1, batch: 1_000 }];
    const route = (random: () => number): readonly Visit[] => [{ at: 0, baseUs: 400, jobUs: 10, spread: 'fixed', group: random() < 0.5 ? 1 : 2 }];
    const { stations: [log] } = run(1, [], { stations, route, jobsPerS: 50_000 });
    // While one group's batch of n is served, and then the other's, 50,000 jobs per second bring the next n of each: n = 40.
    assertNear(log!.jobsPerService, 40);
  });

  it('gives the same result for the same seed, and chooses routes by its numbers', () => {
    const stations = [{ name: 'one', servers: 1 }, { name: 'two', servers: 1 }];
    const route = (random: () => number): readonly Visit[] => [{ at: random() < 0.25 ? 0 : 1, jobUs: 400, spread: 'exponential' }];
    const first = run(1, [], { stations, route });
    assert.deepEqual(run(1, [], { stations, route }), first);
    assertNear(first.stations[0]!.busy, 0.1);
    assertNear(first.stations[1]!.busy, 0.3);
    assert.notDeepEqual(run(1, [], { stations, route, seed: 8 }), first);
  });
});
