/** The process frame: graceful stop, health, metrics, log. */
import assert from 'node:assert/strict';
import { EventEmitter, once as event } from 'node:events';
import { reading } from '../../engine/state-table.js';
import { queueState } from '../../command/orders/role-state.js';
import { indexerState, type IndexerState } from '../../command/indexer/role-state.js';
import { laneState } from '../../command/lane/role-state.js';
import { projectionState } from '../../projections/role-state.js';
import { settlementState, type SettlementState } from '../../command/settlement/role-state.js';
import { closeServer } from '../../service/http/server.js';
import { createLogger } from '../../service/logger.js';
import { createMetrics } from '../../service/status/metrics.js';
import { stopOnSignals, type StopStep } from '../../service/stop.js';
import { followed, settled } from '../support/chain-states.js';
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

  /** Runs a stop and returns its exit codes and log lines. */
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

  it('exits with the code that says why it ends, also when a step fails', async () => {
    const failing = step('one', () => Promise.reject(new Error('no')));
    for (const steps of [[step('one')], [failing]]) {
      const code = await new Promise<number>((resolve) => {
        void stopOnSignals(new EventEmitter(), { steps, timeoutMs: 5_000, exit: resolve, log: () => undefined })(78);
      });
      assert.equal(code, 78);
    }
  });

  it('gives up after its time, and at once on a second signal', async () => {
    const hanging = step('hang', () => new Promise(() => undefined));
    assert.deepEqual(await stopping([hanging], 1, 1), { codes: [1], lines: ['hang', 'gave up after 1 ms, during: hang'] });
    assert.deepEqual(await stopping([hanging], 2), { codes: [130], lines: ['hang', 'stopped at once by a second signal'] });
  });
});

describe('service: metrics and log', () => {
  const chains: (IndexerState & SettlementState)[] = [{
    ...followed, ...settled, chainId: 137, finalBlock: 9, lagBlocks: 4, reachable: false, failures: 7, lastError: 'no node answers', sinceLookS: 60,
    stalled: true, waitingFills: 1, sentFills: 2, oldestWaitingS: 50, settlementProblem: 'no node answers', stopped: 'it was reset', anchorsPassedOver: 2,
  }, { ...followed, ...settled, chainId: 1, finalBlock: 9, sinceLookS: 1 }];

  it('reports requests, orders, batches and the values of its parts', async () => {
    const metrics = createMetrics();
    metrics.answered({ id: 'placeOrder', method: 'POST' }, 200, 0.004);
    metrics.order('accepted');
    metrics.batch(40);
    metrics.show([
      reading(indexerState, () => chains), reading(settlementState, () => chains),
      reading(laneState, () => [{ chainId: 137, key: 'operator', address: '0x1', standby: false, problem: 'no ether' }]),
      reading(queueState, () => [{ queued: 3 }]),
      reading(projectionState, () => Promise.resolve([{ name: 'orders', position: 9, lag: 2 }])),
    ]);
    const shell = await startShell({ handlers: { getMetrics: () => metrics.scrape() } });
    const { body, headers } = await once(shell.port, 'GET', '/metrics');
    assert.match(headers['content-type']!, /^text\/plain; version=0\.0\.4/);
    for (const line of [
      'exchange_http_request_seconds_bucket{le="0.005",route="placeOrder",method="POST",status="200"} 1', 'exchange_orders_total{result="accepted"} 1',
      'exchange_commit_batch_records_sum 40', 'exchange_queued_orders 3',
      'exchange_chain_lag_blocks{chain="137"} 4', 'exchange_chain_stopped{chain="137"} 1',
      'exchange_chain_reachable{chain="137"} 0', 'exchange_chain_failed_looks{chain="137"} 7', 'exchange_chain_since_look_seconds{chain="137"} 60',
      'exchange_chain_stalled{chain="137"} 1', 'exchange_settlement_oldest_waiting_seconds{chain="137"} 50', 'exchange_settlement_blocked{chain="137"} 1',
      'exchange_chain_reachable{chain="1"} 1', 'exchange_chain_stopped{chain="1"} 0', 'exchange_chain_stalled{chain="1"} 0',
      'exchange_settlement_oldest_waiting_seconds{chain="1"} 0', 'exchange_settlement_blocked{chain="1"} 0',
      'exchange_settlement_waiting_fills{chain="137"} 1', 'exchange_settlement_sent_fills{chain="137"} 2',
      'exchange_projection_lag_records{projection="orders"} 2', 'exchange_lane_holds{chain="137",key="operator"} 1',
      'exchange_lane_blocked{chain="137",key="operator"} 1',
    ]) assert.ok(body.includes(`\n${line}\n`), line);
    assert.match(body, /\nnodejs_eventloop_lag_p99_seconds \d/);
    await shell.stop();
  });

  it('has no value for what is not known', async () => {
    const metrics = createMetrics();
    metrics.show([reading(queueState, () => undefined), reading(laneState, () => [])]);
    assert.doesNotMatch((await metrics.scrape()).body, /\nexchange_(?:queued_orders|lane_holds)[ {]/);
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
