/** The whole exchange and a leaked operator key: its false anchor stops the chain, and the setting that passes it over brings all back. */
import assert from 'node:assert/strict';
import {
  ONE, assertPositionsAreBalances, caughtUp, eventsOf, eventually, readiness, settled, tradedChain, type TradedChain,
} from '../support/exchange-on-chain.js';
import { alice, bob, exchangeStack, signedBody, type ExchangeStack, type Fields } from '../harness/exchange.js';
import type { DeployedMarket, Receipt } from '../support/deployed-chain.js';

const DIGEST = `0x${'de'.repeat(32)}`;

describe('the exchange and a false anchor', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let rain: DeployedMarket;
  let txHash: string;

  before(async () => {
    node = await tradedChain({ chain: { exposureCheck: true } });
    rain = await node.createMarket({ question: 'Will it rain?' });
    await node.equip(alice, { usdc: BigInt(10 * ONE) });
    await node.equip(bob, { shares: BigInt(10 * ONE), market: rain });
    exchange = await exchangeStack({}, [node.configured()]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const fieldsOf = (fields: Fields): Fields => ({ marketId: rain.marketId, price: 500_000, size: ONE, ...fields });
  const trade = async (): Promise<number> => {
    await exchange.place(bob, fieldsOf({ side: 1 }));
    const { body, position } = await exchange.place(alice, fieldsOf({}));
    assert.equal(body['matches'], 1);
    return position;
  };
  const metrics = async () => await (await fetch(`${exchange.url}/metrics`)).text();
  const audited = () => node.configured({ chain: { ...node.chain, passOverAnchors: [txHash] } });

  it('stops the recording of the chain, and says which transaction, whose, and what to do', async () => {
    await settled(exchange, await trade());
    const { transactionHash }: Receipt = await node.send(node.operator, 'settlement', 'settleBatch', [[], [], [], [], 0n, DIGEST]);
    txHash = transactionHash;
    const { status, reasons } = await eventually('the chain is not followed any more', async () => {
      const ready = await readiness(exchange);
      return ready.ready ? undefined : ready;
    });
    assert.equal(status, 503);
    const sender = node.operator.address.toLowerCase();
    assert.match(reasons.join(), new RegExp(`transaction ${txHash} of ${sender} in block \\d+ anchors digest ${DIGEST} at position 0, .*\`passOverAnchors\``));
    assert.match(await metrics(), /^exchange_chain_stopped\{chain="31337"\} 1$/m);
    assert.match(await metrics(), /^exchange_chain_anchors_passed_over\{chain="31337"\} 0$/m);
  });

  it('still does after a restart, also when the key has lost its role', async () => {
    await assert.rejects(exchange.restart(), new RegExp(`^CannotStart: chain 31337 contradicts the history: transaction ${txHash} `));
    await node.send(node.operator, 'settlement', 'revokeRole', [await node.read('settlement', 'OPERATOR_ROLE', []), node.operator.address]);
    await assert.rejects(exchange.restart(), new RegExp(`^CannotStart: chain 31337 contradicts the history: transaction ${txHash} `));
  });

  it('is passed over once the settings name it: orders are checked, fills settle, and everybody can see it', async () => {
    exchange = await exchange.restart([audited()]);
    const body = await signedBody(exchange.signing, alice, fieldsOf({ size: 100 * ONE, nonce: 99 }));
    const { available } = await exchange.refused('insufficient_balance', 'POST', '/api/v1/orders', { body });
    assert.equal(available, 10 * ONE - 500_000);
    await settled(exchange, await trade());
    const position = await caughtUp(exchange, node);
    await assertPositionsAreBalances(exchange, { node, market: rain, traders: [alice, bob], position });
    assert.deepEqual(await eventsOf(exchange, 'AnchorPassedOver', position), [
      { type: 'AnchorPassedOver', v: 1, chainId: 31_337, txHash, position: '0', digest: DIGEST },
    ]);
    assert.equal((await eventsOf(exchange, 'FillSettled', position)).length, 2);
    const { status, chains } = await readiness(exchange);
    assert.deepEqual([status, chains.map(({ stopped, anchorsPassedOver }) => [stopped, anchorsPassedOver])], [200, [[null, 1]]]);
    assert.match(await metrics(), /^exchange_chain_anchors_passed_over\{chain="31337"\} 1$/m);
    const config = await exchange.get('/api/v1/config') as { chains: { passOverAnchors: string[] }[] };
    assert.deepEqual(config.chains.map(({ passOverAnchors }) => passOverAnchors), [[txHash]]);
  });
});
