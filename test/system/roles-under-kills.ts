/**
 * `kill -9` of single processes of a stack with one process per role, two engines among them, while traders trade on a real chain, with Kafka
 * between the engine and settlement; and what befalls Kafka, the log and the network meanwhile: nothing acknowledged is lost, nothing is done
 * twice, one process at a time writes, and in the end history, read models, clients and chain say the same.
 */
import { deepEqual, equal, notEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log, Stream } from '../../engine/log/log.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import { decodeMessage, type SequencedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import { RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { newCommand } from '../support/commands.js';
import { crashChain, type ChainMode, type CrashChain } from '../support/crash-chain.js';
import { crashActs } from '../support/crash-acts.js';
import {
  eventsOf, isSettled, provesAnchors, provesAnswers, provesBalances, provesFills, provesOrders, readHistory, replays, hasReadAll, provesReadModels,
  provesClaims, provesRelays, type History,
} from '../support/crash-checks.js';
import { onKafka, type Disaster, type QuestionOf, type Topology } from '../support/crash-topology.js';
import { crashRelays, type CrashRelays } from '../support/crash-relays.js';
import { crashTraders, type CrashTraders } from '../support/crash-traders.js';
import { SEED, extent } from '../support/extent.js';
import { bearerToken } from '../support/gasless-wallet.js';
import { mortalStack, type Moment, type MortalStack, type StackDeath } from '../harness/mortal-processes.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { createRandom } from '../support/random-commands.js';
import { ready } from '../support/role-processes.js';
import { startService } from '../support/service-process.js';
import { until, within } from '../support/until.js';

/** Where the log is, with its place in the lists of processes and questions to begin with, and what can befall it. */
const LOGS = { Postgres: { begin: 0, disasters: [] }, EventStoreDB: { begin: 6, disasters: ['the EventStoreDB is killed'] } } as const;
const AWAY_MS = extent({ push: 4_000, long: 60_000 });

/** An equal part of the kills each; a chains file is read when a process starts, so the stack is stopped between the two. */
const MODES = extent<readonly ChainMode[]>({
  push: [{ confirmations: 1, exposureCheck: false, blockMs: 200 }],
  long: [{ confirmations: 0, exposureCheck: false, blockMs: 200 }, { confirmations: 1, exposureCheck: true, blockMs: 200 }],
});

/**
 * The kills of a push, each while a disaster lasts: before a question arrives, or when it has been answered and nobody is told. The long form
 * has every question and every process, and the disasters between the kills.
 */
const CHOSEN: readonly (readonly [disaster: string, when: 'before' | 'after', ...QuestionOf])[] = [
  ['the broker is killed in the middle of a send', 'after', 'engine', 'log', '"type":"FillMatched"'],
  ['the network is cut', 'before', 'api', 'log', '"kind":"PlaceOrder"'],
  ['retention deletes what settlement has not read', 'after', 'feed', 'database', 'insert into feed.published'],
  ['Kafka is away', 'after', 'lane', 'chain', 'eth_sendRawTransaction'],
  ['the network is half-open', 'before', 'settlement', 'database', 'insert into settlement.fills'],
  ['the topic is deleted', 'after', 'indexer', 'log', '"kind":"SettleFill"'],
  // It comes with every match, also while the chain's facts wait for the log.
  ['the EventStoreDB is killed', 'before', 'projections', 'database', 'write_trades'],
];

/** A kill, a disaster, or both at once. */
interface Step {
  readonly disaster?: Disaster;
  readonly moment?: Moment;
}

/** Declares the tests, with the log in this store. */
export function testKillsOfRoles(log: keyof typeof LOGS): void {
  describe(`kill -9 of single processes under load: the log in ${log}, fills by Kafka (SEED=${SEED})`, function () {
    this.timeout(3_600_000);
    const { begin } = LOGS[log];
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
    let steps: readonly Step[];

    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-crash-roles-'));
      database = await testDatabase();
      topology = await onKafka({ databaseUrl: database.url, awayMs: AWAY_MS }, log);
      steps = extent({ push: chosenSteps, long: allSteps })(topology, begin, random);
      chain = await crashChain(random);
      traders = crashTraders({ chain, url: () => Promise.resolve(stack.url), seed: SEED });
      relays = crashRelays({ chain, url: () => Promise.resolve(stack.url), token: await bearerToken(database.url), seed: SEED });
      act = crashActs({ chain, traders, random });
    });
    before('lives through the kills and the disasters', async () => {
      const mining = new AbortController();
      const mined = chain.mine(mining.signal);
      try {
        for (const [i, mode] of MODES.entries()) {
          await chain.enter(mode);
          if (i > 0) await stack.close();
          stack = await start();
          const part = steps.slice(i * steps.length / MODES.length, (i + 1) * steps.length / MODES.length);
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
      processes: topology.processes, environment: settingsWith,
    });

    async function settingsWith({ databaseUrl, chainUrl }: { databaseUrl: string; chainUrl: string }): Promise<Readonly<Record<string, string>>> {
      await writeFile(join(directory, 'chains.json'), chain.file(chainUrl));
      return {
        DATABASE_URL: databaseUrl, SNAPSHOT_EVERY: '1000', CHAINS: join(directory, 'chains.json'), ...chain.keys,
        CANCEL_AUTH: 'required', LOG_LEVEL: 'info', ...topology.settings,
      };
    }

    async function underLoad(part: readonly Step[]): Promise<void> {
      const stopping = new AbortController();
      const trading = Promise.all([traders.trade(stopping.signal), relays.relay(stopping.signal), act(stopping.signal)]);
      const tradingEnded = trading.then(() => { throw new Error('trading has ended'); });
      tradingEnded.catch(() => undefined);
      const kill = (moment: Moment) => Promise.race([stack.kill(moment, random), tradingEnded]);
      try {
        for (const { disaster, moment } of part) {
          const striking = disaster === undefined ? undefined : strike(disaster);
          const [death] = await Promise.all([moment === undefined ? undefined : kill(moment), striking]);
          if (death !== undefined) deaths.push(death);
          if (disaster !== undefined) await ready(stack.url);
          else await sleep(random() % 400);
        }
        // On a busy machine a moment may not come in time: then it has a second chance.
        for (const { moment } of part) {
          if (moment !== undefined && moment.at !== 'any' && !met().has(moment.text)) secondChances.push(await kill(moment));
        }
        await Promise.race([goesOnUntilAllHasHappened(), tradingEnded]);
      } finally {
        stopping.abort();
      }
      await within('traders have got all answers, and relayed requests of every kind', trading, 300);
    }

    /** In a push the kills are few: the load goes on until everything has happened that the proofs are about. */
    async function goesOnUntilAllHasHappened(): Promise<void> {
      let known: History | undefined;
      await until(() => `what the proofs need: ${missingIn(known!).join()}`, async () => {
        known = await whole(known);
        return missingIn(known).length === 0;
      }, 180);
    }

    /** What the proofs are about and has not happened. */
    function missingIn(known: History): string[] {
      const events = new Set(known.entries.flatMap(({ outcome }) => outcome.events.map(({ type }) => type)));
      return [
        ...(['FillFailed', 'OrderReinstated'] as const).filter((type) => !events.has(type)),
        ...eventsOf(known, 'FillSettled').length > deaths.length ? [] : [`more than ${deaths.length} settled fills`],
        ...traders.cancelled.size > 0 ? [] : ['a cancelled order'],
      ];
    }

    /** What named the moments that have come. */
    const met = () => new Set([...deaths, ...secondChances].flatMap(({ moment, atMoment }) => atMoment && moment.at !== 'any' ? [moment.text] : []));

    async function strike({ what, strike: begins }: Disaster): Promise<void> {
      await within(`the end of a disaster: ${what}`, begins(stack.processes), 240);
      struck.push(what);
    }

    /** Resolves when every fill, every relayed request and every transaction has ended. */
    async function quiet(): Promise<void> {
      let known = await whole();
      await until('every fill and every transaction has ended', async () => {
        known = await whole(known);
        return isSettled(known) && (await rows('select 1 from lane.transactions where ending is null')) === 0;
      }, 300);
    }

    async function whole(known?: History): Promise<History> {
      let why: unknown = 'no answer';
      return until(() => `the history can be read: ${String(why)}`, () => readHistory(stack.url, known).catch((error: unknown) => void (why = error)));
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
      await withLog((handle) => handle.append('commands', [{ id: randomUUID(), data: encodeCommand(newCommand('AdvanceClock', {
        at: Date.now(),
      })) }]));
    }

    const rows = async (sql: string) => (await runSql(database.url, sql)).length;

    /** The whole history, once the last blocks with events are final and read. */
    async function settledHistory(): Promise<History> {
      await hasReadAll(chain, stack.url, MODES.at(-1)!.confirmations);
      return whole();
    }

    it('has killed every process that was due, at every moment that was due, and every disaster has struck', () => {
      const moments = steps.flatMap(({ moment }) => moment ?? []);
      deepEqual(deaths.map(({ role }) => role), moments.map(({ role }) => role));
      deepEqual(met(), new Set(moments.flatMap((moment) => moment.at === 'any' ? [] : [moment.text])));
      deepEqual(new Set(struck), new Set(topology.disasters.map(({ what }) => what)));
      equal(struck.length, CHOSEN.filter(([what]) => isPossible(what, log)).length);
      equal(deaths.length, extent({ push: struck.length, long: LONG_KILLS }));
      deepEqual(new Set(eventsOf(history, 'RelayRequested').map(({ action }) => action)), new Set(RELAY_ACTIONS));
      deepEqual(missingIn(history), []);
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

    it('runs every process, and each answers for itself', async () => {
      const listed = stack.processes();
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
        return active.length === 1 && active[0]!.pid;
      });
      // Something to record, so that two who have just started find out about each other.
      await recordSomething();
      const first = await recording();
      process.kill(first, 'SIGSTOP');
      await recordSomething();
      const commands = await lengthOf('commands');
      await until('the other one records', async () => await lengthOf('outcomes') >= commands);
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
      const published = (await within('all of the topic is read', topology.published())).map((record) => decodeMessage(record));
      for (const message of published) deepEqual(message, expected.get(`${message.partition}:${message.seq}`));
      const places = new Set(published.map(({ partition, seq }) => `${partition}:${seq}`));
      deepEqual(last.filter((place) => !places.has(place)), []);
    });

    it('keeps no fill that has ended', async () => { equal(await rows('select 1 from settlement.fills'), 0); });

    it('has read models that are those of the whole history, row by row', async () => {
      await provesReadModels({ DATABASE_URL: database.url, ...topology.logSettings });
    });

    it('replays to the same digests from position 0, in one process with every role and without snapshots', async () => {
      replays(history);
      await stack.stop();
      await rm(join(directory, 'snapshots'), { recursive: true });
      const settings = await settingsWith({ databaseUrl: database.url, chainUrl: chain.url });
      const whole = await startService({ ...settings, DATA_DIR: directory });
      const { lines } = await readHistory(whole.url);
      deepEqual(lines.slice(0, history.lines.length), history.lines);
      equal(await whole.stop(), 0);
    });
  });
}

const isPossible = (disaster: string, log: keyof typeof LOGS) => Object.entries(LOGS).every(([each, { disasters }]) => (
  each === log || !disasters.some((own) => own === disaster)));

/** The steps of a push. Of two engines, the one that works is meant. */
function chosenSteps({ disasters }: Topology, _begin: number, random: () => number): Step[] {
  return disasters.map((disaster) => {
    const [, when, role, at, text, of] = CHOSEN.find(([what]) => what === disaster.what)!;
    const part = role === 'engine' ? role : undefined;
    return { disaster, moment: { role, part, at, text, of, number: 1 + random() % 2, answered: when === 'after' } };
  });
}

const LONG_KILLS = 100;

/** The steps of the long form: the disasters are spread over the kills. */
function allSteps(topology: Topology, begin: number, random: () => number): Step[] {
  const { disasters } = topology;
  const steps: Step[] = [];
  for (const [i, moment] of momentsOf(topology, begin, random).entries()) {
    const due = disasters.findIndex((_, nth) => i === Math.ceil((nth + 1) * LONG_KILLS / (disasters.length + 1)));
    if (due >= 0) steps.push({ disaster: disasters[due]! });
    steps.push({ moment });
  }
  return steps;
}

/** Every second kill is at one of the questions in turn, the others are of each process in turn at a random time. */
function momentsOf({ processes, questions }: Topology, begin: number, random: () => number): Moment[] {
  return Array.from({ length: LONG_KILLS }, (_, i): Moment => {
    if (i % 2 === 0) return { at: 'any', role: processes[(begin + (i >> 1)) % processes.length]!, afterMs: random() % 600 };
    const [role, at, text, of] = questions[(begin + (i >> 1)) % questions.length] as QuestionOf;
    return { role, at, text, of, number: 1 + random() % 2, answered: random() % 2 === 0 };
  });
}
