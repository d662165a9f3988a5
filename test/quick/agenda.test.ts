/** What is created and resolved, and what is told, by tables: markets of the history, the chain's time, the outbox's requests, what a look finds. */
import { deepEqual, equal, notEqual } from 'node:assert/strict';
import {
  AGENDA_RULES, Agenda, forgettable, requestIdOf, type CreateJob, type Finding, type Job, type ResolveJob, type Round,
} from '../../command/quick/agenda.js';
import type { RequestStatus, TrackedRequest } from '../../command/lane/requests.js';
import type { QuickMarket } from '../../engine/run/view.js';
import { bytes32 } from '../support/scenario.js';

const CHAIN = 5;
const T = 1_800_000_000;
const NOW_MS = (T + 1_000) * 1_000;
const HASH = bytes32('transaction');

const terms = (name: string, startTime = T + 1_800) => (
  { asset: 'BTC', startTime, endTime: startTime + 900, marketId: bytes32(name), questionId: bytes32(`question of ${name}`) });
const createJob = (name: string, startTime = T + 1_800): CreateJob => ({ kind: 'create', ...terms(name, startTime), late: startTime <= T + 1_000 });
const price = (source: string, amount: string, publishedAt: number) => ({ source, price: amount, publishedAt });
const market = (name: string, quick: Partial<QuickMarket['quick']> = {}): QuickMarket => ({
  marketId: bytes32(name), chainId: CHAIN, expiration: T + 900, closed: true, winner: undefined, tokens: undefined,
  quick: { asset: 'BTC', startTime: T, strike: undefined, end: undefined, outcome: undefined, missed: new Set(), ...quick },
});
const decided = (name: string) => market(name, { strike: price('pyth', '100', T * 1_000 + 999), end: price('pyth', '101', (T + 915) * 1_000), outcome: 0 });
const resolveJob = (name: string): ResolveJob => (
  { kind: 'resolve', marketId: bytes32(name), asset: 'BTC', startPrice: '100', startPublishedS: T, endPrice: '101', endPublishedS: T + 915 });
const request = (job: Job, status: RequestStatus, askedAtMs = 0): TrackedRequest => (
  { id: `request for ${job.marketId}`, note: { kind: job.kind, marketId: job.marketId }, status, txHashes: [], askedAtMs });
const mined = (block: number, succeeded: boolean): RequestStatus => ({ kind: 'ended', ending: { kind: 'mined', txHash: HASH, block, succeeded } });
const round = (changes: Partial<Round> = {}): Round => (
  { wanted: [], isKnown: () => false, unresolved: [], requests: [], nextBlock: 100, timeS: T + 1_000, nowMs: NOW_MS, ...changes });
const begun = (changes: Partial<Round>, agenda = new Agenda(CHAIN, AGENDA_RULES)) => {
  const { jobs, told } = agenda.begin(round(changes));
  return { jobs, told: told.map(({ level, text }) => `${level}: ${text}`), status: agenda.status() };
};
const told = (agenda: Agenda, job: Job, finding: Finding, nowMs = NOW_MS) => agenda.saw(job, finding, nowMs).map(({ level, text }) => `${level}: ${text}`);

describe('quick markets: the agenda', () => {
  const [A, B] = [terms('a'), terms('b')];
  for (const [what, changes, jobs] of [
    ['nothing is wanted, nothing unresolved', {}, []],
    ['a market is wanted that the history does not have', { wanted: [A, B], isKnown: (id) => id === A.marketId }, [createJob('b')]],
    ['a market has started that is wanted', { wanted: [terms('a', T + 900)] }, [createJob('a', T + 900)]],
    ['its creation is on its way', { wanted: [A], requests: [request(createJob('a'), { kind: 'sent' })] }, []],
    ['its creation is mined, and the history has not come there', { wanted: [A], requests: [request(createJob('a'), mined(100, true))] }, []],
    ['its creation has reverted, and the history has come there', { wanted: [A], requests: [request(createJob('a'), mined(99, false))] }, [createJob('a')]],
    ['the pause after that is not over', { wanted: [A], requests: [request(createJob('a'), mined(99, false), NOW_MS - 4_999)] }, []],
    ['a market lacks a price', { unresolved: [market('c', { strike: price('pyth', '100', T * 1_000) })] }, []],
    ['a market is decided', { unresolved: [decided('c')] }, [resolveJob('c')]],
    ['the chain\'s time has not come to the end price', { unresolved: [decided('c')], timeS: T + 914 }, []],
    ['its resolution is on its way', { unresolved: [decided('c')], requests: [request(resolveJob('c'), { kind: 'waiting' })] }, []],
    ['another one\'s is', { unresolved: [decided('c')], requests: [request(resolveJob('d'), { kind: 'waiting' })] }, [resolveJob('c')]],
    ['both: resolutions first', { wanted: [A], unresolved: [decided('c')] }, [resolveJob('c'), createJob('a')]],
  ] as [string, Partial<Round>, Job[]][]) {
    it(`${jobs.length === 0 ? 'does nothing' : 'acts'}: ${what}`, () => { deepEqual(begun(changes).jobs, jobs); });
  }

  it('counts what is missing, decided and unresolvable', () => {
    const unresolved = [decided('c'), market('d', { missed: new Set(['end'] as const) }), market('e')];
    deepEqual(begun({ wanted: [A], unresolved }).status, { missing: 1, decided: 1, unresolvable: 1, refused: 0 });
  });

  it('raises an alarm once for a market without a price, that says when and what can be done', () => {
    const agenda = new Agenda(CHAIN, AGENDA_RULES);
    const unresolved = [market('d', { missed: new Set(['start', 'end'] as const) })];
    // A market that was made late lacks its first price until the sources have been asked.
    deepEqual(begun({ unresolved }, agenda).told, []);
    deepEqual(begun({ unresolved, nowMs: NOW_MS + 14_999 }, agenda).told, []);
    deepEqual(begun({ unresolved, nowMs: NOW_MS + 15_000 }, agenda).told, [
      `alarm: chain 5, market ${bytes32('d')}: no source has told the price of BTC at 2027-01-15T08:00:00.000Z and 2027-01-15T08:15:00.000Z. Without it nobody can `
      + 'resolve the market; a day after its end the quick resolver\'s administrator can halve it',
    ]);
    deepEqual(begun({ unresolved, nowMs: NOW_MS + 60_000 }, agenda).told, []);
    const again = [...unresolved, market('e', { missed: new Set(['end'] as const) })];
    deepEqual(begun({ unresolved: [], nowMs: NOW_MS + 61_000 }, agenda).told, []);
    deepEqual(begun({ unresolved: again, nowMs: NOW_MS + 62_000 }, agenda).told, [], 'the time begins anew');
    equal(begun({ unresolved: again, nowMs: NOW_MS + 77_000 }, agenda).told.length, 2);
  });

  it('raises an alarm once when the contract refuses, sends nothing, and looks again with growing pauses', () => {
    const agenda = new Agenda(CHAIN, AGENDA_RULES);
    const asked = { unresolved: [decided('c')] };
    begun(asked, agenda);
    const refusal: Finding = { kind: 'refused', reason: 'InvalidPublishTime(1, 2)' };
    deepEqual(told(agenda, resolveJob('c'), refusal), [
      `alarm: chain 5, resolving the quick market ${bytes32('c')} of BTC: the contract refuses it: InvalidPublishTime(1, 2). Nothing is sent; it is tried again with growing pauses`,
    ]);
    deepEqual(begun({ ...asked, nowMs: NOW_MS + 4_999 }, agenda).jobs, []);
    deepEqual(begun({ ...asked, nowMs: NOW_MS + 5_000 }, agenda).jobs, [resolveJob('c')]);
    deepEqual(told(agenda, resolveJob('c'), refusal, NOW_MS + 5_000), []);
    deepEqual(begun({ ...asked, nowMs: NOW_MS + 14_999 }, agenda).jobs, []);
    const { jobs, status } = begun({ ...asked, nowMs: NOW_MS + 15_000 }, agenda);
    deepEqual([jobs, status.refused], [[resolveJob('c')], 1]);
    told(agenda, resolveJob('c'), { kind: 'ready' });
    equal(begun(asked, agenda).status.refused, 0);
  });

  it('raises an alarm for a decided market that waits for long, with the reason', () => {
    const agenda = new Agenda(CHAIN, AGENDA_RULES);
    const asked = { unresolved: [decided('c')], requests: [request(resolveJob('c'), { kind: 'sent' })], nowMs: (T + 915 + 600) * 1_000 };
    deepEqual(begun({ ...asked, nowMs: asked.nowMs - 1 }, agenda).told, []);
    deepEqual(begun(asked, agenda).told, [
      `alarm: chain 5, resolving the quick market ${bytes32('c')} of BTC: that has waited for more than 10 minutes: its transaction is on its way`,
    ]);
    deepEqual(begun(asked, agenda).told, []);
  });

  it('waits with a market that has started while no source tells its first price', () => {
    const agenda = new Agenda(CHAIN, AGENDA_RULES);
    const asked = { wanted: [terms('a', T + 900)] };
    begun(asked, agenda);
    deepEqual(told(agenda, createJob('a', T + 900), { kind: 'waits', reason: 'no price' }), [
      'note: chain 5, creating the quick market of BTC from 2027-01-15T08:15:00.000Z: no price',
    ]);
    deepEqual(begun(asked, agenda).jobs, []);
    deepEqual(begun({ ...asked, nowMs: NOW_MS + 5_000 }, agenda).jobs, [createJob('a', T + 900)]);
  });

  it('asks under the same id until a request has ended, then under another', () => {
    const first = requestIdOf(CHAIN, resolveJob('c'), []);
    equal(requestIdOf(CHAIN, resolveJob('c'), [request(resolveJob('d'), { kind: 'sent' })]), first);
    for (const other of [
      requestIdOf(CHAIN, resolveJob('c'), [request(resolveJob('c'), mined(9, false))]), requestIdOf(CHAIN, createJob('c'), []), requestIdOf(6, resolveJob('c'), []),
    ]) notEqual(other, first);
  });

  it('forgets requests that are over once their job is: the market is known, its time is gone, or it is resolved', () => {
    const over = mined(9, true);
    const requests = [
      request(createJob('a'), over), request(createJob('b'), over), request(createJob('gone'), over), request(createJob('sent'), { kind: 'sent' }),
      request(resolveJob('c'), over), request(resolveJob('d'), over), { ...request(resolveJob('e'), over), id: 'strange', note: null },
    ];
    deepEqual(forgettable({ wanted: [A, B], isKnown: (id) => id === A.marketId, unresolved: [decided('c')], requests }), [
      `request for ${bytes32('a')}`, `request for ${bytes32('gone')}`, `request for ${bytes32('d')}`, 'strange',
    ]);
  });
});
