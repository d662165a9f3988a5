/** The settlement worker's rounds, by counts and not by times: a rest between two of them, a pause after a failure, and what a stop waits for. */
import { deepEqual, equal } from 'node:assert/strict';
import { OutboxUnavailable, type LaneUser } from '../../command/lane/requests.js';
import { runSettlement, type Settlement } from '../../command/settlement/settlement-worker.js';
import { createDatabase } from '../harness/memory/database.js';
import { createIntakeTables, openMemoryStore } from '../harness/memory/intake.js';
import { address } from '../support/scenario.js';

const POLL_MS = 1_234;

/** Lets everything go on that waits for nothing but promises. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => { setImmediate(resolve); });
}

describe('settlement: worker: rounds', () => {
  let stopping: AbortController;
  let settlement: Settlement;
  /** How often the lane was asked for its ownership, and looked at. */
  let holds: number, looks: number;
  let waits: { readonly ms: number; ring(): void }[];
  let closing: Promise<void>;
  let closed: () => void;
  beforeEach(() => {
    stopping = new AbortController();
    [holds, looks, waits] = [0, 0, []];
    closing = new Promise((resolve) => { closed = resolve; });
  });
  afterEach(async () => {
    stopping.abort();
    closed();
    await settlement.done;
  });

  /** A worker that never gets to rest would not let the test go on: it hangs, and the counts are wrong. */
  const counted = async (count: number): Promise<void> => { if (count > 1_000) await new Promise(() => undefined); };

  let rounds = 0;
  const watermark = (): number => {
    if (++rounds > 1_000) throw new Error('the worker never rests');
    return 0;
  };

  function start(available: boolean): void {
    rounds = 0;
    const lane: LaneUser = {
      async hold() {
        await counted(++holds);
        if (!available) throw new OutboxUnavailable('down');
        return {
          ask: () => Promise.resolve(), list: () => Promise.resolve([]), forget: () => Promise.resolve(), close: () => closing,
          async changes() {
            await counted(++looks);
            return [];
          },
          state: () => Promise.resolve(undefined),
          wait: (signal, ms) => new Promise((resolve) => {
            waits.push({ ms, ring: () => { resolve('rung'); } });
            signal.addEventListener('abort', () => { resolve('aborted'); });
          }),
        };
      },
    };
    const contracts = { settlement: address('s') } as Parameters<typeof runSettlement>[0]['chain']['contracts'];
    settlement = runSettlement({
      chain: { chainId: 5, contracts }, lane, log: { read: () => Promise.resolve([]) }, newId: () => 'id', now: () => 0, signal: stopping.signal,
      report: () => undefined, catchUp: () => Promise.resolve(), verify: () => Promise.resolve(), settledOnChain: () => Promise.resolve(new Set()),
      checkOrder: () => undefined,
      intake: {
        held: () => openMemoryStore(
          { database: createDatabase(), tables: createIntakeTables(), carry: async (_, work) => work() },
          { signal: stopping.signal, standingBy: () => undefined },
        ),
        watermark: () => watermark(), barrier: () => undefined, history: () => ({ position: 0, digest: new Uint8Array(32) }),
        status: () => ({ standby: false, position: 0, problem: undefined }),
      },
      timings: { pollMs: POLL_MS, retryMs: 3_600_000, maxRetryMs: 3_600_000 },
    });
  }

  it('rests when there is nothing to do, and looks again when the lane rings', async () => {
    start(true);
    await turns();
    deepEqual(waits.map(({ ms }) => ms), [POLL_MS]);
    const before = looks;
    waits.splice(0)[0]!.ring();
    await turns();
    deepEqual([looks, waits.length], [before + 1, 1]);
  });

  it('pauses after a failure, and a stop ends the pause', async () => {
    start(false);
    await turns();
    equal(holds, 1);
  });

  it('has ended only when it has let the lane go, so that the next process need not wait', async () => {
    start(true);
    await turns();
    let isOver = false;
    const done = settlement.done.then(() => { isOver = true; });
    stopping.abort();
    await turns();
    equal(isOver, false);
    closed();
    await done;
  });
});
