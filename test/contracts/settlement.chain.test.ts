/** A fill on the chain: what it moves, what it needs, and which reason and culprit it fails with. */
import assert from 'node:assert/strict';
import { ZeroHash, id } from 'ethers';
import { BUY, HISTORY, SELL, USDC, results, onSettlementContracts, walletOf, type SettlementContracts } from '../support/settlement-contracts.js';
import type { Fill, Order } from '../../contracts-abi/settlement.js';

const buyer = walletOf('buyer');
const seller = walletOf('seller');
const FILL: Fill = { seq: 1n, buyIndex: 0n, sellIndex: 1n, price: 550_000n, size: USDC };

describe('contracts: a fill', function () {
  this.timeout(60_000);
  let contracts: SettlementContracts;
  onSettlementContracts(async (begun) => {
    contracts = begun;
    await contracts.fund(buyer.address, 100n * USDC);
    await contracts.stock(seller.address, contracts.marketId, 10n * USDC);
  });

  const bid = (fields: Partial<Order> = {}) => contracts.order(buyer, { marketId: contracts.marketId, price: 600_000n, size: 2n * USDC, ...fields });
  const ask = (fields: Partial<Order> = {}) =>
    contracts.order(seller, { marketId: contracts.marketId, side: SELL, price: 500_000n, size: 2n * USDC, ...fields });
  const settleOne = async (fields: Partial<Fill> = {}, { buy = {}, sell = {} }: { buy?: Partial<Order>; sell?: Partial<Order> } = {}) =>
    results(await contracts.settle({ orders: [await bid(buy), await ask(sell)], fills: [{ ...FILL, ...fields }] }));

  it('moves collateral and shares at the fill\'s price, and says so', async () => {
    const { settle, settlement, marketId, positionId, operator, read, balances } = contracts;
    const orders = [await bid(), await ask()];
    const [buy, sell] = orders.map(({ hash }) => hash);
    const sent = await settle({ orders, fills: [{ ...FILL, size: 1_000_001n }] });
    assert.deepEqual(sent.events, [
      { event: 'Transfer', args: { from: buyer.address, to: seller.address, value: 550_001n } },
      {
        event: 'TransferSingle',
        args: { operator: settlement.address, from: seller.address, to: buyer.address, id: await positionId(marketId, 0), value: 1_000_001n },
      },
      { event: 'FillSettled', args: { seq: 1n, buyOrder: buy, sellOrder: sell, price: 550_000n, size: 1_000_001n, cost: 550_001n } },
      { event: 'HistoryAnchored', args: { position: HISTORY.position, digest: HISTORY.digest } },
    ]);
    assert.notEqual(operator, settlement.address);
    assert.deepEqual(await balances(buyer.address, marketId), { usdc: 100n * USDC - 550_001n, yes: 1_000_001n, no: 0n });
    assert.deepEqual(await balances(seller.address, marketId), { usdc: 550_001n, yes: 10n * USDC - 1_000_001n, no: 10n * USDC });
    assert.deepEqual([await read(settlement, 'filled', [buy]), await read(settlement, 'filled', [sell])], [1_000_001n, 1_000_001n]);
    assert.deepEqual([await read(settlement, 'isSettled', [1n]), await read(settlement, 'isSettled', [2n])], [true, false]);
  });

  it('trades NO shares as well', async () => {
    const { marketId, balances } = contracts;
    assert.deepEqual(await settleOne({}, { buy: { outcome: 1n }, sell: { outcome: 1n } }), ['1 settled']);
    assert.deepEqual(await balances(buyer.address, marketId), { usdc: 100n * USDC - 550_000n, yes: 0n, no: USDC });
  });

  it('keeps markets and outcomes apart in one batch', async () => {
    const { prepare, stock, settle, marketId, balances } = contracts;
    const other = await prepare(id('other'));
    await stock(seller.address, other, 10n * USDC);
    const fields = [{ marketId, outcome: 0n }, { marketId, outcome: 1n }, { marketId: other, outcome: 1n }, { marketId: other, outcome: 0n }];
    const orders = (await Promise.all(fields.map(async (each) => [await bid(each), await ask(each)]))).flat();
    const fills = fields.map((_, index) => (
      { ...FILL, seq: BigInt(index), buyIndex: BigInt(2 * index), sellIndex: BigInt(2 * index + 1), size: BigInt(index + 1) }));
    assert.deepEqual(results(await settle({ orders, fills })), ['0 settled', '1 settled', '2 settled', '3 settled']);
    const usdc = 100n * USDC - 1n - 2n - 2n - 3n;
    assert.deepEqual(await balances(buyer.address, marketId), { usdc, yes: 1n, no: 2n });
    assert.deepEqual(await balances(buyer.address, other), { usdc, yes: 4n, no: 3n });
  });

  it('takes partial fills to the exact size and not a unit more', async () => {
    const { settle, settlement, read } = contracts;
    const orders = [await bid(), await ask({ size: 3n * USDC })];
    const fill = (seq: bigint, size: bigint) => ({ ...FILL, seq, size });
    const sent = await settle({ orders, fills: [fill(1n, 1n), fill(2n, 2n * USDC - 2n), fill(3n, 2n), fill(4n, 1n), fill(5n, 1n)] });
    assert.deepEqual(results(sent), ['1 settled', '2 settled', '3 overfill of buyer', '4 settled', '5 overfill of buyer']);
    assert.equal(await read(settlement, 'filled', [orders[0]!.hash]), 2n * USDC);
    const second = { ...orders[0]!, ...await bid({ nonce: 2n, size: 4n * USDC }) };
    assert.deepEqual(results(await settle({ orders: [second, orders[1]!], fills: [fill(6n, USDC + 1n), fill(7n, USDC)] })), ['6 overfill of seller', '7 settled']);
    assert.deepEqual(results(await settle({ orders, fills: [fill(8n, 1n)] })), ['8 overfill of both']);
    assert.deepEqual(results(await settle({ orders: [second, orders[1]!], fills: [fill(9n, 2n ** 64n - 1n)] })), ['9 overfill of both']);
  });

  it('settles at either limit, and the cost is rounded up', async () => {
    assert.deepEqual(await settleOne({ price: 600_000n }), ['1 settled']);
    assert.deepEqual(await settleOne({ price: 500_000n, seq: 2n, size: 1n }), ['2 settled']);
    assert.equal((await contracts.balances(buyer.address, contracts.marketId)).usdc, 100n * USDC - 600_000n - 1n);
  });

  it('leaves alone what is not a fill of two orders that belong together: its number stays free for the real one', async () => {
    const other = id('another market');
    const mistakes: Record<string, () => Promise<string[]>> = {
      'a price above the buyer\'s': () => settleOne({ price: 600_001n }),
      'a price below the seller\'s': () => settleOne({ price: 499_999n }),
      'no size': () => settleOne({ size: 0n }),
      'two buyers': () => settleOne({}, { sell: { side: BUY } }),
      'two sellers': () => settleOne({}, { buy: { side: SELL } }),
      'the sides exchanged': () => settleOne({ buyIndex: 1n, sellIndex: 0n }),
      'an unknown side': () => settleOne({}, { sell: { side: 2n } }),
      'an order with itself': () => settleOne({ sellIndex: 0n }),
      'two markets': () => settleOne({}, { sell: { marketId: other } }),
      'two outcomes': () => settleOne({}, { sell: { outcome: 1n } }),
      'an unknown outcome': () => settleOne({}, { buy: { outcome: 2n }, sell: { outcome: 2n } }),
      'a fee recipient of the buyer': () => settleOne({}, { buy: { makerFeeRecipient: seller.address } }),
      'a fee recipient of the seller': () => settleOne({}, { sell: { makerFeeRecipient: seller.address } }),
      'one trader': async () => results(await contracts.settle({
        orders: [await bid(), await contracts.order(buyer, { marketId: contracts.marketId, side: SELL, price: 1n })], fills: [FILL],
      })),
    };
    for (const [name, settle] of Object.entries(mistakes)) {
      const at = await contracts.snapshot();
      assert.deepEqual(await settle(), [], name);
      assert.equal(await contracts.read(contracts.settlement, 'isSettled', [1n]), false, name);
      assert.deepEqual(await settleOne(), ['1 settled'], name);
      await contracts.revertTo(at);
    }
  });

  it('leaves alone a fill of an order that the batch does not hold', async () => {
    const orders = [await bid(), await ask()];
    const fills = [{ ...FILL, sellIndex: 2n }, { ...FILL, seq: 2n, buyIndex: 2n ** 32n - 1n }, { ...FILL, seq: 3n }];
    assert.deepEqual(results(await contracts.settle({ orders, fills })), ['3 settled']);
    assert.deepEqual(results(await contracts.settle({ orders, fills: fills.map((fill) => ({ ...FILL, seq: fill.seq })) })), ['1 settled', '2 overfill of both']);
  });

  it('refuses signatures that are not the trader\'s, short, long, of high s, of an odd v, or nothing, and never reverts', async () => {
    const good = await bid();
    const { r, s } = { r: good.signature.slice(2, 66), s: BigInt(`0x${good.signature.slice(66, 130)}`) };
    const highS = (0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n - s).toString(16).padStart(64, '0');
    const v = good.signature.slice(130);
    const bad = [
      '0x', good.signature.slice(0, 130), `${good.signature}00`, `0x${r}${highS}${v === '1b' ? '1c' : '1b'}`, `${good.signature.slice(0, 130)}1d`,
      `0x${'00'.repeat(65)}`, `0x${'ff'.repeat(65)}`, (await contracts.order(seller, { ...good.order, trader: buyer.address })).signature,
    ];
    const sell = await ask();
    for (const [index, signature] of bad.entries()) {
      const forged = { ...good, signature };
      const seq = BigInt(index) * 2n;
      const fills = [{ ...FILL, seq, size: 1n }, { ...FILL, seq: seq + 1n, buyIndex: 2n, size: 1n }];
      const sent = await contracts.settle({ orders: [forged, sell, good], fills });
      assert.deepEqual(results(sent), [`${seq} invalid_signature of buyer`, `${seq + 1n} settled`], signature);
    }
    const unsigned = { ...sell, signature: '0x' };
    assert.deepEqual(results(await contracts.settle({ orders: [good, unsigned], fills: [{ ...FILL, seq: 100n }] })), ['100 invalid_signature of seller']);
    assert.deepEqual(results(await contracts.settle({ orders: [{ ...good, signature: '0x' }, unsigned], fills: [{ ...FILL, seq: 101n }] })), ['101 invalid_signature of both']);
  });

  it('gives the first of many reasons, in order', async () => {
    const { send, settle, settlement, tokens, usdc, now, timeIs, resolve, marketId } = contracts;
    const start = await now();
    const expiring = { expiration: BigInt(start + 500) };
    const [buy, sell] = [await bid({ ...expiring, size: USDC }), await ask({ ...expiring, size: USDC })];
    const healthy = { orders: [buy, sell], fills: [{ ...FILL, size: USDC + 1n }] };
    await send(buyer.address, usdc, 'transfer', [seller.address, 100n * USDC]);
    await send(buyer.address, usdc, 'approve', [settlement.address, 0n]);
    await send(seller.address, tokens, 'setApprovalForAll', [settlement.address, false]);
    await send(seller.address, tokens, 'mergePositions', [usdc.address, ZeroHash, marketId, [1n, 2n], 10n * USDC]);
    await resolve(0);
    await send(seller.address, settlement, 'cancelOrders', [[sell.order]]);
    await timeIs(start + 499);
    const tell = async (batch = healthy) => {
      const at = await contracts.snapshot();
      await contracts.nextBlockAt(start + 499);
      const told = results(await settle(batch));
      await contracts.revertTo(at);
      return told;
    };
    assert.deepEqual(await tell(), ['1 order_cancelled of seller']);
    const fresh = { ...healthy, orders: [buy, await ask({ ...expiring, nonce: 9n, size: USDC })] };
    assert.deepEqual(await tell(fresh), ['1 overfill of both']);
    assert.deepEqual(await tell({ ...fresh, fills: [FILL] }), ['1 market_resolved of both']);
    await timeIs(start + 500);
    assert.deepEqual(results(await settle(healthy)), ['1 order_expired of both']);
    assert.deepEqual(results(await settle({ orders: [buy, { ...sell, signature: '0x' }], fills: [{ ...FILL, seq: 2n }] })), ['2 invalid_signature of seller']);
  });

  it('names the buyer without money or allowance before the seller without shares or approval', async () => {
    const { send, tokens, usdc, settlement, marketId } = contracts;
    await send(buyer.address, usdc, 'transfer', [seller.address, 100n * USDC - 549_999n]);
    await send(buyer.address, usdc, 'approve', [settlement.address, 549_999n]);
    await send(seller.address, tokens, 'setApprovalForAll', [settlement.address, false]);
    await send(seller.address, tokens, 'mergePositions', [usdc.address, ZeroHash, marketId, [1n, 2n], 9n * USDC + 1n]);
    assert.deepEqual(await settleOne(), ['1 buyer_insufficient_balance of buyer']);
    await send(buyer.address, usdc, 'mint', [buyer.address, 1n]);
    assert.deepEqual(await settleOne({ seq: 2n }), ['2 buyer_insufficient_allowance of buyer']);
    await send(buyer.address, usdc, 'approve', [settlement.address, 550_000n]);
    assert.deepEqual(await settleOne({ seq: 3n }), ['3 seller_insufficient_shares of seller']);
    await send(buyer.address, usdc, 'mint', [seller.address, 1n]);
    await send(seller.address, tokens, 'splitPosition', [usdc.address, ZeroHash, marketId, [1n, 2n], 1n]);
    assert.deepEqual(await settleOne({ seq: 4n }), ['4 seller_not_approved of seller']);
    await send(seller.address, tokens, 'setApprovalForAll', [settlement.address, true]);
    assert.deepEqual(await settleOne({ seq: 5n }), ['5 settled']);
    assert.deepEqual(await settleOne({ seq: 6n }), ['6 buyer_insufficient_balance of buyer']);
  });

  it('reverts its own call with a typed error, which nobody else can make', async () => {
    const { refusal, settlement, tokens, usdc, send, positionId, marketId } = contracts;
    const args = async (size: bigint, cost: bigint) => [id('buy'), id('sell'), buyer.address, seller.address, await positionId(marketId, 0), size, cost];
    const refused = async (size: bigint, cost: bigint) => await refusal(settlement.address, settlement, 'executeFill', await args(size, cost));
    assert.equal(await refusal(contracts.operator, settlement, 'executeFill', await args(1n, 1n)), 'OnlySelf()');
    assert.equal(await refused(1n, 100n * USDC + 1n), 'BuyerInsufficientBalance()');
    assert.equal(await refused(10n * USDC + 1n, 1n), 'SellerInsufficientShares()');
    await send(buyer.address, usdc, 'approve', [settlement.address, 1n]);
    assert.equal(await refused(1n, 2n), 'BuyerInsufficientAllowance()');
    await send(seller.address, tokens, 'setApprovalForAll', [settlement.address, false]);
    assert.equal(await refused(1n, 1n), 'SellerNotApproved()');
    await send(seller.address, tokens, 'setApprovalForAll', [settlement.address, true]);
    await send(contracts.operator, tokens, 'revokeRole', [id('SETTLEMENT_ROLE'), settlement.address]);
    assert.equal(await refused(1n, 1n), `TokenUnavailable(${tokens.address})`);
  });

  describe('that the collateral refuses', () => {
    const byOwner = (method: string, ...args: string[]) => contracts.send(contracts.operator, contracts.usdc, method, args);

    it('is the doing of whoever is on its block list, and the money stays where it is', async () => {
      const { balances, marketId, settlement, usdc, refusal, positionId } = contracts;
      await byOwner('blacklist', buyer.address);
      assert.deepEqual(await settleOne(), ['1 transfer_rejected of buyer']);
      await byOwner('blacklist', seller.address);
      assert.deepEqual(await settleOne({ seq: 2n }), ['2 transfer_rejected of both']);
      await byOwner('unBlacklist', buyer.address);
      assert.deepEqual(await settleOne({ seq: 3n }), ['3 transfer_rejected of seller']);
      const args = [id('buy'), id('sell'), buyer.address, seller.address, await positionId(marketId, 0), 1n, 1n];
      assert.equal(await refusal(settlement.address, settlement, 'executeFill', args), 'TransferRejected(1)');
      assert.deepEqual(await balances(buyer.address, marketId), { usdc: 100n * USDC, yes: 0n, no: 0n });
      assert.equal(await contracts.read(settlement, 'filled', [(await bid()).hash]), 0n);
      await byOwner('unBlacklist', seller.address);
      assert.deepEqual(await settleOne({ seq: 4n }), ['4 settled']);
      assert.equal(await contracts.read(usdc, 'balanceOf', [settlement.address]), 0n);
    });

    it('stays untouched while it is paused or refuses the settlement: the batch stops, and goes on when it is not', async () => {
      const { settlement, usdc, read } = contracts;
      const orders = [await bid(), await ask()];
      const fills = [1n, 2n].map((seq) => ({ ...FILL, seq }));
      for (const [stop, goOn] of [[['pause'], ['unpause']], [['blacklist', settlement.address], ['unBlacklist', settlement.address]]] as const) {
        const at = await contracts.snapshot();
        await byOwner(stop[0], ...stop.slice(1));
        const { events, ok } = await contracts.settle({ orders, fills });
        assert.equal(ok, true);
        assert.deepEqual(events, [
          { event: 'BatchStopped', args: { seq: 1n, token: usdc.address } },
          { event: 'HistoryAnchored', args: { position: HISTORY.position, digest: HISTORY.digest } },
        ]);
        assert.deepEqual(await Promise.all([1n, 2n].map((seq) => read(settlement, 'isSettled', [seq]))), [false, false]);
        await byOwner(goOn[0], ...goOn.slice(1));
        assert.deepEqual(results(await contracts.settle({ orders, fills })), ['1 settled', '2 settled']);
        await contracts.revertTo(at);
      }
    });

    it('fails even while it is paused where a culprit can be named', async () => {
      await byOwner('pause');
      const sized = (size: bigint) => settleOne({ size, seq: size }, { buy: { size }, sell: { size } });
      assert.deepEqual(await sized(200n * USDC), [`${200n * USDC} buyer_insufficient_balance of buyer`]);
      assert.deepEqual(await sized(20n * USDC), [`${20n * USDC} seller_insufficient_shares of seller`]);
      assert.deepEqual(await sized(USDC), []);
    });

    it('in ways of its own fails, or stops the batch where it refuses everybody', async () => {
      const { chain, deployed } = contracts;
      // A collateral that says everybody has and allows everything; transferFrom and transfer do as told.
      const collateral = (transferFrom: string, transfer: string) => {
        const transferAt = (0x21 + transferFrom.length / 2).toString(16);
        return `0x5f3560e01c806323b872dd1460205763a9059cbb1460${transferAt}57${'5f195f5260205ff3'}5b${transferFrom}5b${transfer}`;
      };
      const yes = '60015f5260205ff3';
      const behaviours = { false: '5f5f5260205ff3', reverts: '5f5ffd', burns: 'fe', bomb: '6140005ffd' };
      const told: Record<string, string[]> = {};
      for (const [index, [name, transferFrom]] of Object.entries(behaviours).entries()) {
        await chain.rpc('anvil_setCode', [deployed.collateral, collateral(transferFrom, yes)]);
        told[name] = await settleOne({ seq: BigInt(10 + index) });
        await chain.rpc('anvil_setCode', [deployed.collateral, collateral(transferFrom, transferFrom)]);
        told[`${name}, everybody's`] = await settleOne({ seq: BigInt(20 + index) });
      }
      assert.deepEqual(told, {
        'false': ['10 transfer_rejected of buyer'], 'false, everybody\'s': [], 'reverts': ['11 transfer_rejected of buyer'], 'reverts, everybody\'s': [],
        'burns': ['12 transaction_reverted of both'], 'burns, everybody\'s': ['22 transaction_reverted of both'],
        'bomb': ['13 transfer_rejected of buyer'], 'bomb, everybody\'s': [],
      });
    });
  });

  it('stops the batch when the settlement may not move shares: nobody\'s doing', async () => {
    const { send, tokens, settlement } = contracts;
    await send(contracts.operator, tokens, 'revokeRole', [id('SETTLEMENT_ROLE'), settlement.address]);
    assert.deepEqual(await settleOne(), []);
    await send(contracts.operator, tokens, 'grantRole', [id('SETTLEMENT_ROLE'), settlement.address]);
    assert.deepEqual(await settleOne(), ['1 settled']);
  });

  it('settles with a buyer whose code rejects whatever it is called with: it is not called', async () => {
    await contracts.chain.rpc('anvil_setCode', [buyer.address, '0x5f5ffd']);
    assert.deepEqual(await settleOne(), ['1 settled']);
  });

  it('takes batches of its operator only, a signature for each order', async () => {
    const { refusal, settlement, batchArgs, operator } = contracts;
    const args = batchArgs({ orders: [await bid(), await ask()], fills: [FILL] });
    assert.equal(await refusal(buyer.address, settlement, 'settleBatch', args), `AccessControlUnauthorizedAccount(${buyer.address},${id('OPERATOR_ROLE')})`);
    assert.equal(await refusal(operator, settlement, 'settleBatch', [args[0], [], ...args.slice(2)]), 'LengthMismatch(2,0)');
  });
});
