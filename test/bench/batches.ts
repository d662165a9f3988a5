/** Orders in batches of 15 beside single orders, over HTTP until they are durable and answered: both in turns, on one service. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_BATCH_ORDERS } from '../../command/orders/place-orders.js';
import { startService } from '../support/service-process.js';
import type { BenchLine } from './line.js';
import { median } from './median.js';
import { buildRequest } from './load.js';
import { CONNECTIONS, get, load, orderSigner } from './order-load.js';

const TURNS = 3;
const ORDERS = 200 * MAX_BATCH_ORDERS * 4;
const WARM_UP = 40 * MAX_BATCH_ORDERS * 4;

interface Readiness { readonly engine: { readonly position: number } }

export async function batchesBench(): Promise<BenchLine[]> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-bench-'));
  await chmod(directory, 0o755);
  const service = await startService({ DATA_DIR: join(directory, 'data'), LOG_LEVEL: 'info', CHAINS: 'none' });
  const position = async () => (await get<Readiness>(service.url, '/health/ready')).engine.position;
  try {
    const { orders } = await orderSigner(service.url);
    const [singles, batches]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn++) {
      const single = await orders(WARM_UP + ORDERS, 2 * turn + 1);
      singles.push((await load(service.port, single, { warmUp: WARM_UP })).ratePerS);
      const batched = inBatches(await orders(WARM_UP + ORDERS, 2 * turn + 2));
      const before = await position();
      batches.push(MAX_BATCH_ORDERS * (await load(service.port, batched, { warmUp: WARM_UP / MAX_BATCH_ORDERS })).ratePerS);
      const written = await position() - before;
      if (written < WARM_UP + ORDERS) throw new Error(`${written} of ${WARM_UP + ORDERS} orders in batches are in the log`);
    }
    return [{
      name: `signed orders in batches of ${MAX_BATCH_ORDERS}, HTTP to durable to answered, ${CONNECTIONS} connections, median of ${TURNS} turns`,
      figure: median(batches), unit: 'orders/s', peer: { name: 'single orders', figure: median(singles) }, target: { ratioAtLeast: 1.6 },
    }];
  } finally {
    await service.kill();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The bodies of these requests, in requests of `MAX_BATCH_ORDERS` orders each. */
function inBatches(requests: readonly Buffer[]): Buffer[] {
  const bodies = requests.map((request) => request.subarray(request.indexOf('\r\n\r\n') + 4).toString());
  return Array.from({ length: Math.ceil(bodies.length / MAX_BATCH_ORDERS) }, (_, i) => {
    const body = `{"orders":[${bodies.slice(i * MAX_BATCH_ORDERS, (i + 1) * MAX_BATCH_ORDERS).join()}]}`;
    return buildRequest('POST', '/api/v1/orders/batch', { body });
  });
}
