/**
 * `kill -9` of single processes of a stack with one process per role, two engines among them, while traders trade on a real chain, with Kafka
 * between the engine and settlement and the log in Postgres, and then on an EventStoreDB; and what befalls Kafka, the log and the network
 * meanwhile: nothing acknowledged is lost, nothing is done twice, one process at a time writes, and in the end history, read models, clients
 * and chain say the same. `CRASH_SEED` chooses another run, `CRASH_ROLE_KILLS` (12 or more) how long it is, `CRASH_AWAY_S` how long Kafka is
 * away, and `CRASH_LOGS` the logs, Postgres,EventStoreDB or one of them.
 */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Log, Stream } from '../../engine/log/log.js';
import { encodeCommand } from '../../engine/records/codec.js';
import { decodeMessage, type SequencedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import { RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { projections } from '../../projections/catalogue.js';
import { crashActs } from '../support/crash-acts.js';
import { crashChain, type ChainMode, type CrashChain } from '../support/crash-chain.js';
import {
  eventsOf, isSettled, provesAnchors, provesAnswers, provesBalances, provesFills, provesOrders, readHistory, replays, type History,
} from '../support/crash-checks.js';
import { provesClaims, provesRelays } from '../support/crash-relay-checks.js';
import { crashRelays, type CrashRelays } from '../support/crash-relays.js';
import { onKafka, type QuestionOf, type Topology } from '../support/crash-topology.js';
import { crashTraders, type CrashTraders } from '../support/crash-traders.js';
import { bearerToken } from '../support/gasless-wallet.js';
import { mortalStack, until, type Moment, type MortalStack, type StackDeath } from '../support/mortal-stack.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { createRandom } from '../support/random-commands.js';

const KILLS = Number(process.env['CRASH_ROLE_KILLS'] ?? 100);
const SEED = Number(process.env['CRASH_SEED'] ?? 20_261_122);
const LOGS = (process.env['CRASH_LOGS'] ?? 'Postgres,EventStoreDB').split(',');
const AWAY_MS = 1_000 * Number(process.env['CRASH_AWAY_S'] ?? 60);
/** Each with its place in the lists of processes and questions to begin with: a short run has only some of both. */
const TOPOLOGIES = [['Postgres', 0], ['EventStoreDB', 6]] as const;

/** Half of the kills each; a chains file is read when a process starts, so the stack is stopped between the two. */
const MODES: readonly ChainMode[] = [
  { confirmations: 0, exposureCheck: false, blockMs: 200 }, { confirmations: 1, exposureCheck: true, blockMs: 200 },
];

const topologies = TOPOLOGIES.filter(([log]) => LOGS.includes(log));
if (topologies.length < LOGS.length) throw new Error(`CRASH_LOGS is ${LOGS.join()}: expected ${TOPOLOGIES.map(([log]) => log).join()}, or one of them`);

for (const [log, begin] of topologies) describe(`kill -9 of single processes under load: the log in ${log}, fills by Kafka (CRASH_SEED=${SEED})`, function () {
  this.timeout(3_600_000);
  const random = createRandom(SEED + begin);
  let directory: string;
  let database: TestDatabase;
  let topology: Topology;
  let chain: CrashChain;
  let stack: MortalStack;
  let traders: CrashTraders;
  let relays: CrashRelays;
  /** What traders do on the chain themselves. */
  let act: (signal: AbortSignal) => Promise<void>;
  let history: History;
  const deaths: StackDeath[] = [];
  const secondChances: StackDeath[] = [];
  const struck: string[] = [];
  let moments: readonly Moment[];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-crash-roles-'));
    database = await testDatabase();
    topology = await onKafka({ databaseUrl: database.url, awayMs: AWAY_MS }, log);
    moments = momentsOf(topology, { kills: KILLS, begin, random });
    chain = await crashChain(random);
    traders = crashTraders({ chain, url: () => Promise.resolve(stack.url), seed: SEED });
    relays = crashRelays({ chain, url: () => Promise.resolve(stack.url), token: await bearerToken(database.url), seed: SEED });
    act = crashActs({ chain, traders, random });
  });
  before(`lives through ${KILLS} kills`, async () => {
    const mining = new AbortController();
    const mined = chain.mine(mining.signal);
    try {
      for (const [i, mode] of MODES.entries()) {
        await chain.enter(mode);
        if (i > 0) await stack.close();
        stack = await start();
        const part = moments.slice(i * KILLS / MODES.length, (i + 1) * KILLS / MODES.length);
        await Promise.race([underLoad(part), mined, stack.failed, ended()]);
      }
      await Promise.race([quiet(), mined, stack.failed, ended()]);
    } finally {
      mining.abort();
      await mined.catch(() => undefined);
    }
    history = await settledHistory();
  });
  after(async () => {
    await stack.close();
    await topology.close();
    await chain.stop();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  const ended = () => chain.ended.then((reason) => { throw reason; });

  const start = () => mortalStack({
    databaseUrl: database.url, chainUrl: chain.url, dataDir: directory, doors: topology.doors, patienceMs: 45_000,
    async environment({ databaseUrl, chainUrl }) {
      await writeFile(join(directory, 'chains.json'), chain.file(chainUrl));
      return {
        DATABASE_URL: databaseUrl, SNAPSHOT_EVERY: '1000', CHAINS: join(directory, 'chains.json'), ...chain.keys,
        PROCESSES: topology.processes.join(' '), CANCEL_AUTH: 'required', LOG_LEVEL: 'info', ...topology.settings,
      };
    },
  });

  async function underLoad(part: readonly Moment[]): Promise<void> {
    const stopping = new AbortController();
    const trading = Promise.all([traders.trade(stopping.signal), relays.relay(stopping.signal), act(stopping.signal)]);
    trading.catch(() => undefined);
    try {
      for (const moment of part) {
        await strike(deaths.length);
        deaths.push(await Promise.race([stack.kill(moment, random), trading.then(() => { throw new Error('trading has ended'); })]));
        await sleep(random() % 400);
      }
      // On a busy machine a moment may not come in time: then it has a second chance.
      for (const moment of part.filter((each) => each.at !== 'any' && !met().has(each.text))) {
        secondChances.push(await Promise.race([stack.kill(moment, random), trading.then(() => { throw new Error('trading has ended'); })]));
      }
    } finally {
      stopping.abort();
    }
    await trading;
  }

  /** What named the moments that have come. */
  const met = () => new Set([...deaths, ...secondChances].flatMap(({ moment, atMoment }) => atMoment && moment.at !== 'any' ? [moment.text] : []));

  /** The disasters are spread over the kills. */
  async function strike(kills: number): Promise<void> {
    const disaster = topology.disasters[struck.length];
    if (disaster === undefined || kills < (struck.length + 1) * KILLS / (topology.disasters.length + 1)) return;
    await disaster.strike(stack.processes);
    struck.push(disaster.what);
    await until('the stack is ready again', async () => await fetch(`${stack.url}/health/ready`).then(({ ok: isReady }) => isReady, () => false) || undefined, 180_000);
  }

  /** Resolves when every fill, every relayed request and every transaction has ended. */
  async function quiet(): Promise<void> {
    let known = await whole();
    await until('every fill and every transaction has ended', async () => {
      known = await whole(known);
      return isSettled(known) && (await rows('select 1 from lane.transactions where ending is null')) === 0 ? true : undefined;
    }, 300_000);
  }

  async function whole(known?: History): Promise<History> {
    return until('the history can be read', () => readHistory(stack.url, known).catch(() => undefined));
  }

  async function withLog<T>(use: (log: Log) => Promise<T>): Promise<T> {
    const handle = await topology.openLog();
    try {
      return await use(handle);
    } finally {
      await handle.close();
    }
  }

  const lengthOf = (stream: Stream) => withLog((handle) => handle.length(stream));

  /** Adds a command that changes nothing: a request of a trader that changes nothing would not be written. */
  async function recordSomething(): Promise<void> {
    await withLog((handle) => handle.append('commands', [{ id: randomUUID(), data: encodeCommand({ kind: 'AdvanceClock', v: 1, at: Date.now() }) }]));
  }

  async function rows(sql: string): Promise<number> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      return (await client.query(sql)).rowCount ?? 0;
    } finally {
      await client.end();
    }
  }

  /** The whole history, once the last blocks with events are final and read. */
  async function settledHistory(): Promise<History> {
    const { confirmations } = MODES.at(-1)!;
    await chain.rpc('anvil_mine', [confirmations]);
    const latest = Number(await chain.rpc('eth_blockNumber'));
    await until('the last blocks are read', async () => {
      const { chains: [state] } = await (await fetch(`${stack.url}/health/ready`)).json() as { chains: { finalBlock: number; lagBlocks: number }[] };
      return state!.lagBlocks === 0 && state!.finalBlock >= latest - confirmations ? true : undefined;
    });
    return whole();
  }

  it('has killed every process, at every moment that was due, and every disaster has struck', () => {
    deepEqual(deaths.map(({ role }) => role), moments.map(({ role }) => role));
    deepEqual(met(), new Set(moments.flatMap((moment) => moment.at === 'any' ? [] : [moment.text])));
    deepEqual(struck, topology.disasters.map(({ what }) => what));
    deepEqual(new Set(eventsOf(history, 'RelayRequested').map(({ action }) => action)), new Set(RELAY_ACTIONS));
    equal(deaths.length, KILLS);
    ok(eventsOf(history, 'FillSettled').length > KILLS);
    ok(eventsOf(history, 'FillFailed').length > 0);
    ok(traders.cancelled.size > 0);
    ok(eventsOf(history, 'OrderReinstated').length > 0);
  });

  it('has every answer that a client got in its history, and no order twice', () => { provesAnswers(history, traders); });

  it('says of every order what its events say', async () => { await provesOrders(history, stack.url); });

  it('settled or failed every fill exactly once on the chain', async () => { await provesFills(history, chain); });

  it('shows the chain\'s balances as positions, and the fills\' costs are what collateral moved', async () => {
    await provesBalances(history, chain, stack.url);
  });

  it('carried out every relayed request once, as the history says, and none that it refused', async () => { await provesRelays(history, relays, chain); });

  it('shows the redemptions that failed, and paid the others', async () => { await provesClaims(history, chain, stack.url); });

  it('has used every nonce of its keys once, and has nothing on its way', async () => {
    for (const { address } of [chain.operator, chain.relayer]) {
      const counts = await Promise.all(['latest', 'pending'].map(async (block) => Number(await chain.rpc('eth_getTransactionCount', [address, block]))));
      const own = `from lane.transactions where address = '${address.toLowerCase()}'`;
      const recorded = await rows(`select nonce ${own}`);
      deepEqual({ counts, open: await rows(`select 1 ${own} and ending is null`) }, { counts: [recorded, recorded], open: 0 });
      equal(await rows(`select from (select max(nonce) + 1 as next ${own}) t where next = ${recorded}`), 1);
    }
  });

  it('wrote digests on the chain that are the history\'s', async () => { await provesAnchors(history, chain); });

  it('lists every process at its place, and each answers for itself', async () => {
    const listed = JSON.parse(await readFile(join(directory, 'roles.json'), 'utf8')) as { role: string; pid: number; port: number }[];
    deepEqual(listed.map(({ role }) => role), topology.processes);
    equal(new Set(listed.map(({ pid }) => pid)).size, topology.processes.length);
    for (const { role, port } of listed) {
      const { roles, ready } = await (await fetch(`http://127.0.0.1:${port}/health/ready`)).json() as { roles: string[]; ready: boolean };
      deepEqual({ roles, ready }, { roles: role.split('+'), ready: true });
    }
  });

  it('has one engine that records while the other stands by, and the other takes over when the first is gone', async () => {
    const engines = () => stack.processes().filter(({ role }) => role === 'engine');
    const recording = () => until('one engine records', async () => {
      const states = await Promise.all(engines().map(async ({ port, pid }) => {
        const { engine } = await (await fetch(`http://127.0.0.1:${port}/health/ready`)).json() as { engine: { standby: boolean } };
        return { pid, ...engine };
      }));
      const active = states.filter(({ standby }) => !standby);
      return active.length === 1 ? active[0]!.pid : undefined;
    });
    // Something to record, so that two who have just started find out about each other.
    await recordSomething();
    const first = await recording();
    process.kill(first, 'SIGSTOP');
    await recordSomething();
    const commands = await lengthOf('commands');
    await until('the other one records', async () => await lengthOf('outcomes') >= commands ? true : undefined);
    process.kill(first, 'SIGCONT');
    await recordSomething();
    notEqual(await recording(), first);
  });

  it('has in the topic only what the history gives, each message at its place, up to the last', async () => {
    const expected = new Map<string, SequencedMessage>();
    const sequencer = createSequencer(FEED_START);
    for (const { position, outcome, digest } of history.entries) {
      for (const message of sequencer.take({ position, digest, ...outcome })) expected.set(`${message.partition}:${message.seq}`, message);
    }
    const last = sequencer.position().partitions.map(({ nextSeq }, partition) => `${partition}:${nextSeq - 1}`);
    const published = (await topology.published()).map((record) => decodeMessage(record));
    for (const message of published) deepEqual(message, expected.get(`${message.partition}:${message.seq}`));
    const places = new Set(published.map(({ partition, seq }) => `${partition}:${seq}`));
    deepEqual(last.filter((place) => !places.has(place)), []);
  });

  it('keeps no fill that has ended', async () => { equal(await rows('select 1 from settlement.fills'), 0); });

  it('has read models that are those of the whole history, row by row', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(new URL('../../service/cli/rebuild.js', import.meta.url)), 'all'], {
      env: { PATH: process.env['PATH'], DATABASE_URL: database.url, ...topology.logSettings },
    });
    deepEqual(stdout.trim().split('\n').map((line) => line.replace(/from \d+/, 'from all')), projections.map(({ name }) => (
      `${name}: rebuilt from all command outcomes; 0 rows differed from the old read model`)));
  });

  it('replays to the same digests from position 0, in another process and without snapshots', async () => {
    replays(history);
    await stack.stop();
    await stack.close();
    await rm(join(directory, 'snapshots'), { recursive: true });
    stack = await start();
    const { lines } = await whole();
    deepEqual(lines.slice(0, history.lines.length), history.lines);
  });
});

/** Which process is killed when: every second kill is at one of the questions in turn, the others are of each process in turn at a random time. */
function momentsOf(
  { processes, questions }: Pick<Topology, 'processes' | 'questions'>, { kills, begin, random }: { kills: number; begin: number; random: () => number },
): Moment[] {
  return Array.from({ length: kills }, (_, i): Moment => {
    if (i % 2 === 0) return { at: 'any', role: processes[(begin + (i >> 1)) % processes.length]!, afterMs: random() % 600 };
    const [role, at, text, of] = questions[(begin + (i >> 1)) % questions.length] as QuestionOf;
    return { role, at, text, of, number: 1 + random() % 2, answered: random() % 2 === 0 };
  });
}
