/**
 * How fast the page's worker decides a history again in Chromium, against Node's engine on the same commands, in turns:
 * `node tools/run.mjs test/page/verify-speed [RECORDS]`. The worker is the built one, under the service's own policy,
 * and reads the history by HTTP as a visitor's does. Processor time is told beside the speed: it is that of the whole
 * process, Node's or the tab's, and says more on a machine that has other work.
 */
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import express from 'express';
import type { Page } from 'playwright-core';
import { createEngine } from '../../engine/run/engine.js';
import type { Verification } from '../../page/src/verify/verifier.js';
import { pageWorkerHeaders } from '../../service/http/security.js';
import { marketCommands, mix } from '../bench/engine.js';
import { historyLines } from '../bench/history-lines.js';
import { openBrowser } from '../support/browser.js';

const ROUNDS = 4;
const BUILT = fileURLToPath(new URL('../../site/', import.meta.url));

const commands = [...marketCommands(), ...mix(Number(process.argv[2] ?? 200_000))];
const pieces = [...historyLines(commands)].map((piece) => Buffer.from(piece));
const server = await serve();
const browser = await openBrowser();
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const [worker] = (await readdir(`${BUILT}assets`)).filter((name) => /^verify\.worker-.*\.js$/.test(name));
  for (let round = 0; round < ROUNDS; round++) {
    const node = await byNode();
    const chromium = await byChromium(page, `/assets/${worker}`);
    const [speed, work] = [chromium.perSecond / node.perSecond, node.cpuUs / chromium.cpuUs];
    console.log(`Node's engine ${shown(node)}; the worker in Chromium ${shown(chromium)}: ${speed.toFixed(2)} of the speed, ${work.toFixed(2)} by processor time`);
  }
} finally {
  await browser.close();
  server.close();
}

interface Speed {
  readonly perSecond: number;
  /** Per record. */
  readonly cpuUs: number;
}

function shown({ perSecond, cpuUs }: Speed): string {
  return `${perSecond} records/s, ${cpuUs.toFixed(1)} µs each`;
}

/** How long the work takes of the clock, and of the processor by what `cpuS` counts. */
async function timed(cpuS: () => number | Promise<number>, work: () => unknown): Promise<Speed> {
  const [startS, startMs] = [await cpuS(), performance.now()];
  await work();
  const ms = performance.now() - startMs;
  return { perSecond: Math.round(commands.length / ms * 1_000), cpuUs: (await cpuS() - startS) / commands.length * 1e6 };
}

/** The engine of the service over the recorded bytes, as a replica steps it. */
function byNode(): Promise<Speed> {
  const engine = createEngine();
  const cpuS = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  return timed(cpuS, () => { for (const data of commands) engine.step(data); });
}

async function byChromium(page: Page, worker: string): Promise<Speed> {
  const session = await browser.newBrowserCDPSession();
  const cpuS = async (): Promise<number> => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    return processInfo.filter(({ type }) => type === 'renderer').reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  };
  const speed = await timed(cpuS, () => verified(page, worker));
  await session.detach();
  return speed;
}

async function verified(page: Page, worker: string): Promise<void> {
  const { result } = await page.evaluate<{ readonly result: Verification }>(`new Promise((resolve, reject) => {
    const worker = new Worker(${JSON.stringify(worker)}, { type: 'module' });
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.onmessage = ({ data }) => {
      if (data.kind !== 'result') return;
      worker.terminate();
      resolve(data);
    };
    worker.postMessage({ kind: 'run', anchors: undefined, isFromCheckpoint: false });
  })`);
  if (result.verdict !== 'verified' || result.records !== commands.length) throw new Error(`not verified: ${JSON.stringify(result)}`);
}

/** The built page's scripts, and the history as `GET /api/v1/events` streams it. */
async function serve(): Promise<Server> {
  const app = express();
  app.get('/', (_request, response) => { response.type('html').send('<!doctype html>'); });
  app.use('/assets', pageWorkerHeaders(), express.static(`${BUILT}assets`));
  app.get('/api/v1/events', async (_request, response) => {
    response.set({ 'content-type': 'application/x-ndjson', 'x-log-position': String(commands.length - 1) });
    for (const piece of pieces) if (!response.write(piece)) await once(response, 'drain');
    response.end();
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
