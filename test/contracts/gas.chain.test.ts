/** What settling costs in gas, held by upper bounds and against docs/performance.md: a call costs the same on every machine. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAX_GAS, MAX_UINT256, SELL, USDC, results, settlementContracts, walletOf, type Batch, type Sent, type SettlementContracts } from '../support/settlement-contracts.js';

const PRICE = 600_000n;
const SIZE = 5n * USDC;
const NONCE = 1_700_000_000_000n;

/** The figures of docs/performance.md, and the most gas that a fill may take. */
const BOUNDS = {
  'one taker, 10 makers': 81_000,
  'one taker, 40 makers': 72_000,
  'one taker, 10 makers who never held collateral': 98_100,
  '10 cold pairs': 137_000,
  '10 cold pairs, the buyers without money': 61_000,
  '10 cold pairs again: skipped': 21_500,
  '50 cold pairs, each with a permit': 184_600,
} as const;
type Scenario = keyof typeof BOUNDS;

describe('contracts: gas', function () {
  this.timeout(120_000);
  let contracts: SettlementContracts;
  let snapshot: string;
  const measured = new Map<Scenario, number>();
  before(async () => { contracts = await settlementContracts(); });
  after(() => contracts.stop());
  beforeEach(async () => { snapshot = await contracts.snapshot(); });
  afterEach(() => contracts.revertTo(snapshot));

  /** Takers who buy from makers in turn. Everybody has held collateral before, but for what the options say. */
  const trading = async (takers: number, makers: number, { held = USDC, money = 1_000n * USDC, permits = false } = {}): Promise<Batch> => {
    const { fund, stock, order, marketId } = contracts;
    const bids = await Promise.all(Array.from({ length: takers }, async (_, index) => {
      const taker = walletOf(`taker ${index}`);
      await fund(taker.address, money, permits ? 0n : MAX_UINT256);
      return await order(taker, { marketId, price: PRICE, size: SIZE * BigInt(makers / takers), nonce: NONCE });
    }));
    const asks = await Promise.all(Array.from({ length: makers }, async (_, index) => {
      const maker = walletOf(`maker ${index}`);
      await stock(maker.address, marketId, 100n * USDC);
      if (held > 0n) await fund(maker.address, held);
      return await order(maker, { marketId, side: SELL, price: PRICE, size: SIZE, nonce: NONCE });
    }));
    const granted = permits ? await Promise.all(bids.map((_, index) => contracts.permit(walletOf(`taker ${index}`), { value: 4n * USDC }))) : [];
    const fills = Array.from({ length: makers }, (_, index) => (
      { seq: BigInt(1_000 + index), buyIndex: BigInt(index % takers), sellIndex: BigInt(takers + index), price: PRICE, size: SIZE }));
    return { orders: [...bids, ...asks], permits: granted, fills };
  };
  const note = (scenario: Scenario, { gasUsed }: Sent, { fills }: Batch) => {
    const each = Math.round(gasUsed / fills.length);
    measured.set(scenario, each);
    assert.ok(each <= BOUNDS[scenario], `${scenario}: ${each} gas a fill, at most ${BOUNDS[scenario]}`);
  };
  const outcomes = (sent: Sent) => [...new Set(results(sent).map((line) => line.replace(/^\d+ /, '')))];

  for (const [scenario, takers, makers, options] of [
    ['one taker, 10 makers', 1, 10, {}], ['one taker, 40 makers', 1, 40, {}], ['one taker, 10 makers who never held collateral', 1, 10, { held: 0n }],
    ['50 cold pairs, each with a permit', 50, 50, { permits: true }],
  ] as const) {
    it(scenario, async () => {
      const batch = await trading(takers, makers, options);
      const sent = await contracts.settle(batch);
      assert.deepEqual([outcomes(sent), results(sent).length], [['settled'], makers]);
      assert.ok(sent.gasUsed < MAX_GAS * 0.75, `${sent.gasUsed} gas in all`);
      note(scenario, sent, batch);
    });
  }

  it('10 cold pairs, and the same batch again', async () => {
    const batch = await trading(10, 10);
    const sent = await contracts.settle(batch);
    assert.deepEqual(outcomes(sent), ['settled']);
    note('10 cold pairs', sent, batch);
    const again = await contracts.settle(batch);
    assert.deepEqual(outcomes(again), []);
    note('10 cold pairs again: skipped', again, batch);
  });

  it('10 cold pairs, the buyers without money', async () => {
    const batch = await trading(10, 10, { money: 1n });
    const sent = await contracts.settle(batch);
    assert.deepEqual(outcomes(sent), ['buyer_insufficient_balance of buyer']);
    note('10 cold pairs, the buyers without money', sent, batch);
  });

  it('is what docs/performance.md says', () => {
    const text = readFileSync(join(rootAbove(fileURLToPath(new URL('.', import.meta.url))), 'docs', 'performance.md'), 'utf8');
    const row = (scenario: Scenario) => `| ${scenario} | ${measured.get(scenario)!.toLocaleString('en')} |`;
    const missing = (Object.keys(BOUNDS) as Scenario[]).map(row).filter((line) => !text.includes(line));
    assert.deepEqual(missing, [], 'write these rows into the section Gas of docs/performance.md');
  });
});

function rootAbove(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootAbove(dirname(directory));
}
