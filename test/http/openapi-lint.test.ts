/** The OpenAPI document against the rules that Redocly recommends, and what a client generator needs of it: named types and security. */
import assert from 'node:assert/strict';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Type } from '../../engine/records/schema-types.js';
import { named } from '../../engine/records/named-schema.js';
import { createComponents } from '../../service/api/components.js';
import { allEndpoints } from '../../service/endpoints.js';
import { openapiDocument } from '../../service/api/openapi.js';

interface Operation {
  readonly security: object[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> };
  readonly responses: Record<string, { readonly content: Record<string, { readonly schema: object }> }>;
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, unknown>;
    readonly responses: Record<string, { readonly $ref: string; readonly description: string }>;
    readonly securitySchemes: Record<string, unknown>;
  };
}

const document = JSON.parse(JSON.stringify(openapiDocument(allEndpoints, '1.2.3'))) as Document;
const operation = (method: string, path: string) => document.paths[path]![method]!;

/** What every request can be refused for is one response, `default`: some operations have no other 4xx. */
const RULES = { extends: ['recommended' as const], rules: { 'operation-4xx-response': 'off' as const } };

describe('service: OpenAPI document for tools', () => {
  it('has nothing that the recommended rules find', async () => {
    const config = await createConfig(RULES);
    const findings = await lintFromString({ source: JSON.stringify(document), absoluteRef: 'openapi.json', config });
    assert.deepEqual(findings.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`), []);
  });

  it('would be found out', async () => {
    const config = await createConfig(RULES);
    const spoilt = { ...document, components: { ...document.components, schemas: { ...document.components.schemas, Unused: { type: 'string' } } } };
    const findings = await lintFromString({ source: JSON.stringify(spoilt), absoluteRef: 'openapi.json', config });
    assert.deepEqual(findings.map(({ ruleId }) => ruleId), ['no-unused-components']);
  });

  it('names the resources, and refers to them', () => {
    const { schemas } = document.components;
    for (const name of [
      'Order', 'PermitSignature', 'OpenOrder', 'OrderWithHistory', 'Market', 'MarketStatistics', 'Holder', 'Trade', 'Position', 'UserPosition', 'Orderbook',
      'PriceLevel', 'Resolution', 'Assertion', 'PendingTrade', 'FailedTrade', 'Settlement', 'SettledFill', 'Configuration', 'Problem', 'Address', 'Bytes32',
    ]) assert.ok(name in schemas, name);
    const schemaOf = (content: Record<string, { schema: object }>) => content['application/json']!.schema;
    assert.deepEqual(schemaOf(operation('post', '/api/v1/orders').requestBody!.content), { $ref: '#/components/schemas/PlaceOrderRequest' });
    assert.deepEqual(schemaOf(operation('get', '/api/v1/orders').responses['200']!.content), { $ref: '#/components/schemas/OpenOrders' });
    // Where null is allowed besides, an address has two types, which a reference cannot add.
    const withoutNull = (_key: string, value: unknown) => Array.isArray((value as { type?: unknown } | null)?.type) ? {} : value;
    const inlined = Object.entries(schemas).filter(([, schema]) => JSON.stringify(schema, withoutNull).includes('[0-9a-f]{40}')).map(([name]) => name);
    assert.deepEqual(inlined, ['Address'], 'what an address is stands in one place');
  });

  it('says of each operation what authority it needs', () => {
    assert.deepEqual(operation('delete', '/api/v1/orders/{hash}').security, [{ CancelSignature: [], CancelDeadline: [] }]);
    assert.deepEqual(Object.keys(document.components.securitySchemes), ['CancelSignature', 'CancelDeadline', 'BearerToken']);
    const others = Object.values(document.paths).flatMap((methods) => Object.values(methods)).filter(({ security }) => security.length > 0);
    assert.equal(others.length, 9);
    assert.deepEqual(operation('post', '/api/v1/relayer/ctf-split').security, [{ BearerToken: ['relay:ctf-split'] }]);
  });

  it('describes the error of each code where its type points, with its own text', () => {
    assert.deepEqual(document.components.responses['market_closed'], {
      $ref: '#/components/responses/Refused', description: 'the market takes no more orders.',
    });
    assert.deepEqual(document.components.responses['overloaded'], {
      $ref: '#/components/responses/RefusedForNow',
      description: 'the exchange is busy and has not taken the request; send it again as Retry-After says. The same request can succeed later.',
    });
  });
});

describe('service: named schemas', () => {
  it('are written once, and each use may have a description of its own', () => {
    const components = createComponents();
    const Size = named('Size', Type.Integer({ description: 'A size.' }));
    const written = components.refer(Type.Object({ a: Size, b: Type.Optional({ ...Size, description: 'Another.' }), c: Type.Array(Size) }));
    assert.deepEqual(JSON.parse(JSON.stringify(written)), {
      type: 'object', required: ['a', 'c'],
      properties: {
        a: { $ref: '#/components/schemas/Size' }, b: { $ref: '#/components/schemas/Size', description: 'Another.' },
        c: { type: 'array', items: { $ref: '#/components/schemas/Size' } },
      },
    });
    assert.deepEqual(components.schemas, { Size: { type: 'integer', description: 'A size.', format: 'int64' } });
  });

  it('are refused where two have one name', () => {
    const components = createComponents();
    components.refer(named('Size', Type.Integer()));
    components.refer(named('Size', Type.Integer()));
    assert.throws(() => components.refer(named('Size', Type.String())), /two different schemas have the name Size/);
  });
});
