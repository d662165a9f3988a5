/**
 * Bodies at the edges of JSON, for every endpoint that takes one, and odd parameters of cancels: over real sockets, to the real parsers. Each
 * is answered, never with a 5xx, and what is accepted means what a second parser says.
 */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import type { RelayParams } from '../../command/relayer/relayer.js';
import { parseRelayRequest, RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { parseJsonObject, type JsonObject } from '../../engine/records/exact-json.js';
import type { CancelRequest } from '../../command/orders/cancel-order.js';
import { parseOrder } from '../../command/orders/order-request.js';
import { RequestError } from '../../engine/records/errors.js';
import type { RelayAction } from '../../engine/records/fields.js';
import { orderEndpoints } from '../../command/orders/endpoints.js';
import { relayerEndpoints } from '../../command/relayer/endpoints.js';
import { serve } from '../../service/api/endpoint.js';
import { referenceJson, type JsonValue } from '../reference/json.js';
import { alice, bodyOf, orderWorld, marketId, signedBody, signedCancel, type OrderWorld } from '../harness/order-world.js';
import { extent, SEED } from '../support/extent.js';
import { createRandom } from '../support/random-commands.js';
import { relayScene, validBody, type RelayScene } from '../support/relay-scene.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { framedBodies, spoiltBody, type Below } from '../support/spoilt-bodies.js';
import { Wire, type WireAnswer } from '../support/wire.js';

/** For each endpoint. */
const BODIES = extent({ push: 80, long: 1_000 });
const PATIENCE_MS = 60_000;

const ORDERS = '/api/v1/orders';
const SYNC = `/api/v1/positions/${marketId}/sync`;
const pathOf = (action: RelayAction): string => `/api/v1/relayer/${action}`;

describe(`service: hostile bodies (SEED=${SEED})`, () => {
  let stack: OrderWorld;
  let scene: RelayScene;
  let shell: RunningShell;
  let wire: Wire | undefined;
  /** What the endpoint for positions understood. */
  const synced: string[] = [];
  let below: Below;

  before(async () => {
    [stack, scene] = [await orderWorld({ maxOpenOrders: 1_000_000 }), await relayScene()];
    const orders = serve(orderEndpoints, {
      placeOrder: (body: Uint8Array) => stack.place(Buffer.from(body)), cancelOrder: (request: CancelRequest) => stack.cancel(request),
      ...stack.requests,
      syncPosition: ({ user }: { readonly user: string }) => {
        synced.push(user);
        return Promise.resolve({ success: true, position: { yesShares: 0n, noShares: 0n, totalInvested: 0n }, message: '', logPosition: 0 });
      },
    });
    const relays = serve(relayerEndpoints, {
      relay: ({ action, bytes }: RelayParams) => scene.ask(action, bytes), userNonces: () => Promise.resolve({ body: '{}' }),
    });
    const authenticate = () => Promise.resolve({ id: 1, name: 'test', scopes: ['relay'] as const });
    const limits = { requestTimeoutMs: PATIENCE_MS, keepAliveTimeoutMs: PATIENCE_MS };
    shell = await startShell({ app: { routes: [...orders, ...relays], authenticate }, limits });
  });
  after(() => shell.stop());
  beforeEach(() => {
    const random = createRandom(SEED);
    below = (n) => random() % n;
  });
  afterEach(() => {
    assert.deepEqual(shell.failures, []);
    wire?.close();
    wire = undefined;
  });

  /** The answer, which must come and must not be a 5xx. A server may close a connection after an answer. */
  async function ask(method: string, path: string, request: Parameters<Wire['request']>[2] = {}): Promise<WireAnswer> {
    if (wire === undefined || wire.socket.destroyed) wire = await Wire.connect(shell.port);
    let patience: NodeJS.Timeout | undefined;
    const told = `${method} ${path} ${shownBody(request.body)}`;
    const tooLong = new Promise<never>((_, reject) => { patience = setTimeout(() => { reject(new Error(`no answer to ${told}`)); }, PATIENCE_MS); });
    const answer = await Promise.race([wire.request(method, path, request).answer(), tooLong]);
    clearTimeout(patience);
    assert.ok(answer.status >= 200 && answer.status < 500, `${answer.status} ${answer.body} to ${told}`);
    if (answer.headers['connection'] === 'close') {
      wire.close();
      wire = undefined;
    }
    return answer;
  }

  /** Sends odd and spoilt bodies, and checks each. Some are taken, and some are not. */
  async function spoil(path: string, valid: () => Buffer | Promise<Buffer>, check: (bytes: Buffer, answer: WireAnswer) => void): Promise<void> {
    const statuses = new Map<number, number>();
    const framed = framedBodies(await valid());
    for (let i = 0; i < BODIES + framed.length; i++) {
      const bytes = framed[i] ?? spoiltBody(below, await valid());
      const answer = await ask('POST', path, { body: bytes });
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      sameJson(bytes);
      check(bytes, answer);
    }
    assert.ok((statuses.get(200) ?? 0) > 0 && (statuses.get(400) ?? 0) > 0, JSON.stringify([...statuses]));
  }

  it(`${BODIES} orders: what is recorded is what a second parser reads`, async () => {
    let nonce = 0;
    await spoil(ORDERS, () => signedBody({ nonce: ++nonce }), (bytes, { status, body }) => {
      sameReading(bytes, (json) => parseOrder(json));
      const recorded = stack.commands.at(-1)!;
      if (status !== 200) return;
      assert.ok(recorded.kind === 'PlaceOrder');
      const { order } = referenceJson(bytes) as { order: Record<string, JsonValue> };
      for (const name of ['side', 'outcome', 'price', 'size', 'nonce', 'expiration'] as const) assert.equal(String(order[name]), String(recorded[name]), body);
      assert.deepEqual([order['marketId'], order['trader']].map((text) => String(text).toLowerCase()), [recorded.marketId, recorded.trader]);
    });
  });

  it(`${BODIES} positions: the user is the one that a second parser reads`, async () => {
    await spoil(SYNC, () => bodyOf({ userAddress: alice.address }), (bytes, { status }) => {
      if (status !== 200) return;
      const { userAddress } = referenceJson(bytes) as { userAddress?: JsonValue };
      assert.equal(synced.at(-1), String(userAddress).toLowerCase());
    });
  });

  for (const action of RELAY_ACTIONS) {
    it(`${BODIES} of ${action}: each is understood as a second parser reads it`, async () => {
      scene.reset();
      const valid = bodyOf(validBody(action, scene));
      await spoil(pathOf(action), () => valid, (bytes) => {
        sameReading(bytes, (json) => parseRelayRequest(action, writtenAgain(json)), (given) => parseRelayRequest(action, given));
      });
      assert.ok(scene.sent.length <= 1, 'one valid body is one transaction, however it is written');
    });
  }

  it(`${BODIES} cancels with odd parameters`, async () => {
    const placed = JSON.parse((await ask('POST', ORDERS, { body: await signedBody({ nonce: 10_000_000 }) })).body) as { orderHash: string };
    const { signature, deadline } = await signedCancel(placed.orderHash);
    const odd = ['', '%00', '%', '%zz', '%c0%80', '%ed%a0%80', '%F0%9F%92%A5', '..%2f', '-0', '1e400', '0x', 'a'.repeat(5_000), '%5B%5D', '%27%20or%201=1--', 'NaN'];
    const either = (value: string): string => below(3) === 0 ? odd[below(odd.length)]! : value;
    const statuses = new Set<number>();
    for (let i = 0; i < BODIES; i++) {
      const query = [`marketId=${either(marketId)}`, `side=${either('buy')}`, ...below(6) === 0 ? ['side=sell', '__proto__=1', '=', '&&', 'marketId[]=1'] : []].join('&');
      const headers = { 'X-Cancel-Signature': plain(either(String(signature))), 'X-Cancel-Deadline': plain(either(String(deadline))) };
      statuses.add((await ask('DELETE', `${ORDERS}/${either(placed.orderHash)}?${query}`, { headers })).status);
    }
    assert.ok(statuses.has(200) && statuses.has(400), String([...statuses]));
  });

  it('wrong types, charsets and codings, and compressed bombs, for every endpoint', async () => {
    const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024, 0x20));
    const wrong: Record<string, string>[] = [
      'text/plain', 'text/json', 'application/jsonp', 'application/json; charset=utf-16', 'application/json; charset=latin1', 'application/json, application/json',
      'application/json;;', 'application/problem+json', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', '\u00e4', 'application/json; charset="utf-8',
    ].map((type) => ({ 'Content-Type': type }));
    for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'identity, gzip', 'x-gzip', '']) wrong.push({ 'Content-Encoding': coding });
    for (const path of [ORDERS, SYNC, ...RELAY_ACTIONS.map(pathOf)]) {
      for (const headers of wrong) {
        for (const body of [Buffer.from('{}'), bomb]) assert.equal((await ask('POST', path, { headers, body })).status, 415, `${path} ${JSON.stringify(headers)}`);
      }
      assert.equal((await ask('POST', path, { body: bomb })).status, 400, 'compressed, and not said to be');
      assert.equal((await ask('POST', path, { body: Buffer.alloc(300 * 1024, 0x20) })).status, 413);
    }
  });
});

/** Both parsers give the same, or both refuse. */
function sameJson(bytes: Buffer): void {
  const reference = referenceJson(bytes);
  const isObject = typeof reference === 'object' && reference !== null && !Array.isArray(reference);
  const read = readingOf(() => parseJsonObject(bytes));
  assert.ok(isObject ? same(read, reference) : read === 'invalid_json', shownBody(bytes));
}

/** What is read of the bytes, and of what a second parser makes of them, is the same, or refused for the same reason. */
function sameReading(bytes: Buffer, ofJson: (json: JsonObject) => unknown, ofBytes = (given: Buffer) => ofJson(parseJsonObject(given))): void {
  const reference = referenceJson(bytes);
  if (typeof reference !== 'object' || reference === null || Array.isArray(reference) || depthOf(reference) > 1_000) return;
  assert.deepEqual(readingOf(() => ofBytes(bytes)), readingOf(() => ofJson(reference)), shownBody(bytes));
}

/** JSON as bytes again, also what `JSON.stringify` loses: that a number is not an integer, which would become null, and the sign of -0. */
function writtenAgain(json: JsonObject): Buffer {
  const text = JSON.stringify(json, (_, value: unknown) => {
    if (typeof value === 'bigint') return `number ${value}`;
    return Number.isNaN(value) ? 'number 0.5' : Object.is(value, -0) ? 'number -0' : value;
  });
  return Buffer.from(text.replaceAll(/"number (-?[\d.]+)"/g, '$1'));
}

function readingOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    if (error instanceof RequestError) return error.code;
    throw error;
  }
}

/** Deep equality without recursion: bodies nest deeper than the stack is. */
function same(a: unknown, b: unknown): boolean {
  const pairs = [[a, b]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [left, right] = pair;
    if (typeof left !== 'object' || left === null || typeof right !== 'object' || right === null) {
      if (!Object.is(left, right)) return false;
      continue;
    }
    const [names, others] = [Object.keys(left), Object.keys(right)];
    if (Array.isArray(left) !== Array.isArray(right) || names.length !== others.length) return false;
    for (const name of names) {
      if (!Object.hasOwn(right, name)) return false;
      pairs.push([own(left, name), own(right, name)]);
    }
  }
  return true;
}

const own = (object: object, name: string): unknown => Object.getOwnPropertyDescriptor(object, name)?.value;

function depthOf(value: unknown): number {
  let level: object[] = [value].filter((each) => typeof each === 'object' && each !== null);
  let depth = 0;
  for (; level.length > 0; depth++) {
    level = level.flatMap((each) => Object.keys(each).map((name) => own(each, name))).filter((each): each is object => typeof each === 'object' && each !== null);
  }
  return depth;
}

/** As the value of a header. */
const plain = (text: string): string => text === '' ? 'x' : text;

const shownBody = (body: string | Uint8Array | undefined): string => JSON.stringify(Buffer.from(body ?? '').toString('latin1').slice(0, 2_000));
