/** The process frame: graceful stop, health, metrics, log. */
import assert from 'node:assert/strict';
import { EventEmitter, once as event } from 'node:events';
import { createHealth, type ChainState, type HealthSources } from '../../service/roles/health.js';
import { closeServer } from '../../service/http/server.js';
import { createLogger } from '../../service/logger.js';
import { createMetrics } from '../../service/metrics.js';
import { stopOnSignals, type StopStep } from '../../service/stop.js';
import { startShell } from '../support/shell.js';
import { once, Wire } from '../support/wire.js';

describe('service: stop', () => {
  it('answers what is in flight, closes idle connections, refuses new ones', async () => {
    const gate = new EventEmitter();
    const shell = await startShell({ handlers: { placeOrder: async () => {
      const released = event(gate, 'release');
      gate.emit('inside');
      await released;
      return { body: 'answered' };
    } } });
    const idle = await Wire.connect(shell.port);
    await idle.request('GET', '/health/live').answer();
    const busy = await Wire.connect(shell.port);
    const inside = event(gate, 'inside');
    busy.request('POST', '/api/v1/orders', { body: '{}' });
    await inside;
    const stopped = closeServer(shell.app, shell.server, 5_000);
    await idle.closed;
    await assert.rejects(Wire.connect(shell.port), { code: 'ECONNREFUSED' });
    gate.emit('release');
    const answer = await busy.answer();
    assert.deepEqual([answer.body, answer.headers['connection']], ['answered', 'close']);
    await busy.closed;
    assert.equal(await stopped, 0);
  });

  it('closes a connection whose answer was on its way already, once it has arrived', async () => {
    const told = new EventEmitter();
    const shell = await startShell({
      limits: { keepAliveTimeoutMs: 600_000 }, handlers: { cancelOrder: () => ({ body: 'x'.repeat(20_000_000) }) },
      app: { observer: { answered: () => told.emit('answered'), failed: () => '' } },
    });
    const slow = await Wire.connect(shell.port);
    slow.socket.pause();
    const answered = event(told, 'answered');
    slow.request('DELETE', `/api/v1/orders/0x${'00'.repeat(32)}`);
    await answered;
    const stopped = closeServer(shell.app, shell.server, 10_000);
    slow.socket.resume();
    assert.equal((await slow.answer()).body.length, 20_000_000);
    await slow.closed;
    assert.equal(await stopped, 0);
  });

  it('cuts what is not answered in time', async () => {
    const asked = new EventEmitter();
    const shell = await startShell({ handlers: { placeOrder: () => {
      asked.emit('asked');
      return new Promise(() => undefined);
    } } });
    const wire = await Wire.connect(shell.port);
    const inside = event(asked, 'asked');
    wire.request('POST', '/api/v1/orders', { body: '{}' });
    await inside;
    assert.equal(await closeServer(shell.app, shell.server, 1), 1);
    await wire.closed;
  });

  /** Runs a stop and tells its exit codes and what it logged. */
  const stopping = async (steps: StopStep[], signals: number, timeoutMs = 5_000) => {
    const source = new EventEmitter();
    const codes: number[] = [];
    const lines: string[] = [];
    const exited = new Promise<void>((resolve) => {
      stopOnSignals(source, {
        steps, timeoutMs, log: ({ what }) => lines.push(what),
        exit: (code) => {
          codes.push(code);
          resolve();
        },
      });
    });
    for (let i = 0; i < signals; i++) source.emit('SIGTERM');
    await exited;
    return { codes, lines };
  };
  const step = (what: string, run: () => Promise<unknown> = () => Promise.resolve()) => ({ what, run });

  it('runs its steps in order and exits with 0', async () => {
    assert.deepEqual(await stopping([step('one'), step('two')], 1), { codes: [0], lines: ['one', 'two'] });
  });

  it('runs the later steps when one fails, and exits with 1', async () => {
    const failing = step('one', () => Promise.reject(new Error('no')));
    assert.deepEqual(await stopping([failing, step('two')], 1), { codes: [1], lines: ['one', 'could not one', 'two'] });
  });

  it('gives up after its time, and at once on a second signal', async () => {
    const hanging = step('hang', () => new Promise(() => undefined));
    assert.deepEqual(await stopping([hanging], 1, 1), { codes: [1], lines: ['hang', 'gave up after 1 ms while it was to hang'] });
    assert.deepEqual(await stopping([hanging], 2), { codes: [130], lines: ['hang', 'stopped at once by a second signal'] });
  });
});

describe('service: health', () => {
  const sources: HealthSources = {
    engine: () => ({ position: 100, logLength: 105, standby: false }),
    projections: () => Promise.resolve([{ name: 'orders', position: 95 }, { name: 'trades', position: 101 }]),
    chains: () => [], stopping: () => false, maxLag: 5,
  };
  const chain: ChainState = {
    chainId: 137, finalBlock: 9, lagBlocks: 0, reachable: true, failures: 0, lastError: null, sinceLookS: 1, stalled: false, waitingFills: 1,
    sentFills: 2, oldestWaitingS: 3, settlementTrouble: null, stopped: null,
  };
  const ready = async (change: Partial<HealthSources>) => {
    const { status, body } = await createHealth({ ...sources, ...change }).ready();
    return { status, ...JSON.parse(body) as { reasons: string[]; ready: boolean } };
  };

  it('is ready with the engine and every read model near, and tells each one\'s lag', async () => {
    assert.deepEqual(await ready({}), {
      status: 200, ready: true, reasons: [], engine: { position: 100, logLength: 105, standby: false },
      projections: [{ name: 'orders', position: 95, lag: 5 }, { name: 'trades', position: 101, lag: 0 }], chains: [],
    });
    assert.deepEqual((await ready({ chains: () => [chain] })), {
      ...await ready({}), chains: [chain],
    });
    const trouble = 'no node answers';
    const away = { ...chain, reachable: false, stalled: true, failures: 7, lastError: trouble, sinceLookS: 3_600, settlementTrouble: trouble };
    assert.deepEqual(await ready({ chains: () => [away] }), { ...await ready({}), chains: [away] });
    assert.equal(createHealth(sources).live().body, '{"live":true}');
  });

  it('says every reason why it is not', async () => {
    const cases: [change: Partial<HealthSources>, reasons: string[]][] = [
      [{ engine: () => undefined }, ['the engine has not started']],
      [{ engine: () => ({ position: 100, logLength: 106, standby: false }) }, ['the engine is 6 commands behind the log']],
      [{ engine: () => ({ position: 100, logLength: 100, standby: true }) }, ['another engine is at work; this one stands by']],
      [{ stopping: () => true, maxLag: 4 }, ['the service is stopping', 'the engine is 5 commands behind the log', 'read model orders is 5 records behind']],
      [{ chains: () => [chain, { ...chain, chainId: 1, stopped: 'it was reset' }] }, ['chain 1 is not followed any more: it was reset']],
      [{ projections: () => Promise.reject(new Error('down')) }, ['the read models cannot be reached']],
    ];
    for (const [change, reasons] of cases) {
      const answer = await ready(change);
      assert.deepEqual([answer.status, answer.ready, answer.reasons], [503, false, reasons]);
    }
  });
});

describe('service: metrics and log', () => {
  it('reports requests, orders, batches and the figures of its parts', async () => {
    const metrics = createMetrics();
    metrics.answered({ id: 'placeOrder', method: 'POST' }, 200, 0.004);
    metrics.order('accepted');
    metrics.batch(40);
    metrics.observe({
      queuedOrders: () => 3, engine: () => ({ position: 9, logLength: 11, standby: false }),
      projections: () => Promise.resolve([{ name: 'orders', lag: 2 }]), recoveryBackend: 'native',
      chains: () => [{
        chainId: 137, finalBlock: 9, lagBlocks: 4, reachable: false, failures: 7, lastError: 'no node answers', sinceLookS: 60, stalled: true,
        waitingFills: 1, sentFills: 2, oldestWaitingS: 50, settlementTrouble: 'no node answers', stopped: 'it was reset',
      }, {
        chainId: 1, finalBlock: 9, lagBlocks: 0, reachable: true, failures: 0, lastError: null, sinceLookS: 1, stalled: false,
        waitingFills: 0, sentFills: 0, oldestWaitingS: null, settlementTrouble: null, stopped: null,
      }],
    });
    const shell = await startShell({ handlers: { getMetrics: () => metrics.scrape() } });
    const { body, headers } = await once(shell.port, 'GET', '/metrics');
    assert.match(headers['content-type']!, /^text\/plain; version=0\.0\.4/);
    for (const line of [
      'exchange_http_request_seconds_bucket{le="0.005",route="placeOrder",method="POST",status="200"} 1', 'exchange_orders_total{result="accepted"} 1',
      'exchange_commit_batch_records_sum 40', 'exchange_queued_orders 3', 'exchange_engine_position 9', 'exchange_log_length 11', 'exchange_engine_standby 0',
      'exchange_chain_lag_blocks{chain="137"} 4', 'exchange_chain_stopped{chain="137"} 1',
      'exchange_chain_reachable{chain="137"} 0', 'exchange_chain_failed_looks{chain="137"} 7', 'exchange_chain_since_look_seconds{chain="137"} 60',
      'exchange_chain_stalled{chain="137"} 1', 'exchange_settlement_oldest_waiting_seconds{chain="137"} 50', 'exchange_settlement_troubled{chain="137"} 1',
      'exchange_chain_reachable{chain="1"} 1', 'exchange_chain_stopped{chain="1"} 0', 'exchange_chain_stalled{chain="1"} 0',
      'exchange_settlement_oldest_waiting_seconds{chain="1"} 0', 'exchange_settlement_troubled{chain="1"} 0',
      'exchange_settlement_waiting_fills{chain="137"} 1', 'exchange_settlement_sent_fills{chain="137"} 2',
      'exchange_projection_lag_records{projection="orders"} 2', 'exchange_recovery_backend_info{backend="native"} 1',
    ]) assert.ok(body.includes(`\n${line}\n`), line);
    assert.match(body, /\nnodejs_eventloop_lag_p99_seconds \d/);
    await shell.stop();
  });

  it('shares nothing between two sets of metrics', async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.order('accepted');
    assert.doesNotMatch((await other.scrape()).body, /result="accepted"/);
  });

  it('writes JSON lines with their time and level, and no secrets', () => {
    const lines: string[] = [];
    const logger = createLogger({ logLevel: 'info' }, { write: (line) => { lines.push(line); } });
    logger.debug('unseen');
    logger.info({ orderHash: '0x1', signature: '0xs3cret', headers: { 'authorization': 'Bearer s3cret', 'x-cancel-signature': '0xs3cret' } }, 'placed');
    assert.equal(lines.length, 1);
    const { at, ...line } = JSON.parse(lines[0]!) as { at: string };
    assert.equal(new Date(at).toISOString(), at);
    assert.deepEqual(line, {
      level: 'info', orderHash: '0x1', signature: '(secret)', headers: { 'authorization': '(secret)', 'x-cancel-signature': '(secret)' }, msg: 'placed',
    });
  });
});
