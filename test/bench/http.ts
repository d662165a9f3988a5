/** The HTTP shell alone: how near it comes to bare `node:http`, and to Express as its guide shows it. */
import http, { type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import express from 'express';
import { bind } from '../../service/api/endpoint.js';
import { placeOrder } from '../../command/orders/place-order.js';
import { createApp } from '../../service/http/app.js';
import { TIMEOUTS, createServer } from '../../service/http/server.js';
import type { BenchLine } from './line.js';
import { median } from './median.js';
import { buildRequest, runLoadInChild } from './load.js';

const ANSWER = JSON.stringify({ orderHash: `0x${'ab'.repeat(32)}`, status: 'accepted', matches: 0, timestamp: 1_800_000_000 });
const BODY = JSON.stringify({ order: 'x'.repeat(560) });
const CONNECTIONS = 64;
/** The servers take turns, so that a machine that grows slower is slower for all; the first round also warms the process. */
const ROUNDS = 3;

/** The order endpoint with a handler that does nothing, and no limit. */
const emptyRoute = bind({ ...placeOrder, limit: 'none' }, () => ({ body: ANSWER, position: 1 }));

/**
 * Requests a second of the server's own processor time (its clock does not see who else is at work on the machine), for the same
 * 600-byte POST on 64 connections, the generator in its own process.
 */
export async function benchHttp(count = 50_000): Promise<BenchLine[]> {
  const rates: Record<'bare' | 'service' | 'plain', number[]> = { bare: [], service: [], plain: [] };
  for (let round = 0; round < ROUNDS; round++) {
    rates.bare.push(await measure(bareServer(), count));
    rates.service.push(await measure(serviceServer(), count));
    rates.plain.push(await measure(plainServer(), Math.ceil(count / 5)));
  }
  const [bare, service, plain] = [median(rates.bare), median(rates.service), median(rates.plain)];
  const name = 'http, empty order route: requests a second of processor time';
  return [
    { name, figure: service, unit: '1/s', peer: { name: 'bare node:http', figure: bare }, target: {} },
    { name, figure: service, unit: '1/s', peer: { name: 'plain express', figure: plain }, target: {} },
  ];
}

async function measure(server: Server, count: number): Promise<number> {
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', () => { resolve(); }); });
  const { port } = server.address() as AddressInfo;
  const requests = [buildRequest('POST', '/api/v1/orders', { body: BODY })];
  const load = { host: '127.0.0.1', port, connections: CONNECTIONS, requests };
  await runLoadInChild({ ...load, count: Math.ceil(count / 5) });
  const before = process.cpuUsage();
  await runLoadInChild({ ...load, count });
  const { user, system } = process.cpuUsage(before);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return count / ((user + system) / 1e6);
}

/** The least that a server can do: read the body, answer. */
function bareServer(): Server {
  return http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => { chunks.push(chunk); });
    request.on('end', () => {
      response.writeHead(200, ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(Buffer.byteLength(ANSWER))]);
      response.end(ANSWER);
    });
  });
}

/** Express as its guide shows it. */
function plainServer(): Server {
  const app = express();
  app.use(express.json());
  app.post('/api/v1/orders', (_request, response) => { response.json(JSON.parse(ANSWER)); });
  return http.createServer(app);
}

function serviceServer(): Server {
  const app = createApp({
    routes: [emptyRoute], limiters: {}, pages: {}, trustProxy: 0, waitForPosition: () => Promise.resolve(),
    observer: { answered: () => undefined, failed: () => '' }, now: () => performance.now(),
  });
  return createServer(app, { ...TIMEOUTS, maxConnections: 1_000, maxConnectionsPerAddress: 0 });
}
