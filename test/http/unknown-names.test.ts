/** What an endpoint does not have, a field at any depth or a query parameter, is refused by all endpoints of the OpenAPI document in the same way. */
import assert from 'node:assert/strict';
import type { CancelRequest } from '../../command/orders/cancel-order.js';
import { checkOrder } from '../../command/orders/check-order.js';
import { orderEndpoints } from '../../command/orders/endpoints.js';
import { relayerEndpoints } from '../../command/relayer/endpoints.js';
import type { RelayParams } from '../../command/relayer/relayer.js';
import { serve, type Endpoint } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { relayerErrors } from '../../service/api/relayer-errors.js';
import { allEndpoints } from '../../service/endpoints.js';
import { alice, marketId, orderWorld, signOrder } from '../harness/order-world.js';
import { HANDSHAKE } from '../support/frames.js';
import { relayScene } from '../support/relay-scene.js';
import { startShell, testRoutes, type RunningShell } from '../support/shell.js';
import { once } from '../support/wire.js';

type Json = Readonly<Record<string, unknown>>;
interface JsonContent { readonly schema: Json; readonly examples: Record<string, { readonly value: Json }> }

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean; readonly example: string | number }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': JsonContent } };
}

const document = JSON.parse(JSON.stringify(openapiDocument(allEndpoints, '1'))) as {
  readonly paths: Record<string, Record<string, Operation>>; readonly components: { readonly schemas: Record<string, Json> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) => (
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation, endpoint: endpointOf(operation) }))));

function endpointOf({ operationId }: Operation): Endpoint {
  return allEndpoints.find(({ id }) => id === operationId)!;
}

/** No endpoint has it. The slash is escaped in a pointer. */
const NAME = 'colo/r';
const POINTER = 'colo~1r';
const TEXT = 'is not known here; leave it out';

describe('service: names that an endpoint does not know', () => {
  let shell: RunningShell;
  before(async () => {
    const [world, scene] = [await orderWorld(), await relayScene()];
    const written = serve([checkOrder, ...orderEndpoints], {
      placeOrder: (body: Uint8Array) => world.place(Buffer.from(body)), cancelOrder: (request: CancelRequest) => world.cancel(request),
      checkOrder: (body: Uint8Array) => world.check(Buffer.from(body)), ...world.requests,
      syncPosition: () => Promise.reject(new Error('a position is synced')),
    });
    const relayed = serve(relayerEndpoints, {
      relay: ({ action, bytes }: RelayParams) => scene.ask(action, bytes), userNonces: () => Promise.reject(new Error('nonces are told')),
    });
    const own = [...written, ...relayed];
    const others = testRoutes().filter(({ endpoint }) => own.every((each) => each.endpoint.id !== endpoint.id));
    shell = await startShell({ app: {
      routes: [...own, ...others], authenticate: () => Promise.resolve({ id: 1, name: 'test', scopes: ['relay'] }),
    } });
  });
  after(() => shell.stop());

  /** The documented request, with other parameters in `query` and another body. */
  async function ask(
    { method, path, operation }: typeof operations[number], { query = [], body }: { query?: readonly string[]; body?: Json | undefined } = {},
  ) {
    const parameters = operation.parameters ?? [];
    const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(parameters.find((each) => each.in === 'path' && each.name === name)!.example));
    const required = parameters.filter((each) => each.in === 'query' && each.required).map(({ name, example }) => `${name}=${example}`);
    const sent = body ?? exampleOf(operation);
    const all = [...required, ...query].join('&');
    return once(shell.port, method, all === '' ? target : `${target}?${all}`, {
      headers: { Authorization: 'Bearer token', ...operation.operationId === 'openWebSocket' ? HANDSHAKE : {} }, ...sent === undefined ? {} : { body: JSON.stringify(sent) },
    });
  }

  for (const each of operations) {
    const { method, path, operation, endpoint } = each;
    it(`${method} ${path} refuses a query parameter`, async () => {
      const { status, body } = await ask(each, { query: [`${encodeURIComponent(NAME)}=1`] });
      assert.equal(status, 400, body);
      const problem = JSON.parse(body) as { code?: string; error: string; errors?: unknown };
      if (endpoint.errorShape === relayerErrors) assert.equal(problem.error, `the request is not as documented: /${POINTER} ${TEXT}`);
      else assert.deepEqual([problem.code, problem.errors], ['invalid_request', [{ field: `/${POINTER}`, message: TEXT }]]);
    });

    const whole = exampleOf(operation);
    if (whole === undefined) continue;
    it(`${method} ${path} refuses a field, in each object of the body`, async () => {
      const spoilt = spoiltCopies(await signed(whole));
      assert.ok(spoilt.length > 0);
      for (const [at, body] of spoilt) {
        const { status, body: text } = await ask(each, { body });
        const answer = JSON.parse(text) as { code?: string; error: string; errors?: unknown; results?: { errors?: unknown }[] };
        if (endpoint.errorShape === relayerErrors) {
          assert.deepEqual([status, answer], [400, { success: false, error: 'Invalid request body' }], at);
          continue;
        }
        // Each order of a batch is answered for itself, and a check tells the refusal.
        const errors = JSON.stringify(answer.errors ?? answer);
        const field = (at.startsWith('/orders/') ? at.slice('/orders/0'.length) : at) + `/${POINTER}`;
        assert.ok(errors.includes(JSON.stringify({ field, message: TEXT })), `${at}: ${status} ${text}`);
        if (operation.operationId !== 'checkOrder' && !at.startsWith('/orders/')) assert.equal(status, 400, text);
      }
    });

    it(`${method} ${path} says so in the document`, () => {
      assert.deepEqual(openObjects(operation.requestBody!.content['application/json'].schema), []);
    });
  }
});

function exampleOf({ requestBody }: Operation): Json | undefined {
  if (requestBody === undefined) return undefined;
  const { value } = Object.values(requestBody.content['application/json'].examples).at(-1)!;
  // The world has a market of its own, and its clock is past the examples'.
  const text = JSON.stringify(value).replaceAll(String(example.expiration), '4000000000').replaceAll(example.marketId, marketId);
  return JSON.parse(text) as Json;
}

/** The same, with the signature of an order, which is looked at before the order's permit. */
async function signed(whole: Json): Promise<Json> {
  if (!('order' in whole)) return whole;
  const order = { ...whole['order'] as Json, trader: alice.address };
  return { ...whole, order, signature: await signOrder(order) };
}

/** For each object of the value, its place, and a copy of the whole in which it has one name more. */
function spoiltCopies(whole: Json): readonly (readonly [at: string, copy: Json])[] {
  const places: string[][] = [];
  const walk = (value: unknown, at: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) places.push([...at]);
    for (const [name, part] of Object.entries(value)) walk(part, [...at, name]);
  };
  walk(whole, []);
  return places.map((place) => {
    const copy = structuredClone(whole) as Record<string, unknown>;
    let object = copy;
    for (const name of place) object = object[name] as Record<string, unknown>;
    object[NAME] = 1;
    return [place.map((name) => `/${name}`).join(''), copy] as const;
  });
}

/** The places of a schema at which an object may have further names. */
function openObjects(schema: unknown, at = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { $ref } = schema as { $ref?: string };
  if ($ref !== undefined) return openObjects(document.components.schemas[$ref.split('/').pop()!], $ref);
  const isOpen = 'properties' in schema && (schema as { additionalProperties?: unknown }).additionalProperties !== false;
  return [...isOpen ? [at] : [], ...Object.entries(schema).flatMap(([name, part]) => openObjects(part, `${at}/${name}`))];
}
