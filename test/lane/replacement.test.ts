/** A replacement with higher fees is broadcast once the outbox has it, and never before: whoever continues the lane must know of it. */
import { deepEqual, equal } from 'node:assert/strict';
import { createLane } from '../../command/lane/lane.js';
import type { Lane } from '../../command/lane/lane-options.js';
import type { LaneTransaction } from '../../command/lane/open-transactions.js';
import type { HeldLane } from '../../command/lane/outbox.js';
import { turnsUntil } from '../support/until.js';

const RAW = { first: '0xf1', hash: `0x${'f1'.repeat(32)}` };
const stuck: LaneTransaction = {
  nonce: 0, request: undefined,
  attempts: [{ txHash: RAW.hash, raw: RAW.first, fees: { maxFeePerGas: 15n, maxPriorityFeePerGas: 1n }, broadcast: true }],
};

/** A lane with one transaction that the chain does not mine; each round sees another block. */
class StuckLane {
  lane!: Lane;
  readonly sent: string[] = [];
  /** The replacements that the outbox was given, and what ends the writing of the last one. */
  readonly recorded: string[] = [];
  write: (error?: Error) => void = () => undefined;
  private head = 5;

  async start(): Promise<this> {
    this.lane = await createLane({
      chain: { chainId: 5, confirmations: 1 }, key: 'operator', privateKey: `0x${'11'.repeat(32)}`, now: () => this.head, announce: () => Promise.resolve(),
      report: () => undefined, outbox: { hold: () => Promise.resolve(this.held()) },
      policy: { bumpAfterBlocks: 1, bumpAfterMs: 0, rebroadcastMs: 1_000, backoff: { firstMs: 1, longestMs: 1 } },
      rpc: {
        chainId: 5,
        request: async <T>(method: string, [raw]: readonly unknown[]) => {
          if (method === 'eth_getBlockByNumber') return { number: `0x${(this.head++).toString(16)}`, baseFeePerGas: '0x7', gasLimit: '0x1c9c380' } as T;
          if (method === 'eth_sendRawTransaction') this.sent.push(String(raw));
          return '0x0' as T;
        },
      },
    });
    return this;
  }

  private held(): HeldLane {
    const nothing = (): Promise<void> => Promise.resolve();
    return {
      // A wait is a turn of the event loop, so the rounds follow each other.
      bell: { rung: () => 0, ring: () => undefined, wait: () => new Promise((resolve) => { setImmediate(() => { resolve('timeout'); }); }) },
      check: () => undefined, load: () => Promise.resolve({ open: [stuck], nextNonce: 1, formerAddresses: [], earlier: 0 }),
      former: () => { throw new Error('no former key'); }, waiting: () => Promise.resolve([]), refuse: nothing, record: nothing,
      recordAttempt: (_, { raw }) => new Promise((resolve, reject) => {
        this.recorded.push(raw);
        this.write = (error) => { if (error === undefined) resolve(); else reject(error); };
      }),
      markBroadcast: nothing, markOver: nothing, publish: nothing, close: nothing,
    };
  }
}

describe('lane: a replacement', () => {
  let stuckLane: StuckLane;
  beforeEach(async () => { stuckLane = await new StuckLane().start(); });
  afterEach(async () => {
    // The next replacement may be under way.
    const stopped = stuckLane.lane.stop();
    stuckLane.write();
    await stopped;
  });

  const turns = async (): Promise<void> => { for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => { setImmediate(resolve); }); };

  it('waits until it is recorded', async () => {
    const { sent, recorded } = stuckLane;
    await turnsUntil('a replacement is being recorded', () => recorded.length === 1);
    deepEqual(sent, [RAW.first]);
    await turns();
    deepEqual([sent, recorded.length], [[RAW.first], 1], 'something was sent meanwhile');
    stuckLane.write();
    await turnsUntil('it is sent', () => sent.length === 2);
    deepEqual(sent, [RAW.first, recorded[0]]);
  });

  it('is not sent when it cannot be recorded', async () => {
    const { sent, recorded } = stuckLane;
    await turnsUntil('a replacement is being recorded', () => recorded.length === 1);
    stuckLane.write(new Error('the disk is full'));
    await turnsUntil('it is tried again', () => recorded.length === 2);
    equal(sent.filter((raw) => raw !== RAW.first).length, 0);
  });
});
