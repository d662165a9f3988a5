/** A leaked operator key settles something else under a fill's number: the chain is not followed until the settings pass it over. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { Interface, type InterfaceAbi } from 'ethers';
import { settlement as settlementAbi } from '../../contracts-abi/settlement.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { BUY, SELL, USDC, walletOf } from '../support/settlement-contracts.js';
import { fundTraders, ofType, settlementWorld, startSettlementStack, type SettlementStack, type SettlementWorld, type StackOptions } from '../support/settlement-stack.js';

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const settling = new Interface(settlementAbi.abi as InterfaceAbi);

/** The same batch with other terms of its first fill. */
function alteredFill(data: string, change: { readonly price?: bigint; readonly size?: bigint }): string {
  const [orders, signatures, permits, fills, position, digest] = settling.decodeFunctionData('settleBatch', data).toArray(true) as [
    unknown, unknown, unknown, bigint[][], bigint, string,
  ];
  const [[seq = 0n, buyIndex = 0n, sellIndex = 0n, price = 0n, size = 0n] = [], ...rest] = fills;
  return settling.encodeFunctionData('settleBatch', [orders, signatures, permits, [[seq, buyIndex, sellIndex, change.price ?? price, change.size ?? size], ...rest], position, digest]);
}

describe('settlement and a false fill', function () {
  this.timeout(60_000);
  const [alice, bob] = [walletOf('alice'), walletOf('bob')];
  let database: TestDatabase;
  let world: SettlementWorld;
  let stack: SettlementStack;
  let nonce = 0n;

  before(async () => {
    database = await testDatabase();
    world = await settlementWorld({ databaseUrl: database.url });
    await fundTraders(world, [alice, bob], 100n * USDC);
  });
  after(async () => {
    await world.stop();
    await database.drop();
  });

  afterEach(() => stack.stop());

  const start = async (options: StackOptions = {}, passOverFills: readonly string[] = []): Promise<void> => {
    stack = await startSettlementStack({ ...world, chain: { ...world.chain, passOverFills } }, options);
  };
  async function trade(): Promise<void> {
    await stack.place(await world.contracts.order(bob, { marketId: world.marketId, side: SELL, nonce: ++nonce, price: 500_000n }));
    await stack.place(await world.contracts.order(alice, { marketId: world.marketId, side: BUY, nonce, price: 600_000n }));
  }
  const stopped = async (): Promise<string> => {
    await stack.until('the indexer has stopped', () => stack.indexer!.status().stopped !== undefined);
    return stack.indexer!.status().stopped!;
  };

  for (const [what, change, told] of [
    ['size', { size: USDC / 2n }, /"size":"500000","cost":"250000".*where the history has matched .*"size":"1000000","cost":"500000"/],
    ['price', { price: 600_000n }, /"price":"600000".*where the history has matched .*"price":"500000"/],
  ] as const) {
    it(`of another ${what} stops it, also after a restart, until the settings name its transaction: then holdings are the chain's, and later fills settle`, async () => {
      let requests = 0;
      await start({ altered: (request) => requests++ === 0 ? { ...request, data: alteredFill(request.data, change) } : request });
      const { position: begin, nextFill: fill } = stack.replica.view;
      const before = await world.contracts.balances(alice.address, world.marketId);
      await trade();
      match(await stopped(), told);
      const txHash = /transaction (0x[0-9a-f]{64}) of/.exec(await stopped())![1]!;
      deepEqual(ofType(await stack.events(begin), 'FillSettled'), [], 'it is not taken for the real one');
      await stack.stop();
      await start();
      match(await stopped(), told);
      await stack.stop();

      await start({}, [txHash]);
      await stack.settled();
      await trade();
      await stack.settled();
      const events = await stack.events(begin);
      deepEqual(ofType(events, 'FillFailed').map((event) => [event.fill, event.txHash, event.reason, event.culprit]), [[fill, txHash, 'unknown', 'both']]);
      deepEqual(ofType(events, 'FillSettled').map((event) => event.fill), [fill + 1]);
      const size = String('size' in change ? change.size : USDC);
      const moved = ofType(events, 'SharesTransferred').filter(({ from }) => from !== ZERO_ADDRESS);
      deepEqual(moved.map(({ from, to, outcome, amount }) => ({ from, to, outcome, amount })), [
        { from: bob.address.toLowerCase(), to: alice.address.toLowerCase(), outcome: 0, amount: size },
      ]);
      const after = await world.contracts.balances(alice.address, world.marketId);
      equal(Number(after['yes']) - Number(before['yes']), Number(size) + Number(USDC), 'the chain moved what the history says');
      deepEqual(stack.reports.filter((report) => report.startsWith('alarm')), []);
    });
  }
});
