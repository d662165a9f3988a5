/** Which jobs are looked at, requested, forgotten and reported, by tables: jobs, the chain's time, the outbox's requests, what a look finds. */
import { deepEqual, equal, notEqual } from 'node:assert/strict';
import { JobList, type Finding, type Job, type JobRules, type RoundState } from '../../command/jobs/job-list.js';
import type { RequestStatus, TrackedRequest } from '../../command/lane/requests.js';
import { recordId } from '../../engine/run/new-record.js';
import { bytes32 } from '../support/scenario.js';

const CHAIN = 5;
const DUE_S = 10_000;
const LONG_S = 20_000;
const MINUTE_MS = 60_000;
const REQUESTED_MS = 1_000_000;
const NOW_MS = REQUESTED_MS + MINUTE_MS;
const HASH = bytes32('transaction');
const RULES: JobRules = { againMs: MINUTE_MS, backoff: { firstMs: MINUTE_MS, longestMs: 60 * MINUTE_MS }, looks: 20 };

const job = (key: string, changes: Partial<Job> = {}): Job => ({ key, title: `doing ${key}`, dueAtS: DUE_S, ...changes });
const [A, B] = [job('a'), job('b')];
const keyOf = (note: unknown) => (note as { key?: string } | null)?.key;
const newList = (rules = RULES, chainId = CHAIN) => new JobList({ chainId, name: 'work', keyOf, rules });
const request = ({ key }: Job, status: RequestStatus, changes: Partial<TrackedRequest> = {}): TrackedRequest => (
  { id: `request for ${key}`, note: { key }, status, txHashes: [], askedAtMs: REQUESTED_MS, ...changes });
const mined = (block: number, succeeded: boolean): RequestStatus => ({ kind: 'ended', ending: { kind: 'mined', txHash: HASH, block, succeeded } });
const lost: RequestStatus = { kind: 'ended', ending: { kind: 'lost' } };
const round = (changes: Partial<RoundState<Job>> = {}): RoundState<Job> => (
  { jobs: [A], requests: [], nextBlock: 100, timeS: DUE_S, nowMs: NOW_MS, ...changes });
const begin = (changes: Partial<RoundState<Job>> = {}, list = newList()) => {
  const { looks, messages } = list.begin(round(changes));
  return { looks: looks.map(({ key }) => key), messages: messages.map(({ level, text }) => `${level}: ${text}`), counts: list.counts() };
};
const found = (list: JobList<Job>, of: Job, finding: Finding, nowMs = NOW_MS) => (
  list.found(of, finding, nowMs).map(({ level, text }) => `${level}: ${text}`));

describe('jobs: the list', () => {
  for (const [what, changes, looks] of [
    ['there is no job', { jobs: [] }, []],
    ['its time has not come', { timeS: DUE_S - 1 }, []],
    ['its time has come', {}, ['a']],
    ['it has no time', { jobs: [{ key: 'a', title: '' }], timeS: 0 }, ['a']],
    ['several are due, one is not', { jobs: [A, job('later', { dueAtS: DUE_S + 1 }), B] }, ['a', 'b']],
    ['the lane has not taken the request', { requests: [request(A, { kind: 'waiting' })] }, []],
    ['its transaction is on its way', { requests: [request(A, { kind: 'sent' })] }, []],
    ['another job\'s transaction is on its way', { requests: [request(B, { kind: 'sent' })] }, ['a']],
    ['the history has not come to the transaction\'s block', { requests: [request(A, mined(100, true))] }, []],
    ['the history has the transaction\'s block, and the job is there still', { requests: [request(A, mined(99, false))] }, ['a']],
    ['the pause after a transaction that failed is not over', { requests: [request(A, mined(99, false))], nowMs: NOW_MS - 1 }, []],
    ['the pause after a second one is not over', { requests: [request(A, lost), request(A, lost)], nowMs: NOW_MS + MINUTE_MS - 1 }, []],
    ['the pause after a second one is over', { requests: [request(A, lost), request(A, lost)], nowMs: NOW_MS + MINUTE_MS }, ['a']],
    ['another transaction has used the nonce', { requests: [request(A, lost)] }, ['a']],
    ['the lane has refused', { requests: [request(A, { kind: 'refused', reason: 'too much gas' })] }, ['a']],
  ] as [string, Partial<RoundState<Job>>, string[]][]) {
    it(`${looks.length === 0 ? 'does not look' : 'looks'}: ${what}`, () => { deepEqual(begin(changes).looks, looks); });
  }

  it('looks at a limited number per round, and at the others in the next', () => {
    const list = newList({ ...RULES, looks: 2 });
    const jobs = [A, B, job('c')];
    deepEqual(begin({ jobs }, list).looks, ['a', 'b']);
    for (const each of [A, B]) found(list, each, { kind: 'done' });
    deepEqual(begin({ jobs }, list).looks, ['c']);
  });

  for (const [finding, pauseMs, messages] of [
    [{ kind: 'done' }, MINUTE_MS, []],
    [{ kind: 'waits', reason: 'nobody has decided' }, MINUTE_MS, []],
    [{ kind: 'waits', reason: 'no price', isReported: true }, MINUTE_MS, ['info: chain 5, doing a: no price']],
    [{ kind: 'refused', reason: 'the oracle refuses: no' }, MINUTE_MS, [
      'alert: chain 5, doing a: the oracle refuses: no. Nothing is sent; it is tried again with growing pauses',
    ]],
  ] as [Finding, number, string[]][]) {
    it(`finds ${finding.kind}: looks again after ${pauseMs} ms, and reports ${messages.length} once`, () => {
      const list = newList();
      deepEqual(found(list, A, finding), messages);
      deepEqual(begin({ nowMs: NOW_MS + pauseMs - 1 }, list).looks, []);
      deepEqual(begin({ nowMs: NOW_MS + pauseMs }, list).looks, ['a']);
      deepEqual(found(list, A, finding), []);
    });
  }

  it('looks at what is refused with growing pauses up to the longest, reports once per reason, and counts it until it is ready', () => {
    const list = newList();
    let nowMs = 0;
    const pauses = Array.from({ length: 8 }, (_, i) => {
      equal(found(list, A, { kind: 'refused', reason: 'no' }, nowMs).length, i === 0 ? 1 : 0);
      const at = nowMs;
      while (begin({ nowMs }, list).looks.length === 0) nowMs += MINUTE_MS;
      return (nowMs - at) / MINUTE_MS;
    });
    deepEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    equal(found(list, A, { kind: 'refused', reason: 'another' }, nowMs).length, 1);
    equal(begin({}, list).counts.refused, 1);
    deepEqual(found(list, A, { kind: 'ready', transaction: { to: '', data: '', gasLimit: 1n, note: { key: 'a' } } }), []);
    equal(begin({}, list).counts.refused, 0);
  });

  for (const [what, status, messages] of [
    ['refused by the lane', { kind: 'refused', reason: 'too much gas' }, ['alert: chain 5, doing a: the lane has refused request request for a: too much gas']],
    ['reverted', mined(99, false), [`warn: chain 5, doing a: transaction ${HASH} reverted: somebody else may have been first`]],
    ['lost', lost, ['warn: chain 5, doing a: another transaction used the nonce of request request for a']],
    ['successful, and the job is there still', mined(99, true), []],
    ['on its way', { kind: 'sent' }, []],
  ] as [string, RequestStatus, string[]][]) {
    it(`reports once a request that is ${what}`, () => {
      const list = newList();
      const requests = [request(A, status)];
      deepEqual(begin({ requests }, list).messages, messages);
      deepEqual(begin({ requests }, list).messages, []);
      deepEqual(begin({ requests, jobs: [] }).messages, [], 'nothing once somebody has done the job');
    });
  }

  describe('of what waits for long', () => {
    const overdue = { atS: LONG_S, waited: 'for 7 days', advice: 'Somebody can abandon it' };
    const [slow, plain] = [job('a', { overdue }), job('b', { overdue: { atS: LONG_S, waited: 'for ever' } })];

    it('counts it, and reports it once, with what the last look has found', () => {
      const list = newList();
      found(list, slow, { kind: 'waits', reason: 'nobody has decided' }, 0);
      deepEqual(begin({ jobs: [slow, B], timeS: LONG_S - 1 }, list), { looks: ['a', 'b'], messages: [], counts: { due: 2, overdue: 0, refused: 0 } });
      const { messages, counts } = begin({ jobs: [slow], timeS: LONG_S }, list);
      deepEqual([messages, counts], [
        ['alert: chain 5, doing a: it has waited for 7 days: nobody has decided. Somebody can abandon it'], { due: 1, overdue: 1, refused: 0 },
      ]);
      found(list, slow, { kind: 'waits', reason: 'another' }, 0);
      deepEqual(begin({ jobs: [slow], timeS: 2 * LONG_S }, list).messages, []);
    });

    it('reports a job whose transaction is on its way, and nothing before the first look', () => {
      deepEqual(begin({ jobs: [plain], timeS: LONG_S, requests: [request(plain, { kind: 'sent' })] }).messages, [
        'alert: chain 5, doing b: it has waited for ever: its transaction is on its way',
      ]);
      deepEqual(begin({ jobs: [plain], timeS: LONG_S }), { looks: ['b'], messages: [], counts: { due: 1, overdue: 1, refused: 0 } });
    });
  });

  it('gives a request the same id in every process until one has ended, then another', () => {
    const list = newList();
    equal(list.nextRequestId(A, [request(B, lost)]), recordId('work:5:a:0'));
    equal(list.nextRequestId(A, [request(A, lost)]), recordId('work:5:a:1'));
    for (const other of [newList(RULES, 6).nextRequestId(A, []), list.nextRequestId(B, [])]) notEqual(other, recordId('work:5:a:0'));
  });

  it('forgets requests that are over when their jobs are, and no others', () => {
    const requests = [
      request(A, mined(99, false), { id: 'is there still' }), request(B, mined(99, true), { id: 'done' }),
      request(B, { kind: 'refused', reason: '' }, { id: 'refused' }), request(B, { kind: 'sent' }, { id: 'on its way' }),
      request(B, lost, { id: 'not this user\'s', note: null }),
    ];
    deepEqual(newList().forgettable({ jobs: [A], requests }), ['done', 'refused', 'not this user\'s']);
  });
});
