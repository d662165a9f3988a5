/** A market's whole life at the relayer, over HTTP, by wallets that have no gas and know only `/api/v1/config`. */
import assert from 'node:assert/strict';
import { Wallet, id } from 'ethers';
import type { RelayAction } from '../../engine/records/fields.js';
import { RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { GAS_CEILINGS } from '../../command/relayer/plan.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { caughtUp, eventsOf, eventually, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { assertEndingsAreAudited } from '../support/ended-relays.js';
import { type ExchangeStack } from '../harness/exchange.js';
import { bearerToken, relayedExchange, type GaslessClient } from '../support/gasless-wallet.js';

const USDC = 1_000_000n;
const BOND = 10n * USDC;
const WINDOW_S = 7_200;

describe('relayer: a market\'s whole life without gas', function () {
  this.timeout(120_000);
  const ann = new Wallet(id('relayer: ann'));
  const ben = new Wallet(id('relayer: ben'));
  let node: TradedChain;
  let exchange: ExchangeStack;
  let client: GaslessClient;
  let rain: DeployedMarket, sun: DeployedMarket;

  before(async () => {
    node = await tradedChain();
    const expiration = await node.now() + 3_600;
    rain = await node.createMarket({ question: 'Will it rain?', expiration, bond: BOND });
    sun = await node.createMarket({ question: 'Will the sun shine?', expiration, bond: BOND });
    for (const wallet of [ann, ben]) await node.mint(wallet, 1_000n * USDC);
    ({ exchange, client } = await relayedExchange(node));
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const mined = async (txHash: string): Promise<{ status: string; gasUsed: string }> =>
    eventually(`${txHash} is mined`, async () => (await node.rpc('eth_getTransactionReceipt', [txHash]) as { status: string; gasUsed: string } | null) ?? undefined);

  async function done(action: RelayAction, body: unknown): Promise<string> {
    const txHash = await client.relayed(action, body);
    assert.match(txHash, /^0x[0-9a-f]{64}$/);
    const { status, gasUsed } = await mined(txHash);
    assert.equal(status, '0x1', action);
    assert.ok(BigInt(gasUsed) * 3n < GAS_CEILINGS[action] * 2n, `${action} used ${Number(gasUsed)} gas, so its ceiling is too near`);
    return txHash;
  }

  it('asks for a bearer token first, then reads the body, and asks for the scope after the chain', async () => {
    const body = await client.bodies.approval(ann);
    const other = await bearerToken(exchange.databaseUrl, ['relay:ctf-split']);
    const limited = { Authorization: `Bearer ${other}` };
    const unknown = { Authorization: `Bearer ${other.slice(0, -2)}xx` };
    assert.deepEqual(await client.refused('ctf-approval', '{', { Authorization: '' }), [401, 'missing_token', 'Missing bearer token']);
    assert.deepEqual(await client.refused('ctf-approval', '{', unknown), [401, 'invalid_token', 'Invalid bearer token']);
    assert.deepEqual(await client.refused('ctf-approval', '{', limited), [400, 'relay_invalid_body', 'Invalid request body']);
    assert.deepEqual(await client.refused('ctf-approval', { ...body, chainId: 1 }, limited), [400, 'relay_unknown_chain', 'No relayer configured for chain']);
    assert.deepEqual(await client.refused('ctf-approval', { ...body, operator: ann.address }, limited),
      [403, 'insufficient_scope', 'Token lacks the scope relay:ctf-approval']);
    const [status, code, text] = await client.refused('ctf-approval', { ...body, operator: ann.address });
    assert.deepEqual([status, code, text.startsWith('the relayer does not send this')], [403, 'relay_target_refused', true]);
    const answer = await client.post('ctf-approval', '{', { Authorization: '' });
    assert.equal(answer.headers.get('WWW-Authenticate'), 'Bearer realm="prediction-exchange"');
  });

  it('tells who relays, and the nonces and bonds of its markets', async () => {
    const { chains: [chain] } = await exchange.get('/api/v1/config') as { chains: [{ relayer: { address: string; actions: string[] } }] };
    assert.deepEqual(chain.relayer, { address: node.accounts[8]!.address.toLowerCase(), actions: RELAY_ACTIONS });
    const packed = (marketId: string) => String((BigInt(marketId) % 2n ** 192n) * 2n ** 64n);
    const told = ({ marketId, address: contractAddress }: DeployedMarket) => (
      { marketId, contractAddress, bond: String(BOND), condition: packed(marketId), market: packed(marketId) });
    const path = `/api/v1/users/${ann.address}/nonces?chain_id=${client.chainId}`;
    const all = { address: ann.address.toLowerCase(), chainId: client.chainId, owner: '0', token: '0' };
    assert.deepEqual(await exchange.get(path), { ...all, markets: [told(sun), told(rain)] });
    assert.deepEqual(await exchange.get(`${path}&market=${rain.marketId}`), { ...all, markets: [told(rain)] });
    await exchange.refused('unknown_market', 'GET', `${path}&market=0x${'1'.repeat(64)}`);
    await exchange.refused('unknown_chain', 'GET', `/api/v1/users/${ann.address}/nonces?chain_id=5`);
  });

  it('approves, permits, splits and merges', async () => {
    const { bodies, contracts } = client;
    for (const wallet of [ann, ben]) {
      await done('ctf-approval', await bodies.approval(wallet));
      await done('usdc-permit', await bodies.permit(wallet, { value: 2n ** 256n - 1n }));
      await done('usdc-permit', await bodies.permit(wallet, { spender: contracts['conditionalTokens'], value: 500n * USDC }));
      await done('ctf-split', await bodies.sets(wallet, 'ctf-split', { conditionId: rain.marketId, amount: 100n * USDC }));
      await done('ctf-split', await bodies.sets(wallet, 'ctf-split', { conditionId: sun.marketId, amount: 50n * USDC }));
    }
    await done('ctf-merge', await bodies.sets(ann, 'ctf-merge', { conditionId: rain.marketId, amount: 10n * USDC }));
    assert.deepEqual(await node.sharesOf(ann, rain), { yes: 90n * USDC, no: 90n * USDC });
    assert.equal(await node.usdcOf(ann), 860n * USDC);
    assert.equal(await node.read('conditionalTokens', 'isApprovedForAll', [ann.address, contracts['settlement']]), true);
  });

  it('answers what is so already without a transaction, and the same request with its transaction', async () => {
    const { bodies } = client;
    assert.deepEqual((await client.post('ctf-approval', await bodies.approval(ann))).body, { success: true, tx_hash: '' });
    const body = await bodies.sets(ben, 'ctf-merge', { conditionId: rain.marketId, amount: 1n * USDC });
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.post('ctf-merge', body)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]), JSON.stringify(answers[0]!.body));
    const hashes = new Set(answers.map((answer) => answer.body.tx_hash));
    assert.equal(hashes.size, 1);
    await mined([...hashes][0]!);
    await caughtUp(exchange, node);
    await eventually('the same request again gives its transaction', async () => (
      (await client.post('ctf-merge', body)).body.tx_hash === [...hashes][0] ? true : undefined));
    assert.deepEqual(await node.sharesOf(ben, rain), { yes: 99n * USDC, no: 99n * USDC });
  });

  it('proposes with the bond\'s permit, settles after the dispute window, and redeems singly and in a batch', async () => {
    const { bodies } = client;
    await node.rpc('evm_increaseTime', [3_700]);
    await node.rpc('evm_mine');
    await done('propose-resolution', await bodies.proposal(ann, { market: rain.address, marketId: rain.marketId, bond: BOND }));
    await done('propose-resolution', await bodies.proposal(ben, { market: sun.address, marketId: sun.marketId, outcome: false, bond: BOND }));
    const early = await client.refused('settle-market', await bodies.settlement(ben, { market: rain.address, marketId: rain.marketId }));
    assert.deepEqual(early.slice(0, 2), [422, 'relay_would_revert']);
    assert.match(early[2], /DisputeWindowOpen\(\d+\)/);
    await node.rpc('evm_increaseTime', [WINDOW_S + 1]);
    await node.rpc('evm_mine');
    await done('settle-market', await bodies.settlement(ben, { market: rain.address, marketId: rain.marketId }));
    await done('settle-market', await bodies.settlement(ann, { market: sun.address, marketId: sun.marketId, winningOutcome: 1 }));
    await done('ctf-redemption', await bodies.redemption(ann, { conditionId: rain.marketId }));
    const items = await Promise.all([
      bodies.redemptionItem(ben, { conditionId: rain.marketId, indexSets: [1n] }),
      bodies.redemptionItem(ben, { conditionId: rain.marketId, indexSets: [2n] }, { later: 1n }),
      bodies.redemptionItem(ben, { conditionId: sun.marketId }),
    ]);
    const redemptions = items.map((item, i) => ({ marketAddress: i < 2 ? rain.address : sun.address, ...item }));
    const answer = await client.post('batch-ctf-redemption', { chainId: client.chainId, owner: ben.address, redemptions });
    assert.deepEqual([answer.status, answer.body.status], [200, 'pending'], JSON.stringify(answer.body));
    assert.equal((await mined(answer.body.txHash!)).status, '0x1');
    assert.equal(await node.usdcOf(ben), 1_000n * USDC);
    assert.deepEqual(await node.sharesOf(ann, rain), { yes: 0n, no: 0n });
    assert.equal(await node.usdcOf(ann), 950n * USDC);
  });

  it('has everything in the history: requested, submitted, and ended with success', async () => {
    await caughtUp(exchange, node);
    const position = await eventually('every request has ended', async () => {
      const last = await caughtUp(exchange, node);
      const [requested, ended] = [await eventsOf(exchange, 'RelayRequested', last), await eventsOf(exchange, 'RelayEnded', last)];
      return requested.length === ended.length ? last : undefined;
    });
    const requested = await eventsOf(exchange, 'RelayRequested', position);
    const ended = await eventsOf(exchange, 'RelayEnded', position);
    assert.equal(new Set(requested.map(({ requestId }) => requestId)).size, requested.length);
    assert.deepEqual(ended.flatMap(({ results }) => results).filter(({ succeeded }) => !succeeded), []);
    assert.deepEqual(ended.find(({ action }) => action === 'batch-ctf-redemption')!.claims, [
      { marketId: rain.marketId, payout: String(99n * USDC), winningOutcome: 0 }, { marketId: rain.marketId, payout: '0', winningOutcome: 0 },
      { marketId: sun.marketId, payout: String(50n * USDC), winningOutcome: 1 },
    ]);
    assert.equal((await eventsOf(exchange, 'RelaySubmitted', position)).length, requested.length);
  });

  it('has endings that the audit confirms by the chain, and the opposite of which it finds', async () => {
    await caughtUp(exchange, node);
    assert.ok(await assertEndingsAreAudited(exchange, node) > 0);
  });
});
