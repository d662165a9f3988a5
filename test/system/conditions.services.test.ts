/** The exchange on a machine with a wrong clock, a full disk or a silent database: orders are refused with the reason, and nothing is harmed. */
import assert from 'node:assert/strict';
import { decodeCommand } from '../../engine/records/codec.js';
import { openLog } from '../../engine/log/open-log.js';
import { newCommand } from '../support/commands.js';
import { alice, cancelHeaders, exchangeStack, lower, signedBody, type ExchangeStack } from '../harness/exchange.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { startProxyTo, type UrlProxy } from '../support/proxies.js';
import { testMachine, type TestMachine } from '../support/test-machine.js';
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;
const MB = 1_000_000;

interface Ready {
  readonly status: number;
  readonly reasons: readonly string[];
  readonly clock: Readonly<Record<string, unknown>>;
  readonly databases: readonly { name: string; answers: boolean; lastError: string | null }[];
}

async function readiness(exchange: ExchangeStack): Promise<Ready> {
  const { status, body } = await exchange.request('GET', '/health/ready');
  return { status, ...body } as Ready;
}

/** Resolves with readiness once it answers with the status. */
const comes = (exchange: ExchangeStack, wanted: number) => until(`readiness answers ${wanted}`, async () => {
  const found = await readiness(exchange);
  return found.status === wanted ? found : undefined;
});

const body = (exchange: ExchangeStack, nonce: number) => signedBody(exchange.signing, alice, { marketId: exchange.rain.id, nonce });
const soon = () => Math.floor(Date.now() / 1_000) + 3_600;

describe('the exchange on a machine with a wrong clock', () => {
  let machine: TestMachine;
  let exchange: ExchangeStack;
  before(async () => {
    machine = testMachine();
    exchange = await exchangeStack({}, [], machine);
  });
  after(() => exchange.close());

  const openOrders = async (position: number) => (await exchange.get(`/api/v1/orders?trader=${lower(alice)}`, position))['count'];
  const metric = async (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await exchange.request('GET', '/metrics')).text)?.[1]);

  it('refuses a jump of 100 days: no market closes, no order is swept, and all is well when the clock is back', async () => {
    const { position } = await exchange.place(alice, { expiration: soon() });
    const second = await exchange.place(alice, { expiration: soon() });
    machine.wallAheadMs = 100 * DAY_MS;
    const problem = await exchange.refused('clock_untrusted', 'POST', '/api/v1/orders', { body: await body(exchange, 90) });
    assert.equal(problem['detail'], 'the clock of this machine has jumped 100 days ahead; the jump is refused');
    // The engine's clock ticks as often as the process looks.
    await machine.looks(5);
    const { status, reasons, clock } = await readiness(exchange);
    assert.deepEqual([status, reasons], [503, ['the clock is not trusted: the clock of this machine has jumped 100 days ahead; the jump is refused']]);
    assert.ok(clock['trusted'] === false && Math.abs(Number(clock['wallAheadMs']) - 100 * DAY_MS) < 10_000, JSON.stringify(clock));
    assert.ok(Math.abs(Date.parse(String(clock['time'])) - Date.now()) < 10_000, 'the trusted time goes on');
    assert.equal(await metric('exchange_clock_trusted'), 0);
    assert.equal(Math.round(await metric('exchange_clock_wall_ahead_seconds') / 60), 100 * 1_440);

    const cancel = await exchange.request('DELETE', `/api/v1/orders/${second.orderHash}?marketId=${exchange.rain.id}`, {
      headers: await cancelHeaders(exchange.signing, alice, { orderHash: second.orderHash }),
    });
    assert.equal(cancel.status, 200, 'an order may be cancelled: its time is the trusted one');

    machine.wallAheadMs = 0;
    const after = await exchange.place(alice, { expiration: soon() });
    assert.equal(await openOrders(after.position), 2, 'the first order and the last');
    assert.equal((await readiness(exchange)).status, 200);
    const log = await openLog(exchange.databaseUrl);
    const records = await log.read('commands', position, 100).finally(() => log.close());
    const commands = records.map(({ data }) => decodeCommand(data));
    assert.deepEqual(commands.map(({ kind }) => kind), ['PlaceOrder', 'PlaceOrder', 'CancelOrder', 'PlaceOrder']);
    assert.ok(commands.every(({ at }) => Math.abs(at - Date.now()) < 120_000), 'no command has the wrong time');
  });

  it('does not stamp a wrong time either when the monotonic clock jumps with the wall clock', async () => {
    machine.wallAheadMs = machine.monotonicAheadMs = 100 * DAY_MS;
    await exchange.refused('clock_untrusted', 'POST', '/api/v1/orders', { body: await body(exchange, 91) });
    await machine.looks(3);
    assert.equal((await readiness(exchange)).status, 503);
    machine.wallAheadMs = machine.monotonicAheadMs = 0;
    // The time given meanwhile was up to 25 s ahead, and does not go back: what is stamped then must not seem 20 s ahead.
    machine.passedMs += 8_000;
    // A question that the database was asked before may be answered now, half of it by the wrong clock: the next one counts.
    await readiness(exchange);
    await machine.looks(2);
    await comes(exchange, 200);
    const { timestamp } = await exchange.place(alice, { expiration: soon() });
    assert.ok(Math.abs(timestamp - Date.now() / 1_000) < 60, `${timestamp}`);
  });

  it('refuses an order that has expired with the service\'s time, so that a client sees that its own clock is wrong', async () => {
    const sent = await signedBody(exchange.signing, alice, { marketId: exchange.rain.id, nonce: 92, expiration: soon() - 7_200 });
    const { error } = await exchange.refused('invalid_expiration', 'POST', '/api/v1/orders', { body: sent });
    const told = Number(/; the service's time is (\d+)$/.exec(String(error))?.[1]);
    assert.ok(Math.abs(told - Date.now() / 1_000) < 60, String(error));
  });

  it('starts on a history that another process has given a time far ahead, and takes no orders', async () => {
    await exchange.record(newCommand('AdvanceClock', { at: Date.now() + 5 * DAY_MS }));
    const again = exchange = await exchange.restart();
    const { reasons } = await readiness(again);
    const expected = 'the history is already 5 days ahead of the clock: the clock is behind, or a wrong clock once wrote to the history';
    assert.deepEqual(reasons, [`the clock is not trusted: ${expected}`]);
    assert.equal((await again.refused('clock_untrusted', 'POST', '/api/v1/orders', { body: await body(again, 93) }))['detail'], expected);
  });
});

describe('the exchange on a disk that fills up', () => {
  let machine: TestMachine;
  let exchange: ExchangeStack;
  before(async () => {
    machine = testMachine();
    exchange = await exchangeStack({ MIN_FREE_DISK_MB: '500' }, [], machine);
  });
  after(() => exchange.close());

  it('refuses orders before the disk is full, takes cancels, and takes orders again when there is room', async () => {
    const { orderHash } = await exchange.place(alice);
    machine.freeBytes = 499 * MB;
    await machine.looks(2);
    const { detail, retryAfterS } = await exchange.refused('disk_full', 'POST', '/api/v1/orders', { body: await body(exchange, 90) });
    assert.match(String(detail), /^the disk of DATA_DIR \(.+\) has 499 MB free and needs 500 MB$/);
    assert.equal(retryAfterS, 30);
    assert.deepEqual([(await readiness(exchange)).status, (await readiness(exchange)).reasons], [503, [`orders are refused: ${String(detail)}`]]);
    assert.match((await exchange.request('GET', '/metrics')).text, /^exchange_disk_free_bytes\{directory="DATA_DIR"\} 499000000$/m);
    const headers = await cancelHeaders(exchange.signing, alice, { orderHash });
    assert.equal((await exchange.request('DELETE', `/api/v1/orders/${orderHash}?marketId=${exchange.rain.id}`, { headers })).status, 200);

    machine.freeBytes = 600 * MB;
    await machine.looks(2);
    await exchange.refused('disk_full', 'POST', '/api/v1/orders', { body: await body(exchange, 91) });
    machine.freeBytes = 625 * MB;
    await machine.looks(2);
    await exchange.place(alice);
    assert.equal((await readiness(exchange)).status, 200);
  });
});

describe('the exchange with a database that is silent', () => {
  let database: TestDatabase;
  let log: UrlProxy;
  let machine: TestMachine;
  let exchange: ExchangeStack;
  const lines: string[] = [];
  before(async () => {
    database = await testDatabase();
    log = await startProxyTo(database.url);
    machine = testMachine();
    exchange = await exchangeStack({ LOG_URL: log.url, LOG_LEVEL: 'info' }, [], machine, (line) => { lines.push(line); });
  });
  after(async () => {
    await exchange.close();
    await log.close();
    await database.drop();
  });

  it('is not ready, names the database, and refuses orders at once; it is ready when the database answers again', async () => {
    await exchange.place(alice);
    assert.deepEqual((await readiness(exchange)).databases.map(({ name, answers }) => [name, answers]), [['log', true], ['read models', true], ['outbox', true]]);
    // As a Postgres that was stopped: connections stay open, and nothing comes back.
    log.fate = () => 'withhold';
    const ready = await comes(exchange, 503);
    assert.match(ready.reasons.join(), /^the log does not answer \(.+\)$/);
    assert.deepEqual(ready.databases.map(({ name, answers }) => [name, answers]), [['log', false], ['read models', true], ['outbox', true]]);
    // Two seconds have passed until it counted as silent; after three, orders are refused at once.
    await machine.looks(40);
    const { detail } = await exchange.refused('unavailable', 'POST', '/api/v1/orders', { body: await body(exchange, 90) });
    assert.match(String(detail), /^the log does not answer \(.+\); the request was not accepted$/);
    const told = (text: string) => lines.filter((line) => line.includes(`"msg":"${text}"`)).length;
    await until('the silence is told', () => told('the log does not answer: orders are refused') > 0);
    assert.equal(told('the log answers again'), 0);

    log.fate = () => 'pass';
    log.refuse();
    log.accept();
    await comes(exchange, 200);
    await exchange.place(alice);
    await until('it is told that the log answers', () => told('the log answers again') > 0);
    assert.deepEqual([told('the log does not answer: orders are refused'), told('the log answers again')], [1, 1]);
  });
});
