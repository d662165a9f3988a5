/**
 * A rolling restart of every process of a stack, two of each role where two make sense, while traders trade on a real chain: no order is
 * refused, no request fails that need not, no price is lost, and one of two engines takes over at once.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crashChain, type CrashChain } from '../support/crash-chain.js';
import { eventsOf, isSettled, provesAnswers, provesFills, readHistory, replays, provesRelays, type History } from '../support/crash-checks.js';
import { crashRelays, type CrashRelays } from '../support/crash-relays.js';
import { crashTraders, type CrashTraders } from '../support/crash-traders.js';
import { SEED, extent } from '../support/extent.js';
import { bearerToken } from '../support/gasless-wallet.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { listenToPrices, type PriceListener } from '../support/price-scene.js';
import { createRandom } from '../support/random-commands.js';
import { ready, startRoleProcesses, type RoleProcesses } from '../support/role-processes.js';
import { until, within } from '../support/until.js';

/** Every process is started twice, which is most of what this test costs. */
const PROCESSES = extent({
  push: ['query+api', 'query+api', 'engine', 'engine', 'lane+settlement+relayer', 'lane+settlement+relayer', 'indexer+projections+prices'],
  long: ['api', 'api', 'query', 'query', 'engine', 'engine', 'lane+settlement', 'lane+settlement', 'relayer', 'relayer', 'indexer+projections', 'prices'],
});

/** The longest pause between two requests of a trader: orders come all the time, and the processor is left to the starts. */
const REST_MS = extent({ push: 1_200, long: 80 });
/** Longer than the gateway needs to notice that a process leaves. */
const GRACE_MS = 1_500;

interface FailedAnswer { readonly path: string; readonly status: number; readonly code: unknown; readonly detail: unknown }

describe('a rolling restart under load', function () {
  this.timeout(300_000);
  const failures: FailedAnswer[] = [];
  let directory: string;
  let database: TestDatabase;
  let chain: CrashChain;
  let stack: RoleProcesses;
  let url: string;
  let traders: CrashTraders;
  let relays: CrashRelays;
  let prices: PriceListener;
  let history: History;
  let reads = 0;
  /** What the engines' processes said when they stood by, and when they took over from the other one. */
  const takeovers: string[] = [];

  function note(path: string, status: number, body: unknown): void {
    const { code, error, detail } = body as Partial<Record<'code' | 'error' | 'detail', unknown>>;
    if (status >= 500) failures.push({ path, status, code: code ?? error, detail });
  }

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-rolling-'));
    database = await testDatabase();
    chain = await crashChain(createRandom(SEED), { means: ['gasless', 'rich', 'rich', 'permits'] });
    await writeFile(join(directory, 'chains.json'), chain.file(chain.url));
    stack = await startRoleProcesses({
      processes: PROCESSES,
      environment: {
        DATABASE_URL: database.url, DATA_DIR: directory, CHAINS: join(directory, 'chains.json'), ...chain.keys, CANCEL_AUTH: 'required',
        PRICE_SOURCES: 'simulated', LOG_LEVEL: 'info', STOP_GRACE_MS: String(GRACE_MS),
      },
      heard: (line) => { takeovers.push(.../another engine writes|the other engine has [a-z ]+/.exec(line) ?? []); },
    });
    ({ url } = stack);
    await ready(url);
    const parts = {
      chain, url: () => Promise.resolve(url), seed: SEED,
      answered: ({ path }: { path: string }, { status, body }: { status: number; body: unknown }) => { note(path, status, body); },
    };
    traders = crashTraders({ ...parts, restMs: REST_MS });
    relays = crashRelays({ ...parts, token: await bearerToken(database.url) });
  });
  before('restarts every process', async () => {
    const earlier = stack.processes();
    const ending = new AbortController();
    const loads = [traders.trade(ending.signal), read(ending.signal)];
    const relaysEnd = new AbortController();
    const relaying = relays.relay(relaysEnd.signal);
    prices = listenToPrices(`${url}/api/v1/prices/BTC/stream`, ending.signal);
    await until('prices come', () => prices.ids.length > 0);
    const restarted = within('every process is another one', stack.restart(), 240);
    await Promise.race([restarted, stack.failed, ...loads.map((load) => load.then(() => { throw new Error('the load has ended'); }))]);
    const now = stack.processes();
    deepEqual(now.map(({ role }) => role), PROCESSES);
    ok(now.every(({ pid }) => earlier.every((each) => each.pid !== pid)));
    await sleep(500);
    relaysEnd.abort();
    ending.abort();
    await within('all requests are answered and the stream of prices has ended', Promise.all([...loads, prices.done, relaying]), 120);
    history = await until('every fill has ended', async () => {
      const known = await readHistory(url);
      return isSettled(known) && known;
    });
  });
  after(async () => {
    await stack.stop();
    await stack.close();
    await chain.stop();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  async function read(signal: AbortSignal): Promise<void> {
    const paths = ['/api/v1/markets', `/api/v1/orders?trader=${chain.traders[0]!.address}&market=${chain.markets[0]!.marketId}`, '/api/v1/config', '/api/v1/platform/stats'];
    for (; !signal.aborted; reads++) {
      const path = paths[reads % paths.length]!;
      const answer = await fetch(`${url}${path}`);
      note(path, answer.status, await answer.json());
      await sleep(20);
    }
  }

  it('refused no order, no cancel and no read: no answer of 500 or more, and no connection that broke', () => {
    deepEqual(failures.filter(({ path }) => !path.startsWith('/api/v1/relayer/')), []);
    equal(traders.repeats(), 0);
    ok(traders.acknowledged.size > 50 && reads > 50, `${traders.acknowledged.size} orders, ${reads} reads`);
    ok(traders.cancelled.size > 0);
    // Some traders cannot pay, and default again and again.
    deepEqual([...traders.refused.values()].filter((code) => code !== 'trader_suspended'), []);
  });

  it('answered relayed requests, or said that the relayer is being handed over', () => {
    const others = failures.filter(({ path, code }) => path.startsWith('/api/v1/relayer/') && !String(code).includes('the relayer cannot send at the moment'));
    deepEqual(others, []);
    ok(relays.relayed.size > 0);
  });

  it('has every acknowledged order once', () => { provesAnswers(history, traders); });

  it('settled every fill once on the chain', async () => { await provesFills(history, chain); });

  it('carried out every relayed request once', async () => { await provesRelays(history, relays, chain); });

  it('streamed every price that was recorded meanwhile, once and in order', () => {
    const [first = 0, last = 0] = [prices.ids[0], prices.ids.at(-1)];
    const recorded = history.entries.filter(({ position, outcome }) => (
      position >= first && position <= last && outcome.events.some((event) => event.type === 'PriceRecorded' && event.asset === 'BTC')));
    deepEqual(prices.ids, recorded.map(({ position }) => position));
    ok(prices.streams() > 1, 'the stream was opened again');
    deepEqual(prices.refusals, []);
  });

  it('left no engine waiting for another one to fall silent: the one that leaves says so', () => {
    // None takes over where the new engine has not met a command yet when the other one leaves.
    deepEqual([...new Set(takeovers)].filter((told) => told !== 'the other engine has left'), ['another engine writes']);
  });

  it('replays to the same digests, and has outcomes for all commands', () => {
    replays(history);
    ok(eventsOf(history, 'FillSettled').length > 0);
  });

  it('has one process that relays, and sends requests only to it', async () => {
    const relayers = stack.processes().filter(({ role }) => role.split('+').includes('relayer'));
    const statuses = await Promise.all(relayers.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/health/ready?role=relayer`)).status));
    deepEqual(statuses.sort(), [200, 503]);
    const nobody = { method: 'POST', headers: { 'Content-Type': 'application/json', 'Authorization': `Bearer ${await bearerToken(database.url)}` }, body: '{}' };
    for (let i = 0; i < 4; i++) equal((await fetch(`${url}/api/v1/relayer/ctf-split`, nobody)).status, 400);
  });
});
