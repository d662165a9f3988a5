/**
 * `kill -9` around the strikes and ends of quick markets, of the whole service and then, on the same history, of single processes of a stack
 * with one process per role, while traders trade, split and redeem in these markets and the price provider has problems of its own: no crash
 * changes a price or an outcome, and nothing is made, decided, resolved or paid twice.
 */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordId } from '../../engine/run/new-record.js';
import { mortalService, mortalStack, type Death, type Moment, type MortalService, type MortalStack, type Part, type StackDeath } from '../harness/mortal-processes.js';
import { crashChain, type CrashChain } from '../support/crash-chain.js';
import {
  eventsOf, isSettled, provesAnchors, provesAnswers, provesBalances, provesFills, provesOrders, readHistory, replays, hasReadAll, provesReadModels,
  provesRelays, type History,
} from '../support/crash-checks.js';
import {
  crashProvider, crashQuick, quickRelays, addPayouts, endedOf, provesHistoryEndpoint, provesPrices, provesRecorded, provesResolutions, provesSequence,
  quickMarketsOf, referenceAgrees, type CrashProvider, type QuickRelays, type QuickScope,
} from '../support/crash-quick.js';
import { crashTraders, type CrashTraders } from '../support/crash-traders.js';
import { testAccounts } from '../support/deployed-chain.js';
import { SEED, extent, isLong } from '../support/extent.js';
import { bearerToken } from '../support/gasless-wallet.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { createRandom } from '../support/random-commands.js';
import { until, within } from '../support/until.js';

const ASSETS = ['BTC', 'ETH'];
/** The shortest that the engine takes. */
const INTERVAL_S = 20;
const PROCESSES = ['query+api', 'engine', 'engine', 'projections', 'lane+settlement+relayer', 'indexer', 'prices', 'prices'];
const LANE = 'lane+settlement+relayer';
/** Who is started now works at a boundary that is so far away. */
const START_S = 6;
/** A boundary comes within this time, and what follows from it. */
const PATIENCE_MS = 30_000;

/** The key that creates and resolves quick markets, and the purpose of what it sends. */
const QUICK = testAccounts()[6]!.address.toLowerCase();
const PURPOSE = 'quick_market';

interface Spot {
  readonly role: string;
  readonly part?: Part;
  readonly at: 'database' | 'chain';
  readonly text: string;
  /** Whose, or what else names it; `boundary`: it is of the next boundary's first price. */
  readonly of?: string;
}

/** Where a crash hurts, in an order in which several come after one boundary, each of another process than the one before. */
const SPOTS: readonly Spot[] = [
  { role: 'prices', part: 'prices', at: 'database', text: '"kind":"RecordPrice"', of: 'boundary' },
  { role: 'engine', part: 'engine', at: 'database', text: '"type":"EndPriceSet"' },
  // Whose trader has no answer yet.
  { role: 'query+api', at: 'database', text: '"kind":"PlaceOrder"' },
  { role: 'prices', part: 'quickMarkets', at: 'database', text: 'insert into lane.requests', of: '"kind":"resolve"' },
  { role: LANE, at: 'database', text: 'insert into lane.transactions', of: QUICK },
  { role: 'indexer', at: 'database', text: '"kind":"ResolveMarket"' },
  { role: 'projections', at: 'database', text: 'change_quick_markets' },
  { role: 'engine', part: 'engine', at: 'database', text: '"type":"MarketOpened"' },
  { role: LANE, at: 'chain', text: 'eth_sendRawTransaction', of: QUICK },
  { role: 'prices', part: 'quickMarkets', at: 'database', text: 'set forgotten = true', of: PURPOSE },
  { role: 'indexer', at: 'database', text: '"kind":"OpenMarket"' },
  { role: 'projections', at: 'database', text: 'insert_quick_markets' },
  { role: LANE, at: 'chain', text: 'eth_getTransactionReceipt', of: QUICK },
  { role: 'engine', part: 'engine', at: 'database', text: '"type":"StrikePriceSet"' },
  { role: 'prices', part: 'quickMarkets', at: 'database', text: 'insert into lane.requests', of: '"kind":"create"' },
  { role: LANE, at: 'database', text: 'set broadcast = true', of: QUICK },
  { role: 'engine', part: 'engine', at: 'database', text: '"type":"QuickMarketDecided"' },
  { role: LANE, at: 'database', text: 'set ending =', of: QUICK },
];

/**
 * What a push kills at, first the whole service and then single processes: what is made of a boundary's first price, and what is asked of the
 * chain before and after it, up to its answer. The second chance of a spot is with single processes.
 */
const CHOSEN = {
  whole: chosen(['insert into lane.requests', '"kind":"create"'], ['"kind":"RecordPrice"'], ['insert into lane.transactions', QUICK]),
  parts: chosen(['"type":"EndPriceSet"'], ['insert into lane.requests', '"kind":"resolve"'], ['"kind":"ResolveMarket"']),
};
const LONG_KILLS = 40;
const ALL = Array.from({ length: LONG_KILLS / 2 }, (_, i) => SPOTS[i % SPOTS.length]!);
const DUE = extent({ push: CHOSEN, long: { whole: ALL, parts: ALL } });
const DUE_SPOTS = [...new Set([...DUE.whole, ...DUE.parts])];
const KILLS = DUE.whole.length + DUE.parts.length;

function chosen(...spots: readonly (readonly [text: string, of?: string])[]): Spot[] {
  return spots.map(([text, of]) => SPOTS.find((spot) => spot.text === text && (of === undefined || spot.of === of))!);
}

describe(`kill -9 around the boundaries of quick markets (SEED=${SEED})`, function () {
  this.timeout(1_200_000);
  const random = createRandom(SEED);
  let directory: string;
  let database: TestDatabase;
  let chain: CrashChain;
  let provider: CrashProvider;
  let quick: ReturnType<typeof crashQuick>;
  let service: MortalService;
  let stack: MortalStack;
  let url: () => Promise<string>;
  let traders: CrashTraders;
  let relays: QuickRelays;
  let history: History;
  let scope: QuickScope;
  const deaths: (Death | StackDeath)[] = [];
  /** What is left to be closed, the last first. */
  const open: (() => Promise<unknown>)[] = [];
  const living = new AbortController();
  /** Ends when no trader is to enter a further market. */
  const watching = new AbortController();
  let watched: Promise<void>;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-crash-quick-'));
    open.push(() => rm(directory, { recursive: true }));
    database = await testDatabase();
    open.push(() => database.drop());
    chain = await crashChain(random, { means: ['gasless', 'gasless', 'rich', 'rich', 'permits', 'shareless'], hasQuickMarkets: true });
    open.push(() => chain.stop());
    provider = await crashProvider({ assets: ASSETS, intervalS: INTERVAL_S });
    open.push(() => provider.close());
    quick = crashQuick(chain);
    const parts = { chain: { ...chain, markets: quick.tradable }, url: () => url(), seed: SEED, restMs: 1_000 };
    traders = crashTraders(parts);
    relays = quickRelays({ ...parts, token: await bearerToken(database.url) }, quick);
  });
  before(`lives through ${KILLS} kills`, async () => {
    const { signal } = living;
    watched = quick.watch(AbortSignal.any([signal, watching.signal]));
    const never = new Promise<never>(() => undefined);
    const going = [
      chain.mine(signal), provider.publish(signal), watched.then(() => never), chain.ended.then((reason) => { throw reason; }),
    ];
    for (const each of going) each.catch(() => undefined);
    try {
      await Promise.race([...going, dieWhole()]);
      await Promise.race([...going, dieInParts()]);
      await Promise.race([...going, stack.failed, allEnded()]);
    } catch (error) {
      living.abort();
      throw error;
    }
  });
  after(async () => {
    living.abort();
    for (const close of open.reverse()) await close();
  });

  const environment = async ({ databaseUrl, chainUrl }: { databaseUrl: string; chainUrl: string }) => {
    await writeFile(join(directory, 'chains.json'), chain.file(chainUrl));
    return {
      DATABASE_URL: databaseUrl, SNAPSHOT_EVERY: '1000', CHAINS: join(directory, 'chains.json'), ...chain.keys, PRICE_SOURCES: 'pyth', LOG_LEVEL: 'info',
      PRICE_URLS: `pyth=${provider.server.url}`, QUICK_ASSETS: ASSETS.join(), QUICK_INTERVAL_S: String(INTERVAL_S), CANCEL_AUTH: 'required',
    };
  };

  async function underLoad(dying: () => Promise<void>): Promise<void> {
    const stopping = new AbortController();
    // Markets are there before traders are.
    const trading = until('there is a quick market', () => quick.tradable[0])
      .then(() => Promise.all([traders.trade(stopping.signal), relays.relay(stopping.signal)]));
    trading.catch(() => undefined);
    try {
      await Promise.race([dying(), trading.then(() => { throw new Error('trading has ended'); })]);
    } finally {
      stopping.abort();
    }
    await within('traders have got all answers', trading, 240);
  }

  /** The whole service, which stops in good order in the end. */
  async function dieWhole(): Promise<void> {
    await chain.enter({ confirmations: 0, exposureCheck: false, blockMs: 200 });
    service = await mortalService({
      databaseUrl: database.url, chainUrl: chain.url, patienceMs: PATIENCE_MS,
      environment: async (urls) => ({ ...await environment(urls), DATA_DIR: join(directory, 'data') }),
    });
    url = () => service.url();
    try {
      await Promise.race([service.failed, underLoad(async () => {
        for (const spot of DUE.whole) {
          await until('markets are made ahead', async () => {
            if (!isBehind()) return true;
            await service.live({ at: 'work', afterMs: 5_000 });
            return false;
          }, 120);
          deaths.push(await service.live(momentAt(spot)));
        }
        await service.start();
      })]);
      await service.stop();
    } finally {
      await service.close();
    }
  }

  async function dieInParts(): Promise<void> {
    await chain.enter({ confirmations: 1, exposureCheck: true, blockMs: 200 });
    stack = await mortalStack({
      databaseUrl: database.url, chainUrl: chain.url, dataDir: directory, patienceMs: PATIENCE_MS, processes: PROCESSES, environment,
    });
    open.push(() => stack.close());
    url = () => Promise.resolve(stack.url);
    await Promise.race([stack.failed, underLoad(async () => {
      for (const spot of DUE.parts) {
        await until('markets are made ahead', () => !isBehind(), 120);
        deaths.push(await stack.kill(momentAt(spot), random));
      }
      // On a busy machine a moment may not come in time: then it has a second chance.
      for (const spot of DUE_SPOTS.filter((each) => !met().has(nameOf(each)))) deaths.push(await stack.kill(momentAt(spot), random));
      await until('a trader without gas has left a market with its payout', () => relays.lives() > 0, 120);
    })]);
  }

  /** So many lives can be so short that markets are not made in time: then nobody is killed at a moment until they are. */
  const isBehind = () => isLong && ASSETS.some((asset) => (
    Math.max(0, ...quick.all.filter((each) => each.asset === asset).map(({ startTime }) => startTime)) < Date.now() / 1_000 + 2 * INTERVAL_S));

  const met = () => new Set(deaths.flatMap(({ moment, atMoment }) => atMoment && 'text' in moment ? [nameOf(moment)] : []));

  function momentAt({ of, ...spot }: Spot): Exclude<Moment, { at: 'any' }> {
    const boundary = Math.ceil((Date.now() / 1_000 + START_S) / INTERVAL_S) * INTERVAL_S;
    return { ...spot, of: of === 'boundary' ? `"publishedAt":${provider.firstSecond(boundary) * 1_000}` : of, number: 1, answered: random() % 2 === 0 };
  }

  /** Waits until every market that has ended by now is resolved, and every fill and relayed request has ended. */
  async function allEnded(): Promise<void> {
    const untilS = Math.floor(Date.now() / 1_000 / INTERVAL_S) * INTERVAL_S;
    scope = { untilS, intervalS: INTERVAL_S, assets: ASSETS };
    let known: History | undefined;
    await until('every fill, every request and every market has ended', async () => {
      known = await readHistory(stack.url, known).catch(() => known);
      if (known === undefined || !isSettled(known)) return undefined;
      const resolved = new Set(eventsOf(known, 'MarketResolved').map(({ marketId }) => marketId));
      return endedOf(known, scope).every(({ marketId }) => resolved.has(marketId));
    }, 300);
    watching.abort();
    await within('no further market is entered', watched);
    history = known!;
  }

  const rows = (sql: string) => runSql(database.url, sql);

  it('was killed at every moment, whole and in parts, and traders did all that the test needs', () => {
    deepEqual(met(), new Set(DUE_SPOTS.map(nameOf)));
    ok(deaths.length >= KILLS);
    ok(eventsOf(history, 'FillSettled').length > KILLS);
    ok(relays.lives() > 0);
    // A push aims no kill at an order that has no answer yet, as that of the whole service does: here it is chance.
    if (isLong) ok(traders.repeats() > 0);
  });

  it('has every answer that a client got in its history, and no order twice', () => { provesAnswers(history, traders); });

  it('says of every order what its events say', async () => {
    const over = new Set(endedOf(history, scope).map(({ marketId }) => marketId));
    await provesOrders(history, stack.url, (marketId) => over.has(marketId));
  });

  it('settled or failed every fill exactly once on the chain', async () => { await provesFills(history, chain); });

  it('carried out every relayed request once, as the history says', async () => { await provesRelays(history, relays, chain); });

  it('made each quick market once, each where the one before ends', () => { provesSequence(history, quick.all, scope); });

  it('has the first prices that were published from their boundaries on as strikes and end prices, whatever crashed', () => {
    provesPrices(history, provider, scope);
  });

  it('recorded only published prices, and one per second and asset at most, but for boundaries', () => { provesRecorded(history, provider); });

  it('resolved each market once, by the prices and with the outcome of the history', async () => { await provesResolutions(history, chain, scope); });

  it('asked the lane once for each creation and resolution, and the lane sent one transaction for each', async () => {
    const asked = await rows(`
      select r.id, r.status, (select count(*)::int from lane.transactions t where t.request = r.id) as transactions
      from lane.requests r where purpose = '${PURPOSE}'`);
    const { chainId } = chain.chain;
    for (const { marketId } of endedOf(history, scope)) {
      for (const job of [`create:${marketId}`, `resolve:${marketId}`]) {
        const tries = [0, 1].map((nth) => recordId(`quick:${chainId}:${job}:${nth}`));
        deepEqual(asked.filter(({ id }) => tries.includes(id as string)), [{ id: tries[0], status: 'ended', transactions: 1 }], job);
      }
    }
  });

  it('shows all of that in the history of quick markets', async () => { await provesHistoryEndpoint(history, stack.url, scope); });

  it('pays one collateral token per winning share', async () => {
    await chain.enter({ confirmations: 1, exposureCheck: true });
    const ended = new Set(endedOf(history, scope).map(({ marketId }) => marketId));
    for (const market of quick.all.filter(({ marketId }) => ended.has(marketId))) {
      const [yesPaid, noPaid] = (await quick.payoutsOf(market))!;
      for (const trader of chain.traders.filter(({ means }) => means !== 'gasless')) {
        const { yes, no } = await chain.sharesOf(trader.wallet, market);
        if (yes + no > 0n) equal(await quick.redeem(trader, market), yes * yesPaid! + no * noPaid!);
      }
    }
    await addPayouts(chain);
  });

  it('shows the chain\'s balances as positions, and collateral is what fills, splits and payouts have moved', async () => {
    await hasReadAll(chain, stack.url, 1);
    history = await readHistory(stack.url, history);
    const known = new Set(quickMarketsOf(history).map(({ marketId }) => marketId));
    await provesBalances(history, { ...chain, markets: quick.all.filter(({ marketId }) => known.has(marketId)) }, stack.url);
  });

  it('wrote digests on the chain that are the history\'s', async () => { await provesAnchors(history, chain); });

  it('has read models that are those of the whole history, row by row', async () => { await provesReadModels({ DATABASE_URL: database.url }); });

  it('replays to the same digests, and an engine written from the rules alone decides the same', () => {
    replays(history);
    referenceAgrees(history);
  });
});

/** The first price of a boundary is named by its time. */
function nameOf({ text, of = '' }: { readonly text: string; readonly of?: string | undefined }): string {
  return `${text} ${of.startsWith('"publishedAt"') ? 'boundary' : of}`;
}
