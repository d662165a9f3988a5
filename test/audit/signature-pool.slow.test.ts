/** The signature threads of an audit: whatever becomes of a thread, nothing passes that no thread has checked. */
import { equal, match, rejects } from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { createSignaturePool, type SignaturePool } from '../../tools/audit/signatures/signature-pool.js';
import { CHAIN_ID, domain, tradedHistory } from '../support/audited-history.js';
import { within } from '../support/until.js';

const BATCH = 256;
const PATIENCE_S = 20;

describe('audit: the signature threads', () => {
  const pools: SignaturePool[] = [];
  afterEach(async () => { for (const pool of pools.splice(0)) await pool.close(); });

  function open({ threads = 1, domains = [domain] } = {}): SignaturePool {
    const pool = createSignaturePool(domains, threads);
    pools.push(pool);
    return pool;
  }

  it('fail with the error of the thread that fails, however many others work, and wait for nothing any more', async () => {
    const pool = open({ threads: 2 });
    pool.add(0, Buffer.from('{"kind":"PlaceOrder"'), CHAIN_ID);
    await rejects(within('the end of the check', pool.drain(), PATIENCE_S), /JSON/);
    await rejects(within('room', pool.room() ?? Promise.resolve(), PATIENCE_S), /JSON/);
    await rejects(within('the end of nothing more', pool.drain(), PATIENCE_S), /JSON/);
  });

  it('fail when a thread fails before it has checked anything', async () => {
    const pool = open({ domains: [{ ...domain, verifyingContract: undefined as never }] });
    pool.add(0, Buffer.from('{}'), CHAIN_ID);
    await rejects(within('the end of the check', pool.drain(), PATIENCE_S), TypeError);
  });

  it('fail when a thread ends without a word', async () => {
    const threads = new Set<Worker>();
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function (this: Worker, ...message: Parameters<Worker['postMessage']>) {
      threads.add(this);
      postMessage.apply(this, message);
    };
    try {
      const pool = open();
      const order = (await tradedHistory()).records.map(({ command }) => command).find((command) => command.includes('"PlaceOrder"'))!;
      for (let position = 0; position <= BATCH; position++) pool.add(position, order, CHAIN_ID);
      equal(threads.size, 1);
      for (const thread of threads) await thread.terminate();
      await rejects(within('the end of the check', pool.drain(), PATIENCE_S), ({ message }: Error) => {
        match(message, /^a signature thread ended$/);
        return true;
      });
    } finally {
      Worker.prototype.postMessage = postMessage;
    }
  });
});
