/**
 * `kill -9` of the whole service at random moments while traders trade on a real chain, some of them through the relayer: nothing
 * acknowledged is lost, nothing is done twice, and in the end history, read models, clients and chain say the same.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import type { AuditReport } from '../../tools/audit/report.js';
import { crashChain, type ChainMode, type CrashChain } from '../support/crash-chain.js';
import { crashActs } from '../support/crash-acts.js';
import {
  eventsOf, isSettled, provesAnchors, provesAnswers, provesBalances, provesFills, provesOrders, readHistory, replays, hasReadAll, provesReadModels,
  provesClaims, provesRelays, type History,
} from '../support/crash-checks.js';
import { mortalService, type Death, type LifeMoment, type MortalService } from '../harness/mortal-processes.js';
import { crashRelays, type CrashRelays } from '../support/crash-relays.js';
import { crashTraders, type CrashTraders } from '../support/crash-traders.js';
import { testAccounts } from '../support/deployed-chain.js';
import { SEED, extent } from '../support/extent.js';
import { bearerToken } from '../support/gasless-wallet.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { createRandom } from '../support/random-commands.js';
import { until, within } from '../support/until.js';

/** A third of the kills each. */
const MODES: readonly ChainMode[] = [
  { confirmations: 0, exposureCheck: false },
  { confirmations: 0, exposureCheck: true, blockMs: 300 },
  { confirmations: 2, exposureCheck: false, blockMs: 200 },
];

/** The address of the relayer's key, and the purpose of what it sends. */
const RELAYER = testAccounts()[8]!.address.toLowerCase();
const RELAY = 'relay';

/** Whose question it is, its text, and the address or the purpose that names whose transaction it is about. */
type QuestionText = readonly ['database' | 'chain', text: string, of?: string];

/** Where a crash hurts, in the order of a fill's life, then of a relayed request's. */
const QUESTIONS: readonly QuestionText[] = [
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

/**
 * The kills of a push, in which each third has one of the modes: before the nth question arrives, or when it has been answered and nobody is
 * told. The long form has every question both ways, mostly soon after a start.
 */
const CHOSEN: readonly (readonly ['before' | 'after', nth: number, ...QuestionText] | 'start' | 'work')[] = [
  'work',
  // Taken by the log, and not yet decided.
  ['after', 20, 'database', '"kind":"PlaceOrder"'],
  // Decided, and not yet in the log.
  ['before', 10, 'database', '"type":"FillMatched"'],
  ['after', 5, 'database', 'insert into settlement.fills'],
  'start',
  // Signed and kept, and neither in the history nor on the chain.
  ['after', 3, 'database', 'insert into lane.transactions'],
  // On the chain, and nobody knows.
  ['after', 3, 'chain', 'eth_sendRawTransaction'],
  ['before', 3, 'database', '"kind":"SettleFill"'],
  ['after', 2, 'database', '"kind":"RequestRelay"'],
  ['after', 2, 'chain', 'eth_sendRawTransaction', RELAYER],
  ['before', 2, 'database', '"kind":"EndRelay"'],
  ['after', 10, 'database', 'write_positions'],
];
const KILLS = extent({ push: CHOSEN.length, long: 102 });
/** The questions that are due. */
const DUE = extent({ push: CHOSEN.flatMap((each) => typeof each === 'string' ? [] : [each.slice(2) as unknown as QuestionText]), long: QUESTIONS });

describe(`kill -9 under load, on a chain (SEED=${SEED})`, function () {
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
      await Promise.race([service.failed, chainEnded, sleep(5_000, undefined, { ref: false })]);
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
      const moments = extent({ push: chosenMoments, long: momentsOf })(random);
      const live = async (moment: LifeMoment) => {
        deaths.push(await Promise.race([service.live(moment), trading.then(() => { throw new Error('trading has ended'); })]));
      };
      for (const [i, moment] of moments.entries()) {
        await chain.enter(MODES[Math.floor(i / KILLS * MODES.length)]!);
        await live(moment);
      }
      // On a busy machine a moment may not come in time: then it has a second chance.
      for (const [at, text, of] of DUE) if (!metMoments().has(nameOf({ text, of }))) await live({ at, text, of, number: 1, answered: true });
      await service.start();
      await goesOnUntilAllHasHappened();
    } finally {
      stopping.abort();
    }
    await within('traders have got all answers, and relayed requests of every kind', trading, 240);
  }

  /** In a push the lives are few: the last one goes on until everything has happened that the proofs are about. */
  async function goesOnUntilAllHasHappened(): Promise<void> {
    let known: History | undefined;
    await until(() => `what the proofs need: ${missingIn(known!).join()}`, async () => {
      known = await readHistory(await service.url(), known);
      return missingIn(known).length === 0;
    }, 120);
  }

  /** What the proofs are about and has not happened. */
  function missingIn(known: History): string[] {
    const reasons = eventsOf(known, 'FillFailed').map(({ reason }) => reason as string);
    const events = new Set(known.entries.flatMap(({ outcome }) => outcome.events.map(({ type }) => type)));
    const byPermit = new Set(chain.traders.filter(({ means }) => means === 'permits').map(({ address }) => address));
    return [
      ...['buyer_insufficient_balance', 'seller_insufficient_shares', 'seller_not_approved'].filter((reason) => !reasons.includes(reason)),
      ...(['SharesTransferred', 'NonceFloorRaised', 'OrderReinstated'] as const).filter((type) => !events.has(type)),
      ...eventsOf(known, 'FillSettled').length > KILLS ? [] : [`more than ${KILLS} settled fills`],
      ...eventsOf(known, 'FillSettled').some(({ buyer }) => byPermit.has(buyer)) ? [] : ['a settled fill of a buyer by permit'],
      ...traders.cancelled.size > 0 ? [] : ['a cancelled order'],
    ];
  }

  /** Resolves when every fill, every relayed request and every transaction has ended. */
  async function quiet(): Promise<void> {
    const url = await service.url();
    let known: History | undefined;
    await until('every fill, every relayed request and every transaction has ended', async () => {
      known = await readHistory(url, known);
      return isSettled(known) && !await isSending();
    }, 120);
  }

  /** The whole history, once the last blocks with events are final and read. */
  async function settledHistory(): Promise<History> {
    const url = await service.url();
    await hasReadAll(chain, url, MODES.at(-1)!.confirmations);
    return await readHistory(url);
  }

  const metMoments = () => new Set(deaths.flatMap(({ moment, atMoment }) => atMoment && 'text' in moment ? [nameOf(moment)] : []));

  const isSending = async () => (await Promise.all(keys().map(outbox))).some(({ open }) => open > 0);

  const keys = () => [chain.operator.address, chain.relayer.address];

  /** What the outbox has of a key. */
  async function outbox(address: string): Promise<{ open: number; recorded: number; next: number }> {
    const [row] = await runSql<{ open: number; recorded: number; next: number }>(database.url, `
      select count(*) filter (where ending is null)::int as open, count(*)::int as recorded, coalesce(max(nonce) + 1, 0)::int as next
      from lane.transactions where address = $1`, [address.toLowerCase()]);
    return row!;
  }

  it('was killed at every moment that was due, and traders, fills and the chain did all that the test needs', () => {
    deepEqual(metMoments(), new Set(DUE.map(([, text, of]) => nameOf({ text, of }))));
    ok(deaths.length >= KILLS);
    for (const at of ['work', 'start']) ok(deaths.some(({ moment, atMoment }) => atMoment && moment.at === at), at);
    for (const listened of [true, false]) ok(deaths.filter((death) => death.listened === listened).length >= Math.floor(KILLS / 10));
    deepEqual(missingIn(history), []);
    ok(traders.repeats() > 0);
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

  it('has read models that are those of the whole history, row by row', async () => { await provesReadModels({ DATABASE_URL: database.url }); });

  it('passes an audit from outside, with the chain and the read models', async () => {
    const tool = fileURLToPath(new URL('../../tools/audit.js', import.meta.url));
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

/** When to kill in a push. */
function chosenMoments(random: () => number): LifeMoment[] {
  return CHOSEN.map((chosen): LifeMoment => {
    if (typeof chosen === 'string') return { at: chosen, afterMs: 450 + random() % 300 };
    const [when, nth, at, text, of] = chosen;
    return { at, text, of, number: nth + random() % nth, answered: when === 'after' };
  });
}

/** When to kill: mostly at one of the questions in turn, before or after its answer; every fourth time while it starts or works. */
function momentsOf(random: () => number): LifeMoment[] {
  return Array.from({ length: KILLS }, (_, i): LifeMoment => {
    if (i % 12 === 0) return { at: 'work', afterMs: random() % 800 };
    if (i % 4 === 0) return { at: 'start', afterMs: 400 + random() % 1_200 };
    const [at, text, of] = QUESTIONS[(i - 1 - Math.floor(i / 4)) % QUESTIONS.length]!;
    return { at, text, of, number: 1 + random() % 3, answered: random() % 2 === 0 };
  });
}
