/** The whole exchange while its chain is away, late, another one or reorganised: what goes on, what waits, what stops, and what is said about it. */
import assert from 'node:assert/strict';
import {
  ONE, assertAnchored, assertPositionsAreBalances, caughtUp, eventsOf, eventually, readiness, settled, tradedChain, type ChainState, type TradedChain,
} from '../support/exchange-on-chain.js';
import { alice, bob, exchangeStack, type ExchangeStack, type Fields, type Placed } from '../harness/exchange.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { answering, startProxyTo, startRpcProxy, type RpcProxy, type UrlProxy } from '../support/proxies.js';

describe('the exchange and a chain that fails', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let line: UrlProxy;
  let exchange: ExchangeStack;
  let rain: DeployedMarket;
  let last: number;

  before(async () => {
    node = await tradedChain({ chain: { confirmations: 1 } });
    rain = await node.createMarket({ question: 'Will it rain?' });
    await node.equip(alice, { usdc: BigInt(1_000 * ONE), shares: BigInt(1_000 * ONE), market: rain });
    await node.equip(bob, { usdc: BigInt(1_000 * ONE), shares: BigInt(1_000 * ONE), market: rain });
    await node.rpc('evm_mine');
    line = await startProxyTo(node.url);
    exchange = await exchangeStack({}, [overLine()]);
  });
  after(async () => {
    await exchange.close();
    await line.close();
    await node.stop();
  });

  const overLine = () => node.configured({ rpcUrls: [line.url] });
  const place = (wallet: typeof alice, fields: Fields): Promise<Placed> =>
    exchange.place(wallet, { marketId: rain.marketId, price: 500_000, size: ONE, ...fields });
  const trade = async (): Promise<void> => {
    await place(bob, { side: 1 });
    const { body, position } = await place(alice, {});
    assert.equal(body['matches'], 1);
    last = position;
  };
  /** Blocks come, as on a real chain, until every fill is settled at its depth. */
  const minedAndSettled = async (): Promise<number> => {
    const ticking = setInterval(() => { void node.rpc('evm_mine').catch(() => undefined); }, 100);
    try {
      return await settled(exchange, last);
    } finally {
      clearInterval(ticking);
    }
  };
  const settledFills = async () => (await eventsOf(exchange, 'FillSettled', last)).map(({ fill }) => fill);
  const compare = async () => {
    last = await caughtUp(exchange, node);
    await assertPositionsAreBalances(exchange, { node, market: rain, traders: [alice, bob], position: last });
  };

  const pendingFills = async () => {
    const { pendingTrades } = await exchange.get('/api/v1/pending-trades?limit=1000', last) as { pendingTrades: { fill: number; settlementStatus: string }[] };
    return pendingTrades.map(({ fill, settlementStatus }) => `${fill} ${settlementStatus}`);
  };
  const syncPath = () => `/api/v1/positions/${rain.marketId}/sync?userAddress=${alice.address}`;

  it('starts without the chain: orders match, fills wait, and settle in their order when it comes', async () => {
    line.refuse();
    exchange = await exchange.restart();
    const { status, chains: [chain] } = await readiness(exchange);
    const { failures, lastError, sinceLookS, ...away } = chain!;
    assert.deepEqual([status, away], [200, {
      chainId: 31_337, finalBlock: null, lagBlocks: 0, reachable: false, stalled: false, waitingFills: 0, sentFills: 0, oldestWaitingS: null,
      settlementProblem: null, stopped: null, resolutionProblem: null, contradictedMarkets: 0, anchorsPassedOver: 0,
    }]);
    assert.ok(failures >= 1 && sinceLookS >= 0);
    assert.match(lastError!, /^no node of chain 31337 answers: 127\.0\.0\.1:\d+ cannot be reached/);
    const config = await exchange.get('/api/v1/config') as { chains: { collateral: unknown }[] };
    assert.deepEqual(config.chains.map(({ collateral }) => collateral), [null]);
    await exchange.refused('chain_unavailable', 'POST', syncPath());
    for (let i = 0; i < 3; i++) await trade();
    assert.deepEqual(await pendingFills(), ['0 matched', '1 matched', '2 matched']);
    const { waitingFills, oldestWaitingS } = await eventually('the fills are counted', async () => {
      const { chains: [chain] } = await readiness(exchange);
      return chain!.waitingFills === 3 ? chain : undefined;
    });
    assert.equal(waitingFills, 3);
    assert.notEqual(oldestWaitingS, null);
    line.accept();
    last = await minedAndSettled();
    assert.deepEqual((await eventsOf(exchange, 'SettlementSubmitted', last)).flatMap(({ fills }) => fills), [0, 1, 2]);
    assert.deepEqual(await settledFills(), [0, 1, 2]);
    assert.equal((await exchange.request('POST', syncPath())).status, 200);
    await compare();
  });

  it('keeps trading while the chain is away, and settles all of it afterwards, each once and in order', async () => {
    line.refuse();
    for (let i = 0; i < 60; i++) await trade();
    assert.equal((await pendingFills()).length, 60);
    const { status, ready } = await eventually('the outage shows', async () => {
      const answer = await readiness(exchange);
      const [{ reachable, failures, lastError }] = answer.chains as [ChainState];
      return !reachable && failures > 0 && lastError !== null ? answer : undefined;
    });
    assert.deepEqual([status, ready], [200, true]);
    assert.match(await (await fetch(`${exchange.url}/metrics`)).text(), /^exchange_chain_reachable\{chain="31337"\} 0$/m);
    await exchange.refused('chain_unavailable', 'POST', syncPath());
    line.accept();
    last = await minedAndSettled();
    assert.deepEqual(await settledFills(), Array.from({ length: 63 }, (_, fill) => fill));
    const batches = (await eventsOf(exchange, 'SettlementSubmitted', last)).map(({ fills }) => fills.length);
    assert.ok(Math.max(...batches) <= 50, String(batches));
    await compare();
    assert.ok(await assertAnchored(exchange, node, last) >= 3);
  });

  describe('with two nodes', () => {
    const broken: readonly (readonly [string, RpcProxy['fate']])[] = [
      ['does not answer', () => 'drop'],
      ['is on another chain', ({ method }) => method === 'eth_chainId' ? answering({ result: '0x1' }) : 'pass'],
    ];
    for (const [what, fate] of broken) {
      it(`goes by the second when the first ${what}`, async () => {
        const first = await startRpcProxy(node.url);
        try {
          first.fate = fate;
          exchange = await exchange.restart([node.configured({ rpcUrls: [first.url, node.url] })]);
          await trade();
          last = await minedAndSettled();
          await compare();
          assert.deepEqual(new Set(first.calls), new Set(['eth_chainId']));
        } finally {
          exchange = await exchange.restart([overLine()]);
          await first.close();
        }
      });
    }

    it('goes over to the second when the first fails on the way, and back', async () => {
      const first = await startRpcProxy(node.url);
      try {
        exchange = await exchange.restart([node.configured({ rpcUrls: [first.url, node.url] })]);
        for (const fate of ['lose', 'pass'] as const) {
          first.fate = () => fate;
          await trade();
          last = await minedAndSettled();
          await compare();
        }
      } finally {
        exchange = await exchange.restart([overLine()]);
        await first.close();
      }
    });
  });

  it('stops though its node takes requests and answers none, and settles after the next start what it had in hand', async () => {
    const node1 = await startRpcProxy(node.url);
    try {
      // With so much time for an answer, a stop that waits for one would not end.
      exchange = await exchange.restart([node.configured({ rpcUrls: [node1.url], requestTimeoutMs: 3_600_000 })]);
      const asked = node1.calls.length;
      node1.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'lose' : 'hang';
      await trade();
      await eventually('indexer and lane wait for answers', async () => {
        const hanging = new Set(node1.calls.slice(asked));
        return ['eth_blockNumber', 'eth_getTransactionCount'].every((method) => hanging.has(method)) ? true : undefined;
      });
      await exchange.stop();
    } finally {
      await node1.close();
      exchange = await exchange.restart([overLine()]);
    }
    last = await minedAndSettled();
    await compare();
  });

  describe('refuses to start', () => {
    const refusal = (chain: TradedChain, changes: Parameters<TradedChain['configured']>[0] = {}) =>
      exchange.restart([chain.configured(changes)]).then(() => assert.fail('it started'), (error: Error) => error.message);
    afterEach(async () => { exchange = await exchange.restart([overLine()]); });

    it('on contracts that are not those of the settings', async () => {
      const { contracts } = node.chain;
      const message = await refusal(node, { chain: { ...node.chain, contracts: { ...contracts, collateral: contracts.multicall } } });
      assert.match(message, /^the contracts on chain 31337 are not those of the settings:\n {2}/);
      assert.match(message, new RegExp(`settlement: its collateral\\(\\) is ${contracts.collateral}, not the collateral of the settings, ${contracts.multicall}`));
      assert.match(message, /correct the addresses, settlementDomainName or the RPC URLs in the chains file \(CHAINS\)$/);
    });

    it('on a name in the signing domain that the history\'s orders do not have', async () => {
      assert.match(await refusal(node, { chain: { ...node.chain, domainName: 'Another Exchange' } }),
        /^the orders of the history were signed for another name or settlement contract on chain 31337 .*: set it back, or start /);
    });

    it('on a chain of the same id with the same contracts and other blocks: one that was reset', async () => {
      const reset = await tradedChain({ chain: { confirmations: 1 } });
      try {
        await reset.rpc('anvil_mine', ['0x400']);
        const message = await refusal(reset);
        assert.match(message, /^chain 31337 contradicts the history: block \d+ has hash 0x[0-9a-f]{64}, where the history recorded 0x[0-9a-f]{64}/);
        assert.match(message, /bring back the chain's state that the history belongs to, or begin a new history with its own contracts\.$/);
      } finally {
        await reset.stop();
      }
    });

    it('on contracts that have settled for another history', async () => {
      const error = await exchangeStack({}, [node.configured()]).then(() => assert.fail('it started'), (reason: Error) => reason);
      assert.match(error.message,
        /^chain 31337 contradicts the history: transaction \w+ of \w+ in block \d+ anchors digest \w+ at position \d+, where the history has /);
      assert.match(error.message, /give this history its own contracts .*, or restore the history .*`passOverAnchors`/);
    });
  });

  it('gives up a chain that was away at the start and turns out to have other contracts; orders are taken all the same', async () => {
    line.refuse();
    const { contracts } = node.chain;
    exchange = await exchange.restart([{ ...overLine(), chain: { ...node.chain, contracts: { ...contracts, collateral: contracts.multicall } } }]);
    assert.equal((await readiness(exchange)).status, 200);
    line.accept();
    const { status, reasons, chains: [chain] } = await eventually('the chain is given up', async () => {
      const answer = await readiness(exchange);
      return answer.ready ? undefined : answer;
    });
    assert.equal(status, 503);
    assert.match(chain!.stopped!, /^the contracts on chain 31337 are not those of the settings/);
    assert.deepEqual(reasons, [`chain 31337 is not followed any more: ${chain!.stopped}`]);
    await trade();
    await exchange.refused('chain_unavailable', 'POST', syncPath());
    exchange = await exchange.restart([overLine()]);
    last = await minedAndSettled();
    await compare();
  });

  it('waits for a chain that was away at the start and comes back with errors, or without its blocks', async () => {
    const late = await startRpcProxy(node.url);
    try {
      late.fate = () => 'drop';
      exchange = await exchange.restart([node.configured({ rpcUrls: [late.url] })]);
      const problems: [RpcProxy['fate'], RegExp][] = [
        // In this order: a look at the chain asks for its block first, so none gets through between the two.
        [({ method }) => method === 'eth_blockNumber' ? answering({ result: '0x0' }) : 'pass', /its node is still syncing: its latest block is 0/],
        [({ method }) => method === 'eth_getCode' ? answering({ error: { code: -32_000, message: 'the node is syncing' } }) : 'pass', /the node is syncing$/],
      ];
      for (const [fate, said] of problems) {
        late.fate = fate;
        await eventually('its problem shows', async () => {
          const { status, chains: [chain] } = await readiness(exchange);
          assert.deepEqual([status, chain!.stopped], [200, null]);
          return said.test(chain!.lastError ?? '') ? true : undefined;
        });
      }
      late.fate = () => 'pass';
      await trade();
      last = await minedAndSettled();
      await compare();
    } finally {
      exchange = await exchange.restart([overLine()]);
      await late.close();
    }
  });

  describe('on a reorganisation', () => {
    /** How deep the latest settlement is. Without it its block is another one; an empty block might come again just as it was. */
    const settlementDepth = async (): Promise<number> => {
      const { txHash } = (await eventsOf(exchange, 'FillSettled', last)).at(-1)!;
      const { blockNumber } = await node.rpc('eth_getTransactionReceipt', [txHash]) as { blockNumber: string };
      return Number(await node.rpc('eth_blockNumber')) - Number(blockNumber) + 1;
    };
    const settlerNonce = () => node.rpc('eth_getTransactionCount', [node.accounts[9]!.address, 'latest']);

    it('of blocks that are not final changes nothing', async () => {
      const before = await node.usdcOf(alice);
      await trade();
      await eventually('the fill is paid in a block that is not final', async () => await node.usdcOf(alice) < before ? true : undefined);
      await node.rpc('anvil_reorg', [1, []]);
      assert.equal(await node.usdcOf(alice), before);
      last = await minedAndSettled();
      assert.equal(await node.usdcOf(alice), before - 500_000n);
      await compare();
    });

    it('of final blocks it stops settling and says so; reads and orders go on', async () => {
      await node.rpc('anvil_reorg', [await settlementDepth(), []]);
      await node.rpc('anvil_mine', ['0x3']);
      const { status, reasons, chains } = await eventually('the chain is not followed any more', async () => {
        const ready = await readiness(exchange);
        return ready.ready ? undefined : ready;
      });
      assert.equal(status, 503);
      assert.match(reasons.join(), /^chain 31337 is not followed any more: chain 31337 contradicts the history: block \d+ has hash .* bring back /);
      assert.match(await (await fetch(`${exchange.url}/metrics`)).text(), /^exchange_chain_stopped\{chain="31337"\} 1$/m);
      assert.equal(reasons[0], `chain 31337 is not followed any more: ${chains[0]!.stopped}`);

      const nonce = await settlerNonce();
      // A full batch would be sent at once.
      for (let i = 0; i < 50; i++) await trade();
      assert.equal((await pendingFills()).filter((fill) => fill.endsWith('matched')).length, 50);
      await exchange.refused('chain_unavailable', 'POST', syncPath());
      const { trades } = await exchange.get(`/api/v1/trades/${rain.marketId}`, last) as { trades: { settlementStatus: string }[] };
      assert.deepEqual(trades.slice(0, 50).map(({ settlementStatus }) => settlementStatus), Array(50).fill('matched'));
      await exchange.stop();
      assert.equal(await settlerNonce(), nonce);
    });

    it('of final blocks it does not start again before the chain is what it was', async () => {
      await assert.rejects(exchange.restart([node.configured()]), /^CannotStart: chain 31337 contradicts the history: block \d+ has hash /);
    });
  });
});
