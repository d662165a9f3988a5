/** The client's messages to the relayer: each is signed with the nonce that is due, and signed anew only where it was certainly not taken. */
import assert from 'node:assert/strict';
import { connect, OutcomeUnknown, type TypedData } from '../../client/src/client.js';
import { json, problem, scriptedFetch, type Step } from '../support/scripted-fetch.js';

const ADDRESS = `0x${'aa'.repeat(20)}`;
const TOKENS = `0x${'cc'.repeat(20)}`;
const MARKET = `0x${'4d'.repeat(32)}` as const;

const domain = { name: 'ConditionalTokens', version: '1', chainId: 1, verifyingContract: TOKENS };
const CONFIG = json({
  serverTime: 1_790_000_000, chains: [{
    chainId: 1, contracts: { collateral: `0x${'dd'.repeat(20)}` },
    signedActions: { 'ctf-split': { primaryType: 'SplitPosition', domain, types: { SplitPosition: [] }, nonce: { kind: 'owner' } } },
  }],
});
const nonces = (owner: string) => json({ address: ADDRESS, chainId: 1, owner, token: '0', markets: [] });
const done = (hash: string) => json({ success: true, tx_hash: hash });

/** A client whose signatures say the nonce that they are of. */
function world(...steps: readonly Step[]) {
  const { fetch, asked } = scriptedFetch(CONFIG, ...steps);
  const signed: TypedData[] = [];
  const signer = {
    address: ADDRESS,
    signTypedData: (typed: TypedData) => {
      signed.push(typed);
      return Promise.resolve(`0x${String(typed.message['nonce']).padStart(64, '0')}${'55'.repeat(32)}01`);
    },
  };
  return {
    client: connect({ url: 'http://exchange.test', signer, token: 'pex_token', timeoutMs: 5_000, fetch }), signed,
    sent: () => asked.filter(({ method }) => method === 'POST').map(({ target, body, headers }) => {
      assert.equal(headers.get('Authorization'), 'Bearer pex_token');
      return { target, ...JSON.parse(body!) as { v: number; r: string; amount: string } };
    }),
  };
}

describe('client: messages to the relayer', () => {
  it('are signed with all that the configuration says, and sent as the relayer takes them', async () => {
    const { client, sent, signed } = world(nonces('7'), done('0x1'));
    assert.deepEqual(await client.relay.split(MARKET, '2.5'), { txHash: '0x1' });
    assert.deepEqual(signed, [{ domain, types: { SplitPosition: [] }, primaryType: 'SplitPosition', message: {
      owner: ADDRESS, collateralToken: `0x${'dd'.repeat(20)}`, conditionId: MARKET, amount: 2_500_000n, nonce: 7n, deadline: signed[0]!.message['deadline'],
    } }]);
    assert.deepEqual(sent(), [{
      target: '/api/v1/relayer/ctf-split', chainId: 1, owner: ADDRESS, collateralToken: `0x${'dd'.repeat(20)}`, conditionId: MARKET, amount: '2500000',
      deadline: String(signed[0]!.message['deadline']), v: 28, r: `0x${'7'.padStart(64, '0')}`, s: `0x${'55'.repeat(32)}`,
    }]);
  });

  it('are sent again where the answer names no transaction, since whatever stands between may send it', async () => {
    const { client, sent } = world(nonces('7'), json({}), json({ success: true }), done('0x1'));
    assert.deepEqual(await client.relay.split(MARKET, '1'), { txHash: '0x1' });
    assert.deepEqual(sent().map(({ r }) => Number(r)), [7, 7, 7]);
    assert.deepEqual(await world(nonces('7'), done('')).client.relay.split(MARKET, '1'), { txHash: undefined }, 'nothing had to be sent');
  });

  it('wait while another message has the nonce, and are signed with the next one', async () => {
    const { client, sent } = world(nonces('7'), problem(409, 'relay_already_used'), nonces('7'), problem(409, 'relay_already_used'), nonces('8'), done('0x2'));
    assert.deepEqual(await client.relay.split(MARKET, '1'), { txHash: '0x2' });
    assert.deepEqual(sent().map(({ r }) => Number(r)), [7, 7, 8]);
  });

  it('go one after the other', async () => {
    const { client, sent } = world(nonces('1'), done('0x1'), nonces('2'), done('0x2'));
    const relayed = await Promise.all([client.relay.split(MARKET, '1'), client.relay.split(MARKET, '2')]);
    assert.deepEqual(relayed.map(({ txHash }) => txHash), ['0x1', '0x2']);
    assert.deepEqual(sent().map(({ r, amount }) => [Number(r), amount]), [[1, '1000000'], [2, '2000000']]);
  });

  it('are never signed anew where they may have been taken', async () => {
    const { client, sent, signed } = world(nonces('7'), new TypeError('cut'), problem(503, 'overloaded', { 'Retry-After': '60' }), done('0x1'));
    const unknown = await client.relay.split(MARKET, '1').catch((error: unknown) => error) as OutcomeUnknown;
    assert.ok(unknown instanceof OutcomeUnknown);
    assert.deepEqual(await unknown.again(), { txHash: '0x1' });
    assert.equal(signed.length, 1);
    assert.equal(new Set(sent().map((each) => JSON.stringify(each))).size, 1);
  });
});
