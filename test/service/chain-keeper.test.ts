/** The keeper of the development chain after its node or its disk held it up: short rests, and a report of blocks that are not on disk. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBell } from '../../engine/waiting.js';
import { keepChain, restAfter, type ChainKeeper, type KeptStatus } from '../../stack/chain/chain-keeper.js';
import { createKeptAlarm } from '../../stack/chain/kept-alarm.js';

describe('service: the development chain\'s keeper', () => {
  it('rests 20 times as long as a dump took, between its least pause and two seconds', () => {
    for (const [heldUpMs, restMs] of [[0.5, 250], [12, 250], [50, 1_000], [100, 2_000], [1_000, 2_000], [12_000, 2_000], [600_000, 2_000]] as const) {
      assert.equal(restAfter(heldUpMs, 250), restMs, `after ${heldUpMs} ms`);
    }
    assert.equal(restAfter(12_000, 5_000), 5_000);
  });

  describe('whose node is suspended for twelve seconds during a dump', () => {
    let nowMs: number;
    let block: number;
    let suspendMs: number;
    let failing: string | undefined;
    let server: Server;
    let keeper: ChainKeeper;
    const rests: number[] = [];
    const rested = createBell();
    const { signal } = new AbortController();

    beforeEach(async () => {
      [nowMs, block, suspendMs, failing] = [1_000_000, 5, 0, undefined];
      rests.length = 0;
      server = createServer((request, response) => {
        let body = '';
        request.setEncoding('utf8').on('data', (text: string) => { body += text; }).on('end', () => {
          const { method } = JSON.parse(body) as { method: string };
          if (method === 'anvil_dumpState') [nowMs, suspendMs] = [nowMs + suspendMs, 0];
          const result = method === 'anvil_dumpState' ? '0x00' : { hash: `0x${block}`, number: `0x${block.toString(16)}` };
          response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
        });
      });
      await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
      keeper = keepChain({
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, kept: { hash: '0x5', number: 5 }, now: () => nowMs, log: () => undefined,
        keepEveryMs: 5, write: () => failing === undefined ? Promise.resolve() : Promise.reject(new Error(failing)),
        rest: (ms) => {
          rests.push(ms);
          rested.ring();
          return new Promise(setImmediate);
        },
      });
    });

    afterEach(async () => {
      await keeper.stop();
      await new Promise((resolve) => { server.close(resolve).closeAllConnections(); });
    });

    it('keeps the next block after two seconds, not after 20 times the twelve', async () => {
      suspendMs = 12_000;
      const rest = rested.wait(signal, 10_000);
      block = 6;
      await rest;
      assert.deepEqual(rests, [2_000]);
      block = 7;
      await keeper.keep();
      assert.deepEqual(keeper.status(), { keptBlock: 7, unkeptBlocks: 0, unkeptSinceMs: undefined, trouble: undefined });
    });

    it('tells how many blocks are not on disk, since when, and why', async () => {
      failing = 'no space left on device';
      block = 8;
      await assert.rejects(keeper.keep());
      nowMs += 11_000;
      assert.deepEqual(keeper.status(), { keptBlock: 5, unkeptBlocks: 3, unkeptSinceMs: 1_000_000, trouble: failing });
      failing = undefined;
      await keeper.keep();
      assert.deepEqual(keeper.status(), { keptBlock: 8, unkeptBlocks: 0, unkeptSinceMs: undefined, trouble: undefined });
    });
  });

  it('raises one alarm when blocks are not on disk for ten seconds, and says when they are', () => {
    const told: string[] = [];
    const look = createKeptAlarm((level, text) => { told.push(`${level}: ${text}`); });
    const behind: KeptStatus = { keptBlock: 5, unkeptBlocks: 3, unkeptSinceMs: 1_000, trouble: undefined };
    look(behind, 10_999);
    assert.deepEqual(told, []);
    look(behind, 11_000);
    look({ ...behind, unkeptBlocks: 4 }, 60_000);
    look({ keptBlock: 9, unkeptBlocks: 0, unkeptSinceMs: undefined, trouble: undefined }, 61_000);
    look({ ...behind, trouble: 'no space left on device' }, 99_000);
    assert.equal(told.length, 3);
    assert.match(told[0]!, /^alarm: blocks 6 to 8 of the development chain are mined but not on disk for 10 s: anvil does not give its/);
    assert.equal(told[1], 'note: the development chain is on disk again, up to block 9');
    assert.match(told[2]!, /^alarm: blocks 6 to 8 .* for 98 s: no space left on device\./);
    assert.match(told[2]!, /Check that anvil runs and that DATA_DIR can be written$/);
  });
});
