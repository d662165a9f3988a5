/** Requests that change nothing, thousands of them, at two api processes of one exchange: the log does not grow with them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '../../engine/log/open-log.js';
import type { Log } from '../../engine/log/log.js';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { startProcess, type ExchangeProcess } from '../../service/process/process.js';
import { documentedClient, type DocumentedClient } from '../support/documented-client.js';
import { alice, bob, cancelHeaders, carol, exchangeStack, signedBody, type ExchangeStack } from '../harness/exchange.js';
import { WITHOUT_FSYNC } from '../support/postgres.js';

const REPEATS = 300;
const AT_ONCE = 50;

describe('the exchange: repeats at two api processes', function () {
  this.timeout(120_000);
  let exchange: ExchangeStack;
  let second: ExchangeProcess;
  let directory: string;
  let clients: readonly DocumentedClient[];
  let log: Log;
  let nonce = 0;

  before(async () => {
    exchange = await exchangeStack();
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-repeats-'));
    const config = parseConfig({ ROLES: 'api', PORT: '0', DATABASE_URL: exchange.databaseUrl, DATA_DIR: directory, LOG_LEVEL: 'silent', ...WITHOUT_FSYNC });
    const urls = { log: exchange.databaseUrl, readModels: exchange.databaseUrl, outbox: exchange.databaseUrl };
    second = await startProcess(config, { urls, chains: [] }, createLogger(config));
    clients = [exchange, documentedClient(second.url)];
    log = await openLog(exchange.databaseUrl);
  });
  after(async () => {
    await log.close();
    for (const { run } of second.stopSteps) await run();
    await exchange.close();
    await rm(directory, { recursive: true });
  });

  /** Sends the request again and again to both processes, many at a time. Returns how the answers differ, and by how much the log grew. */
  async function repeat(method: string, path: string, request: Parameters<DocumentedClient['request']>[2]) {
    const before = await log.length('commands');
    const answers = new Set<string>();
    let sent = 0;
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      while (sent < REPEATS) {
        const { status, body } = await clients[sent++ % 2]!.request(method, path, request);
        answers.add(`${status} ${String(body['code'] ?? body['status'])}`);
      }
    }));
    return { answers: [...answers], grown: await log.length('commands') - before };
  }

  /** Resolves when the second process knows what was placed before. */
  async function secondKnows(): Promise<void> {
    const body = await signedBody(exchange.signing, carol, { marketId: exchange.sun.id, nonce: ++nonce, price: 1 });
    assert.equal((await clients[1]!.request('POST', '/api/v1/orders', { body })).status, 200);
  }

  it('an order is written once at each of them at the most, a repeat not at all', async () => {
    const body = await signedBody(exchange.signing, alice, { marketId: exchange.rain.id, nonce: 1 });
    const { answers, grown } = await repeat('POST', '/api/v1/orders', { body });
    assert.deepEqual(answers, ['200 accepted']);
    assert.ok(grown === 1 || grown === 2, `the log grew by ${grown}`);
    assert.deepEqual(await repeat('POST', '/api/v1/orders', { body }), { answers: ['200 accepted'], grown: 0 });
  });

  it('a taken nonce, a cancel of a cancelled order and one of a filled order', async () => {
    const nonces = { body: await signedBody(exchange.signing, alice, { marketId: exchange.rain.id, nonce: 1, size: 1 }) };
    assert.deepEqual(await repeat('POST', '/api/v1/orders', nonces), { answers: ['409 duplicate_nonce'], grown: 0 });

    const bid = await exchange.place(bob, { price: 300_000 });
    const path = (orderHash: string) => `/api/v1/orders/${orderHash}?marketId=${exchange.rain.id}`;
    const cancel = { headers: await cancelHeaders(exchange.signing, bob, bid) };
    await secondKnows();
    const { answers, grown } = await repeat('DELETE', path(bid.orderHash), cancel);
    assert.deepEqual(answers, ['200 cancelled']);
    assert.ok(grown === 1 || grown === 2, `the log grew by ${grown}`);
    assert.deepEqual(await repeat('DELETE', path(bid.orderHash), cancel), { answers: ['200 cancelled'], grown: 0 });

    const offer = await exchange.place(bob, { side: 1, price: 620_000, size: 1 });
    await secondKnows();
    const filled = { headers: await cancelHeaders(exchange.signing, bob, offer) };
    assert.deepEqual(await repeat('DELETE', path(offer.orderHash), filled), { answers: ['409 already_filled'], grown: 0 });
  });
});
