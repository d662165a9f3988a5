/** The OpenAPI document: the whole table and nothing else, with examples that match their schemas. */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RequestError } from '../../engine/records/errors.js';
import { errors, type ClientErrorCode } from '../../service/api/errors.js';
import { errorsOf } from '../../service/api/endpoint.js';
import { allEndpoints } from '../../service/endpoints.js';
import { Configuration } from '../../service/endpoints/config.js';
import { asyncapiOfAll } from '../../service/endpoints/documents.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { Problem, problemExample, problemOf, problemType } from '../../service/api/problems.js';
import { startShell } from '../support/shell.js';
import { once } from '../support/wire.js';

interface Content {
  readonly schema: object;
  readonly examples?: Record<string, { value: unknown }>;
}
interface Operation {
  readonly operationId: string;
  readonly parameters?: { name: string; in: string; schema: object; example: unknown; description: string }[];
  readonly requestBody?: { content: Record<string, Content> };
  readonly responses: Record<string, { $ref?: string; content?: Record<string, Content> }>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { responses: Record<string, { content?: Record<string, Content> }>; schemas: Record<string, object> };
}

const document = JSON.parse(JSON.stringify(openapiDocument(allEndpoints, '1.2.3'))) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })));
/** The same with the references of a plain JSON schema. */
const resolvable = (schema: object) => JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', 'document#/$defs/')) as object;
/** OpenAPI's formats and the keywords of generators, which say nothing that a validator looks at. */
const formats = { int32: true, int64: true, uint64: true } as const;
const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true, formats }).addVocabulary(['x-enum-varnames', 'x-enumNames']).addSchema({ $id: 'document', $defs: resolvable(document.components.schemas) });

describe('service: OpenAPI document', () => {
  it('has every endpoint, once', () => {
    assert.deepEqual(operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).sort(), [
      'DELETE /api/v1/orders/{hash}', 'GET /api/v1/activity/{marketId}', 'GET /api/v1/candles/{marketId}', 'GET /api/v1/config', 'GET /api/v1/contracts', 'GET /api/v1/events',
      'GET /api/v1/failed-claims', 'GET /api/v1/failed-trades',
      'GET /api/v1/holders/{marketId}',
      'GET /api/v1/markets', 'GET /api/v1/markets/{marketId}', 'GET /api/v1/orderbook/{marketId}', 'GET /api/v1/orders', 'GET /api/v1/orders/{hash}',
      'GET /api/v1/pending-claims', 'GET /api/v1/pending-trades', 'GET /api/v1/platform/stats', 'GET /api/v1/positions/{marketAddress}',
      'GET /api/v1/prices/{asset}', 'GET /api/v1/prices/{asset}/candles', 'GET /api/v1/prices/{asset}/history', 'GET /api/v1/prices/{asset}/stream', 'GET /api/v1/quick-markets/{asset}',
      'GET /api/v1/quick-markets/{asset}/history', 'GET /api/v1/resolution/{marketId}',
      'GET /api/v1/settlements/{txHash}', 'GET /api/v1/stats/{marketId}', 'GET /api/v1/status', 'GET /api/v1/stream', 'GET /api/v1/ticker/{marketId}', 'GET /api/v1/trades/{marketId}', 'GET /api/v1/users/{address}/account', 'GET /api/v1/users/{address}/activity',
      'GET /api/v1/users/{address}/nonces', 'GET /api/v1/users/{address}/orders', 'GET /api/v1/users/{address}/positions', 'GET /api/v1/ws', 'GET /asyncapi.json', 'GET /health/live', 'GET /health/ready', 'GET /metrics',
      'GET /openapi.json', 'POST /api/v1/orders', 'POST /api/v1/orders/batch', 'POST /api/v1/orders/cancel', 'POST /api/v1/orders/cancel-after',
      'POST /api/v1/orders/cancel-all', 'POST /api/v1/orders/check',
      'POST /api/v1/orders/{hash}/reduce', 'POST /api/v1/positions/{marketId}/sync',
      'POST /api/v1/relayer/batch-ctf-redemption', 'POST /api/v1/relayer/ctf-approval', 'POST /api/v1/relayer/ctf-merge',
      'POST /api/v1/relayer/ctf-redemption', 'POST /api/v1/relayer/ctf-split', 'POST /api/v1/relayer/propose-resolution',
      'POST /api/v1/relayer/settle-market', 'POST /api/v1/relayer/usdc-permit',
    ]);
    assert.equal(new Set(operations.map(({ operation }) => operation.operationId)).size, operations.length);
  });

  it('is served as it is, and every operation of it is routed', async () => {
    const shell = await startShell({ app: { authenticate: () => Promise.resolve({ id: 1, name: 'test', scopes: ['relay'] }) } });
    const served = JSON.parse((await once(shell.port, 'GET', '/openapi.json')).body) as Document;
    assert.equal(served.openapi, '3.1.0');
    assert.deepEqual(served.paths, document.paths);
    assert.deepEqual(JSON.parse((await once(shell.port, 'GET', '/asyncapi.json')).body), asyncapiOfAll());
    for (const { path, method, operation } of operations) {
      const body = operation.requestBody === undefined ? {} : { body: '{}' };
      await once(shell.port, method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'), body);
      assert.equal(shell.answered.at(-1)?.route, operation.operationId, path);
    }
    await shell.stop();
  });

  it('describes each path parameter of each path, and no other', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual((operation.parameters ?? []).filter((each) => each.in === 'path').map(({ name }) => name), inPath, path);
      for (const { schema, example, name } of operation.parameters ?? []) assertMatches(schema, example, `${path} ${name}`);
    }
  });

  it('has an example of every answer and body, each matching its schema', () => {
    for (const { path, operation } of operations) {
      const contents = [operation.requestBody?.content, operation.responses['200']?.content, operation.responses['503']?.content];
      for (const [type, { schema, examples = {} }] of contents.flatMap((content) => Object.entries<Content>(content ?? {}))) {
        if (type === 'application/x-ndjson' || type === 'application/problem+json') continue;
        assert.ok(Object.keys(examples).length > 0, path);
        for (const [name, { value }] of Object.entries(examples)) assertMatches(schema, value, `${path} ${name}`);
      }
    }
  });

  it('has an answer with an example for every error that an endpoint can give', () => {
    for (const endpoint of allEndpoints) {
      const { responses } = document.paths[endpoint.path]![endpoint.method.toLowerCase()]!;
      for (const code of errorsOf(endpoint)) {
        const response = responses[errors[code].status];
        const { content } = response ?? document.components.responses['Other']!;
        const type = response === undefined ? 'application/problem+json' : endpoint.errorShape.contentType;
        assert.ok(code in content![type]!.examples!, `${endpoint.id} ${code}`);
      }
    }
  });

  it('adds the errors of parameters, body and shell to those that an endpoint names', () => {
    const named = (id: string) => errorsOf(allEndpoints.find((endpoint) => endpoint.id === id)!);
    const ofShell = ['method_not_allowed', 'request_timeout', 'expectation_failed', 'internal'];
    assert.deepEqual(named('placeOrder').slice(-7), ['body_too_large', 'unsupported_media_type', 'rate_limited', ...ofShell]);
    assert.deepEqual(named('getOrder'), [
      'invalid_request', 'invalid_order_hash', 'unknown_order', 'unavailable', 'not_caught_up', 'rate_limited', 'not_found', ...ofShell,
    ]);
    assert.deepEqual(named('getLiveness'), ['invalid_request', ...ofShell]);
  });

  it('describes each error where its type points, as a problem of that shape', () => {
    for (const code of Object.keys(errors) as ClientErrorCode[]) {
      assert.equal(problemType(code), `/openapi.json#/components/responses/${code}`);
      assert.ok(code in document.components.responses, code);
      assertMatches(Problem, problemExample(code), code);
      assertMatches(Problem, JSON.parse(problemOf(new RequestError(code, 'why', [{ field: '/a', message: 'b' }], { signer: '0x' })).body), code);
    }
  });

  it('answers /api/v1/config in the shape that it describes', async () => {
    const shell = await startShell();
    const config = JSON.parse((await once(shell.port, 'GET', '/api/v1/config')).body) as { serverTime: number };
    assertMatches(Configuration, config, 'config');
    assert.equal(config.serverTime, 1_790_000_000);
    await shell.stop();
  });
});

/** The schema may be of the document, or refer to its components. */
function assertMatches(schema: object, value: unknown, what: string): void {
  assert.ok(ajv.validate(resolvable(schema), value), `${what}: ${ajv.errorsText()}`);
}
