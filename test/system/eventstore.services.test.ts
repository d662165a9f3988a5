/** The exchange with its log in EventStoreDB: orders under kills of the server, a restart, a server that is away or refuses, hidden records. */
import assert from 'node:assert/strict';
import { readHistory, replays, eventsOf, type History } from '../support/crash-checks.js';
import { administer, startEventStoreProcess, type EventStoreProcess } from '../support/eventstore-process.js';
import { startEventStoreServer } from '../support/eventstore-server.js';
import { alice, bob, exchangeStack, signedBody, type ExchangeStack } from '../harness/exchange.js';
import { until, within } from '../support/until.js';

/** An order that was acknowledged, and the log position of its answer. */
interface Sent {
  readonly orderHash: string;
  readonly position: number;
}

/** Every acknowledged order was accepted exactly once, at the position that its answer told or before it. */
function provesHistoryOnce(history: History, sent: readonly Sent[]): void {
  const accepted = eventsOf(history, 'OrderAccepted').map(({ orderHash }) => orderHash as string);
  assert.deepEqual(accepted.toSorted(), sent.map(({ orderHash }) => orderHash).toSorted());
  assert.ok(sent.every(({ position }) => position < history.entries.length));
}

const WRITERS = 6;
const ORDERS = 12;

describe('the exchange with its log in EventStoreDB', () => {
  const lines: string[] = [];
  let server: EventStoreProcess;
  let exchange: ExchangeStack;
  before(async () => {
    server = await startEventStoreProcess();
    exchange = await exchangeStack({ LOG_URL: server.url, LOG_LEVEL: 'info' }, [], undefined, (line) => { lines.push(line); });
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

  interface Ready { readonly reasons: readonly string[]; readonly databases: readonly { name: string; answers: boolean }[] }
  const readiness = (wanted: number): Promise<Ready> => until(`readiness answers ${wanted}`, async () => {
    const { status, text } = await exchange.request('GET', '/health/ready');
    return status === wanted && JSON.parse(text) as Ready;
  });

  it('is not ready while the server is away or frozen, says so, and goes on by itself', async () => {
    for (const [take, give] of [[() => server.kill(), () => server.start()], [server.freeze, server.thaw]] as const) {
      await take();
      const { reasons, databases } = await readiness(503);
      assert.ok(reasons.some((reason) => /^the log does not answer \(.+\)$/.test(reason)), reasons.join());
      assert.deepEqual(databases.map(({ name, answers }) => [name, answers]), [['log', false], ['read models', true], ['outbox', true]]);
      await give();
      await readiness(200);
      await placeSurely(1_001 + lines.length);
    }
  });

  it('ends with the stream, the option and the remedy when its history is hidden, and takes no order any more', async () => {
    await administer(exchange.logUrl).setMetadata('commands', { $maxCount: 10 });
    assert.match(await within('the end of the process', exchange.failed),
      /^the stream \S+-commands has \$maxCount = 10 in its metadata, which hides records: write metadata with \$tb = 0 and without \$maxCount/);
  });
});

describe('the exchange with its log in an EventStoreDB that refuses appends', () => {
  it('is not ready, refuses orders with the reason, raises an alert, and goes on when the right is given', async () => {
    const server = await startEventStoreServer();
    const lines: string[] = [];
    const exchange = await exchangeStack({ LOG_URL: server.url, LOG_LEVEL: 'info' }, [], undefined, (line) => { lines.push(line); });
    try {
      server.fault = ({ method }) => method === 'append' ? 'access-denied' : 'none';
      const reason = /^the log cannot be used: the user may not append to the stream exchange-commands: give it the right \$w in the stream's \$acl/;
      await until('readiness tells the reason', async () => {
        const { status, body } = await exchange.request('GET', '/health/ready');
        return status === 503 && (body['reasons'] as string[]).some((each) => reason.test(each));
      });
      const { status, text } = await exchange.request('POST', '/api/v1/orders', { body: await signedBody(exchange.signing, alice, { marketId: exchange.rain.id, nonce: 1 }) });
      assert.match(`${status} ${text}`, /^503 .*the log cannot be used: the user may not append/);
      const alert = (word: string): boolean => lines.some((line) => line.includes('"level":"error"') && line.includes(word));
      await until('the alert', () => alert('may not append to the stream'));
      server.fault = () => 'none';
      await until('an order is taken', async () => {
        const body = await signedBody(exchange.signing, alice, { marketId: exchange.rain.id, nonce: 2 });
        return (await exchange.request('POST', '/api/v1/orders', { body })).status === 200;
      });
      assert.equal((await exchange.request('GET', '/health/ready')).status, 200);
    } finally {
      await exchange.close();
      await server.close();
    }
  });
});
