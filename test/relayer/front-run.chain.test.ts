/** A stranger brings what users have signed before the relayer does: ours reverts, and the request has succeeded all the same. */
import assert from 'node:assert/strict';
import { Interface, Wallet, id } from 'ethers';
import type { RelayAction } from '../../engine/records/fields.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { caughtUp, eventsOf, eventually, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { assertEndingsAreAudited } from '../support/ended-relays.js';
import { type ExchangeStack } from '../harness/exchange.js';
import { relayedExchange, type GaslessClient } from '../support/gasless-wallet.js';

const USDC = 1_000_000n;
const BOND = 10n * USDC;
const REVOKE = new Interface(['function revokeKeyedNonce(uint192)']);

describe('relayer: a stranger is first', function () {
  this.timeout(120_000);
  const ann = new Wallet(id('front-run: ann'));
  let node: TradedChain;
  let exchange: ExchangeStack;
  let client: GaslessClient;
  let rain: DeployedMarket, sun: DeployedMarket;

  before(async () => {
    node = await tradedChain();
    const expiration = await node.now() + 3_600;
    rain = await node.createMarket({ question: 'Will it rain?', expiration, bond: BOND });
    sun = await node.createMarket({ question: 'Will the sun shine?', expiration, bond: BOND });
    await node.mint(ann, 1_000n * USDC);
    ({ exchange, client } = await relayedExchange(node));
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  interface Sent { readonly hash: string; readonly input: string; readonly to: string }

  /** Sends a request whose transaction waits in the pool while `meanwhile` acts, then mines both. Gives our receipt's status and the ending. */
  async function sent(action: RelayAction, body: unknown, meanwhile: (ours: Sent) => Promise<unknown>) {
    await node.rpc('evm_setAutomine', [false]);
    let hash: string;
    try {
      hash = await client.relayed(action, body);
      const ours = await eventually('the node has it', async () => (await node.rpc('eth_getTransactionByHash', [hash]) as Sent | null) ?? undefined);
      await meanwhile({ ...ours, hash });
    } finally {
      await node.rpc('evm_setAutomine', [true]);
      await node.rpc('evm_mine');
    }
    const { status } = await node.rpc('eth_getTransactionReceipt', [hash]) as { status: string };
    const ended = await eventually(`${action} has ended`, async () => (
      (await eventsOf(exchange, 'RelayEnded', await caughtUp(exchange, node))).find((event) => event.txHash === hash)));
    return { status, ended };
  }

  const stolen = ({ input, to }: Sent) => node.rpc('eth_sendTransaction', [{
    from: node.accounts[5]!.address, to, data: input, gas: '0x400000', maxFeePerGas: '0x2540be40000', maxPriorityFeePerGas: '0x2540be400',
  }]);

  async function assertSucceeds(action: RelayAction, body: unknown): Promise<void> {
    const { status, ended } = await sent(action, body, stolen);
    assert.equal(status, action === 'batch-ctf-redemption' ? '0x1' : '0x0', 'the multicall succeeds although its items fail');
    assert.deepEqual([ended.action, ended.results], [action, ended.results.map(() => ({ succeeded: true, reason: null }))]);
    assert.equal((await client.post(action, body)).body.tx_hash ?? ended.txHash, ended.txHash);
  }

  it('approval, permit, split and merge', async () => {
    const { bodies, contracts } = client;
    await assertSucceeds('ctf-approval', await bodies.approval(ann));
    await assertSucceeds('usdc-permit', await bodies.permit(ann, { spender: contracts['conditionalTokens'], value: 500n * USDC }));
    await assertSucceeds('ctf-split', await bodies.sets(ann, 'ctf-split', { conditionId: rain.marketId, amount: 100n * USDC }));
    await assertSucceeds('ctf-merge', await bodies.sets(ann, 'ctf-merge', { conditionId: rain.marketId, amount: 40n * USDC }));
    await client.relayed('ctf-split', await bodies.sets(ann, 'ctf-split', { conditionId: sun.marketId, amount: 50n * USDC }));
    assert.deepEqual(await node.sharesOf(ann, rain), { yes: 60n * USDC, no: 60n * USDC });
  });

  it('what nobody has brought has failed: the allowance went before the split', async () => {
    const { bodies, contracts } = client;
    await caughtUp(exchange, node);
    const { yes } = await node.sharesOf(ann, rain);
    // The message before splits the same amount, in the block at which the next one is taken.
    await client.relayed('ctf-split', await bodies.sets(ann, 'ctf-split', { conditionId: rain.marketId, amount: 10n * USDC }));
    await eventually('it is in a block', async () => (await node.sharesOf(ann, rain)).yes > yes || undefined);
    const body = await bodies.sets(ann, 'ctf-split', { conditionId: rain.marketId, amount: 10n * USDC });
    await node.rpc('anvil_setBalance', [ann.address, '0xde0b6b3a7640000']);
    const { status, ended } = await sent('ctf-split', body, () => node.rpc('eth_sendTransaction', [{
      from: ann.address, to: contracts['collateral'], data: `0x095ea7b3${contracts['conditionalTokens']!.slice(2).padStart(64, '0')}${'0'.repeat(64)}`,
      gas: '0x30000', maxFeePerGas: '0x2540be40000', maxPriorityFeePerGas: '0x2540be400',
    }]));
    assert.equal(status, '0x0');
    assert.deepEqual(ended.results, [{ succeeded: false, reason: 'the transaction reverted' }]);
    assert.deepEqual((await client.refused('ctf-split', body)).slice(0, 2), [409, 'relay_in_vain']);
    await client.relayed('usdc-permit', await bodies.permit(ann, { spender: contracts['conditionalTokens'], value: 500n * USDC }));
    // The nonce is unused. A message that is signed in another second has another deadline.
    const again = await eventually('a new message is sent', async () => {
      const anew = await bodies.sets(ann, 'ctf-split', { conditionId: rain.marketId, amount: 10n * USDC });
      const { status: answered, body: { tx_hash: hash } } = await client.post('ctf-split', anew);
      return answered === 200 ? hash : undefined;
    });
    assert.notEqual(again, ended.txHash);
  });

  it('proposal and settlement', async () => {
    const { bodies } = client;
    await node.rpc('evm_increaseTime', [3_700]);
    await node.rpc('evm_mine');
    await assertSucceeds('propose-resolution', await bodies.proposal(ann, { market: rain.address, marketId: rain.marketId, bond: BOND }));
    await assertSucceeds('propose-resolution', await bodies.proposal(ann, { market: sun.address, marketId: sun.marketId, bond: BOND }));
    await node.rpc('evm_increaseTime', [7_201]);
    await node.rpc('evm_mine');
    await assertSucceeds('settle-market', await bodies.settlement(ann, { market: rain.address, marketId: rain.marketId }));
    await assertSucceeds('settle-market', await bodies.settlement(ann, { market: sun.address, marketId: sun.marketId }));
  });

  it('an item that its owner takes back meanwhile has failed, and the others of the batch have not', async () => {
    const { bodies, contracts } = client;
    await caughtUp(exchange, node);
    const ben = new Wallet(id('front-run: ben'));
    await node.rpc('anvil_setBalance', [ben.address, '0xde0b6b3a7640000']);
    for (const { yesId } of [rain, sun]) {
      await node.send(ann, 'conditionalTokens', 'safeTransferFrom', [ann.address, ben.address, yesId, 10n * USDC, '0x']);
    }
    const redemptions = await Promise.all([rain, sun].map(async (market) => (
      { marketAddress: market.address, ...await bodies.redemptionItem(ben, { conditionId: market.marketId, indexSets: [1n] }) })));
    const revoke = REVOKE.encodeFunctionData('revokeKeyedNonce', [BigInt(sun.marketId) % 2n ** 192n]);
    const { status, ended } = await sent('batch-ctf-redemption', { chainId: client.chainId, owner: ben.address, redemptions }, () => node.rpc('eth_sendTransaction', [{
      from: ben.address, to: contracts['conditionalTokens'], data: revoke, gas: '0x30000', maxFeePerGas: '0x2540be40000', maxPriorityFeePerGas: '0x2540be400',
    }]));
    assert.equal(status, '0x1');
    assert.deepEqual(ended.results, [
      { succeeded: true, reason: null }, { succeeded: false, reason: 'the transaction has not brought the state that was asked for' },
    ]);
    assert.equal(await node.usdcOf(ben), 10n * USDC);
    const { failedClaims } = await exchange.get('/api/v1/failed-claims', await caughtUp(exchange, node)) as { failedClaims: { marketId: string; txHash: string }[] };
    assert.deepEqual(failedClaims.map(({ marketId, txHash }) => [marketId, txHash]), [[sun.marketId, ended.txHash]]);
    await client.relayed('ctf-redemption', await bodies.redemption(ben, { conditionId: sun.marketId }));
  });

  it('redemption, and a batch of which a stranger has brought every item', async () => {
    const { bodies } = client;
    await caughtUp(exchange, node);
    await assertSucceeds('ctf-redemption', await bodies.redemption(ann, { conditionId: rain.marketId }));
    const redemptions = [{ marketAddress: sun.address, ...await bodies.redemptionItem(ann, { conditionId: sun.marketId }) }];
    await assertSucceeds('batch-ctf-redemption', { chainId: client.chainId, owner: ann.address, redemptions });
    assert.equal(await node.usdcOf(ann), 980n * USDC, 'all but what she gave away');
    const refused = await client.refused('ctf-redemption', await bodies.redemption(ann, { conditionId: rain.marketId }));
    assert.deepEqual(refused.slice(0, 2), [422, 'relay_would_revert']);
  });

  it('has endings that the audit confirms by the chain, and the opposite of which it finds', async () => {
    await caughtUp(exchange, node);
    assert.ok(await assertEndingsAreAudited(exchange, node) > 0);
  });
});
