/**
 * The operations of the OpenAPI document, with that of a development stack, and a shell that answers their documented
 * requests: orders and relays by what really parses them.
 */
import type { CancelRequest } from '../../command/orders/cancel-order.js';
import { checkOrder } from '../../command/orders/check-order.js';
import { orderEndpoints } from '../../command/orders/endpoints.js';
import { relayerEndpoints } from '../../command/relayer/endpoints.js';
import type { RelayParams } from '../../command/relayer/relayer.js';
import { serve, type Endpoint } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { allEndpoints } from '../../service/endpoints.js';
import { fundsRoutes, giveFunds } from '../../stack/dev-funds.js';
import { alice, marketId, orderWorld, signOrder } from '../harness/order-world.js';
import { HANDSHAKE } from './frames.js';
import { relayScene } from './relay-scene.js';
import { startShell, testRoutes, type RunningShell } from './shell.js';
import { once } from './wire.js';

export type Json = Readonly<Record<string, unknown>>;
interface JsonContent { readonly schema: Json; readonly examples: Record<string, { readonly value: Json }> }

export interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required: boolean; readonly example: string | number }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': JsonContent } };
}

export interface Documented {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly endpoint: Endpoint;
}

const served: readonly Endpoint[] = [...allEndpoints, giveFunds];
const document = JSON.parse(JSON.stringify(openapiDocument(served, '1'))) as {
  readonly paths: Record<string, Record<string, Operation>>; readonly components: { readonly schemas: Record<string, Json> };
};
/** Every operation, with its endpoint. */
export const operations: readonly Documented[] = Object.entries(document.paths).flatMap(([path, methods]) => (
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation, endpoint: endpointOf(operation) }))));

function endpointOf({ operationId }: Operation): Endpoint {
  return served.find(({ id }) => id === operationId)!;
}

export interface DocumentedShell extends Pick<RunningShell, 'stop'> {
  /** The documented request, with other parameters in `query` and another body. */
  readonly ask: (operation: Documented, other?: { query?: readonly string[]; body?: Json | undefined }) => Promise<Awaited<ReturnType<typeof once>>>;
}

/** A shell with every endpoint of the document. */
export async function documentedShell(): Promise<DocumentedShell> {
  const [world, scene] = [await orderWorld(), await relayScene()];
  const written = serve([checkOrder, ...orderEndpoints], {
    placeOrder: (body: Uint8Array) => world.place(Buffer.from(body)), cancelOrder: (request: CancelRequest) => world.cancel(request),
    checkOrder: (body: Uint8Array) => world.check(Buffer.from(body)), ...world.requests,
    syncPosition: () => Promise.reject(new Error('a position is synced')),
  });
  const given = { collateral: 1n, native: 1n, status: 'confirmed', txHash: '' } as const;
  let minutes = 0;
  const funds = fundsRoutes({ chainId: 31_337, give: () => Promise.resolve(given), now: () => 60_000 * minutes++ });
  const relayed = serve(relayerEndpoints, {
    relay: ({ action, bytes }: RelayParams) => scene.ask(action, bytes), userNonces: () => Promise.reject(new Error('nonces are told')),
  });
  const own = [...written, ...relayed, ...funds];
  const others = testRoutes().filter(({ endpoint }) => own.every((each) => each.endpoint.id !== endpoint.id));
  const shell = await startShell({ app: {
    routes: [...own, ...others], authenticate: () => Promise.resolve({ id: 1, name: 'test', scopes: ['relay'] }),
  } });
  const ask: DocumentedShell['ask'] = ({ method, path, operation }, { query = [], body } = {}) => {
    const parameters = operation.parameters ?? [];
    const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(parameters.find((each) => each.in === 'path' && each.name === name)!.example));
    const required = parameters.filter((each) => each.in === 'query' && each.required).map(({ name, example }) => `${name}=${example}`);
    const sent = body ?? exampleOf(operation);
    const all = [...required, ...query].join('&');
    return once(shell.port, method, all === '' ? target : `${target}?${all}`, {
      headers: { Authorization: 'Bearer token', ...operation.operationId === 'openWebSocket' ? HANDSHAKE : {} }, ...sent === undefined ? {} : { body: JSON.stringify(sent) },
    });
  };
  return { ask, stop: () => shell.stop() };
}

/** The last documented example of a body. */
export function exampleOf({ requestBody }: Operation): Json | undefined {
  if (requestBody === undefined) return undefined;
  const { value } = Object.values(requestBody.content['application/json'].examples).at(-1)!;
  // The world has a market of its own, and its clock is past the examples'.
  const text = JSON.stringify(value).replaceAll(String(example.expiration), '4000000000').replaceAll(example.marketId, marketId);
  return JSON.parse(text) as Json;
}

/** The same, with the signatures of its orders, which are looked at before the orders' permits. */
export async function signed(whole: Json): Promise<Json> {
  if (Array.isArray(whole['orders'])) return { ...whole, orders: await Promise.all(whole['orders'].map(signed)) };
  if (!('order' in whole)) return whole;
  const order = { ...whole['order'] as Json, trader: alice.address };
  return { ...whole, order, signature: await signOrder(order) };
}

/** A schema of the document, or the one that it refers to. */
export function resolved<T>(schema: T): T {
  const { $ref } = schema as { $ref?: string };
  return $ref === undefined ? schema : resolved(document.components.schemas[$ref.split('/').pop()!] as T);
}
