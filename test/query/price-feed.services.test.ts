/** The feed of prices over real read models: how a listening begins, what follows, heartbeats, listeners that fall behind, faults, the end. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import { createBell, pause } from '../../engine/waiting.js';
import { createPriceFeed, type Listening, type PriceFeed, type PriceFeedOptions } from '../../query/price-feed.js';
import { readModels, type ReadModels } from '../support/read-models.js';
import { until } from '../support/until.js';

const AT = 1_700_000_000_000;
const RETRY = 'retry: 2000\n\n';
const HEARTBEAT = ':\n\n';

const textOf = (position: number, { asset = 'BTC', ms = position * 1_000 } = {}) => (
  `id: ${position}\ndata: {"asset":"${asset}","price":6140993501000,"priceUSD":61409.93501,"timestamp":${AT + ms},"source":"pyth"}\n\n`);
const next = async ({ stream }: Listening): Promise<string> => {
  const { value, done } = await stream.next() as { value?: Uint8Array; done?: boolean };
  return done === true ? 'end' : Buffer.from(value ?? []).toString();
};

describe('query: the price feed', () => {
  let models: ReadModels;
  let feed: PriceFeed;
  const beats = createBell();
  const errors: unknown[] = [];
  before(async () => { models = await readModels(); });
  beforeEach(async () => {
    await models.clear();
    errors.length = 0;
  });
  afterEach(() => feed.close());
  after(() => models.close());

  /** Its heartbeats come when the test says so. */
  const open = (options: Partial<PriceFeedOptions> = {}) => feed = createPriceFeed({
    db: models.db, onError: (error) => { errors.push(error); },
    pause: async (ms, signal) => { await (ms === 15_000 ? beats.wait(signal!, 60_000) : pause(1, signal)); }, ...options,
  });
  /** Records a price, as the projections do. */
  const record = async (position: number, { asset = 'BTC', ms = position * 1_000 } = {}) => {
    await models.insert('prices', { position, asset, published_at_ms: AT + ms });
    await models.advance(position + 1);
  };

  it('begins with the newest price and goes on with each new one, of its asset only', async () => {
    for (const position of [1, 2]) await record(position);
    await record(3, { asset: 'ETH' });
    open();
    const [bitcoin, ether] = [await feed.listen({ asset: 'BTC' }), await feed.listen({ asset: 'ETH' })];
    assert.deepEqual([await next(bitcoin), await next(ether)], [RETRY + textOf(2), RETRY + textOf(3, { asset: 'ETH' })]);
    await record(4);
    assert.equal(await next(bitcoin), textOf(4));
    const waiting = next(ether);
    await record(5);
    await record(6, { asset: 'ETH' });
    assert.deepEqual([await next(bitcoin), await waiting], [textOf(5), textOf(6, { asset: 'ETH' })]);
  });

  it('sends a price to all listeners as the same bytes, encoded once', async () => {
    open();
    const listeners = [await feed.listen({ asset: 'BTC' }), await feed.listen({ asset: 'BTC' })];
    assert.deepEqual(await Promise.all(listeners.map(next)), [RETRY, RETRY]);
    await record(1);
    const [first, second] = await Promise.all(listeners.map(({ stream }) => stream.next()));
    assert.ok(first!.value instanceof Uint8Array && first!.value === second!.value);
  });

  it('sends a listener what it has missed and nothing twice, whatever the id; after one of another history the newest price', async () => {
    for (const position of [1, 2, 3]) await record(position);
    await record(4, { asset: 'ETH' });
    open();
    const first = async (after: number) => next(await feed.listen({ asset: 'BTC', after }));
    assert.equal(await first(1), RETRY + textOf(2) + textOf(3));
    assert.equal(await first(0), RETRY + textOf(1) + textOf(2) + textOf(3), 'as far as they are kept');
    for (const [after, why] of [[3, 'has missed nothing'], [4, 'an id of another asset']] as const) assert.equal(await first(after), RETRY, why);
    for (const after of [99, Number.MAX_SAFE_INTEGER]) assert.equal(await first(after), RETRY + textOf(3));
  });

  it('goes on exactly for a listener who knows more than this process has read, and never back', async () => {
    await record(1);
    const held: (() => void)[] = [];
    let hold = false;
    open({ db: { ...models.db, rows: async (...asked) => {
      if (hold) await new Promise<void>((resolve) => { held.push(resolve); });
      return models.db.rows(...asked);
    } } });
    await feed.listen({ asset: 'BTC' });
    hold = true;
    const ahead = feed.listen({ asset: 'BTC', after: 3 });
    for (const position of [2, 3, 4]) await record(position);
    await until('a read is held', () => held.length > 0 || undefined);
    hold = false;
    for (const go of held.splice(0)) go();
    const listening = await ahead;
    const begun = await next(listening);
    assert.equal(begun === RETRY ? begun + await next(listening) : begun, RETRY + textOf(4));
  });

  it('is unavailable for a listener who knows more, while the read models cannot be read', async () => {
    await record(1);
    let away = false;
    open({ db: { ...models.db, rows: (...asked) => away ? Promise.reject(new RequestError('unavailable')) : models.db.rows(...asked) } });
    await feed.listen({ asset: 'BTC' });
    away = true;
    await assert.rejects(feed.listen({ asset: 'BTC', after: 2 }), { code: 'unavailable' });
    assert.equal(await next(await feed.listen({ asset: 'BTC', after: 0 })), RETRY + textOf(1), 'what it has read it can send');
  });

  it('sends the prices also while another read model is behind', async () => {
    let asked = 0;
    open({ db: { ...models.db, waitForPosition: async (_, { signal } = {}) => {
      asked += 1;
      await pause(1, signal);
      throw new RequestError('not_caught_up');
    } } });
    const listening = await feed.listen({ asset: 'BTC' });
    assert.equal(await next(listening), RETRY);
    await models.insert('prices', { position: 1, published_at_ms: AT + 1_000 });
    await models.advance(2);
    assert.equal(await next(listening), textOf(1));
    assert.ok(asked > 0);
  });

  it('passes over a price that was published before the one shown', async () => {
    await record(5);
    open();
    const listening = await feed.listen({ asset: 'BTC' });
    assert.equal(await next(listening), RETRY + textOf(5));
    await record(6, { ms: 4_999 });
    await record(7, { ms: 5_000 });
    await record(8);
    assert.equal(await next(listening), textOf(8));
  });

  it('beats every 15 seconds, whatever else is sent', async () => {
    open();
    const listening = await feed.listen({ asset: 'BTC' });
    assert.equal(await next(listening), RETRY);
    const beat = next(listening);
    beats.ring();
    assert.equal(await beat, HEARTBEAT);
    await record(1);
    assert.equal(await next(listening), textOf(1));
  });

  it('cuts off a listener that falls behind, and no other', async () => {
    open({ maxWaiting: 3 });
    let ended = 0;
    const slow = await feed.listen({ asset: 'BTC', ended: () => { ended += 1; } });
    const quick = await feed.listen({ asset: 'BTC' });
    assert.equal(await next(quick), RETRY);
    for (const position of [1, 2, 3]) {
      await record(position);
      assert.equal(await next(quick), textOf(position));
    }
    assert.deepEqual([slow.cut.aborted, ended, feed.cutOff()], [true, 1, 1]);
    assert.equal(await next(slow), 'end');
    await record(4);
    assert.equal(await next(quick), textOf(4));
    assert.equal(quick.cut.aborted, false);
  });

  it('ends a listening once, also while it waits', async () => {
    open();
    let ended = 0;
    const listening = await feed.listen({ asset: 'BTC', ended: () => { ended += 1; } });
    await next(listening);
    const waiting = next(listening);
    await listening.stream.return?.();
    await listening.stream.return?.();
    assert.deepEqual([await waiting, await next(listening), ended], ['end', 'end', 1]);
  });

  it('ends every listening when it closes, and takes none afterwards', async () => {
    open();
    const listening = await feed.listen({ asset: 'BTC' });
    await next(listening);
    const waiting = next(listening);
    await feed.close();
    assert.equal(await waiting, 'end');
    await assert.rejects(feed.listen({ asset: 'BTC' }), { code: 'unavailable' });
  });

  it('is unavailable while the read models are, and begins when they are back', async () => {
    await record(1);
    let fault: Error | undefined = new RequestError('unavailable', 'the read models');
    open({ db: { ...models.db, rows: (...asked) => fault === undefined ? models.db.rows(...asked) : Promise.reject(fault) } });
    await assert.rejects(feed.listen({ asset: 'BTC' }), { code: 'unavailable' });
    fault = undefined;
    assert.equal(await next(await feed.listen({ asset: 'BTC' })), RETRY + textOf(1));
    assert.deepEqual(errors, []);
  });

  it('goes on after faults of the read models, with nothing lost, and reports those that nobody expects', async () => {
    await record(1);
    const faults = [new RequestError('unavailable'), new TypeError('inside'), new RequestError('unavailable')];
    let reads = 0;
    open({ db: { ...models.db, rows: (...asked) => {
      const fault = reads++ === 0 ? undefined : faults.shift();
      return fault === undefined ? models.db.rows(...asked) : Promise.reject(fault);
    } } });
    const listening = await feed.listen({ asset: 'BTC' });
    assert.equal(await next(listening), RETRY + textOf(1));
    await record(2);
    assert.equal(await next(listening), textOf(2));
    assert.deepEqual(errors.map(String), ['TypeError: inside']);
  });
});
