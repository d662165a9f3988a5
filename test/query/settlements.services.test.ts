/** Pending and failed trades and one transaction's fills: exact shapes, pages, windows, transactions that replaced others. */
import assert from 'node:assert/strict';
import { MAX_SETTLEMENTS, failedTrades, pendingTrades, settlementOfTransaction } from '../../query/settlements.js';
import { UINT64_MAX, address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const DAY_MS = 86_400_000;
const NOW_MS = 1_700_000_500_000;
const sides = { buyerAddress: address(1), sellerAddress: address(2) };
const trade = { marketId: bytes32(1), ...sides, fillSize: 100, fillPrice: 500_000, outcome: 0 };
const [TX, BUMPED] = [bytes32(80), bytes32(81)];
const failure = { settlement: 3, tx_hash: TX, failure_reason: 'seller_not_approved' };

describe('query: settlements', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  const ofTransaction = async (txHash: string) => JSON.parse((await settlementOfTransaction(models.db, { txHash })).body) as Record<string, unknown>;

  it('lists what the chain has not confirmed, oldest first, in the transaction sent last, sizes exact', async () => {
    await models.insert('trades',
      { number: 0, settlement: 2, tx_hash: TX }, { number: 1, size: UINT64_MAX, settlement: 1, tx_hash: BUMPED, at_ms: 1_700_000_001_007 },
      { number: 2, ...failure, settled_at_ms: NOW_MS, settled_position: 9 }, { number: 3, outcome: 1, market_id: bytes32(2) });
    await models.insert('submissions',
      { fills: [0, 1] }, { fills: [7, 8, 1], tx_hash: BUMPED });
    await models.advance(6);
    assert.deepEqual(await pendingTrades(models.db, {}), {
      body: `{"pendingTrades":[{"marketId":"${bytes32(1)}","txHash":"${BUMPED}","buyerAddress":"${address(1)}","sellerAddress":"${address(2)}",`
        + `"fillSize":${UINT64_MAX},"fillPrice":500000,"timestamp":"2023-11-14T22:13:21.007Z","isBatch":true,"batchIndex":2,"fill":1,"outcome":0,`
        + `"settlementStatus":"pending"},{"marketId":"${bytes32(2)}","txHash":"","buyerAddress":"${address(1)}","sellerAddress":"${address(2)}",`
        + '"fillSize":100,"fillPrice":500000,"timestamp":"2023-11-14T22:13:23.000Z","isBatch":false,"batchIndex":0,"fill":3,"outcome":1,'
        + '"settlementStatus":"matched"}],"count":2}',
      position: 5,
    });
  });

  it('lists failures of 24 hours, to the millisecond, the latest first', async () => {
    const at = [NOW_MS - DAY_MS, NOW_MS - DAY_MS + 1, NOW_MS - 5, NOW_MS - 5];
    await models.insert('trades', { number: 10, settlement: 2, tx_hash: TX, settled_at_ms: NOW_MS, settled_position: 99 },
      ...at.map((settled_at_ms, n) => ({ number: 5 - n, ...failure, settled_at_ms, settled_position: 20 + n })));
    await models.insert('submissions', { fills: [90, 91, 92, 93, 2, 94, 95, 96, 97] });
    await models.advance(30);
    const { body, position } = await failedTrades(models.db, { nowMs: NOW_MS });
    const failed = { ...trade, txHash: TX, reason: 'seller_not_approved', timestamp: '2023-11-14T22:21:39.995Z', batchIndex: 0 };
    assert.deepEqual([JSON.parse(body), position], [{
      failedTrades: [{ ...failed, fill: 2, batchIndex: 4 }, { ...failed, fill: 3 }, { ...failed, fill: 4, timestamp: '2023-11-13T22:21:40.001Z' }], count: 3,
    }, 29]);
  });

  it('pages both: a full page names the next one, and the pages together are everything once', async () => {
    await models.insert('trades', ...[1, 2, 3, 4, 5].map((number) => ({ number })),
      ...[6, 7, 8, 9, 10].map((number) => ({ number, ...failure, settled_at_ms: NOW_MS - (number > 7 ? 1 : 2), settled_position: number })));
    const pages = async (read: (next: number | undefined) => Promise<{ body: string }>) => {
      const seen: number[][] = [];
      let next: number | undefined;
      do {
        const page = JSON.parse((await read(next)).body) as { next?: number } & Record<'pendingTrades' | 'failedTrades', { fill: number }[] | undefined>;
        seen.push((page.pendingTrades ?? page.failedTrades ?? []).map(({ fill }) => fill));
        next = page.next;
      } while (next !== undefined);
      return seen;
    };
    assert.deepEqual(await pages((next) => pendingTrades(models.db, { limit: 2, next })), [[1, 2], [3, 4], [5]]);
    assert.deepEqual(await pages((next) => failedTrades(models.db, { limit: 2, next, nowMs: NOW_MS })), [[10, 9], [8, 7], [6]]);
  });

  it('has at most 1,000 trades an answer, and none where there are none', async () => {
    assert.equal((await pendingTrades(models.db, {})).body, '{"pendingTrades":[],"count":0}');
    assert.equal((await failedTrades(models.db, { nowMs: NOW_MS })).body, '{"failedTrades":[],"count":0}');
    await models.insert('trades', { number: 0 });
    await models.run(`
      insert into trades (number, market_id, outcome, price, size, cost, taker_side, maker_number, taker_number, buyer, seller, position, at_ms, settlement,
        tx_hash, settled_position, settled_at_ms, failure_reason)
      select n, market_id, 0, 1, 1, 1, 0, 1, 2, buyer, seller, n, 0, case when n <= 1001 then 0 else 3 end,
      null, n, 1700000499000, 'unknown' from trades, generate_series(1, 2002) n`);
    await models.derive();
    const counted = ({ body }: { body: string }) => {
      const { count, next } = JSON.parse(body) as { count: number; next: number };
      return [count, next];
    };
    assert.deepEqual(counted(await pendingTrades(models.db, {})), [MAX_SETTLEMENTS, 999]);
    assert.deepEqual(counted(await failedTrades(models.db, { nowMs: NOW_MS })), [MAX_SETTLEMENTS, 1_003]);
  });

  it('finds a transaction\'s fills in their order, each with its own status', async () => {
    await models.insert('trades',
      { number: 3, settlement: 2, tx_hash: TX, settled_at_ms: 1_700_000_200_001, settled_position: 30 },
      { number: 5, ...failure, settled_at_ms: 1_700_000_200_002, settled_position: 31 }, { number: 6, settlement: 1, tx_hash: BUMPED });
    await models.insert('submissions', { fills: [5, 3, 6] }, { fills: [6], tx_hash: BUMPED, at_ms: 1_700_000_300_000 });
    const [first, second, third] = [
      { ...trade, fill: 5, status: 'failed', reason: 'seller_not_approved', replacedBy: null, timestamp: '2023-11-14T22:16:40.002Z', batchIndex: 0 },
      { ...trade, fill: 3, status: 'confirmed', reason: null, replacedBy: null, timestamp: '2023-11-14T22:16:40.001Z', batchIndex: 1 },
      { ...trade, fill: 6, status: 'pending', reason: null, replacedBy: BUMPED, timestamp: '2023-11-14T22:15:00.000Z', batchIndex: 2 },
    ];
    assert.deepEqual(await ofTransaction(TX), { found: true, txHash: TX, ...second, isBatch: true, fills: [first, second, third] });
    const alone = { ...third, replacedBy: null, batchIndex: 0, timestamp: '2023-11-14T22:18:20.000Z' };
    assert.deepEqual(await ofTransaction(BUMPED), { found: true, txHash: BUMPED, ...alone, isBatch: false, fills: [alone] });
  });

  describe('shows of a batch at top level', () => {
    const [CONFIRMED, FAILED, PENDING] = [{ settlement: 2, tx_hash: TX }, failure, { settlement: 1, tx_hash: TX }];
    const cases: [what: string, fills: object[], shown: number, status: string][] = [
      ['the confirmed fill after a failed one', [FAILED, CONFIRMED], 1, 'confirmed'],
      ['the confirmed fill before a failed one', [CONFIRMED, FAILED], 0, 'confirmed'],
      ['the confirmed fill after a pending one', [PENDING, CONFIRMED], 1, 'confirmed'],
      ['the first of two confirmed fills', [FAILED, CONFIRMED, CONFIRMED], 1, 'confirmed'],
      ['without a confirmed fill, the first pending one', [FAILED, PENDING, PENDING], 1, 'pending'],
      ['a failed fill when all have failed', [FAILED, FAILED], 0, 'failed'],
    ];
    for (const [what, fills, shown, status] of cases) {
      it(what, async () => {
        await models.insert('trades', ...fills.map((fill, number) => ({ number, ...fill })));
        await models.insert('submissions', { fills: fills.map((_, fill) => fill) });
        const { fill, batchIndex, status: told, reason, fills: all } = await ofTransaction(TX);
        const why = status === 'failed' ? 'seller_not_approved' : null;
        assert.deepEqual({ fill, batchIndex, told, reason }, { fill: shown, batchIndex: shown, told: status, reason: why });
        assert.deepEqual((all as { fill: number }[]).map((each) => each.fill), fills.map((_, index) => index));
      });
    }
  });

  it('finds a transaction that settled what it was not announced for', async () => {
    await models.insert('trades', ...[4, 2].map((number) => ({ number, settlement: 2, tx_hash: BUMPED, settled_at_ms: 1_700_000_200_000, settled_position: 30 })));
    await models.insert('submissions', { fills: [4] });
    const fill = (number: number, batchIndex: number, replacedBy: string | null) => (
      { ...trade, fill: number, status: 'confirmed', reason: null, replacedBy, timestamp: '2023-11-14T22:16:40.000Z', batchIndex });
    assert.deepEqual(await ofTransaction(BUMPED), {
      found: true, txHash: BUMPED, ...fill(2, 0, null), isBatch: true, fills: [fill(2, 0, null), fill(4, 1, null)],
    });
    assert.deepEqual(await ofTransaction(TX), {
      found: true, txHash: TX, ...fill(4, 0, BUMPED), isBatch: false, fills: [fill(4, 0, BUMPED)],
    });
  });

  it('says of an unknown transaction that it is not found, and nothing else', async () => {
    await models.insert('trades', { number: 0 });
    await models.advance(4);
    assert.deepEqual(await settlementOfTransaction(models.db, { txHash: TX }), { body: '{"found":false}', position: 3 });
  });
});
