/** The exchange with its log in EventStoreDB: orders under kills of the server, a restart, a replay, and what it says while the server is away. */
import assert from 'node:assert/strict';
import { provesHistoryOnce, type Sent } from '../support/eventstore-checks.js';
import { readHistory, replays } from '../support/crash-checks.js';
import { startEventStoreProcess, type EventStoreProcess } from '../support/eventstore-process.js';
import { alice, bob, exchangeStack, signedBody, type ExchangeStack } from '../support/exchange-stack.js';

const WRITERS = 6;
const ORDERS = 12;

describe('the exchange with its log in EventStoreDB', () => {
  let server: EventStoreProcess;
  let exchange: ExchangeStack;
  before(async () => {
    server = await startEventStoreProcess();
    exchange = await exchangeStack({ EVENTSTORE_URL: `${server.url}&streamPrefix=system` });
  });
  after(async () => {
    await exchange.close();
    await server.close();
  });

  /** Sends the order until it is taken: the same signed order is carried out once, whatever became of the first tries. */
  async function placeSurely(nonce: number): Promise<Sent> {
    const [wallet, side] = nonce % 2 === 0 ? [alice, 0] : [bob, 1];
    const body = await signedBody(exchange.signing, wallet, { marketId: exchange.rain.id, nonce, side, size: 1_000_000 * nonce });
    for (;;) {
      const { status, text, body: answer, position } = await exchange.request('POST', '/api/v1/orders', { body });
      if (status === 200) return { orderHash: String(answer['orderHash']), position };
      assert.equal(status, 503, text);
    }
  }

  it('takes orders while the server is killed and started again: each acknowledged once, all of it in the history', async () => {
    const sent: Sent[] = [];
    let isDone = false;
    const load = Promise.all(Array.from({ length: WRITERS }, async (_, w) => {
      for (let i = 0; i < ORDERS; i++) sent.push(await placeSurely(1 + w + i * WRITERS));
    })).finally(() => { isDone = true; });
    for (let kills = 1; kills <= 2 && !isDone; kills++) {
      while (sent.length < kills * 20 && !isDone) await new Promise(setImmediate);
      await server.kill();
      await server.start();
    }
    await load;
    // An order is answered as soon as its command is durable: its outcome may be recorded later.
    const last = Math.max(...sent.map(({ position }) => position));
    let history = await readHistory(exchange.url);
    while (history.entries.length <= last) history = await readHistory(exchange.url, history);
    provesHistoryOnce(history, sent);
    assert.equal(sent.length, WRITERS * ORDERS);
    replays(history);
  });

  it('gives the same history, digest by digest, after a restart', async () => {
    const { lines } = await readHistory(exchange.url);
    exchange = await exchange.restart();
    const again = await readHistory(exchange.url);
    assert.deepEqual(again.lines.slice(0, lines.length), lines);
    await placeSurely(1_000);
  });

  it('is not ready while the server is away, says so, and goes on by itself', async () => {
    interface Ready { readonly reasons: readonly string[]; readonly databases: readonly { name: string; answers: boolean }[] }
    const readiness = async (wanted: number): Promise<Ready> => {
      for (;;) {
        const { status, body } = await exchange.request('GET', '/health/ready');
        if (status === wanted) return body as unknown as Ready;
      }
    };
    await server.kill();
    const { reasons, databases } = await readiness(503);
    assert.ok(reasons.some((reason) => /^the log does not answer \(.+\)$/.test(reason)), reasons.join());
    assert.deepEqual(databases.map(({ name, answers }) => [name, answers]), [['log', false], ['read models', true], ['outbox', true]]);
    await server.start();
    await readiness(200);
    await placeSurely(1_001);
  });
});
