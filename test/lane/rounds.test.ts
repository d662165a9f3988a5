/** A lane's rounds: the pause between two of them, a ring that ends it, and the pause after a failure, by counts and not by times. */
import { deepEqual, equal } from 'node:assert/strict';
import { ChainUnavailable } from '../../command/chain/chain.js';
import type { LaneRpc } from '../../command/lane/chain-view.js';
import { createLane } from '../../command/lane/lane.js';
import type { Lane } from '../../command/lane/lane-options.js';
import type { HeldLane, Outbox } from '../../command/lane/outbox.js';

const KEY = `0x${'11'.repeat(32)}`;
const POLL_MS = 1_234;

/** A lane over an empty outbox and a chain without transactions. */
class Rounds {
  lane!: Lane;
  /** Looks at the chain: one per round. */
  looks = 0;
  fails = false;
  /** What happens during the next look at the chain. */
  duringLook: () => void = () => undefined;
  readonly reports: string[] = [];
  readonly waits: { readonly ms: number; end(): void }[] = [];
  closed: () => void = () => undefined;
  private rings = 0;
  private readonly closing = new Promise<void>((resolve) => { this.closed = resolve; });

  async start(retryMs = 1): Promise<this> {
    this.lane = await createLane({
      chain: { chainId: 5, confirmations: 1 }, key: 'operator', privateKey: KEY, now: () => 0, rpc: this.rpc(), outbox: this.outbox(),
      announce: () => Promise.resolve(), report: (level, text) => { this.reports.push(`${level}: ${text}`); }, policy: { pollMs: POLL_MS, backoff: { firstMs: retryMs, longestMs: retryMs } },
    });
    return this;
  }

  ring(): void {
    this.rings += 1;
    for (const { end } of this.waits.splice(0)) end();
  }

  private rpc(): LaneRpc {
    return {
      chainId: 5,
      request: async <T>(method: string) => {
        if (method === 'eth_getBlockByNumber') {
          this.looks += 1;
          this.duringLook();
          // A lane that never pauses would not let the test go on: it hangs here, and the counts are wrong.
          if (this.looks > 1_000) await new Promise(() => undefined);
          if (this.fails) throw new ChainUnavailable(5, 'down');
          return { number: '0x5', baseFeePerGas: '0x7', gasLimit: '0x1c9c380' } as T;
        }
        return '0x0' as T;
      },
    };
  }

  private outbox(): Outbox {
    const nothing = (): Promise<void> => Promise.resolve();
    const held: HeldLane = {
      bell: {
        rung: () => this.rings, ring: () => { this.ring(); },
        wait: (signal, ms) => new Promise((resolve) => {
          this.waits.push({ ms, end: () => { resolve('rung'); } });
          signal.addEventListener('abort', () => { resolve('aborted'); });
        }),
      },
      check: () => undefined, load: () => Promise.resolve({ open: [], nextNonce: 0, formerAddresses: [], earlier: 0 }),
      former: () => { throw new Error('no former key'); }, waiting: () => Promise.resolve([]), refuse: nothing, record: nothing, recordAttempt: nothing,
      markBroadcast: nothing, markOver: nothing, publish: nothing, close: () => this.closing,
    };
    return { hold: () => Promise.resolve(held) };
  }
}

/** Lets everything go on that waits for nothing but promises. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => { setImmediate(resolve); });
}

describe('lane: rounds', () => {
  let rounds: Rounds;
  beforeEach(() => { rounds = new Rounds(); });
  afterEach(async () => {
    rounds.closed();
    await rounds.lane.stop();
  });

  it('wait for the bell, and look again when it rings', async () => {
    await rounds.start();
    await turns();
    const { looks } = rounds;
    deepEqual(rounds.waits.map(({ ms }) => ms), [POLL_MS]);
    for (let more = 1; more <= 3; more++) {
      rounds.ring();
      await turns();
      equal(rounds.looks, looks + more);
      equal(rounds.waits.length, 1);
    }
  });

  it('a ring during a round is not lost: the next round follows at once', async () => {
    await rounds.start();
    await turns();
    const { looks } = rounds;
    let rings = 1;
    rounds.duringLook = () => { if (rings-- > 0) rounds.ring(); };
    rounds.ring();
    await turns();
    deepEqual([rounds.looks, rounds.waits.length], [looks + 2, 1]);
  });

  it('a failure is followed by a pause, which a stop ends', async () => {
    rounds.fails = true;
    await rounds.start(3_600_000);
    await turns();
    deepEqual([rounds.looks, rounds.waits.length], [1, 0]);
    deepEqual(rounds.reports.map((report) => report.split(':')[0]), ['warn']);
  });

  it('a stop waits until the outbox is let go', async () => {
    await rounds.start();
    await turns();
    let stopped = false;
    const stop = rounds.lane.stop().then(() => { stopped = true; });
    await turns();
    equal(stopped, false);
    rounds.closed();
    await stop;
  });
});
