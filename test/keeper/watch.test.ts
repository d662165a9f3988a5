/** What the keeper looks at, asks for and tells of, by tables: proposals, the chain's time, the outbox's requests, and what a look finds. */
import { deepEqual, equal, notEqual } from 'node:assert/strict';
import {
  forgettable, idOf, Watch, WATCH_RULES, type Finding, type Proposal, type Round, type WatchRules,
} from '../../command/keeper/watch.js';
import type { RequestStatus, TrackedRequest } from '../../command/lane/requests.js';
import { bytes32 } from '../support/scenario.js';

const CHAIN = 5;
const END_S = 10_000;
const DAY_S = 86_400;
const ASKED_MS = 1_000_000;
const MINUTE_MS = 60_000;
const RULES: WatchRules = { ...WATCH_RULES, graceS: 30 };
const HASH = bytes32('transaction');

const proposal = (name: string, changes: Partial<Proposal> = {}): Proposal => (
  { marketId: bytes32(`market of ${name}`), assertionId: bytes32(name), expirationTime: END_S, disputed: false, ...changes });
const [A, B] = [proposal('a'), proposal('b')];
const disputed = { ...A, disputed: true };
const request = (of: Proposal, status: RequestStatus, changes: Partial<TrackedRequest> = {}): TrackedRequest => (
  { id: `request for ${of.assertionId}`, note: { assertionId: of.assertionId }, status, txHashes: [], askedAtMs: ASKED_MS, ...changes });
const mined = (block: number, succeeded: boolean): RequestStatus => ({ kind: 'ended', ending: { kind: 'mined', txHash: HASH, block, succeeded } });
const lost: RequestStatus = { kind: 'ended', ending: { kind: 'lost' } };
const round = (changes: Partial<Round> = {}): Round => (
  { proposals: [A], requests: [], nextBlock: 100, timeS: END_S + 30, nowMs: ASKED_MS + MINUTE_MS, ...changes });
const begun = (changes: Partial<Round> = {}, watch = new Watch(CHAIN, RULES)) => {
  const { looks, told } = watch.begin(round(changes));
  return { looks, told: told.map(({ level, text }) => `${level}: ${text}`), status: watch.status() };
};
const about = ({ assertionId, marketId }: Proposal) => `chain 5, assertion ${assertionId} of market ${marketId}: `;

describe('keeper: the watch', () => {
  for (const [what, changes, looks] of [
    ['nothing is proposed', { proposals: [] }, []],
    ['the dispute window is open', { timeS: END_S - 1 }, []],
    ['others may settle first', { timeS: END_S + 29 }, []],
    ['nobody has settled when the time for others is over', {}, [A]],
    ['it is disputed, in its window', { proposals: [disputed], timeS: 1 }, [disputed]],
    ['several are due, one is not', { proposals: [A, proposal('later', { expirationTime: END_S + 1 }), B] }, [A, B]],
    ['the lane has not taken the request', { requests: [request(A, { kind: 'waiting' })] }, []],
    ['its transaction is on its way', { requests: [request(A, { kind: 'sent' })] }, []],
    ['another proposal\'s transaction is on its way', { requests: [request(B, { kind: 'sent' })] }, [A]],
    ['the history has not come to the transaction\'s block', { requests: [request(A, mined(100, true))] }, []],
    ['the history has the transaction\'s block, and the proposal counts still', { requests: [request(A, mined(99, false))] }, [A]],
    ['the pause after a transaction in vain is not over', { requests: [request(A, mined(99, false))], nowMs: ASKED_MS + MINUTE_MS - 1 }, []],
    ['the pause after a second one is not over', { requests: [request(A, lost), request(A, lost)], nowMs: ASKED_MS + 2 * MINUTE_MS - 1 }, []],
    ['the pause after a second one is over', { requests: [request(A, lost), request(A, lost)], nowMs: ASKED_MS + 2 * MINUTE_MS }, [A]],
    ['another transaction has used the nonce', { requests: [request(A, lost)] }, [A]],
    ['the lane has refused', { requests: [request(A, { kind: 'refused', reason: 'too much gas' })] }, [A]],
  ] as [string, Partial<Round>, Proposal[]][]) {
    it(`${looks.length === 0 ? 'does not look' : 'looks'}: ${what}`, () => { deepEqual(begun(changes).looks, looks); });
  }

  it('looks at a limited number per round, and at the others in the next', () => {
    const watch = new Watch(CHAIN, { ...RULES, looks: 2 });
    const proposals = ['a', 'b', 'c'].map((name) => proposal(name));
    const first = begun({ proposals }, watch).looks;
    deepEqual(first, proposals.slice(0, 2));
    for (const each of first) watch.saw(each, { kind: 'settled' }, round().nowMs);
    deepEqual(begun({ proposals }, watch).looks, proposals.slice(2));
  });

  for (const [finding, of, pauseMs, told] of [
    [{ kind: 'settled' }, A, MINUTE_MS, []],
    [{ kind: 'undecided', reason: 'AssertionNotArbitrated(a)' }, disputed, MINUTE_MS, []],
    [{ kind: 'refused', reason: 'the bond is refused' }, A, MINUTE_MS, [
      `alarm: ${about(A)}the oracle refuses to settle it: the bond is refused. Nothing is sent; the keeper looks again with growing pauses`,
    ]],
  ] as [Finding, Proposal, number, string[]][]) {
    it(`finds ${finding.kind}: looks again after ${pauseMs} ms, and tells ${told.length}`, () => {
      const watch = new Watch(CHAIN, RULES);
      const { nowMs } = round();
      deepEqual(watch.saw(of, finding, nowMs).map(({ level, text }) => `${level}: ${text}`), told);
      deepEqual(begun({ proposals: [of], nowMs: nowMs + pauseMs - 1 }, watch).looks, []);
      deepEqual(begun({ proposals: [of], nowMs: nowMs + pauseMs }, watch).looks, [of]);
    });
  }

  it('looks at what the oracle refuses with growing pauses up to an hour, and tells of it once per reason', () => {
    const watch = new Watch(CHAIN, RULES);
    let nowMs = 0;
    const pauses = Array.from({ length: 8 }, (_, i) => {
      const told = watch.saw(A, { kind: 'refused', reason: 'no' }, nowMs).length;
      equal(told, i === 0 ? 1 : 0);
      const at = nowMs;
      while (begun({ nowMs }, watch).looks.length === 0) nowMs += MINUTE_MS;
      return (nowMs - at) / MINUTE_MS;
    });
    deepEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    equal(watch.saw(A, { kind: 'refused', reason: 'another' }, nowMs).length, 1);
  });

  for (const [what, status, told] of [
    ['refused by the lane', { kind: 'refused', reason: 'too much gas' }, [`alarm: ${about(A)}the lane has refused request request for ${A.assertionId}: too much gas`]],
    ['reverted', mined(99, false), [`trouble: ${about(A)}transaction ${HASH} reverted: somebody else may have been first`]],
    ['lost', lost, [`trouble: ${about(A)}another transaction used the nonce of request request for ${A.assertionId}`]],
    ['successful, and the proposal counts still', mined(99, true), []],
    ['on its way', { kind: 'sent' }, []],
  ] as [string, RequestStatus, string[]][]) {
    it(`tells once of a request that is ${what}`, () => {
      const watch = new Watch(CHAIN, RULES);
      const requests = [request(A, status)];
      deepEqual(begun({ requests }, watch).told, told);
      deepEqual(begun({ requests }, watch).told, []);
      deepEqual(begun({ requests, proposals: [] }).told, [], 'nothing once somebody has settled it');
    });
  }

  describe('of what waits for seven days', () => {
    const longest = END_S + 7 * DAY_S;
    const waits = (reason: string) => [
      `alarm: ${about(A)}it has waited for 7 days since its dispute window: ${reason}. If the oracle cannot settle it, the resolver's administrator can abandon it`,
    ];

    it('counts it, and tells of it once, with what the last look has found', () => {
      const watch = new Watch(CHAIN, RULES);
      watch.saw(disputed, { kind: 'undecided', reason: 'AssertionNotArbitrated(a)' }, 0);
      const proposals = [disputed, B];
      deepEqual(begun({ proposals, timeS: longest - 1 }, watch), { looks: proposals, told: [], status: { due: 2, overdue: 0 } });
      const { told, status } = begun({ proposals: [disputed], timeS: longest }, watch);
      deepEqual({ told, status }, { told: waits('it is disputed, and the oracle has not decided: AssertionNotArbitrated(a)'), status: { due: 1, overdue: 1 } });
      watch.saw(disputed, { kind: 'undecided', reason: 'another' }, 0);
      deepEqual(begun({ proposals: [disputed], timeS: longest + DAY_S }, watch).told, []);
    });

    it('tells of one whose transaction is on its way, and nothing before it has looked', () => {
      deepEqual(begun({ timeS: longest, requests: [request(A, { kind: 'sent' })] }).told, waits('its transaction is on its way'));
      deepEqual(begun({ timeS: longest }), { looks: [A], told: [], status: { due: 1, overdue: 1 } });
    });
  });

  it('names a request by chain, assertion and the number of those before, in every process alike', () => {
    const first = idOf(CHAIN, A, []);
    equal(idOf(CHAIN, { ...disputed }, [request(B, lost)]), first);
    for (const other of [idOf(CHAIN + 1, A, []), idOf(CHAIN, B, []), idOf(CHAIN, A, [request(A, lost)])]) notEqual(other, first);
  });

  it('forgets requests that are over when their proposals count no more, and no others', () => {
    const requests = [
      request(A, mined(99, false), { id: 'counts' }), request(B, mined(99, true), { id: 'settled' }), request(B, { kind: 'refused', reason: '' }, { id: 'refused' }),
      request(B, { kind: 'sent' }, { id: 'on its way' }), request(B, lost, { id: 'not the keeper\'s', note: { fills: [1] } }),
    ];
    deepEqual(forgettable({ proposals: [A], requests }), ['settled', 'refused', 'not the keeper\'s']);
  });

  describe('of markets that nobody has proposed', () => {
    const HALVABLE_S = END_S + 30 * DAY_S;
    const markets = (count: number) => Array.from({ length: count }, (_, i) => ({ marketId: bytes32(`unproposed ${i}`), expiration: END_S }));
    const alarm = (named: string) => ({
      level: 'alarm', text: `chain 5: nobody has proposed an outcome for 30 days since the expiration of ${named}. /api/v1/resolution says why; the resolver's `
        + 'administrator can halve such a market',
    });

    it('tells once that they may be halved, and anew when one comes again', () => {
      const watch = new Watch(CHAIN, RULES);
      const [one, other] = markets(2).map(({ marketId }) => marketId) as [string, string];
      deepEqual(watch.unproposed(markets(1), HALVABLE_S * 1_000 - 1), []);
      deepEqual(watch.unproposed(markets(1), HALVABLE_S * 1_000), [alarm(one)]);
      deepEqual(watch.unproposed(markets(2), HALVABLE_S * 1_000), [alarm(other)]);
      deepEqual(watch.unproposed(markets(2), HALVABLE_S * 1_000), []);
      deepEqual(watch.unproposed(markets(1), HALVABLE_S * 1_000), []);
      deepEqual(watch.unproposed(markets(2), HALVABLE_S * 1_000), [alarm(other)]);
    });

    it('names ten of many', () => {
      const many = markets(1_000);
      deepEqual(new Watch(CHAIN, RULES).unproposed(many, HALVABLE_S * 1_000), [
        alarm(`${many.slice(0, 10).map(({ marketId }) => marketId).join(', ')} and 990 more`),
      ]);
    });
  });
});
