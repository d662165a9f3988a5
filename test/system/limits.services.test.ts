/** Every limit that `/api/v1/config` and the OpenAPI document tell is the limit that is enforced: the limit itself passes, one more does not. */
import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { id } from 'ethers';
import type { Command, PlaceOrder } from '../../engine/records/commands.js';
import { newCommand } from '../support/commands.js';
import { EXPIRATION, alice, bob, carol, exchangeStack, lower, signedBody, type ExchangeStack, type Fields } from '../harness/exchange.js';

const MAX_PRICE_STREAMS = 20;
const MAX_PRICE_STREAMS_PER_ADDRESS = 2;
/** More than a page of open orders has. */
const MAX_OPEN_ORDERS = 1_002;
const HOLDERS = 12;
const CHUNK = 500;

type Limits = Readonly<Record<string, number>>;
type Check = (limit: number, all: Limits) => Promise<void>;

describe('the exchange: limits that clients are told', function () {
  this.timeout(60_000);
  let exchange: ExchangeStack;
  let limits: Limits;
  let last: number;
  let nonce = 50_000;

  const trader = (n: number) => `0x${n.toString(16).padStart(40, 'd')}`;
  const listOf = async (path: string, key: string) => (await exchange.get(path, last))[key] as unknown[];
  const body = (wallet: typeof alice, fields: Fields) =>
    signedBody(exchange.signing, wallet, { marketId: exchange.rain.id, nonce: ++nonce, ...fields });
  const post = async (wallet: typeof alice, fields: Fields) => exchange.request('POST', '/api/v1/orders', { body: await body(wallet, fields) });
  const refused = async (code: Parameters<ExchangeStack['refused']>[0], wallet: typeof alice, fields: Fields) =>
    exchange.refused(code, 'POST', '/api/v1/orders', { body: await body(wallet, fields) });

  /** An order that is recorded past the intake, which has the limits. */
  const order = (n: number, fields: Partial<PlaceOrder>): Command => newCommand('PlaceOrder', {
    at: Date.now(), orderHash: id(`limits ${n}`), marketId: exchange.rain.id, trader: trader(0), side: 1, outcome: 0, price: 500_000,
    size: '1', nonce: String(n), expiration: String(EXPIRATION), signature: `0x${'00'.repeat(65)}`, ...fields,
  });
  async function record(commands: readonly Command[]): Promise<void> {
    for (let from = 0; from < commands.length; from += CHUNK) last = await exchange.record(...commands.slice(from, from + CHUNK));
  }

  before(async () => {
    exchange = await exchangeStack({
      MAX_OPEN_ORDERS: String(MAX_OPEN_ORDERS), MAX_CONNECTIONS: String(2 * MAX_PRICE_STREAMS),
      MAX_PRICE_STREAMS_PER_ADDRESS: String(MAX_PRICE_STREAMS_PER_ADDRESS),
    });
    ({ limits } = await exchange.get('/api/v1/config') as { limits: Limits });
    const fills = limits['maxFillsPerOrder']!;
    await record([
      ...Array.from({ length: HOLDERS + fills + 1 }, (_, n) => order(n, { trader: trader(100 + n % 20) })),
      ...Array.from({ length: HOLDERS }, (_, n) => order(10_000 + n, { trader: trader(n), side: 0 })),
      ...Array.from({ length: HOLDERS }, (_, fill): Command => newCommand('SettleFill', { at: Date.now(), fill, txHash: id('settled') })),
      ...Array.from({ length: MAX_OPEN_ORDERS - 1 }, (_, n) => order(20_000 + n, { trader: lower(bob), side: 0, price: 1 })),
    ]);
    await record(Array.from({ length: 51 }, (_, n): Command => newCommand('RequestRelay', {
      at: Date.now(), requestId: id(`limits ${n}`), chainId: 31_337, action: 'batch-ctf-redemption', owner: trader(n),
      claims: Array.from({ length: 20 }, () => ({ marketId: exchange.rain.id, payout: '1', winningOutcome: 0 as const })),
    })));
    const sweep = await exchange.place(alice, { size: fills + 1, price: 500_000 });
    last = sweep.position;
    assert.equal(sweep.body['matches'], fills);
    const { cancelReason, remainingSize } = await exchange.get(`/api/v1/orders/${sweep.orderHash}`, last);
    assert.deepEqual([cancelReason, remainingSize], ['match_limit', 1]);
  });
  after(() => exchange.close());

  /** Asks for a page of the limit, and for one more than that. */
  const pages = (key: string, path: string): Check => async (limit) => {
    const with_ = (n: number) => `${path}${path.includes('?') ? '&' : '?'}limit=${n}`;
    assert.equal((await listOf(with_(limit), key)).length, limit);
    await exchange.refused('invalid_request', 'GET', with_(limit + 1));
  };
  const has = (key: string, path: () => string): Check => async (limit) => { assert.equal((await listOf(path(), key)).length, limit); };
  const rain = () => exchange.rain.id;
  const inBefore: Check = () => Promise.resolve();
  const inRates: Check = () => Promise.resolve();
  /** test/relayer/checks.test.ts and repeats.test.ts: nothing is relayed without a chain. */
  const inRelayer: Check = () => Promise.resolve();

  /** Together with all streams. */
  const inStreams: Check = () => Promise.resolve();

  const checks: Readonly<Record<string, Check>> = {
    async minPrice(limit) {
      await refused('invalid_price', carol, { price: limit - 1 });
      assert.equal((await post(carol, { price: limit })).status, 200);
    },
    async maxPrice(limit) {
      await refused('invalid_price', carol, { price: limit + 1, side: 1 });
      assert.equal((await post(carol, { price: limit, side: 1 })).status, 200);
    },
    async minExpirationS(limit) {
      const { serverTime } = await exchange.get('/api/v1/config') as { serverTime: number };
      await refused('invalid_expiration', carol, { expiration: serverTime + limit - 1, price: 2 });
      assert.equal((await post(carol, { expiration: serverTime + limit + 5, price: 2 })).status, 200);
    },
    async maxBodyBytes(limit) {
      const padded = (await body(carol, { price: 2 })).padEnd(limit);
      await exchange.refused('body_too_large', 'POST', '/api/v1/orders', { body: `${padded} ` });
      assert.equal((await exchange.request('POST', '/api/v1/orders', { body: padded })).status, 200);
    },
    async maxOpenOrders(limit) {
      assert.equal(limit, MAX_OPEN_ORDERS);
      const placed = await post(bob, { price: 1 });
      assert.equal(placed.status, 200);
      last = placed.position;
      const { openOrders, maxOpenOrders } = await refused('too_many_open_orders', bob, { price: 1 });
      assert.deepEqual([openOrders, maxOpenOrders], [limit, limit]);
    },
    async maxOrdersPerPage(limit, all) {
      for (const path of [`/api/v1/orders?trader=${lower(bob)}`, `/api/v1/users/${lower(bob)}/orders?chain_id=31337`]) {
        await pages('orders', path)(limit, all);
        const { orders, count, next } = await exchange.get(path, last) as { orders: unknown[]; count: number; next: number };
        assert.deepEqual([orders.length, count], [limit, MAX_OPEN_ORDERS]);
        const rest = await exchange.get(`${path}&before=${next}`) as { orders: unknown[]; count: number };
        assert.deepEqual([rest.orders.length, rest.count], [MAX_OPEN_ORDERS - limit, MAX_OPEN_ORDERS]);
      }
    },
    async maxHolders(limit) {
      const { topHolders, totalHolders } = await exchange.get(`/api/v1/holders/${rain()}`, last) as { topHolders: unknown[]; totalHolders: number };
      assert.deepEqual([topHolders.length, totalHolders], [limit, HOLDERS]);
    },
    maxFillsPerOrder: inBefore,
    maxActivity: has('activity', () => `/api/v1/activity/${rain()}`),
    maxTrades: has('trades', () => `/api/v1/trades/${rain()}`),
    maxUserActivity: (limit, all) => pages('activity', `/api/v1/users/${lower(alice)}/activity?chain_id=31337`)(limit, all),
    maxSettlementsPerPage: pages('pendingTrades', '/api/v1/pending-trades'),
    maxClaimsPerPage: pages('pendingClaims', '/api/v1/pending-claims'),
    maxEventsPerPage: pages('events', '/api/v1/events'),
    async maxQuickMarkets(limit) {
      const begun = Math.floor(Date.now() / 1_000) - 30;
      await record(Array.from({ length: limit + 1 }, (_, n): Command => newCommand('OpenMarket', {
        at: Date.now(), marketId: id(`limits ${n}`), question: 'Higher?', contractAddress: trader(200 + n), maker: trader(0),
        expiration: begun + 60 + n, chainId: 31_337, marketKind: 'quick', quick: { asset: 'BTC', startTime: begun },
      })));
      assert.equal((await listOf('/api/v1/quick-markets/BTC/history', 'history')).length, limit);
    },
    async maxPriceStreams(limit, all) {
      assert.deepEqual([limit, all['maxPriceStreamsPerAddress']], [MAX_PRICE_STREAMS, MAX_PRICE_STREAMS_PER_ADDRESS]);
      const open: IncomingMessage[] = [];
      const stream = async (localAddress: string): Promise<number> => {
        const asked = get(`${exchange.url}/api/v1/prices/BTC/stream`, { localAddress, agent: false });
        const [answer] = await event(asked, 'response') as [IncomingMessage];
        open.push(answer);
        return answer.statusCode!;
      };
      const statuses: number[] = [];
      const full = MAX_PRICE_STREAMS / MAX_PRICE_STREAMS_PER_ADDRESS;
      for (let last = 1; last <= full; last++) {
        for (let n = 0; n < MAX_PRICE_STREAMS_PER_ADDRESS; n++) statuses.push(await stream(`127.0.0.${last}`));
        if (last === 1) assert.equal(await stream('127.0.0.1'), 429);
      }
      assert.equal(await stream(`127.0.0.${full + 1}`), 503);
      for (const each of open) each.destroy();
      assert.deepEqual(statuses, statuses.map(() => 200));
    },
    maxPriceStreamsPerAddress: inStreams,
    maxRelayDeadlineS: inRelayer, maxRedemptionsPerBatch: inRelayer, relayGasPerOwnerAndHour: inRelayer, relayGasPerTokenAndHour: inRelayer,
    rateLimitWindowS: inRates, ordersPerWindow: inRates, readsPerWindow: inRates,
  };

  it('are all checked here', () => { assert.deepEqual(Object.keys(limits).sort(), Object.keys(checks).sort()); });

  for (const [name, check] of Object.entries(checks)) {
    if (![inBefore, inRates, inRelayer, inStreams].includes(check)) it(name, () => check(limits[name]!, limits));
  }

  it('are those of the OpenAPI document, too', async () => {
    interface Parameter { readonly name: string; readonly schema: { readonly maximum?: number } }
    const { paths, components: { schemas } } = await exchange.get('/openapi.json') as {
      paths: Record<string, { get?: { parameters?: Parameter[] } }>;
      components: { schemas: {
        Order: { properties: { price: { minimum: number; maximum: number } } }; Limits: { properties: object };
      }; };
    };
    const { minimum, maximum } = schemas.Order.properties.price;
    assert.deepEqual([minimum, maximum], [limits['minPrice'], limits['maxPrice']]);
    assert.deepEqual(Object.keys(schemas.Limits.properties), Object.keys(limits));
    const of: Record<string, number | undefined> = {
      '/api/v1/orders': limits['maxOrdersPerPage'], '/api/v1/users/{address}/orders': limits['maxOrdersPerPage'],
      '/api/v1/users/{address}/activity': limits['maxUserActivity'], '/api/v1/events': limits['maxEventsPerPage'],
      '/api/v1/pending-claims': limits['maxClaimsPerPage'], '/api/v1/failed-claims': limits['maxClaimsPerPage'],
      '/api/v1/pending-trades': limits['maxSettlementsPerPage'], '/api/v1/failed-trades': limits['maxSettlementsPerPage'],
    };
    const told = Object.entries(paths).flatMap(([path, { get }]) =>
      (get?.parameters ?? []).filter(({ name }) => name === 'limit').map(({ schema }) => [path, schema.maximum] as const));
    // The others have pages of a size that only the document tells.
    assert.deepEqual(Object.fromEntries(told.filter(([path]) => path in of)), of);
    for (const [path, max] of told) {
      const filled = path.replace('{address}', lower(bob)).replace('{marketId}', exchange.rain.id).replace('{asset}', 'BTC');
      const known = (paths[path]!.get?.parameters ?? []).map(({ name }) => name);
      const given = Object.entries({ trader: lower(bob), chain_id: '31337' }).filter(([name]) => known.includes(name));
      const query = `?${given.map(([name, value]) => `${name}=${value}&`).join('')}limit=`;
      assert.equal((await exchange.request('GET', `${filled}${query}${max!}`)).status, 200);
      await exchange.refused('invalid_request', 'GET', `${filled}${query}${max! + 1}`);
    }
  });
});

describe('the exchange: rate limits that clients are told', () => {
  const settings = { RATE_LIMIT_ORDERS: '3', RATE_LIMIT_READS: '40' };
  let exchange: ExchangeStack;
  before(async () => { exchange = await exchangeStack(settings); });
  after(() => exchange.close());

  for (const [what, name, method, path] of [
    ['orders', 'ordersPerWindow', 'POST', '/api/v1/orders'], ['reads', 'readsPerWindow', 'GET', '/api/v1/markets'],
  ] as const) {
    it(`${name} and rateLimitWindowS`, async () => {
      const { limits } = await exchange.get('/api/v1/config') as { limits: Limits };
      const ask = () => exchange.request(method, path, method === 'POST' ? { body: '{}' } : {});
      const first = await ask();
      assert.equal(first.headers.get('RateLimit-Policy'), `"${what}"; q=${limits[name]}; w=${limits['rateLimitWindowS']}`);
      const left = Number(/; r=(\d+);/.exec(first.headers.get('RateLimit')!)![1]);
      assert.ok(what === 'reads' || left === limits[name]! - 1);
      for (let i = 0; i < left; i++) assert.notEqual((await ask()).status, 429);
      const refused = await ask();
      const retryAfterS = Number(refused.headers.get('Retry-After'));
      assert.deepEqual([refused.status, refused.body['code']], [429, 'rate_limited']);
      assert.ok(retryAfterS > 0 && retryAfterS <= limits['rateLimitWindowS']!);
    });
  }
});
