/** Batches on the chain: each fill for itself, each number once, permits whatever became of them, and gas that ends too soon. */
import assert from 'node:assert/strict';
import { ZeroHash } from 'ethers';
import { HISTORY, SELL, USDC, results, onSettlementContracts, walletOf, type SettlementContracts } from '../support/settlement-contracts.js';
import type { Fill } from '../../contracts-abi/settlement.js';

const buyer = walletOf('buyer');
const seller = walletOf('seller');
const FILL: Fill = { seq: 1n, buyIndex: 0n, sellIndex: 1n, price: 600_000n, size: USDC };
const ANCHOR = { event: 'HistoryAnchored', args: { position: HISTORY.position, digest: HISTORY.digest } };

describe('contracts: batches', function () {
  this.timeout(60_000);
  let contracts: SettlementContracts;
  onSettlementContracts(async (begun) => {
    contracts = begun;
    await contracts.fund(buyer.address, 100n * USDC);
    await contracts.stock(seller.address, contracts.marketId, 50n * USDC);
  });

  const pair = async (wallet = buyer) => [
    await contracts.order(wallet, { marketId: contracts.marketId, size: 40n * USDC }),
    await contracts.order(seller, { marketId: contracts.marketId, side: SELL, size: 40n * USDC }),
  ];
  const fillsOf = (...seqs: bigint[]) => seqs.map((seq) => ({ ...FILL, seq }));

  it('settles no number twice: in one batch, in a later batch, next to other numbers in the same bitmap word', async () => {
    const orders = await pair();
    assert.deepEqual(results(await contracts.settle({ orders, fills: fillsOf(255n, 256n, 255n, 0n, 2n ** 64n - 1n) })),
      ['255 settled', '256 settled', '0 settled', `${2n ** 64n - 1n} settled`]);
    const again = await contracts.settle({ orders, fills: fillsOf(255n, 256n, 0n, 2n ** 64n - 1n) });
    assert.deepEqual(again.events, [ANCHOR]);
    assert.deepEqual(results(await contracts.settle({ orders, fills: fillsOf(254n, 255n, 257n, 1n) })), ['254 settled', '257 settled', '1 settled']);
    assert.equal((await contracts.balances(buyer.address, contracts.marketId)).yes, 7n * USDC);
  });

  it('uses a failed fill\'s number up like a settled one\'s', async () => {
    const { send, usdc, settlement, settle, read } = contracts;
    const orders = await pair();
    await send(buyer.address, usdc, 'approve', [settlement.address, 0n]);
    assert.deepEqual(results(await settle({ orders, fills: fillsOf(1n) })), ['1 buyer_insufficient_allowance of buyer']);
    assert.equal(await read(settlement, 'isSettled', [1n]), true);
    await contracts.fund(buyer.address, 1n);
    assert.deepEqual((await settle({ orders, fills: fillsOf(1n) })).events, [ANCHOR]);
  });

  it('anchors the history even without fills', async () => {
    assert.deepEqual((await contracts.settle({ orders: [], fills: [] })).events, [ANCHOR]);
  });

  it('settles every healthy fill of a poisoned batch', async () => {
    const { order, marketId, send, settlement, tokens, usdc, fund, stock, settle, chain } = contracts;
    const trader = async (name: string, side: 'buys' | 'sells') => {
      const wallet = walletOf(name);
      if (side === 'buys') await fund(wallet.address, 10n * USDC);
      else await stock(wallet.address, marketId, 10n * USDC);
      return await order(wallet, { marketId, size: 10n * USDC, ...side === 'sells' ? { side: SELL } : {} });
    };
    const orders = [...await pair(), await trader('drained', 'buys'), await trader('revoked', 'buys'), await trader('reverting', 'buys'),
      await trader('forged', 'buys'), await trader('without shares', 'sells'), await trader('disapproving', 'sells')];
    await send(walletOf('drained').address, usdc, 'transfer', [seller.address, 10n * USDC]);
    await send(walletOf('revoked').address, usdc, 'approve', [settlement.address, 0n]);
    await chain.rpc('anvil_setCode', [walletOf('reverting').address, '0x5f5ffd']);
    orders[5] = { ...orders[5]!, signature: orders[4]!.signature };
    await send(walletOf('without shares').address, tokens, 'mergePositions', [usdc.address, ZeroHash, marketId, [1n, 2n], 10n * USDC]);
    await send(walletOf('disapproving').address, tokens, 'setApprovalForAll', [settlement.address, false]);
    const pairs = [[0, 1], [2, 1], [0, 1], [3, 1], [0, 6], [4, 1], [5, 1], [0, 7], [2, 6], [9, 1], [0, 1]] as const;
    const fills = pairs.map(([buy, sell], index) => ({ ...FILL, seq: BigInt(index), buyIndex: BigInt(buy), sellIndex: BigInt(sell) }));
    assert.deepEqual(results(await settle({ orders, fills })), [
      '0 settled', '1 buyer_insufficient_balance of buyer', '2 settled', '3 buyer_insufficient_allowance of buyer', '4 seller_insufficient_shares of seller',
      '5 settled', '6 invalid_signature of buyer', '7 seller_not_approved of seller', '8 buyer_insufficient_balance of buyer', '10 settled',
    ]);
    assert.equal((await contracts.balances(buyer.address, marketId)).yes, 3n * USDC);
  });

  describe('permits', () => {
    const wallet = walletOf('permitting');
    beforeEach(() => contracts.fund(wallet.address, 10n * USDC, 0n));

    it('settle in the batch that brings them', async () => {
      const { permit, settle, read, usdc, settlement } = contracts;
      const sent = await settle({ orders: await pair(wallet), permits: [await permit(wallet, { value: 600_000n })], fills: fillsOf(1n, 2n) });
      assert.deepEqual(results(sent), ['1 settled', '2 buyer_insufficient_allowance of buyer']);
      assert.equal(await read(usdc, 'allowance', [wallet.address, settlement.address]), 0n);
    });

    it('sent by somebody else before are no error', async () => {
      const { permit, settle, send, usdc, settlement } = contracts;
      const { owner, value, deadline, v, r, s } = await permit(wallet, { value: USDC });
      assert.equal((await send(seller.address, usdc, 'permit', [owner, settlement.address, value, deadline, v, r, s])).ok, true);
      const sent = await settle({ orders: await pair(wallet), permits: [{ owner, value, deadline, v, r, s }], fills: fillsOf(1n) });
      assert.deepEqual(results(sent), ['1 settled']);
    });

    it('overwritten by the owner do not come back: the fill fails', async () => {
      const { permit, settle, send, usdc, settlement } = contracts;
      const first = await permit(wallet, { value: USDC });
      const { owner, value, deadline, v, r, s } = first;
      await send(seller.address, usdc, 'permit', [owner, settlement.address, value, deadline, v, r, s]);
      await send(wallet.address, usdc, 'approve', [settlement.address, 1n]);
      const sent = await settle({ orders: await pair(wallet), permits: [first], fills: fillsOf(1n) });
      assert.deepEqual(results(sent), ['1 buyer_insufficient_allowance of buyer']);
    });

    it('do not lower an allowance: no order takes away what a fill beside it needs', async () => {
      const { permit, settle, send, read, usdc, settlement } = contracts;
      await send(wallet.address, usdc, 'approve', [settlement.address, 1_200_000n]);
      for (const value of [0n, 1_199_999n, 1_200_000n]) {
        const sent = await settle({ orders: [], permits: [await permit(wallet, { value })], fills: [] });
        assert.deepEqual(results(sent), []);
        assert.equal(await read(usdc, 'allowance', [wallet.address, settlement.address]), 1_200_000n, String(value));
      }
      const sent = await settle({ orders: await pair(wallet), permits: [await permit(wallet, { value: 1n })], fills: fillsOf(1n, 2n) });
      assert.deepEqual(results(sent), ['1 settled', '2 settled']);
    });

    it('expired, forged, of another nonce or senseless hinder nothing', async () => {
      const { permit, settle, now } = contracts;
      const good = await permit(wallet, { value: USDC });
      const permits = [
        await permit(wallet, { value: USDC, deadline: BigInt(await now() - 1) }), await permit(wallet, { value: USDC, nonce: 1n }),
        { ...good, value: 2n * USDC }, { ...good, v: 0n }, { ...good, r: ZeroHash, s: ZeroHash }, { ...good, owner: seller.address }, good,
      ];
      assert.deepEqual(results(await settle({ orders: await pair(wallet), permits, fills: fillsOf(1n) })), ['1 settled']);
    });
  });

  it('stops where the gas ends: what it has not begun stays untouched, whatever the limit, and no fill fails for it', async () => {
    const { permit, settle, fund, stock, order, read, settlement, marketId } = contracts;
    const bidders = ['first', 'second', 'third'].map(walletOf);
    const permits = [];
    const orders = [];
    for (const wallet of bidders) {
      const maker = walletOf(`maker of ${wallet.address}`);
      await fund(wallet.address, 10n * USDC, 0n);
      await stock(maker.address, marketId, 10n * USDC);
      permits.push(await permit(wallet, { value: 10n * USDC }));
      orders.push(await order(wallet, { marketId, size: USDC }), await order(maker, { marketId, side: SELL, size: USDC }));
    }
    const fills = [0n, 1n, 2n].map((seq) => ({ ...FILL, seq, buyIndex: 2n * seq, sellIndex: 2n * seq + 1n }));
    const batch = { orders, permits, fills };
    const settledWith: number[] = [];
    for (let gas = 120_000; settledWith.at(-1) !== 3; gas += 12_347) {
      const at = await contracts.snapshot();
      const sent = await settle(batch, gas);
      const count = results(sent).length;
      assert.deepEqual(results(sent), ['0 settled', '1 settled', '2 settled'].slice(0, count), `${gas} gas`);
      assert.deepEqual(sent.events.at(-1), sent.ok ? ANCHOR : undefined, `${gas} gas`);
      for (const seq of [0n, 1n, 2n]) assert.equal(await read(settlement, 'isSettled', [seq]), Number(seq) < count, `${gas} gas`);
      if (count !== settledWith.at(-1)) {
        assert.deepEqual(results(await settle(batch)), ['0 settled', '1 settled', '2 settled'].slice(count), 'the rest settles with enough gas');
      }
      settledWith.push(count);
      await contracts.revertTo(at);
    }
    assert.deepEqual(settledWith, settledWith.toSorted(), 'more gas settles more');
    assert.deepEqual([...new Set(settledWith)], [0, 1, 2, 3]);
  });
});
