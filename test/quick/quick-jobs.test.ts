/** Which jobs are made of the schedule and of the history's quick markets, what a look at the chain finds, and what is reported of missing prices. */
import { deepEqual, equal } from 'node:assert/strict';
import type { ContractCall } from '../../command/chain/abi.js';
import { CREATE_GAS, quickJobs, RESOLVE_GAS } from '../../command/quick/quick-markets.js';
import { createJob, missedPrices, QUICK_RULES, resolveJobs, type CreateJob, type QuickJob, type ResolveJob } from '../../command/quick/quick-jobs.js';
import { idsOf } from '../../command/quick/terms.js';
import { createKeccak256, type Keccak256 } from '../../command/signing/typed-data.js';
import type { QuickMarket } from '../../engine/run/view.js';
import { CHAIN_ID, contracts } from '../support/relay-scene.js';
import { bytes32 } from '../support/scenario.js';

const T = 1_800_000_000;
const NOW_MS = (T + 1_000) * 1_000;
const ADDRESS = `0x${'22'.repeat(20)}`;

const price = (source: string, amount: string, publishedAt: number) => ({ source, price: amount, publishedAt });
const market = (name: string, quick: Partial<QuickMarket['quick']> = {}): QuickMarket => ({
  marketId: bytes32(name), chainId: CHAIN_ID, expiration: T + 900, closed: true, winner: undefined, tokens: undefined,
  quick: { asset: 'BTC', startTime: T, strike: undefined, end: undefined, outcome: undefined, missed: new Set(), ...quick },
});
const decided = (name: string) => market(name, { strike: price('pyth', '100', T * 1_000 + 999), end: price('pyth', '101', (T + 915) * 1_000), outcome: 0 });
const resolveJob = (name: string): ResolveJob => ({
  kind: 'resolve', key: `resolve:${bytes32(name)}`, title: `resolving the quick market ${bytes32(name)} of BTC`, marketId: bytes32(name), asset: 'BTC',
  startPrice: '100', startPublishedS: T, endPrice: '101', endPublishedS: T + 915,
  dueAtS: T + 915, overdue: { atS: T + 915 + 600, waited: 'for more than 10 minutes' },
});

describe('quick markets: jobs', () => {
  let keccak256: Keccak256;
  before(async () => { keccak256 = await createKeccak256(); });

  interface World {
    readonly unresolved?: readonly QuickMarket[];
    readonly known?: (marketId: string) => boolean;
    readonly doubt?: string;
    readonly nowMs?: number;
    readonly hasStartPrice?: boolean;
    /** The contracts' answers by method, and why a transaction would revert. */
    readonly answers?: Readonly<Record<string, unknown>>;
    readonly reverted?: string;
  }

  function source({ unresolved = [], known = () => false, doubt, nowMs = NOW_MS, hasStartPrice = true, answers = {}, reverted }: World = {}) {
    const views = (calls: readonly ContractCall[]) => Promise.resolve(calls.map(({ method }) => answers[method]));
    return quickJobs({
      chain: { chainId: CHAIN_ID, contracts }, keccak256, address: ADDRESS, rules: QUICK_RULES, now: () => nowMs, doubt: () => doubt,
      schedule: { assets: ['BTC'], intervalS: 900, ahead: 1 }, hasStartPrice: () => Promise.resolve(hasStartPrice),
      view: { isKnown: known, unresolved: () => unresolved, nextBlock: () => 0 },
      reads: {
        views, simulate: () => Promise.resolve(reverted === undefined ? { returned: '0x' } : { reverted }),
        funds: () => Promise.reject(new Error('nobody asks')),
      },
    });
  }

  /** The creation of the market that starts then. */
  function creation(startTime: number): CreateJob {
    const terms = { asset: 'BTC', startTime, endTime: startTime + 900 };
    const ids = idsOf(terms, { keccak256, chainId: CHAIN_ID, quickResolver: contracts.quickResolver });
    const title = `creating the quick market of BTC from ${new Date(startTime * 1_000).toISOString()}`;
    return { kind: 'create', key: `create:${ids.marketId}`, title, ...terms, ...ids, isLate: startTime * 1_000 <= NOW_MS };
  }

  it('creates what the schedule wants and the history does not have, resolves what is decided, resolutions first', () => {
    const [running, next] = [creation(T + 900), creation(T + 1_800)];
    deepEqual(source().jobs(), [running, next]);
    deepEqual(source({ known: (id) => id === running.marketId, unresolved: [market('c'), decided('d')] }).jobs(), [resolveJob('d'), next]);
    deepEqual(source({ doubt: 'the clock jumped', unresolved: [decided('d')] }).jobs(), [resolveJob('d')], 'nothing is created by a clock in doubt');
  });

  it('a market that has started is late; one that ends late is due at its end', () => {
    deepEqual([creation(T + 900).isLate, creation(T + 1_800).isLate], [true, false]);
    const { marketId, questionId } = creation(T + 900);
    equal(createJob({ asset: 'BTC', startTime: T, endTime: T + 900, marketId, questionId }, T * 1_000).isLate, true);
    const [job] = resolveJobs([{ ...decided('c'), expiration: T + 950 }], QUICK_RULES);
    equal(job?.dueAtS, T + 950);
  });

  it('none for a market that lacks a price', () => {
    deepEqual(resolveJobs([market('c', { strike: price('pyth', '100', T * 1_000) })], QUICK_RULES), []);
  });

  it('are told from their requests\' notes', () => {
    const { keyOf, name } = source();
    const keys = [{ kind: 'create', marketId: '0x1' }, { kind: 'resolve', marketId: '0x1' }, { kind: 'other', marketId: '0x1' }, null].map(keyOf);
    deepEqual([name, keys], ['quick', ['create:0x1', 'resolve:0x1', undefined, undefined]]);
  });

  it('counts what is missing, decided and unresolvable', () => {
    const unresolved = [decided('c'), market('d', { missed: new Set(['end'] as const) }), market('e')];
    const { jobs, counts } = source({ unresolved });
    jobs();
    deepEqual(counts(), { missing: 2, decided: 1, unresolvable: 1 });
  });

  const resolvable = { marketOf: ADDRESS, payoutDenominator: 0n };
  for (const [what, name, world, finding] of [
    ['is created already', 'create', { answers: { marketOf: ADDRESS } }, { kind: 'done' }],
    ['is resolved already', 'resolve', { answers: { ...resolvable, payoutDenominator: 1n } }, { kind: 'done' }],
    ['has started, and no source tells its first price', 'create', { hasStartPrice: false, answers: { marketOf: '0x0' } }, {
      kind: 'waits', reason: 'it has started, and no source tells its first price', isReported: true,
    }],
    ['cannot be resolved', 'resolve', { answers: resolvable, reverted: 'InvalidPublishTime(1, 2)' }, {
      kind: 'refused', reason: 'the contract refuses it: InvalidPublishTime(1, 2)',
    }],
  ] as [string, QuickJob['kind'], World, unknown][]) {
    it(`a look finds that the market ${what}`, async () => {
      deepEqual(await source(world).look(name === 'create' ? creation(T + 900) : resolveJob('c')), finding);
    });
  }

  it('a look finds what a transaction would do: a resolution goes before a creation', async () => {
    const created = await source({ answers: { marketOf: '0x0' } }).look(creation(T + 900));
    const resolved = await source({ answers: resolvable }).look(resolveJob('c'));
    deepEqual([created, resolved].map((each) => each.kind === 'ready' && { ...each.transaction, data: each.transaction.data.length > 10 }), [
      {
        to: contracts.marketFactory, data: true, gasLimit: CREATE_GAS, priority: 0,
        note: { kind: 'create', marketId: creation(T + 900).marketId },
      },
      { to: contracts.quickResolver, data: true, gasLimit: RESOLVE_GAS, priority: 1, note: { kind: 'resolve', marketId: bytes32('c') } },
    ]);
  });

  it('raises an alert once for a market without a price, that says when and what can be done', () => {
    const report = missedPrices(5, QUICK_RULES);
    const at = (unresolved: readonly QuickMarket[], afterMs: number) => report(unresolved, NOW_MS + afterMs);
    const unresolved = [market('d', { missed: new Set(['start', 'end'] as const) })];
    // A market that was made late lacks its first price until the sources have been asked.
    deepEqual(at(unresolved, 0), []);
    deepEqual(at(unresolved, 14_999), []);
    deepEqual(at(unresolved, 15_000), [{
      level: 'alert',
      text: `chain 5, market ${bytes32('d')}: no source has told the price of BTC at 2027-01-15T08:00:00.000Z and 2027-01-15T08:15:00.000Z. Without it `
        + 'nobody can resolve the market; a day after its end the quick resolver\'s administrator can halve it',
    }]);
    deepEqual(at(unresolved, 60_000), []);
    const again = [...unresolved, market('e', { missed: new Set(['end'] as const) })];
    deepEqual(at([], 61_000), []);
    deepEqual(at(again, 62_000), [], 'the time begins anew');
    equal(at(again, 77_000).length, 2);
  });
});
