/** `kill -9` of what `npm start` runs: the next start goes on with all that was acknowledged, while the killed one's Postgres and chain still end. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OrderDomain } from '../../command/signing/typed-data.js';
import { signedOrderRequests } from '../bench/signed-orders.js';
import { eventsOf, isSettled, readHistory, replays, type History } from '../support/crash-checks.js';
import { extent } from '../support/extent.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const KILLS = extent({ push: 2, long: 8 });
/** Sent at once, and killed when so many are answered. */
const BURST = 60;
const ANSWERED = 30;

describe('kill -9 of the development stack', function () {
  this.timeout(240_000);
  let directory: string;
  let service: ServiceProcess;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-crash-'));
    await chmod(directory, 0o755);
    service = await start();
  });
  after(async () => {
    await service.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  const start = () => startService({ DATA_DIR: join(directory, 'data'), CHAIN_PORT: '0' });

  it('comes back with all that it acknowledged, and ends every fill on the chain', async () => {
    const bodies = await signedBodies(KILLS * BURST);
    let history: History = { lines: [], entries: [] };
    for (let kill = 0; kill < KILLS; kill++) {
      const told = await killAmid(bodies.splice(0, BURST));
      service = await start();
      // Outcomes that were not written before the kill are decided again, a moment after the start.
      const last = Math.max(...told.map(({ position }) => position));
      const found = await until(`position ${last}, which was acknowledged, is in the history`, async () => {
        const known = await readHistory(service.url);
        return known.entries.length > last && known;
      });
      deepEqual(found.lines.slice(0, history.lines.length), history.lines);
      for (const { orderHash, position } of told) equal(found.entries[position]?.command.orderHash, orderHash);
      history = found;
    }
    await until('every fill has ended', async () => {
      history = await readHistory(service.url, history);
      return isSettled(history);
    });
    ok(eventsOf(history, 'FillMatched').length > 0);
    replays(history);
  });

  /** Sends all at once and kills it amid its answers, which are returned. */
  async function killAmid(bodies: readonly string[]): Promise<readonly { orderHash: string; position: number }[]> {
    const told: { orderHash: string; position: number }[] = [];
    const requests = bodies.map(async (body) => {
      const response = await fetch(`${service.url}/api/v1/orders`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
      const { orderHash } = await response.json() as { orderHash: string };
      equal(response.status, 200);
      told.push({ orderHash, position: Number(response.headers.get('X-Log-Position')) });
      if (told.length === ANSWERED) await service.kill();
    });
    await Promise.allSettled(requests);
    ok(told.length >= ANSWERED);
    return told;
  }

  async function signedBodies(count: number): Promise<string[]> {
    const get = async (path: string): Promise<unknown> => (await fetch(service.url + path)).json();
    const { chains: [chain] } = await get('/api/v1/config') as { chains: { orderDomain: OrderDomain }[] };
    const { markets } = await get('/api/v1/markets') as { markets: { id: string }[] };
    // One, in which so few orders meet each other.
    const marketIds = markets.slice(0, 1).map(({ id }) => id);
    const requests = await signedOrderRequests({ count, seed: 1, marketIds, domain: chain!.orderDomain, expiration: 4_000_000_000 });
    return requests.map((bytes) => bytes.toString().split('\r\n\r\n')[1]!);
  }
});
