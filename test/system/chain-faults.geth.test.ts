/** The whole exchange while go-ethereum is killed, started again, or has its newest blocks taken away. */
import assert from 'node:assert/strict';
import {
  ONE, assertAnchored, assertPositionsAreBalances, caughtUp, eventsOf, eventually, readiness, settled,
} from '../support/exchange-on-chain.js';
import { alice, bob, exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { gethChain, type GethChain, type GethOptions } from '../support/geth.js';

const CONFIRMATIONS = 4;

describe('the exchange and a go-ethereum that fails', function () {
  this.timeout(240_000);
  let node: GethChain;
  let exchange: ExchangeStack;
  let rain: DeployedMarket;
  let last: number;

  /** Opens an exchange on a chain where two traders can trade, and blocks come by hand afterwards. */
  const open = async (options: GethOptions = {}) => {
    node = await gethChain({ ...options, chain: { confirmations: CONFIRMATIONS } });
    rain = await node.createMarket({ question: 'Will it rain?' });
    for (const trader of [alice, bob]) await node.equip(trader, { usdc: BigInt(1_000 * ONE), shares: BigInt(1_000 * ONE), market: rain });
    await node.end();
    await node.start('by hand');
    await node.mine(CONFIRMATIONS);
    exchange = await exchangeStack({}, [node.configured()]);
  };
  const close = async () => {
    await exchange.close();
    await node.stop();
  };

  const trade = async (): Promise<void> => {
    await exchange.place(bob, { marketId: rain.marketId, side: 1, price: 500_000, size: ONE });
    const { body, position } = await exchange.place(alice, { marketId: rain.marketId, price: 500_000, size: ONE });
    assert.equal(body['matches'], 1);
    last = position;
  };
  /** Blocks come until every fill is settled at its depth. */
  const minedAndSettled = async (): Promise<void> => {
    let isOver = false;
    const mining = (async () => {
      while (!isOver) {
        await node.mine().catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    last = await settled(exchange, last).finally(() => { isOver = true; });
    await mining;
  };
  const pooled = () => eventually('a settlement waits in the pool', async () => {
    const { pending } = await node.rpc('txpool_status').catch(() => ({ pending: '0x0' })) as { pending: string };
    return Number(pending) > 0 ? true : undefined;
  });
  const head = async () => Number(await node.rpc('eth_blockNumber'));
  const compare = async (fills: number) => {
    last = await caughtUp(exchange, node);
    assert.deepEqual((await eventsOf(exchange, 'FillSettled', last)).map(({ fill }) => fill), Array.from({ length: fills }, (_, fill) => fill));
    await assertPositionsAreBalances(exchange, { node, market: rain, traders: [alice, bob], position: last });
    assert.ok(await assertAnchored(exchange, node, last) > 0);
  };

  describe('with its data', () => {
    before(() => open());
    after(close);

    it('settles all of it, each once and in order, though geth is killed with settlements in its pool, and orders go on without it', async () => {
      for (let i = 0; i < 3; i++) await trade();
      await pooled();
      await node.kill();
      for (let i = 0; i < 3; i++) await trade();
      await eventually('the outage shows', async () => {
        const { status, chains: [chain] } = await readiness(exchange);
        assert.equal(status, 200);
        return chain!.reachable ? undefined : true;
      });
      await node.start('by hand');
      await minedAndSettled();
      await compare(6);
    });

    it('settles all of it, each once, though geth is killed after it has mined a settlement, which it may keep or lose', async () => {
      const before = await node.usdcOf(alice);
      for (let i = 0; i < 3; i++) await trade();
      await pooled();
      await node.mine();
      assert.ok(await node.usdcOf(alice) < before);
      await node.kill();
      await trade();
      await node.start('by hand');
      await minedAndSettled();
      await compare(10);
      assert.equal(await node.usdcOf(alice), before - 2_000_000n);
    });

    it('settles again what was in blocks that are taken away above the final depth: the history never had them', async () => {
      const before = await node.usdcOf(alice);
      await trade();
      await pooled();
      const from = await head();
      await node.mine(CONFIRMATIONS - 1);
      assert.equal(await node.usdcOf(alice), before - 500_000n);
      await node.setHead(from);
      assert.equal(await node.usdcOf(alice), before);
      await minedAndSettled();
      assert.equal(await node.usdcOf(alice), before - 500_000n);
      await compare(11);
    });

    it('waits for a node that has lost final blocks, and says so; orders go on', async () => {
      const { block } = (await eventsOf(exchange, 'ChainAdvanced', last)).at(-1)!;
      await node.setHead(block - 1);
      const said = await eventually('the loss shows', async () => {
        const { status, chains: [chain] } = await readiness(exchange);
        const { stopped, lastError } = chain!;
        assert.deepEqual([status, stopped], [200, null]);
        return lastError ?? undefined;
      });
      assert.match(said, new RegExp(`^a node's latest block is ${block - 1}, but block \\d+ was read before; waits until the node has it`));
      await trade();
    });

    it('follows that chain no more once it has other blocks in their place, and does not start on it', async () => {
      await node.mine(4 * CONFIRMATIONS);
      const { status, reasons } = await eventually('the chain is not followed any more', async () => {
        const ready = await readiness(exchange);
        return ready.ready ? undefined : ready;
      });
      assert.equal(status, 503);
      assert.match(reasons.join(), /^chain 1337 is not followed any more: chain 1337 contradicts the history: block \d+ has hash /);
      await trade();
      await assert.rejects(exchange.restart(), /^CannotStart: chain 1337 contradicts the history: block \d+ has hash /);
    });
  });

  describe('without the state of its newest blocks, as geth keeps it by default', () => {
    before(() => open({ keepsState: false }));
    after(close);

    it('waits for a node that a kill has taken back to its last orderly stop, and takes nothing from it', async () => {
      await trade();
      await minedAndSettled();
      const { block } = (await eventsOf(exchange, 'ChainAdvanced', last)).at(-1)!;
      await node.kill();
      await node.start('by hand');
      assert.ok(await head() < block);
      await eventually('the loss shows', async () => {
        const { status, chains: [chain] } = await readiness(exchange);
        const { stopped, lastError } = chain!;
        assert.deepEqual([status, stopped], [200, null]);
        return /^a node's latest block is \d+, but block \d+ was read before/.test(lastError ?? '') ? true : undefined;
      });
      await trade();
    });
  });
});
