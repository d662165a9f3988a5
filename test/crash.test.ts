/** `kill -9` of the whole service at random moments under load: nothing acknowledged is lost, nothing is done twice, the history replays. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OrderDomain } from '../command/typed-data.js';
import type { Event, FillMatched } from '../engine/events.js';
import { signedOrderRequests } from './bench/signed-orders.js';
import { createRandom } from './random-commands.js';
import { startService, type ServiceProcess } from './service-process.js';

const KILLS = 20;
const CLIENTS = 16;
const SEED = 20_261_121;

interface Entry {
  readonly position: number;
  readonly command: { readonly kind: string; readonly orderHash?: string };
  readonly outcome: { readonly at: number; readonly events: readonly Event[] };
  readonly digest: string;
}

/** What a client was told. */
interface Acknowledged {
  readonly orderHash: string;
  readonly position: number;
  readonly matches: number;
}

describe('kill -9 under load', function () {
  this.timeout(240_000);
  let directory: string;
  let service: ServiceProcess;
  const acknowledged = new Map<string, Acknowledged>();

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-crash-'));
    await chmod(directory, 0o755);
    service = await start();
  });
  after(async () => {
    // Stopped, not killed: a killed one would leave its Postgres running.
    await service.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  // The clock of a replay is in the log, so a small snapshot interval makes most restarts begin from a snapshot.
  const start = () => startService({ DATA_DIR: join(directory, 'data'), SNAPSHOT_EVERY: '1000' });

  it(`loses no acknowledged order and doubles no fill over ${KILLS} kills`, async () => {
    const bodies = await signedBodies(12_000);
    const random = createRandom(SEED);
    let next = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const load = sendUntilGone(service, () => bodies[next++ % bodies.length]!, acknowledged);
      const enough = acknowledged.size + 20 + random() % 150;
      while (acknowledged.size < enough) await new Promise((resolve) => setTimeout(resolve, random() % 5));
      await service.kill();
      await load;
      service = await start();
    }
    const history = await wholeHistory(service);
    provesAcknowledgements(history, acknowledged);
    doublesNothing(history);
  });

  it('replays to the same digest from position 0, by another process and without snapshots', async () => {
    const before = await wholeHistory(service);
    equal(await service.stop(), 0);
    await rm(join(directory, 'data', 'snapshots'), { recursive: true });
    service = await start();
    deepEqual(await wholeHistory(service), before);
    chains(await rawHistory(service));
  });

  it('has read models that are those of the whole history, row by row', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(new URL('../service/rebuild.js', import.meta.url)), 'all'], {
      env: { PATH: process.env['PATH'], DATA_DIR: join(directory, 'data') },
    });
    const { length } = await rawHistory(service);
    deepEqual(stdout.trim().split('\n'), ['markets', 'orders', 'trades', 'positions', 'redemptions', 'resolutions'].map((name) => (
      `${name}: rebuilt from ${length} outcomes; 0 rows differed from the ones that served`)));
  });

  it('answers a repeated order as it did the first time, after all the kills', async () => {
    const [body] = await signedBodies(1);
    const answer = await post(service, body!);
    const known = acknowledged.get(answer.body.orderHash!);
    if (known === undefined) throw new Error('the first order of the load was never acknowledged');
    deepEqual({ ...answer.body, position: answer.position }, { ...answer.body, ...known });
    equal(answer.replayed, 'true');
  });

  async function signedBodies(count: number): Promise<string[]> {
    const { chains: [chain] } = await get<{ chains: { orderDomain: OrderDomain }[] }>(service, '/api/v1/config');
    const { markets } = await get<{ markets: { id: string }[] }>(service, '/api/v1/markets');
    // The same orders each time: their expiration is that of the markets, not of the moment.
    const requests = await signedOrderRequests({
      count, seed: SEED, marketIds: markets.map(({ id }) => id).sort(), domain: chain!.orderDomain, expiration: 4_000_000_000,
    });
    return requests.map((bytes) => bytes.toString().split('\r\n\r\n')[1]!);
  }
});

/** Clients that send one order after the other until the service is gone, and note what they were told. */
async function sendUntilGone(service: ServiceProcess, nextBody: () => string, acknowledged: Map<string, Acknowledged>): Promise<void> {
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    for (;;) {
      try {
        const { status, body, position } = await post(service, nextBody());
        if (status !== 200) throw new Error(`refused under load: ${JSON.stringify(body)}`);
        acknowledged.set(body.orderHash!, { orderHash: body.orderHash!, position, matches: body.matches! });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === undefined) throw error;
        return;
      }
    }
  }));
}

function provesAcknowledgements(history: readonly Entry[], acknowledged: ReadonlyMap<string, Acknowledged>): void {
  for (const { orderHash, position, matches } of acknowledged.values()) {
    const entry = history[position];
    equal(entry?.command.orderHash, orderHash, `acknowledged at ${position}`);
    equal(entry.outcome.events[0]?.type, 'OrderAccepted');
    equal(fillsOf(entry).length, matches, `matches of ${orderHash}`);
  }
}

function doublesNothing(history: readonly Entry[]): void {
  history.forEach(({ position }, i) => { equal(position, i); });
  const fills = history.flatMap(fillsOf);
  ok(fills.length > 200, `only ${fills.length} fills`);
  deepEqual(fills.map(({ fill }) => fill), fills.map((_, i) => i), 'fill numbers are dense: none is missing, none came twice');
  const accepted = history.flatMap(({ outcome }) => outcome.events).filter((event) => event.type === 'OrderAccepted').map((event) => event.orderHash);
  equal(new Set(accepted).size, accepted.length, 'no order was accepted twice');
}

function fillsOf({ outcome }: Entry): FillMatched[] {
  return outcome.events.filter((event) => event.type === 'FillMatched');
}

const LINE = /^\{"position":\d+,"id":"[^"]+","command":(\{.*\}),"outcome":(\{"at":.*\}),"digest":"0x([0-9a-f]{64})"\}$/;

/** Recomputes every digest from the very bytes that the service shows. */
function chains(lines: readonly string[]): void {
  let digest = Buffer.alloc(32);
  for (const line of lines) {
    const [, command, outcome, shown] = LINE.exec(line)!;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(command!));
    digest = createHash('sha256').update(digest).update(length).update(command!).update(outcome!).digest();
    equal(digest.toString('hex'), shown);
  }
}

async function wholeHistory(service: ServiceProcess): Promise<Entry[]> {
  return (await rawHistory(service)).map((line) => JSON.parse(line) as Entry);
}

async function rawHistory(service: ServiceProcess): Promise<string[]> {
  const lines: string[] = [];
  for (;;) {
    const response = await fetch(`${service.url}/api/v1/events?from=${lines.length}&limit=1000`, { headers: { Accept: 'application/x-ndjson' } });
    const page = (await response.text()).split('\n').filter((line) => line !== '');
    if (page.length === 0) return lines;
    lines.push(...page);
  }
}

interface Answer {
  readonly status: number;
  readonly body: { readonly orderHash?: string; readonly matches?: number };
  readonly position: number;
  readonly replayed: string | undefined;
}

const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });

/** By node's own client: fetch hides which errors are the connection's. */
function post(service: ServiceProcess, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${service.url}/api/v1/orders`, {
      agent, method: 'POST', headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
    }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => { text += chunk; });
      response.on('error', reject);
      response.on('end', () => {
        resolve({
          status: response.statusCode!, body: JSON.parse(text) as Answer['body'], position: Number(response.headers['x-log-position']),
          replayed: response.headers['idempotent-replayed'] as string | undefined,
        });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function get<T>(service: ServiceProcess, path: string): Promise<T> {
  return await (await fetch(`${service.url}${path}`)).json() as T;
}
