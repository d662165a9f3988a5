/** Orders and cancels at the whole exchange: awkward and hostile requests, repeats, exact integers; what each leaves behind. */
import assert from 'node:assert/strict';
import { id } from 'ethers';
import type { ClientErrorCode } from '../../service/api/errors.js';
import { newCommand } from '../support/commands.js';
import {
  EXPIRATION, ZERO_ADDRESS, alice, bob, cancelHeaders, carol, exchangeStack, json, lower, signedBody, type ExchangeStack, type Fields, type Placed,
} from '../harness/exchange.js';

const UINT64_MAX = 2n ** 64n - 1n;

describe('the exchange: orders', () => {
  let exchange: ExchangeStack;
  before(async () => { exchange = await exchangeStack(); });
  after(() => exchange.close());

  const body = (fields: Fields = {}, changes: Fields = {}) =>
    signedBody(exchange.signing, alice, { marketId: exchange.sun.id, nonce: 1_000, ...fields }, changes);
  const unsigned = (fields: Fields) => json({
    order: {
      marketId: exchange.sun.id, trader: alice.address, side: 0, outcome: 0, price: 1, size: 1, nonce: 1_000, expiration: EXPIRATION,
      makerFeeRecipient: ZERO_ADDRESS, ...fields,
    }, signature: `0x${'00'.repeat(65)}`,
  });
  const cancelPath = (orderHash: string, query = '') => `/api/v1/orders/${orderHash}?marketId=${exchange.sun.id}${query}`;
  const openOf = async (trader: string, position: number) =>
    (await exchange.get(`/api/v1/orders?trader=${trader}`, position))['orders'] as { orderHash: string; size: unknown; remainingSize: unknown }[];

  describe('refused', () => {
    let first: Placed;
    before(async () => { first = await exchange.place(bob, { nonce: 0 }); });

    const soon = () => Math.floor(Date.now() / 1_000) + 59;
    const malformed: [string, ClientErrorCode, string | undefined, () => string | Promise<string>][] = [
      ['no JSON', 'invalid_json', undefined, () => '{'],
      ['an array', 'invalid_json', undefined, () => '[]'],
      ['an empty object', 'invalid_request', '/order', () => '{}'],
      ['a field that is not signed', 'invalid_request', '/order/salt', () => unsigned({ salt: 1 })],
      ['a short trader', 'invalid_request', '/order/trader', () => unsigned({ trader: '0x12' })],
      ['a number for a trader', 'invalid_request', '/order/trader', () => unsigned({ trader: 12 })],
      ['side 2', 'invalid_request', '/order/side', () => unsigned({ side: 2 })],
      ['outcome "YES"', 'invalid_request', '/order/outcome', () => unsigned({ outcome: 'YES' })],
      ['a fee recipient', 'invalid_request', '/order/makerFeeRecipient', () => unsigned({ makerFeeRecipient: bob.address })],
      ['nonce 2^64', 'invalid_request', '/order/nonce', () => unsigned({ nonce: UINT64_MAX + 1n })],
      ['price 0', 'invalid_price', '/order/price', () => unsigned({ price: 0 })],
      ['price 1.00', 'invalid_price', '/order/price', () => unsigned({ price: 1_000_000 })],
      ['a price with a fraction', 'invalid_price', '/order/price', () => unsigned({ price: 0.5 })],
      ['size 0', 'invalid_size', '/order/size', () => unsigned({ size: '0' })],
      ['size 2^64', 'invalid_size', '/order/size', () => unsigned({ size: UINT64_MAX + 1n })],
      ['59 seconds to live', 'invalid_expiration', '/order/expiration', () => body({ expiration: soon() })],
      ['an unknown market', 'unknown_market', '/order/marketId', () => body({ marketId: id('none') })],
      ['no signature', 'invalid_signature', '/signature', () => body({}, { signature: undefined })],
      ['a signature of nothing', 'invalid_signature', '/signature', () => body({}, { signature: `0x${'ff'.repeat(65)}` })],
      ['a permit without fields', 'invalid_permit', '/permitSignature/nonce', () => body({}, { permitSignature: {} })],
    ];
    for (const [what, code, field, made] of malformed) {
      it(`${what}: ${code}`, async () => {
        const { errors } = await exchange.refused(code, 'POST', '/api/v1/orders', { body: await made() }) as { errors?: { field: string }[] };
        assert.equal(errors?.[0]?.field, field);
      });
    }

    it('a body too large, or of another type', async () => {
      await exchange.refused('body_too_large', 'POST', '/api/v1/orders', { body: 'x'.repeat(65_537) });
      await exchange.refused('unsupported_media_type', 'POST', '/api/v1/orders', { body: await body(), headers: { 'Content-Type': 'text/plain' } });
    });

    it('and nothing of all this is in the history', async () => {
      assert.equal((await exchange.place(bob, { nonce: 1 })).position, first.position + 1);
    });
  });

  it('signed by another tell their sender all that is needed to find the mistake', async () => {
    const sent = await body({ trader: bob.address });
    const { digest, recoveredSigner, domain } = await exchange.refused('invalid_signature', 'POST', '/api/v1/orders', { body: sent });
    assert.equal(recoveredSigner, lower(alice));
    assert.deepEqual(domain, exchange.signing.domain);
    const honest = await exchange.place(bob, { ...JSON.parse(sent).order as Fields, trader: bob.address });
    assert.equal(honest.orderHash, digest);
    await exchange.request('DELETE', cancelPath(honest.orderHash), { headers: await cancelHeaders(exchange.signing, bob, honest) });
  });

  it('are taken exactly once, however often, at once and in whatever spelling they are sent', async () => {
    const sent = await body({ nonce: 1, size: 25, price: 400_000 });
    const { order, signature } = JSON.parse(sent) as { order: Fields; signature: string };
    const spelled = json({
      order: { ...order, trader: lower(alice), size: '25', price: '400000', nonce: '1', expiration: String(EXPIRATION), side: '0' },
      signature: `${signature.slice(0, -2)}${signature.endsWith('1b') ? '00' : '01'}`,
    });
    const answers = await Promise.all([sent, spelled, sent, spelled, sent, spelled].map((each) => exchange.request('POST', '/api/v1/orders', { body: each })));
    const { orderHash } = answers[0]!.body as { orderHash: string };
    assert.deepEqual(new Set(answers.map(({ status, body: each, position }) => `${status} ${json({ ...each, orderStatus: '' })} ${position}`)).size, 1);
    assert.deepEqual(answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true').length, 5);
    assert.deepEqual((await openOf(lower(alice), answers[0]!.position)).map((each) => each.orderHash), [orderHash]);

    await exchange.refused('duplicate_nonce', 'POST', '/api/v1/orders', { body: await body({ nonce: 1, size: 26 }) });
    const headers = await cancelHeaders(exchange.signing, alice, { orderHash });
    assert.equal((await exchange.request('DELETE', cancelPath(orderHash), { headers })).status, 200);
    const again = await exchange.request('POST', '/api/v1/orders', { body: sent });
    assert.deepEqual([again.body, again.headers.get('Idempotent-Replayed')], [{ ...answers[0]!.body, orderStatus: 'cancelled' }, 'true']);
    const fresh = await exchange.request('POST', '/api/v1/orders', { body: await body({ nonce: 1, size: 26, price: 1 }) });
    assert.deepEqual((await openOf(lower(alice), fresh.position)).map((each) => each.orderHash), [fresh.body['orderHash']]);
  });

  it('are found right after they were placed, without waiting for a position', async () => {
    for (let nonce = 2_000; nonce < 2_020; nonce++) {
      const { orderHash } = await exchange.place(alice, { marketId: exchange.sun.id, nonce, price: 1, size: nonce });
      const { status, size, remainingSize } = await exchange.get(`/api/v1/orders/${orderHash}`);
      assert.deepEqual([status, size, remainingSize], ['open', nonce, nonce]);
    }
    const { error } = await exchange.refused('unknown_order', 'GET', `/api/v1/orders/${id('none')}`);
    assert.match(error as string, /X-Min-Log-Position/);
  });

  it('are exact up to 2^64-1, in orders, books, positions and volumes', async () => {
    const { rain } = exchange;
    const large = { marketId: rain.id, outcome: 1, price: 999_999, size: UINT64_MAX, nonce: UINT64_MAX, expiration: UINT64_MAX };
    const bid = await exchange.place(carol, large);
    const { nonce, expiration, size } = await exchange.get(`/api/v1/orders/${bid.orderHash}`, bid.position);
    assert.deepEqual([nonce, expiration, size], [UINT64_MAX, UINT64_MAX, UINT64_MAX]);
    const another = await exchange.place(carol, { ...large, nonce: 2 });
    assert.deepEqual((await exchange.get(`/api/v1/orderbook/${rain.id}?outcome=NO`, another.position))['bids'], [{ price: 999_999, size: 2n * UINT64_MAX }]);
    const sale = await exchange.place(bob, { ...large, side: 1, price: 1, nonce: 3, size: UINT64_MAX - 1n });
    assert.equal(sale.body['matches'], 1);
    const cost = ((UINT64_MAX - 1n) * 999_999n + 999_999n) / 1_000_000n;
    assert.deepEqual((await openOf(lower(carol), sale.position)).map(({ remainingSize }) => remainingSize), [UINT64_MAX, 1]);
    const settled = await exchange.record(newCommand('SettleFill', { at: Date.now(), fill: 0, txHash: id('settled') }));
    assert.deepEqual(await exchange.get(`/api/v1/positions/${rain.id}?user=${carol.address}`, settled), {
      yesShares: 0, noShares: UINT64_MAX - 1n, totalInvested: cost, yesCost: 0, noCost: cost,
    });
    const { volume24h, totalVolume } = await exchange.get(`/api/v1/stats/${rain.id}`);
    assert.deepEqual([volume24h, totalVolume], [cost, cost]);
  });

  it('never trade with their own trader: the older one goes', async () => {
    const resting = await exchange.place(carol, { marketId: exchange.sun.id, nonce: 11, price: 500_000, size: 7 });
    const incoming = await exchange.place(carol, { marketId: exchange.sun.id, nonce: 12, side: 1, price: 500_000, size: 5 });
    assert.equal(incoming.body['matches'], 0);
    const { status, cancelReason, remainingSize } = await exchange.get(`/api/v1/orders/${resting.orderHash}`, incoming.position);
    assert.deepEqual([status, cancelReason, remainingSize], ['cancelled', 'self_trade', 7]);
    assert.deepEqual((await exchange.get(`/api/v1/orderbook/${exchange.sun.id}?outcome=YES`))['asks'], [{ price: 500_000, size: 5 }]);
  });

  describe('cancelled', () => {
    let orderHash: string;
    let position: number;
    let mine: Record<string, string>;
    before(async () => {
      ({ orderHash, position } = await exchange.place(alice, { marketId: exchange.sun.id, nonce: 21, side: 1, price: 900_000, size: 9 }));
      mine = await cancelHeaders(exchange.signing, alice, { orderHash });
    });

    it('not with a malformed, foreign or late signature, nor under another hash, market or side', async () => {
      const refused = (code: ClientErrorCode, path: string, headers: Record<string, string> = mine) => exchange.refused(code, 'DELETE', path, { headers });
      const signed = (wallet: typeof alice, changes = {}) => cancelHeaders(exchange.signing, wallet, { orderHash, ...changes });
      await refused('invalid_order_hash', cancelPath('0x12'));
      await refused('invalid_market_id', `/api/v1/orders/${orderHash}`);
      await refused('invalid_request', cancelPath(orderHash, '&side=0'));
      await refused('invalid_request', cancelPath(orderHash, '&side=sell&side=sell'));
      await refused('unknown_order', cancelPath(id('none')));
      await refused('unknown_order', `/api/v1/orders/${orderHash}?marketId=${exchange.rain.id}`);
      await refused('unknown_order', cancelPath(orderHash, '&side=buy'));
      await refused('cancel_signature_required', cancelPath(orderHash), {});
      const unsigned = await fetch(`${exchange.url}${cancelPath(orderHash)}`, { method: 'DELETE' });
      assert.deepEqual([unsigned.status, unsigned.headers.get('WWW-Authenticate')?.split(' ', 1)[0]], [401, 'EIP-712']);
      await refused('invalid_cancel_signature', cancelPath(orderHash), { ...mine, 'X-Cancel-Signature': '0x12' });
      await refused('invalid_cancel_signature', cancelPath(orderHash), { ...mine, 'X-Cancel-Deadline': '4000000001' });
      await refused('invalid_cancel_signature', cancelPath(orderHash), await signed(bob));
      await refused('invalid_cancel_signature', cancelPath(orderHash), await signed(bob, { trader: alice.address }));
      await refused('invalid_cancel_signature', cancelPath(orderHash), await signed(alice, { deadline: 1_700_000_000 }));
      await refused('invalid_cancel_signature', cancelPath(orderHash), await signed(alice, { orderHash: id('other') }));
      const { status } = await exchange.get(`/api/v1/orders/${orderHash}`, position);
      assert.equal(status, 'open');
    });

    it('with the trader\'s signature, and as often as it is asked', async () => {
      const answers = [];
      for (const side of ['&side=sell', '', '&side=SELL']) answers.push(await exchange.request('DELETE', cancelPath(orderHash, side), { headers: mine }));
      for (const { body: cancelled } of answers) assert.deepEqual(cancelled, { status: 'cancelled', orderHash, filledSize: 0, remainingSize: 9 });
      const { status } = await exchange.get(`/api/v1/orders/${orderHash}`, answers[0]!.position);
      assert.equal(status, 'cancelled');
    });

    it('not when it is filled', async () => {
      const sale = await exchange.place(bob, { marketId: exchange.sun.id, nonce: 31, side: 1, outcome: 1, price: 100_000, size: 1 });
      await exchange.place(alice, { marketId: exchange.sun.id, nonce: 32, outcome: 1, price: 100_000, size: 1 });
      const headers = await cancelHeaders(exchange.signing, bob, sale);
      await exchange.refused('already_filled', 'DELETE', cancelPath(sale.orderHash), { headers });
    });
  });

  it('are not read before X-Min-Log-Position, and no read waits for ever', async () => {
    await exchange.refused('not_caught_up', 'GET', '/api/v1/markets', { headers: { 'X-Min-Log-Position': '1000000' } });
    await exchange.refused('invalid_request', 'GET', '/api/v1/markets', { headers: { 'X-Min-Log-Position': 'latest' } });
  });

  const badReads: [ClientErrorCode, string][] = [
    ['invalid_request', '/api/v1/orders'], ['invalid_address', '/api/v1/orders?trader='], ['invalid_request', `/api/v1/orders?trader=${ZERO_ADDRESS}&limit=1001`],
    ['invalid_market_id', `/api/v1/orders?trader=${ZERO_ADDRESS}&market=1`], ['invalid_order_hash', '/api/v1/orders/%00'], ['unknown_order', `/api/v1/orders/${id('x')}`],
    ['invalid_request', `/api/v1/users/${ZERO_ADDRESS}/orders`], ['invalid_chain_id', `/api/v1/users/${ZERO_ADDRESS}/positions?chain_id=0`],
    ['invalid_address', '/api/v1/users/bob/activity?chain_id=1'], ['invalid_request', `/api/v1/users/${ZERO_ADDRESS}/activity?chain_id=1&limit=101`],
    ['invalid_address', `/api/v1/positions/0x1?user=${ZERO_ADDRESS}`], ['unknown_market', `/api/v1/positions/${ZERO_ADDRESS}?user=${ZERO_ADDRESS}`],
    ['invalid_request', `/api/v1/positions/${ZERO_ADDRESS}`], ['invalid_market_id', '/api/v1/stats/1'], ['unknown_market', `/api/v1/stats/${id('x')}`],
    ['unknown_market', `/api/v1/holders/${id('x')}`], ['unknown_market', `/api/v1/activity/${id('x')}`], ['unknown_market', `/api/v1/trades/${id('x')}`],
    ['invalid_market_id', '/api/v1/orderbook/x'], ['invalid_request', `/api/v1/orderbook/${id('x')}?outcome=2`], ['invalid_chain_id', '/api/v1/markets?chain_id=x'],
    ['invalid_chain_id', '/api/v1/platform/stats?chain_id=1.5'], ['invalid_request', '/api/v1/events?limit=1001'], ['invalid_request', '/api/v1/events?from=-1'],
    ['invalid_request', '/api/v1/events?event=Nothing'], ['invalid_market_id', '/api/v1/events?market=1'], ['invalid_address', '/api/v1/events?trader=bob'],
    ['invalid_request', `/api/v1/orderbook/${id('x')}?at=-1`], ['invalid_request', `/api/v1/orderbook/${id('x')}?at=2026-02-30T00:00:00Z`],
    ['not_recorded_yet', `/api/v1/orderbook/${id('x')}?at=9007199254740991`], ['not_recorded_yet', `/api/v1/orderbook/${id('x')}?at=9999-01-01T00:00:00Z`],
    ['unknown_market', `/api/v1/orderbook/${id('x')}?at=0`],
    ['invalid_request', '/api/v1/settlements/0x12'], ['invalid_request', `/api/v1/settlements/${ZERO_ADDRESS}`], ['invalid_request', '/api/v1/pending-trades?limit=1001'],
    ['invalid_request', '/api/v1/pending-trades?after=x'], ['invalid_request', '/api/v1/failed-trades?before=-1'], ['invalid_request', '/api/v1/failed-trades?limit=0'],
    ['invalid_market_id', '/api/v1/resolution/1'], ['unknown_market', `/api/v1/resolution/${id('x')}`],
  ];
  for (const [code, path] of badReads) it(`GET ${path}: ${code}`, () => exchange.refused(code, 'GET', path));
});
