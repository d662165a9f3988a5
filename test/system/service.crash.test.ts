/**
 * `kill -9` of the whole service at random moments while traders trade on a real chain, some of them through the relayer: nothing
 * acknowledged is lost, nothing is done twice, and in the end history, read models, clients and chain say the same. `CRASH_SEED` chooses
 * another run, `CRASH_KILLS` (34 or more) how long it is.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import type { AuditReport } from '../../service/audit/report.js';
import { projections } from '../../projections/catalogue.js';
import { crashActs } from '../support/crash-acts.js';
import { crashChain, type ChainMode, type CrashChain } from '../support/crash-chain.js';
import {
  eventsOf, isSettled, provesAnchors, provesAnswers, provesBalances, provesFills, provesOrders, readHistory, replays, type History,
} from '../support/crash-checks.js';
import { mortalService, type Death, type Moment, type MortalService } from '../support/crash-service.js';
import { provesClaims, provesRelays } from '../support/crash-relay-checks.js';
import { crashRelays, type CrashRelays } from '../support/crash-relays.js';
import { crashTraders, type CrashTraders } from '../support/crash-traders.js';
import { testAccounts } from '../support/deployed-chain.js';
import { bearerToken } from '../support/gasless-wallet.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { createRandom } from '../support/random-commands.js';

const KILLS = Number(process.env['CRASH_KILLS'] ?? 102);
const SEED = Number(process.env['CRASH_SEED'] ?? 20_261_121);

/** A third of the kills each. */
const MODES: readonly ChainMode[] = [
  { confirmations: 0, exposureCheck: false },
  { confirmations: 0, exposureCheck: true, blockMs: 300 },
  { confirmations: 2, exposureCheck: false, blockMs: 200 },
];

/** The address of the relayer's key, and the purpose of what it sends. */
const RELAYER = testAccounts()[8]!.address.toLowerCase();
const RELAY = 'relay';

/** Where a crash hurts, in the order of a fill's life, then of a relayed request's; the third names whose transaction it is about. */
const QUESTIONS: readonly (readonly ['database' | 'chain', text: string, of?: string])[] = [
  ['database', '"kind":"PlaceOrder"'],
  ['database', '"type":"FillMatched"'],
  ['database', 'insert into settlement.fills'],
  ['database', 'insert into lane.requests'],
  ['database', 'insert into lane.transactions'],
  ['database', '"kind":"SubmitSettlement"'],
  ['chain', 'eth_sendRawTransaction'],
  ['database', 'set broadcast = true'],
  ['chain', 'eth_getTransactionReceipt'],
  ['chain', 'eth_getLogs'],
  ['database', '"kind":"SettleFill"'],
  ['database', 'set ending ='],
  ['database', 'set forgotten = true'],
  ['database', 'write_trades'],
  ['database', 'write_positions'],
  ['database', '"kind":"RequestRelay"'],
  ['database', '"note":{"requestId"'],
  ['database', 'insert into lane.transactions', RELAYER],
  ['database', '"kind":"SubmitRelay"'],
  ['chain', 'eth_sendRawTransaction', RELAYER],
  ['database', 'set broadcast = true', RELAYER],
  ['chain', 'eth_getTransactionReceipt', RELAYER],
  ['database', 'set ending =', RELAYER],
  ['database', '"kind":"EndRelay"'],
  ['database', 'set forgotten = true', RELAY],
  ['database', 'write_relays'],
];

describe(`kill -9 under load, on a chain (CRASH_SEED=${SEED})`, function () {
  this.timeout(900_000);
  const random = createRandom(SEED);
  let directory: string;
  let database: TestDatabase;
  let chain: CrashChain;
  let service: MortalService;
  let traders: CrashTraders;
  let relays: CrashRelays;
  /** What traders do on the chain themselves. */
  let act: (signal: AbortSignal) => Promise<void>;
  let history: History;
  const deaths: Death[] = [];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-crash-'));
    database = await testDatabase();
    chain = await crashChain(random);
    service = await mortalService({
      databaseUrl: database.url, chainUrl: chain.url, environment: async ({ databaseUrl, chainUrl }) => {
        await writeFile(join(directory, 'chains.json'), chain.file(chainUrl));
        return {
          // The clock of a replay is in the log, so a small snapshot interval makes most restarts begin from a snapshot.
          DATABASE_URL: databaseUrl, DATA_DIR: join(directory, 'data'), SNAPSHOT_EVERY: '1000', CHAINS: join(directory, 'chains.json'),
          ...chain.keys,
        };
      },
    });
    traders = crashTraders({ chain, url: () => service.url(), seed: SEED });
    relays = crashRelays({ chain, url: () => service.url(), token: await bearerToken(database.url), seed: SEED });
    act = crashActs({ chain, traders, random });
  });
  before(`lives through ${KILLS} kills`, async () => {
    const mining = new AbortController();
    const mined = chain.mine(mining.signal);
    const chainEnded = chain.ended.then((reason) => { throw reason; });
    try {
      await Promise.race([dieOften().then(quiet), mined, service.failed, chainEnded]);
    } catch (error) {
      // What ends by itself stops answering before it has gone and it is known why.
      await Promise.race([service.failed, chainEnded, sleep(30_000, undefined, { ref: false })]);
      throw error;
    } finally {
      mining.abort();
      await mined.catch(() => undefined);
    }
    history = await settledHistory();
  });
  after(async () => {
    await service.close();
    await chain.stop();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  /** Stops the requests and leaves the service running. */
  async function dieOften(): Promise<void> {
    const stopping = new AbortController();
    const trading = Promise.all([traders.trade(stopping.signal), relays.relay(stopping.signal), act(stopping.signal)]);
    trading.catch(() => undefined);
    try {
      const moments = momentsOf(KILLS, random);
      const live = async (moment: Moment) => {
        deaths.push(await Promise.race([service.live(moment), trading.then(() => { throw new Error('trading has ended'); })]));
      };
      for (const [i, moment] of moments.entries()) {
        await chain.enter(MODES[Math.floor(i / KILLS * MODES.length)]!);
        await live(moment);
      }
      // On a busy machine a moment may not come in time: then it has a second chance.
      for (const [at, text, of] of QUESTIONS) if (!metMoments().has(nameOf({ text, of }))) await live({ at, text, of, number: 1, answered: true });
      await service.start();
    } finally {
      stopping.abort();
    }
    await trading;
  }

  /** Resolves when every fill, every relayed request and every transaction has ended. */
  async function quiet(): Promise<void> {
    const url = await service.url();
    for (let known = await readHistory(url); !isSettled(known) || await isSending(); known = await readHistory(url, known)) await sleep(100);
  }

  /** The whole history, once the last blocks with events are final and read. */
  async function settledHistory(): Promise<History> {
    const url = await service.url();
    await chain.rpc('anvil_mine', [MODES.at(-1)!.confirmations]);
    const latest = Number(await chain.rpc('eth_blockNumber'));
    for (;;) {
      const { chains: [state] } = await (await fetch(`${url}/health/ready`)).json() as { chains: { finalBlock: number; lagBlocks: number }[] };
      if (state!.lagBlocks === 0 && state!.finalBlock >= latest - MODES.at(-1)!.confirmations) return readHistory(url);
      await sleep(50);
    }
  }

  const metMoments = () => new Set(deaths.flatMap(({ moment, atMoment }) => atMoment && 'text' in moment ? [nameOf(moment)] : []));

  const isSending = async () => (await Promise.all(keys().map(outbox))).some(({ open }) => open > 0);

  const keys = () => [chain.operator.address, chain.relayer.address];

  /** What the outbox has of a key. */
  async function outbox(address: string): Promise<{ open: number; recorded: number; next: number }> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      const { rows: [row] } = await client.query<{ open: number; recorded: number; next: number }>(`
        select count(*) filter (where ending is null)::int as open, count(*)::int as recorded, coalesce(max(nonce) + 1, 0)::int as next
        from lane.transactions where address = $1`, [address.toLowerCase()]);
      return row!;
    } finally {
      await client.end();
    }
  }

  it('was killed at every moment, and traders, fills and the chain did all that the test needs', () => {
    deepEqual(metMoments(), new Set(QUESTIONS.map(([, text, of]) => nameOf({ text, of }))));
    for (const listened of [true, false]) ok(deaths.filter((death) => death.listened === listened).length > KILLS / 10);
    const reasons = new Set(eventsOf(history, 'FillFailed').map(({ reason }) => reason));
    for (const reason of ['buyer_insufficient_balance', 'seller_insufficient_shares', 'seller_not_approved'] as const) ok(reasons.has(reason), reason);
    ok(eventsOf(history, 'FillSettled').length > KILLS);
    ok(traders.cancelled.size > 0);
    ok(traders.repeats() > 0);
    const byPermit = chain.traders.filter(({ means }) => means === 'permits').map(({ address }) => address);
    ok(eventsOf(history, 'FillSettled').some(({ buyer }) => byPermit.includes(buyer)));
    ok(eventsOf(history, 'SharesTransferred').length > 0);
    ok(eventsOf(history, 'NonceFloorRaised').length > 0);
    ok(eventsOf(history, 'OrderReinstated').length > 0);
    deepEqual(new Set(eventsOf(history, 'RelayRequested').map(({ action }) => action)), new Set(RELAY_ACTIONS));
    ok(relays.refusals.size > 0);
    ok([...relays.relayed.values()].some(({ contested }) => contested));
  });

  it('has every answer that a client got in its history, and no order twice', () => { provesAnswers(history, traders); });

  it('says of every order what its events say', async () => { await provesOrders(history, await service.url()); });

  it('settled or failed every fill exactly once on the chain', async () => { await provesFills(history, chain); });

  it('shows the chain\'s balances as positions, and the fills\' costs are what collateral moved', async () => {
    await provesBalances(history, chain, await service.url());
  });

  it('carried out every relayed request once, as the history says, and none that it refused', async () => { await provesRelays(history, relays, chain); });

  it('shows the redemptions that failed, and paid the others', async () => { await provesClaims(history, chain, await service.url()); });

  it('has used every nonce of its keys, and has nothing on its way', async () => {
    for (const address of keys()) {
      const counts = await Promise.all(['latest', 'pending'].map(async (block) => Number(await chain.rpc('eth_getTransactionCount', [address, block]))));
      const { open, recorded, next } = await outbox(address);
      deepEqual({ counts, open, recorded }, { counts: [next, next], open: 0, recorded: next });
    }
  });

  it('wrote digests on the chain that are the history\'s', async () => { await provesAnchors(history, chain); });

  it('has read models that are those of the whole history, row by row', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(new URL('../../service/cli/rebuild.js', import.meta.url)), 'all'], {
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
    });
    deepEqual(stdout.trim().split('\n').map((line) => line.replace(/from \d+/, 'from all')), projections.map(({ name }) => (
      `${name}: rebuilt from all command outcomes; 0 rows differed from the old read model`)));
  });

  it('passes an audit from outside, with the chain and the read models', async () => {
    const tool = fileURLToPath(new URL('../../service/cli/audit.js', import.meta.url));
    const { chainId } = chain.chain;
    const { stdout } = await promisify(execFile)(process.execPath, [
      // The service takes cancels without a signature here.
      tool, '--json', '--url', await service.url(), '--rpc', `${chainId}=${chain.url}`, '--database', database.url, '--unsigned-cancels',
    ]);
    const { passed, checks } = JSON.parse(stdout) as AuditReport;
    deepEqual({ passed, made: checks.filter(({ status }) => status === 'passed').length }, { passed: true, made: checks.length });
  });

  it('replays to the same digests from position 0, in another process and without snapshots', async () => {
    replays(history);
    await service.stop();
    await rm(join(directory, 'data', 'snapshots'), { recursive: true });
    await service.start();
    const { lines } = await readHistory(await service.url());
    deepEqual(lines.slice(0, history.lines.length), history.lines);
  });

  it('answers a repeated order as it did the first time, after all the kills', async () => {
    const [first] = traders.acknowledged.values();
    const { told, isRepeat } = await traders.repeat(first!.orderHash);
    deepEqual(told, first);
    equal(isRepeat, true);
  });

  it('answers a relayed request with its transaction, after all the kills', async () => {
    const last = [...relays.relayed.values()].findLast(({ contested }) => !contested)!;
    ok(last.txHashes.has(await relays.repeat(last)));
  });
});

/** A question, with whose transaction it is about. */
function nameOf({ text, of = '' }: { readonly text: string; readonly of?: string | undefined }): string {
  return `${text} ${of}`;
}

/** When to kill: mostly at one of the questions in turn, before or after its answer; every fourth time while it starts or works. */
function momentsOf(kills: number, random: () => number): Moment[] {
  return Array.from({ length: kills }, (_, i): Moment => {
    if (i % 12 === 0) return { at: 'work', afterMs: random() % 800 };
    if (i % 4 === 0) return { at: 'start', afterMs: 400 + random() % 1_200 };
    const [at, text, of] = QUESTIONS[(i - 1 - Math.floor(i / 4)) % QUESTIONS.length]!;
    return { at, text, of, number: 1 + random() % 3, answered: random() % 2 === 0 };
  });
}
