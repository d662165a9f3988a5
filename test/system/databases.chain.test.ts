/** The whole exchange with its log, its read models and its outbox in databases of their own: none is taken for another. */
import assert from 'node:assert/strict';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { ONE, caughtUp, settled, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { alice, bob, exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';

describe('the exchange on three databases', () => {
  let node: TradedChain;
  let rain: DeployedMarket;
  let log: TestDatabase;
  let outbox: TestDatabase;
  let exchange: ExchangeStack;

  before(async () => {
    node = await tradedChain();
    rain = await node.createMarket({ question: 'Will it rain?' });
    [log, outbox] = [await testDatabase(), await testDatabase()];
    exchange = await exchangeStack({ LOG_URL: log.url, OUTBOX_URL: outbox.url }, [node.configured()]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
    await Promise.all([log.drop(), outbox.drop()]);
  });

  it('trades and settles, and each database has its own part only', async () => {
    await node.equip(bob, { shares: BigInt(ONE), market: rain });
    await node.equip(alice, { usdc: BigInt(ONE) });
    await caughtUp(exchange, node);
    await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 500_000, size: ONE });
    const { position, body } = await exchange.place(alice, { marketId: rain.marketId, price: 500_000, size: ONE });
    assert.equal(body['matches'], 1);
    await settled(exchange, position);
    assert.deepEqual(await node.sharesOf(alice, rain), { yes: BigInt(ONE), no: 0n });
    assert.deepEqual([await schemasOf(log.url), await schemasOf(outbox.url)], [['log'], ['lane', 'settlement']]);
    await exchange.stop();
    assert.deepEqual(await schemasOf(exchange.databaseUrl), ['read_models']);
  });
});

/** The schemas that are not Postgres' own. */
async function schemasOf(url: string): Promise<string[]> {
  const rows = await runSql<{ name: string }>(url, `
    select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname not in ('public', 'information_schema') order by name`);
  return rows.map(({ name }) => name);
}
