/** Pending and failed claims, and a request to the relayer by its id: exact shapes, pages, windows. */
import assert from 'node:assert/strict';
import { failedClaims, MAX_CLAIM_ENTRIES, pendingClaims, relayOfRequest } from '../../query/claims.js';
import { address, bytes32, readModels, UINT64_MAX, type ReadModels } from '../support/read-models.js';

const DAY_MS = 86_400_000;
const NOW_MS = 1_700_000_500_000;
const TX = bytes32(80);
const failure = { status: 3, tx_hash: TX, reason: 'reverted' };
const claim = {
  txHash: '', userAddress: address(1), marketAddress: address(1_001), marketId: bytes32(1), payout: 100, winningOutcome: 0, submittedAt: 1_700_000_001,
  chainId: 31_337,
};

describe('query: claims', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(async () => {
    await models.clear();
    await models.insert('markets', { number: 1 });
  });
  after(() => models.close());

  it('lists what the chain has not confirmed, oldest first, in the transaction sent last, payouts exact', async () => {
    await models.insert('claims', { position: 3, index: 1, status: 1, tx_hash: TX, payout: UINT64_MAX, winning_outcome: 1 },
      { position: 3, index: 0, status: 2 }, { position: 1 }, { position: 2, ...failure, ended_at_ms: NOW_MS, ended_position: 9 });
    await models.advance(4);
    assert.deepEqual(await pendingClaims(models.db, {}), {
      body: `{"pendingClaims":[{"txHash":"","userAddress":"${address(1)}","marketAddress":"${address(1_001)}","marketId":"${bytes32(1)}","payout":100,`
        + `"winningOutcome":0,"submittedAt":1700000001,"chainId":31337},{"txHash":"${TX}","userAddress":"${address(1)}","marketAddress":"${address(1_001)}",`
        + `"marketId":"${bytes32(1)}","payout":${UINT64_MAX},"winningOutcome":1,"submittedAt":1700000003,"chainId":31337}],"count":2}`,
      position: 3,
    });
  });

  it('lists failures of 24 hours, to the millisecond, the latest first', async () => {
    const at = [NOW_MS - DAY_MS, NOW_MS - DAY_MS + 1, NOW_MS - 5];
    await models.insert('claims', { position: 10, status: 2, ended_at_ms: NOW_MS, ended_position: 99 },
      ...at.map((ended_at_ms, n) => ({ position: 1 + n, ...failure, ended_at_ms, ended_position: 20 + n })),
      { position: 3, index: 1, ...failure, tx_hash: null, reason: null, ended_at_ms: NOW_MS - 5, ended_position: 22 });
    const { body } = await failedClaims(models.db, { nowMs: NOW_MS });
    const last = { ...claim, submittedAt: 1_700_000_003, failedAt: 1_700_000_499 };
    assert.deepEqual(JSON.parse(body), {
      failedClaims: [
        { ...last, reason: null }, { ...last, txHash: TX, reason: 'reverted' },
        { ...claim, txHash: TX, submittedAt: 1_700_000_002, reason: 'reverted', failedAt: 1_699_914_100 },
      ], count: 3,
    });
  });

  it('names no winner of a market that is paid half to half, whatever the relayer took for one', async () => {
    const winner = async () => {
      const { pendingClaims: [pending] } = JSON.parse((await pendingClaims(models.db, {})).body) as { pendingClaims: { winningOutcome: unknown }[] };
      return pending?.winningOutcome;
    };
    await models.insert('claims', { position: 1 });
    assert.equal(await winner(), 0, 'as long as the history does not tell otherwise');
    await models.run('update markets set resolved = true');
    assert.equal(await winner(), null);
    await models.run('update markets set winning_outcome = 0');
    assert.equal(await winner(), 0);
  });

  it('pages both: a full page names the next one, and the pages together are everything once', async () => {
    const places = [1, 2, 3].flatMap((position) => [0, 19].map((index) => ({ position, index })));
    await models.insert('claims', ...places.map((place) => ({ ...place, payout: place.position * 100 + place.index })),
      ...places.map(({ position, index }) => ({
        position: position + 10, index, ...failure, payout: position * 100 + index, ended_at_ms: NOW_MS - 9 + position, ended_position: 30 + position,
      })));
    type Paid = { readonly payout: number };
    const pages = async (read: (next: number | undefined) => Promise<{ body: string }>) => {
      const seen: number[][] = [];
      let next: number | undefined;
      do {
        const page = JSON.parse((await read(next)).body) as { next?: number; pendingClaims?: Paid[]; failedClaims?: Paid[] };
        seen.push((page.pendingClaims ?? page.failedClaims ?? []).map(({ payout }) => payout));
        next = page.next;
      } while (next !== undefined);
      return seen;
    };
    assert.deepEqual(await pages((next) => pendingClaims(models.db, { limit: 4, next })), [[100, 119, 200, 219], [300, 319]]);
    assert.deepEqual(await pages((next) => failedClaims(models.db, { limit: 5, next, nowMs: NOW_MS })), [[319, 300, 219, 200, 119], [100]]);
  });

  it('has at most 1,000 claims an answer, and none where there are none', async () => {
    assert.equal((await pendingClaims(models.db, {})).body, '{"pendingClaims":[],"count":0}');
    assert.equal((await failedClaims(models.db, { nowMs: NOW_MS })).body, '{"failedClaims":[],"count":0}');
    await models.insert('claims', { position: 0 });
    await models.run(`insert into claims select n, 0, request_id, market_id, user_address, 1, 0, case when n <= 1001 then 0 else 3 end, null, n,
      1700000499000, n, null from claims, generate_series(1, 2002) n`);
    const counted = ({ body }: { body: string }) => {
      const { count, next } = JSON.parse(body) as { count: number; next: number };
      return [count, next];
    };
    assert.deepEqual(counted(await pendingClaims(models.db, {})), [MAX_CLAIM_ENTRIES, 999 * 20]);
    assert.deepEqual(counted(await failedClaims(models.db, { nowMs: NOW_MS })), [MAX_CLAIM_ENTRIES, 1_003 * 20]);
  });

  it('knows a request by its id: open, submitted, ended', async () => {
    const requestId = bytes32(207);
    assert.equal(await relayOfRequest(models.db, { requestId }), undefined);
    await models.insert('relays', { position: 7 });
    await models.advance(9);
    const relay = { action: 'ctf-redemption', chainId: 31_337, owner: address(1), txHash: undefined, results: [], position: 8 };
    assert.deepEqual(await relayOfRequest(models.db, { requestId }), { ...relay, status: 'requested' });
    await models.run('update relays set status = 1, tx_hash = $1', [Buffer.from(TX.slice(2), 'hex')]);
    assert.deepEqual(await relayOfRequest(models.db, { requestId }), { ...relay, status: 'submitted', txHash: TX });
    const results = [{ succeeded: true, reason: null }, { succeeded: false, reason: 'reverted' }];
    await models.run('update relays set status = 3, results = $1', [JSON.stringify(results)]);
    assert.deepEqual(await relayOfRequest(models.db, { requestId }), { ...relay, status: 'failed', txHash: TX, results });
    await models.run('update relays set status = 2');
    assert.equal((await relayOfRequest(models.db, { requestId }))?.status, 'succeeded');
  });
});
