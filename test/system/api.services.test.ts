/** The whole exchange: one story that goes through every endpoint, each document whole, and the same documents after a restart. */
import assert from 'node:assert/strict';
import { id } from 'ethers';
import { projections } from '../../projections/catalogue.js';
import { newCommand } from '../support/commands.js';
import { alice, bob, cancelHeaders, carol, exchangeStack, EXPIRATION, lower, type ExchangeStack, type Placed } from '../harness/exchange.js';
import { traderReads, controlOrders, operationsOf } from '../support/trader-reads.js';
import { until } from '../support/until.js';

const CHAIN = 'chain_id=31337';
const SHARE = 1_000_000;
/** The transaction that is to settle all fills, and its replacement with a higher fee. */
const [FIRST_TX, BUMPED_TX] = [id('first'), id('bumped')];
const iso = (seconds: number) => new RegExp(`^${new Date(seconds * 1_000).toISOString().slice(0, 19)}\\.\\d{3}Z$`);

describe('the exchange, end to end', () => {
  let exchange: ExchangeStack;
  /** Alice bids for YES; Bob sells her a part; Bob offers NO and Carol takes it all; Carol asks for YES. */
  let bid: Placed, hit: Placed, offer: Placed, lift: Placed, ask: Placed;
  let last: number;
  before(async () => { exchange = await exchangeStack(); });
  after(() => exchange.close());

  const read = (path: string) => exchange.get(path, last);

  it('starts with its markets, and everything else empty', async () => {
    const { rain, sun } = exchange;
    last = 1;
    const listed = { bestAskPrice: 0, chainId: 31_337, resolved: false, conditionId: null, yesTokenId: null, noTokenId: null };
    const rest = ({ contractAddress, expiration, createdAt }: typeof rain) => ({ contractAddress, expiration, createdAt });
    assert.deepEqual(await read('/api/v1/markets'), {
      markets: [
        {
          ...listed, ...rest(rain), id: id('prediction-exchange/31337/rain'), question: 'Will it rain?', description: 'Before noon.', category: 'defi',
          maker: `0x${'5b'.repeat(20)}`,
        },
        {
          ...listed, ...rest(sun), id: id('prediction-exchange/31337/sun'), question: 'Will the sun shine?', description: 'At noon.', category: 'general',
          maker: `0x${'5a'.repeat(20)}`,
        },
      ], count: 2,
    });
    assert.equal(rain.expiration - rain.createdAt, 60 * 86_400);
    assert.deepEqual(await read('/api/v1/markets?chain_id=1'), { markets: [], count: 0 });
    assert.deepEqual(await read(`/api/v1/markets/${rain.id}`), { ...rain, state: 'open', totalVolume: 0 });
    assert.deepEqual(await read(`/api/v1/orders?trader=${alice.address}`), { orders: [], count: 0 });
    assert.deepEqual(await read(`/api/v1/users/${alice.address}/orders?${CHAIN}`), { orders: [], count: 0 });
    assert.deepEqual(await read(`/api/v1/users/${alice.address}/positions?${CHAIN}`), { positions: [] });
    assert.deepEqual(await read(`/api/v1/users/${alice.address}/activity?${CHAIN}`), { activity: [], settlements: [] });
    assert.deepEqual(await read(`/api/v1/positions/${rain.contractAddress}?user=${alice.address}`), { yesShares: 0, noShares: 0 });
    const empty = { bids: [], asks: [] };
    assert.deepEqual(await read(`/api/v1/orderbook/${rain.id}`), { marketId: rain.id, ...empty, lastUpdate: 0, yes: empty, no: empty });
    assert.deepEqual(await read(`/api/v1/orderbook/${id('none')}?outcome=NO`), { marketId: id('none'), ...empty, lastUpdate: 0 });
    assert.deepEqual(await read(`/api/v1/resolution/${rain.id}`), { marketId: rain.id, expired: false, resolved: false });
    for (const name of ['pendingTrades', 'failedTrades', 'pendingClaims', 'failedClaims']) {
      assert.deepEqual(await read(`/api/v1/${name.replace(/[TC]/, '-$&').toLowerCase()}`), { [name]: [], count: 0 });
    }
    assert.deepEqual(await read(`/api/v1/settlements/${FIRST_TX}`), { found: false });
    assert.deepEqual(await read(`/api/v1/trades/${rain.id}`), { marketId: rain.id, trades: [], count: 0 });
    assert.deepEqual(await read(`/api/v1/activity/${rain.id}`), { marketId: rain.id, activity: [] });
    assert.deepEqual(await read(`/api/v1/holders/${rain.id}`), { marketId: rain.id, topHolders: [], totalHolders: 0 });
    assert.deepEqual(await read(`/api/v1/stats/${rain.id}`), {
      marketId: rain.id, contractAddress: rain.contractAddress, volume24h: 0, totalVolume: 0, lastPrice: 0,
    });
    const [chains, total] = [[{ chainId: 31_337, totalVolume: 0, totalTrades: 0 }], { total_volume: 0, total_trades: 0 }];
    assert.deepEqual(await read('/api/v1/platform/stats'), { chains, ...total });
  });

  it('takes signed orders, matches them by price, and answers with the log position of each', async () => {
    bid = await exchange.place(alice, { size: 10 * SHARE });
    hit = await exchange.place(bob, { side: 1, price: 600_000, size: 4 * SHARE });
    offer = await exchange.place(bob, { side: 1, outcome: 1, price: 300_000, size: 3 * SHARE });
    lift = await exchange.place(carol, { outcome: 1, price: 350_000, size: 3 * SHARE });
    ask = await exchange.place(carol, { side: 1, price: 700_000, size: 1 });
    last = ask.position;
    for (const [placed, matches] of [[bid, 0], [hit, 1], [offer, 0], [lift, 1], [ask, 0]] as const) {
      assert.deepEqual(placed.body, { orderHash: placed.orderHash, status: 'accepted', matches, timestamp: placed.timestamp });
    }
    assert.deepEqual([bid, hit, offer, lift, ask].map(({ position }) => position), [2, 3, 4, 5, 6]);
  });

  it('shows open orders to their trader, in one market, in all, and on a chain', async () => {
    const { rain, sun } = exchange;
    const placed = ({ orderHash, timestamp }: Placed) => ({ orderHash, marketId: rain.id, timestamp });
    const open = { ...placed(bid), side: 0, price: 620_000, size: 10 * SHARE, remainingSize: 6 * SHARE };
    const asked = { ...placed(ask), side: 1, price: 700_000, size: 1, remainingSize: 1 };
    assert.deepEqual(await read(`/api/v1/orders?trader=${alice.address}`), { orders: [open], count: 1 });
    assert.deepEqual(await read(`/api/v1/orders?trader=${lower(alice)}&market=${rain.id}`), { orders: [open], count: 1 });
    assert.deepEqual(await read(`/api/v1/orders?trader=${lower(alice)}&market=${sun.id}`), { orders: [], count: 0 });
    assert.deepEqual(await read(`/api/v1/orders?trader=${lower(bob)}`), { orders: [], count: 0 });
    assert.deepEqual(await read(`/api/v1/users/${carol.address}/orders?${CHAIN}`), { orders: [{ ...asked, marketQuestion: 'Will it rain?', outcome: 0 }], count: 1 });
    assert.deepEqual(await read(`/api/v1/users/${carol.address}/orders?chain_id=1`), { orders: [], count: 0 });
  });

  it('shows each order with its final state', async () => {
    const { rain } = exchange;
    const entry = { marketId: rain.id, expiration: EXPIRATION, cancelReason: null };
    const accepted = ({ position, timestamp }: Placed, size: number) => ({ position, type: 'accepted', size, timestamp });
    const fill = { position: hit.position, type: 'fill', fill: 0, price: 620_000, size: 4 * SHARE, settlementStatus: 'matched', txHash: '', timestamp: hit.timestamp };
    assert.deepEqual(await read(`/api/v1/orders/${bid.orderHash}`), {
      ...entry, orderHash: bid.orderHash, trader: lower(alice), side: 0, outcome: 0, price: 620_000, size: 10 * SHARE, filledSize: 4 * SHARE,
      remainingSize: 6 * SHARE, nonce: 1, status: 'open', timestamp: bid.timestamp, history: [accepted(bid, 10 * SHARE), { ...fill, role: 'maker' }],
    });
    assert.deepEqual(await read(`/api/v1/orders/${hit.orderHash}`), {
      ...entry, orderHash: hit.orderHash, trader: lower(bob), side: 1, outcome: 0, price: 600_000, size: 4 * SHARE, filledSize: 4 * SHARE,
      remainingSize: 0, nonce: 2, status: 'filled', timestamp: hit.timestamp,
      history: [
        accepted(hit, 4 * SHARE), { ...fill, role: 'taker' },
        { position: hit.position, type: 'filled', size: 0, reason: null, timestamp: hit.timestamp },
      ],
    });
  });

  it('shows the books: one outcome, both apart, both summed', async () => {
    const { rain } = exchange;
    const [yes, no] = [{ bids: [{ price: 620_000, size: 6 * SHARE }], asks: [{ price: 700_000, size: 1 }] }, { bids: [], asks: [] }];
    const book = { marketId: rain.id, lastUpdate: ask.timestamp };
    for (const outcome of ['YES', '0']) assert.deepEqual(await read(`/api/v1/orderbook/${rain.id}?outcome=${outcome}`), { ...book, ...yes });
    for (const outcome of ['NO', '1']) assert.deepEqual(await read(`/api/v1/orderbook/${rain.id}?outcome=${outcome}`), { ...book, ...no });
    assert.deepEqual(await read(`/api/v1/orderbook/${rain.id}`), { ...book, ...yes, yes, no });
    const { markets } = await read('/api/v1/markets') as { markets: { id: string; bestAskPrice: number }[] };
    assert.deepEqual(markets.map((each) => [each.id, each.bestAskPrice]), [[rain.id, 700_000], [exchange.sun.id, 0]]);
  });

  it('shows the trades, latest first, and counts them', async () => {
    const { rain } = exchange;
    const sent = { txHash: '', settlementStatus: 'matched' };
    const noTrade = { price: 300_000, size: 3 * SHARE, buyer: lower(carol), seller: lower(bob), timestamp: lift.timestamp, ...sent };
    const yesTrade = { price: 620_000, size: 4 * SHARE, buyer: lower(alice), seller: lower(bob), timestamp: hit.timestamp, ...sent };
    assert.deepEqual(await read(`/api/v1/activity/${rain.id}`), { marketId: rain.id, activity: [noTrade, yesTrade] });
    const trades = [{ ...noTrade, outcome: 1 }, { ...yesTrade, outcome: 0 }];
    assert.deepEqual(await read(`/api/v1/trades/${rain.id}`), { marketId: rain.id, trades, count: 2 });
    const [totalVolume, totalTrades] = [900_000 + 2_480_000, 2];
    assert.deepEqual(await read(`/api/v1/stats/${rain.id}`), {
      marketId: rain.id, contractAddress: rain.contractAddress, volume24h: totalVolume, totalVolume, lastPrice: 300_000,
    });
    const chains = [{ chainId: 31_337, totalVolume, totalTrades }];
    assert.deepEqual(await read('/api/v1/platform/stats'), { chains, total_volume: totalVolume, total_trades: totalTrades });
    assert.deepEqual(await read(`/api/v1/platform/stats?${CHAIN}`), { chainId: 31_337, totalVolume, totalTrades });
    assert.deepEqual(await read('/api/v1/platform/stats?chain_id=1'), { chainId: 1, totalVolume: 0, totalTrades: 0 });
  });

  it('shows the trades on their way to the chain, and no position before they are there', async () => {
    const { rain } = exchange;
    const at = Date.now();
    const waiting = { marketId: rain.id, isBatch: false, batchIndex: 0, txHash: '', settlementStatus: 'matched' };
    const yes = { buyerAddress: lower(alice), sellerAddress: lower(bob), fillSize: 4 * SHARE, fillPrice: 620_000, fill: 0, outcome: 0 };
    const no = { buyerAddress: lower(carol), sellerAddress: lower(bob), fillSize: 3 * SHARE, fillPrice: 300_000, fill: 1, outcome: 1 };
    const timesOf = (trades: unknown) => (trades as { timestamp: string }[]).map(({ timestamp }) => timestamp);
    const pending = await read('/api/v1/pending-trades');
    const [first, second] = timesOf(pending['pendingTrades']);
    assert.match(first!, iso(hit.timestamp));
    assert.match(second!, iso(lift.timestamp));
    assert.deepEqual(pending, { pendingTrades: [{ ...waiting, ...yes, timestamp: first }, { ...waiting, ...no, timestamp: second }], count: 2 });
    const { nextCursor, ...page } = await read('/api/v1/pending-trades?limit=1');
    assert.deepEqual(page, { pendingTrades: [{ ...waiting, ...yes, timestamp: first }], count: 1, next: 0 });
    assert.deepEqual((await read(`/api/v1/pending-trades?cursor=${nextCursor as string}`))['pendingTrades'], [{ ...waiting, ...no, timestamp: second }]);
    assert.deepEqual(await read('/api/v1/pending-trades?after=1'), { pendingTrades: [], count: 0 });
    assert.deepEqual(await read(`/api/v1/users/${alice.address}/positions?${CHAIN}`), { positions: [] });

    last = await exchange.record(
      newCommand('SubmitSettlement', { at, chainId: 31_337, txHash: FIRST_TX, fills: [1, 0] }),
      newCommand('SubmitSettlement', { at, chainId: 31_337, txHash: BUMPED_TX, fills: [0, 1] }),
    );
    const sent = { ...waiting, isBatch: true, txHash: BUMPED_TX, settlementStatus: 'pending' };
    assert.deepEqual(await read('/api/v1/pending-trades'), {
      pendingTrades: [{ ...sent, ...yes, timestamp: first }, { ...sent, ...no, timestamp: second, batchIndex: 1 }], count: 2,
    });
    const { fills, ...head } = await read(`/api/v1/settlements/${FIRST_TX}`);
    const [submitted] = timesOf(fills);
    const inFirst = { marketId: rain.id, status: 'pending', reason: null, replacedBy: BUMPED_TX, timestamp: submitted };
    assert.deepEqual(head, { ...inFirst, ...no, found: true, txHash: FIRST_TX, isBatch: true, batchIndex: 0 });
    assert.deepEqual(fills, [{ ...inFirst, ...no, batchIndex: 0 }, { ...inFirst, ...yes, batchIndex: 1 }]);
    const { activity } = await read(`/api/v1/activity/${rain.id}`) as { activity: { txHash: string; settlementStatus: string }[] };
    assert.deepEqual(activity.map(({ txHash, settlementStatus }) => [txHash, settlementStatus]), Array(2).fill([BUMPED_TX, 'pending']));

    last = await exchange.record(...[0, 1].map((fill) => newCommand('SettleFill', { at, fill, txHash: FIRST_TX })));
    assert.deepEqual(await read('/api/v1/pending-trades'), { pendingTrades: [], count: 0 });
    const { status, replacedBy, batchIndex } = await read(`/api/v1/settlements/${FIRST_TX}`);
    assert.deepEqual([status, replacedBy, batchIndex], ['confirmed', null, 0]);
    const bumped = await read(`/api/v1/settlements/${BUMPED_TX}`);
    assert.deepEqual([bumped['status'], bumped['replacedBy'], bumped['batchIndex']], ['confirmed', FIRST_TX, 0]);
  });

  it('shows who holds what, and what each user did', async () => {
    const { rain } = exchange;
    assert.deepEqual(await read(`/api/v1/holders/${rain.id}`), {
      marketId: rain.id, totalHolders: 2, topHolders: [
        { userAddress: lower(alice), yesShares: 4 * SHARE, noShares: 0 }, { userAddress: lower(carol), yesShares: 0, noShares: 3 * SHARE },
      ],
    });
    const held = { yesShares: 4 * SHARE, noShares: 0, totalInvested: 2_480_000 };
    for (const market of [rain.contractAddress, rain.id]) {
      assert.deepEqual(await read(`/api/v1/positions/${market}?user=${alice.address}`), { ...held, yesCost: 2_480_000, noCost: 0 });
    }
    const marketFields = { marketId: rain.id, marketQuestion: 'Will it rain?' };
    assert.deepEqual(await read(`/api/v1/users/${alice.address}/positions?${CHAIN}`), {
      positions: [{ ...marketFields, ...held, contractAddress: rain.contractAddress, expiration: rain.expiration, resolved: false }],
    });
    const sold = { ...marketFields, userRole: 'seller', txHash: FIRST_TX, settlementStatus: 'confirmed' };
    const latest = { ...sold, price: 300_000, size: 3 * SHARE, timestamp: lift.timestamp };
    assert.deepEqual(await read(`/api/v1/users/${bob.address}/activity?${CHAIN}`), {
      activity: [latest, { ...sold, price: 620_000, size: 4 * SHARE, timestamp: hit.timestamp }], settlements: [],
    });
    assert.deepEqual((await read(`/api/v1/users/${bob.address}/activity?${CHAIN}&limit=1`))['activity'], [latest]);
  });

  it('cancels for the trader\'s signature, and the order says so', async () => {
    const { rain } = exchange;
    const path = `/api/v1/orders/${bid.orderHash}?marketId=${rain.id}`;
    await exchange.refused('cancel_signature_required', 'DELETE', path);
    const headers = await cancelHeaders(exchange.signing, alice, bid);
    const cancelled = await exchange.request('DELETE', path, { headers });
    assert.deepEqual(cancelled.body, { status: 'cancelled', orderHash: bid.orderHash, filledSize: 4 * SHARE, remainingSize: 6 * SHARE });
    last = cancelled.position;
    assert.deepEqual(await read(`/api/v1/orders?trader=${alice.address}`), { orders: [], count: 0 });
    const { status, cancelReason, history } = await read(`/api/v1/orders/${bid.orderHash}`) as { status: string; cancelReason: string; history: object[] };
    assert.deepEqual([status, cancelReason, history.length], ['cancelled', 'user', 3]);
    const { timestamp } = history[2] as { timestamp: number };
    assert.deepEqual(history[2], { position: last, type: 'cancelled', size: 6 * SHARE, reason: 'user', timestamp });
    assert.deepEqual(await read(`/api/v1/orderbook/${rain.id}?outcome=YES`), {
      marketId: rain.id, bids: [], asks: [{ price: 700_000, size: 1 }], lastUpdate: timestamp,
    });
  });

  it('keeps the history of all this, as one document and as lines', async () => {
    const { rain, sun } = exchange;
    const { events, count, next } = await read('/api/v1/events?limit=1000') as { events: { command: { kind: string } }[]; count: number; next: number };
    assert.deepEqual(events.map(({ command }) => command.kind), [
      'OpenMarket', 'OpenMarket', 'PlaceOrder', 'PlaceOrder', 'PlaceOrder', 'PlaceOrder', 'PlaceOrder', 'SubmitSettlement', 'SubmitSettlement',
      'SettleFill', 'SettleFill', 'CancelOrder',
    ]);
    assert.deepEqual([count, next], [last + 1, last + 1]);
    const lines = await exchange.request('GET', `/api/v1/events?from=${hit.position}&limit=2`, { headers: { Accept: 'application/x-ndjson' } });
    assert.equal(lines.headers.get('Content-Type'), 'application/x-ndjson; charset=utf-8');
    assert.deepEqual(lines.text.trimEnd().split('\n').map((line) => JSON.parse(line) as unknown), events.slice(hit.position, hit.position + 2));
    assert.deepEqual(await read(`/api/v1/events?from=${next}`), { events: [], count: 0, next });
    const found = async (query: string) => ((await read(`/api/v1/events?${query}`)) as { events: { position: number }[] }).events.map(({ position }) => position);
    const about = (what: string) => events.flatMap((entry, position) => JSON.stringify(entry).includes(what) ? [position] : []);
    assert.deepEqual([await found(`event=FillSettled&market=${rain.id}`), await found(`event=FillSettled&market=${sun.id}`)], [about('"FillSettled"'), []]);
    // OrderCancelled does not name whose order it was; the read models know.
    const cancels = about('"OrderCancelled"');
    const { trader } = events[cancels[0]!]!.command as unknown as { trader: string };
    assert.deepEqual([await found(`trader=${trader}&event=OrderCancelled`), await found(`trader=${lower(carol)}&event=OrderCancelled`)], [cancels, []]);
    const all = await exchange.request('GET', `/api/v1/events?market=${rain.id.toUpperCase().replace('0X', '0x')}`, { headers: { Accept: 'application/x-ndjson' } });
    assert.deepEqual(all.text.trimEnd().split('\n').map((line) => (JSON.parse(line) as { position: number }).position), about(rain.id));
  });

  it('keeps the books of all this', async () => {
    const at = async (when: string) => await exchange.request('GET', `/api/v1/orderbook/${exchange.rain.id}${when}`);
    const [now, newest, byTime] = [await at(''), await at(`?at=${last}`), await at(`?at=${new Date().toISOString()}`)];
    assert.deepEqual([newest.text, newest.position, byTime.text, byTime.position], [now.text, last, now.text, last]);
    assert.notEqual((await at(`?at=${hit.position - 1}`)).text, now.text);
  });

  it('shows its health', async () => {
    const progress = { position: last + 1, lag: 0 };
    assert.deepEqual(await exchange.get('/health/live'), { live: true });
    type Readiness = {
      projections: { position: number }[]; clock: { trusted: boolean; wallAheadMs: number }; databases: unknown[]; disk: { freeBytes: number };
    };
    const ready = () => exchange.get('/health/ready') as Promise<Readiness>;
    // The projections' thread tells its progress a moment after it can be read.
    await until('the projections tell their progress', async () => (await ready()).projections.every(({ position }) => position > last) || undefined);
    const { clock, databases, disk, ...shown } = await ready();
    assert.ok(clock.trusted && Math.abs(clock.wallAheadMs) < 10_000 && disk.freeBytes > 0);
    assert.deepEqual(databases, ['log', 'read models', 'outbox'].map((name) => ({ name, answers: true, lastError: null })));
    assert.deepEqual(shown, {
      ready: true, reasons: [], engine: { position: last + 1, logLength: last + 1, standby: false }, chains: [], lanes: [], relays: [], prices: [],
      quickMarkets: [], roles: ['projections', 'engine', 'indexer', 'lane', 'feed', 'settlement', 'relayer', 'prices', 'query', 'api'], readModels: { position: last, lag: 0 },
      projections: projections.map(({ name }) => ({ name, ...progress })),
    });
    const { text } = await exchange.request('GET', '/metrics');
    assert.match(text, new RegExp(`^exchange_engine_position ${last + 1}$`, 'm'));
    assert.deepEqual(await exchange.get('/api/v1/contracts'), { chains: [] });
    await exchange.get('/openapi.json');
    await exchange.get('/asyncapi.json');
  });

  it('takes back fills that failed on the chain, and lists them for a day', async () => {
    const { rain } = exchange;
    const sale = await exchange.place(alice, { side: 1, price: 400_000, size: SHARE });
    await exchange.place(bob, { price: 400_000, size: SHARE });
    const at = Date.now();
    last = await exchange.record(
      newCommand('FailFill', { countDefault: false, at, fill: 2, txHash: id('failed'), reason: 'seller_not_approved', culprit: 'seller' }),
      newCommand('AdvanceClock', { at }),
    );
    const { failedTrades, count } = await read('/api/v1/failed-trades') as { failedTrades: { timestamp: string }[]; count: number };
    const [{ timestamp }] = failedTrades as [{ timestamp: string }];
    const failed = {
      marketId: rain.id, buyerAddress: lower(bob), sellerAddress: lower(alice), fillSize: SHARE, fillPrice: 400_000, fill: 2, outcome: 0,
      reason: 'seller_not_approved', timestamp, batchIndex: 0,
    };
    assert.deepEqual([failedTrades, count], [[{ ...failed, txHash: id('failed') }], 1]);
    const settlement = { ...failed, status: 'failed', replacedBy: null };
    assert.deepEqual(await read(`/api/v1/settlements/${id('failed')}`), { found: true, txHash: id('failed'), ...settlement, isBatch: false, fills: [settlement] });
    const { count: trades } = await read(`/api/v1/trades/${rain.id}`);
    assert.equal(trades, 2);
    const { status, cancelReason } = await read(`/api/v1/orders/${sale.orderHash}`);
    assert.deepEqual([status, cancelReason], ['cancelled', 'settlement_failed']);
  });

  it('shows the winner, the payouts and the assertion of a market, and refuses to sync without a chain', async () => {
    const { rain, sun } = exchange;
    const at = Date.now();
    last = await exchange.record(newCommand('ResolveMarket', { at, marketId: sun.id, winningOutcome: 1 }),
      newCommand('RecordRedemption', { at, marketId: sun.id, user: lower(carol), payout: '18446744073709551616', txHash: id('paid') }),
      newCommand('RecordProposal', { at, marketId: rain.id, assertionId: id('assertion'), proposer: lower(bob), outcome: 1, bond: '500000000',
        assertionTime: rain.expiration, expirationTime: rain.expiration + 7_200 }),
      newCommand('AdvanceClock', { at }));
    assert.deepEqual(await read(`/api/v1/resolution/${sun.id}`), { marketId: sun.id, expired: true, resolved: true, winningOutcome: 1 });
    assert.deepEqual(await read(`/api/v1/resolution/${rain.id}`), {
      marketId: rain.id, expired: false, resolved: false, assertion: {
        id: id('assertion'), proposer: lower(bob), proposedOutcome: false, bondAmount: '500000000', assertionTime: rain.expiration,
        expirationTime: rain.expiration + 7_200, settled: false, settlementResolution: false, disputed: false,
      },
    });
    const { settlements } = await read(`/api/v1/users/${carol.address}/activity?${CHAIN}`) as { settlements: { timestamp: number }[] };
    assert.deepEqual(settlements, [{
      marketId: sun.id, marketQuestion: 'Will the sun shine?', payout: 2n ** 64n, winningOutcome: 1, timestamp: settlements[0]!.timestamp, txHash: id('paid'),
    }]);
    await exchange.refused('chain_unavailable', 'POST', `/api/v1/positions/${rain.id}/sync?userAddress=${alice.address}`);
  });

  it('shows the redemptions that the relayer was asked for, until they are paid, and those that failed', async () => {
    const { sun } = exchange;
    const at = Date.now();
    const relayed = { at, requestId: id('request'), chainId: 31_337 };
    const claim = {
      txHash: id('redemption'), userAddress: lower(carol), marketAddress: sun.contractAddress, marketId: sun.id, payout: 2n ** 64n, winningOutcome: 1,
      submittedAt: Math.floor(at / 1_000), chainId: 31_337,
    };
    const claims = [{ marketId: sun.id, payout: String(2n ** 64n), winningOutcome: 1 as const }];
    last = await exchange.record(newCommand('RequestRelay', { ...relayed, action: 'ctf-redemption', owner: lower(carol), claims }),
      newCommand('SubmitRelay', { ...relayed, txHash: id('redemption') }));
    assert.deepEqual(await read('/api/v1/pending-claims'), { pendingClaims: [claim], count: 1 });
    assert.deepEqual(await read('/api/v1/pending-claims?limit=1&after=100000'), { pendingClaims: [], count: 0 });
    last = await exchange.record(newCommand('EndRelay', { ...relayed, txHash: id('redemption'), results: [{ succeeded: false, reason: 'reverted' }] }),
      newCommand('RequestRelay', { ...relayed, requestId: id('another'), action: 'ctf-redemption', owner: lower(carol), claims }),
      newCommand('RecordRedemption', { at, marketId: sun.id, user: lower(carol), payout: '1', txHash: id('paid again') }));
    assert.deepEqual(await read('/api/v1/pending-claims'), { pendingClaims: [], count: 0 });
    const failedClaims = [{ ...claim, reason: 'reverted', failedAt: claim.submittedAt }];
    assert.deepEqual(await read('/api/v1/failed-claims'), { failedClaims, count: 1 });
    assert.deepEqual(await read('/api/v1/failed-claims?limit=1&before=1'), { failedClaims: [], count: 0 });
  });

  it('has prices, and the quick markets that they decide', async () => {
    const at = Date.now();
    const startTime = Math.floor(at / 1_000) - 10;
    const [marketId, contractAddress] = [id('quick'), `0x${'9c'.repeat(20)}`];
    const price = newCommand('RecordPrice', { at, asset: 'BTC', source: 'pyth', rank: 0, price: '6141000000000', publishedAt: startTime * 1_000 });
    last = await exchange.record(newCommand('OpenMarket', {
      at, marketId, question: 'Up?', contractAddress, maker: lower(bob), expiration: startTime + 900, chainId: 31_337, marketKind: 'quick',
      quick: { asset: 'BTC', startTime },
    }), price);
    const strike = { price: 6_141_000_000_000, priceUSD: 61_410 };
    const record = { ...strike, timestamp: startTime, source: 'https://hermes.pyth.network' };
    assert.deepEqual(await read('/api/v1/prices/btc'), record);
    assert.deepEqual(await read('/api/v1/prices/BTC/history'), { asset: 'BTC', history: [record] });
    assert.deepEqual(await exchange.get('/api/v1/prices/BTC/stream'), { asset: 'BTC', ...strike, timestamp: startTime * 1_000, source: 'pyth' });
    assert.equal((await exchange.get('/api/v1/stream?channels=prices:BTC'))['price'], strike.price);
    const quickMarket = {
      id: 0, marketId, asset: 'BTC', intervalMinutes: 15, startPrice: strike.price, startTime, endTime: startTime + 900, resolved: false,
      priceSource: 'pyth', createdAt: Math.floor(at / 1_000), chainId: 31_337, contractAddress, priceMissed: false,
    };
    assert.deepEqual(await read('/api/v1/quick-markets/BTC'), { active: true, asset: 'BTC', quickMarket, bestAskPrice: 0 });
    assert.deepEqual(await read('/api/v1/quick-markets/ETH?chain_id=31337'), { active: false, asset: 'ETH', quickMarket: null, bestAskPrice: 0 });
    const history = (fields: object) => ({ asset: 'BTC', history: [{ ...quickMarket, endPrice: null, outcome: null, payment: 'none', ...fields }] });
    assert.deepEqual(await read('/api/v1/quick-markets/BTC/history'), history({}));
    last = await exchange.record(newCommand('HalveMarket', { at, marketId }), newCommand('AdvanceClock', { at }));
    assert.deepEqual(await read('/api/v1/quick-markets/BTC/history'), history({ resolved: true, payment: 'half' }));
    assert.deepEqual(await read(`/api/v1/resolution/${marketId}`), { marketId, expired: true, resolved: true, halved: true });
    for (const of of ['prices/DOGE', 'prices/DOGE/stream', 'stream?channels=prices:DOGE']) await exchange.refused('unknown_asset', 'GET', `/api/v1/${of}`);
    await exchange.refused('unavailable', 'GET', '/api/v1/prices/ETH');
  });

  it('takes several orders at once, and what their trader asks of them', async () => { last = await controlOrders(exchange); });

  it('tells what traders ask', () => traderReads(exchange, { marketId: exchange.rain.id, sent: hit.sent, position: last }));

  it('has answered at every endpoint of its table', async () => {
    const others = /^(?:sync|relay|getUserNonces|getAccount|openWebSocket)/; // They need a chain, or a WebSocket.
    assert.deepEqual([...exchange.succeeded].sort(), (await operationsOf(exchange)).filter((each) => !others.test(each)).sort());
  });

  it('is the same after a restart, document by document', async () => {
    const { rain } = exchange;
    const documents = () => Promise.all([
      '/api/v1/events?limit=1000', '/api/v1/markets', `/api/v1/orders/${bid.orderHash}`, `/api/v1/users/${carol.address}/orders?${CHAIN}`, `/api/v1/orderbook/${rain.id}`,
      `/api/v1/trades/${rain.id}`, `/api/v1/holders/${rain.id}`, `/api/v1/stats/${rain.id}`, '/api/v1/failed-trades', '/api/v1/failed-claims', `/api/v1/settlements/${FIRST_TX}`,
      `/api/v1/resolution/${rain.id}`, `/api/v1/users/${bob.address}/activity?${CHAIN}`,
    ].map(read));
    const before = await documents();
    exchange = await exchange.restart();
    assert.deepEqual(await documents(), before);
    const again = await exchange.request('POST', '/api/v1/orders', { body: hit.sent });
    assert.deepEqual([again.body, again.position, again.headers.get('Idempotent-Replayed')], [{ ...hit.body, orderStatus: 'filled' }, hit.position, 'true']);
  });
});
