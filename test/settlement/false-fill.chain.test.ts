/** A leaked operator key settles something else under a fill's number: the chain is not followed until the settings pass it over. */
import { deepEqual, equal, match, rejects } from 'node:assert/strict';
import { Interface, type InterfaceAbi } from 'ethers';
import { settlement as settlementAbi } from '../../contracts-abi/settlement.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { BUY, SELL, USDC, walletOf } from '../support/settlement-contracts.js';
import { fundTraders, ofType, settlementWorld, startSettlement, type SettlementProcess, type SettlementWorld, type ProcessOptions } from '../harness/settlement-world.js';

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
  let running: SettlementProcess;
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

  afterEach(() => running.stop());

  const start = async (options: ProcessOptions = {}, passOverFills: readonly string[] = []): Promise<void> => {
    running = await startSettlement({ ...world, chain: { ...world.chain, passOverFills } }, options);
  };
  async function trade(): Promise<void> {
    await running.place(await world.contracts.order(bob, { marketId: world.marketId, side: SELL, nonce: ++nonce, price: 500_000n }));
    await running.place(await world.contracts.order(alice, { marketId: world.marketId, side: BUY, nonce, price: 600_000n }));
  }
  const stopped = () => running.until('the indexer has stopped', async () => (await running.indexing()).stopped ?? undefined);

  for (const [what, change, told] of [
    ['size', { size: USDC / 2n }, /"size":"500000","cost":"250000".*where the history has matched .*"size":"1000000","cost":"500000"/],
    ['price', { price: 600_000n }, /"price":"600000".*where the history has matched .*"price":"500000"/],
  ] as const) {
    it(`of another ${what} stops it, also after a restart, until the settings name its transaction: then holdings are the chain's, and later fills settle`, async () => {
      let requests = 0;
      await start({ altered: (request) => requests++ === 0 ? { ...request, data: alteredFill(request.data, change) } : request });
      const { position: begin, nextFill: fill } = running.replica.view;
      const before = await world.contracts.balances(alice.address, world.marketId);
      await trade();
      match(await stopped(), told);
      const txHash = /transaction (0x[0-9a-f]{64}) of/.exec(await stopped())![1]!;
      deepEqual(ofType(await running.events(begin), 'FillSettled'), [], 'it is not taken for the real one');
      await running.stop();
      await rejects(start(), { name: 'CannotStart', message: told });

      await start({}, [txHash]);
      await running.settled();
      await trade();
      await running.settled();
      const events = await running.events(begin);
      deepEqual(ofType(events, 'FillFailed').map((event) => [event.fill, event.txHash, event.reason, event.culprit]), [[fill, txHash, 'unknown', 'both']]);
      deepEqual(ofType(events, 'FillSettled').map((event) => event.fill), [fill + 1]);
      const size = String('size' in change ? change.size : USDC);
      const moved = ofType(events, 'SharesTransferred').filter(({ from }) => from !== ZERO_ADDRESS);
      deepEqual(moved.map(({ from, to, outcome, amount }) => ({ from, to, outcome, amount })), [
        { from: bob.address.toLowerCase(), to: alice.address.toLowerCase(), outcome: 0, amount: size },
      ]);
      const after = await world.contracts.balances(alice.address, world.marketId);
      equal(Number(after['yes']) - Number(before['yes']), Number(size) + Number(USDC), 'the chain moved what the history says');
      deepEqual(running.reports.filter((report) => report.startsWith('alert')), []);
    });
  }
});
