/** What clients read of refusals: each says once what is wrong, whoever finds it and wherever it is said. */
import assert from 'node:assert/strict';
import type { CancelRequest } from '../../command/orders/cancel-order.js';
import { orderEndpoints } from '../../command/orders/endpoints.js';
import { serve } from '../../service/api/endpoint.js';
import { errors, type ClientErrorCode } from '../../service/api/errors.js';
import { anOrder, bob, bodyOf, marketId, orderWorld, signOrder, signedBody } from '../harness/order-world.js';
import { startShell, testRoutes, type RunningShell } from '../support/shell.js';
import { once, type WireRequest } from '../support/wire.js';

interface Problem {
  readonly code: ClientErrorCode;
  readonly title: string;
  readonly detail?: string;
  readonly error: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

type Refusal = readonly [code: ClientErrorCode, method: string, path: string, request?: WireRequest | (() => Promise<WireRequest>)];

const ORDERS = '/api/v1/orders';
const post = (body: unknown): WireRequest => ({ body: bodyOf(body) });
const order = (fields: Record<string, unknown>) => async (): Promise<WireRequest> => ({ body: await signedBody(fields) });

const refusals: readonly Refusal[] = [
  ['invalid_json', 'POST', ORDERS, { body: '{"order":' }], ['invalid_json', 'POST', ORDERS, { body: '[]' }],
  ['invalid_request', 'POST', ORDERS, post({})], ['invalid_request', 'POST', ORDERS, order({ side: 2 })], ['invalid_request', 'POST', ORDERS, order({ colour: 1 })],
  ['invalid_price', 'POST', ORDERS, order({ price: 0 })], ['invalid_size', 'POST', ORDERS, order({ size: 0 })],
  ['invalid_expiration', 'POST', ORDERS, order({ expiration: 1 })], ['unknown_market', 'POST', ORDERS, order({ marketId: `0x${'77'.repeat(32)}` })],
  ['invalid_signature', 'POST', ORDERS, post({ order: anOrder(), signature: '0x' })],
  ['invalid_signature', 'POST', ORDERS, async () => ({ body: bodyOf({ order: anOrder(), signature: await signOrder(anOrder(), bob) }) })],
  ['invalid_permit', 'POST', ORDERS, async () => ({ body: bodyOf({ order: anOrder(), signature: await signOrder(anOrder()), permitSignature: { colour: 1 } }) })],
  ['invalid_request', 'POST', `${ORDERS}/batch`, post({ orders: [] })], ['invalid_request', 'POST', `${ORDERS}/batch`, post({ colour: 1 })],
  ['invalid_address', 'POST', `${ORDERS}/cancel`, post({ trader: 'bob' })], ['invalid_market_id', 'POST', `${ORDERS}/cancel-all`, post({ trader: bob.address })],
  ['invalid_order_hash', 'DELETE', `${ORDERS}/0x1?marketId=${marketId}`], ['invalid_market_id', 'DELETE', `${ORDERS}/0x${'11'.repeat(32)}`],
  ['cancel_signature_required', 'DELETE', `${ORDERS}/0x${'11'.repeat(32)}?marketId=${marketId}`],
  ['invalid_request', 'GET', '/api/v1/events?limit=0'], ['invalid_request', 'GET', '/api/v1/events?limit=1&limit=2'], ['invalid_request', 'GET', '/api/v1/events?colour=1'],
  ['invalid_request', 'GET', `/api/v1/candles/${marketId}?interval=2m`], ['invalid_request', 'GET', '/api/v1/markets?state=sold'], ['invalid_request', 'GET', ORDERS],
  ['invalid_address', 'GET', `${ORDERS}?trader=bob`], ['invalid_chain_id', 'GET', '/api/v1/markets?chain_id=x'], ['invalid_market_id', 'GET', '/api/v1/stats/x'],
  ['invalid_request', 'GET', `/api/v1/orderbook/${marketId}?outcome=maybe`], ['invalid_request', 'GET', '/api/v1/settlements/x'],
  ['invalid_request', 'GET', '/api/v1/markets', { headers: { 'X-Min-Log-Position': 'x' } }],
  ['not_found', 'GET', '/nowhere'], ['method_not_allowed', 'PUT', ORDERS],
  ['unsupported_media_type', 'POST', ORDERS, { body: '{}', headers: { 'Content-Type': 'text/plain' } }],
  ['body_too_large', 'POST', ORDERS, { body: 'x'.repeat(70_000) }], ['expectation_failed', 'GET', ORDERS, { headers: { Expect: 'a miracle' } }],
];

describe('service: refusals', () => {
  let shell: RunningShell;
  before(async () => {
    const world = await orderWorld();
    const orders = serve(orderEndpoints, {
      placeOrder: (body: Uint8Array) => world.place(Buffer.from(body)), cancelOrder: (request: CancelRequest) => world.cancel(request),
      ...world.requests,
      syncPosition: () => Promise.reject(new Error('a position is synced')),
    });
    const own = orders.map(({ endpoint }) => endpoint.id);
    shell = await startShell({ app: { routes: [...orders, ...testRoutes().filter(({ endpoint }) => !own.includes(endpoint.id))] } });
  });
  after(() => shell.stop());

  for (const [code, method, path, request = {}] of refusals) {
    it(`${method} ${path.slice(0, 60)}: ${code}`, async () => {
      const { body } = await once(shell.port, method, path, typeof request === 'function' ? await request() : request);
      const problem = JSON.parse(body) as Problem;
      assert.equal(problem.code, code, body);
      saysOnce(problem, body);
    });
  }

  it('have titles that leave what is wrong with the request to the rest', () => {
    for (const { text } of Object.values(errors)) {
      assert.doesNotMatch(text, /see errors|hex digits|an integer of/);
      assert.ok(text.length <= 160, text);
    }
  });
});

/** The title says the kind, `errors` or else `detail` what is wrong, and `error` is both for people, each once. */
function saysOnce({ title, detail, error, errors: fields = [] }: Problem, body: string): void {
  assert.ok(detail === undefined || fields.length === 0, `said by detail and by errors: ${body}`);
  const reason = detail ?? fields.map(({ field, message }) => `${field} ${message}`).join('; ');
  assert.equal(error, reason === '' ? title : `${title}: ${reason}`, body);
  for (const { field, message } of fields) assert.ok(!message.includes(field), `the message names its field: ${body}`);
  for (const text of detail === undefined ? fields.map(({ message }) => `${title}: ${message}`) : [error]) assert.deepEqual(twiceIn(text), [], text);
}

/** Four words in a row that come again. */
function twiceIn(text: string): readonly string[] {
  const words = text.toLowerCase().split(/[^a-z0-9-]+/).filter((word) => word !== '');
  const runs = words.slice(3).map((_, i) => words.slice(i, i + 4).join(' '));
  return runs.filter((run, i) => runs.indexOf(run) !== i);
}
