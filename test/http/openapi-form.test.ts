/** The OpenAPI document in forms that generators of clients understand: one form for each thing, and a name for each type. */
import assert from 'node:assert/strict';
import { BUY, NO, SELL, YES } from '../../engine/records/fields.js';
import { named } from '../../engine/records/named-schema.js';
import { Type } from '../../engine/records/schema-types.js';
import { createComponents } from '../../service/api/components.js';
import { errors } from '../../service/api/errors.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { allEndpoints } from '../../service/endpoints.js';
import { startShell } from '../support/shell.js';
import { once } from '../support/wire.js';

type Json = Readonly<Record<string, unknown>>;

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly schema: Json }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Json } } };
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, Json>> }>>;
}

interface Document {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<'schemas' | 'responses' | 'examples' | 'headers', Readonly<Record<string, Json>>>>;
}

const document = JSON.parse(JSON.stringify(openapiDocument(allEndpoints, '1.2.3'))) as Document;
const { schemas, headers } = document.components;
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
const operation = (id: string) => operations.find(({ operationId }) => operationId === id)!;
const bodyOf = ({ requestBody }: Operation) => requestBody!.content['application/json'].schema;

/** What a generator would not understand of a part of the document, with the place of each. */
function formFaults(part: unknown, place = ''): string[] {
  if (typeof part !== 'object' || part === null) return [];
  const schema = part as Json;
  const inside = Object.entries(schema).filter(([key]) => key !== 'example' && key !== 'examples')
    .flatMap(([key, each]) => formFaults(each, `${place}/${key}`));
  return [...ownFaults(schema).map((fault) => `${place} ${fault}`), ...inside];
}

function ownFaults(schema: Json): string[] {
  const faults: string[] = [];
  const types = [schema['type']].flat();
  if (types.includes('integer') && typeof schema['format'] !== 'string') faults.push('is an integer without a format');
  for (const [name, each] of Object.entries(schema['properties'] ?? {})) if ('default' in (each as Json)) faults.push(`makes clients require ${name}, which has a default`);
  if ('patternProperties' in schema) faults.push('is a map by patternProperties');
  for (const union of ['anyOf', 'oneOf'] as const) {
    const choices = schema[union];
    if (!Array.isArray(choices)) continue;
    if (choices.some((each) => (each as Json)['type'] === 'null') && !isObjectOrNull(union, choices as Json[])) faults.push(`has null in ${union}`);
    if (choices.some((each) => 'const' in (each as Json))) faults.push('is a union of constants');
  }
  return faults;
}

/** An object with a name keeps it by being referred to. */
function isObjectOrNull(union: 'anyOf' | 'oneOf', [reference, ...others]: readonly Json[]): boolean {
  const name = String(reference?.['$ref']).split('/').at(-1)!;
  return union === 'oneOf' && schemas[name]?.['type'] === 'object' && others.length === 1;
}

describe('service: form of the OpenAPI document', () => {
  it('is one that generators of clients understand', () => { assert.deepEqual(formFaults(document), []); });

  it('would be found out', () => {
    const found = (schema: Json) => formFaults({ schema });
    assert.deepEqual(found({ type: 'integer' }), ['/schema is an integer without a format']);
    assert.deepEqual(found({ anyOf: [{ type: 'string' }, { type: 'null' }] }), ['/schema has null in anyOf']);
    assert.deepEqual(found({ oneOf: [{ $ref: '#/components/schemas/Address' }, { type: 'null' }] }), ['/schema has null in oneOf']);
    assert.deepEqual(found({ anyOf: [{ const: 1 }, { const: 2 }] }), ['/schema is a union of constants']);
    assert.deepEqual(found({ properties: { a: { type: 'string', default: 'b' } } }), ['/schema makes clients require a, which has a default']);
    assert.deepEqual(found({ items: { patternProperties: {} } }), ['/schema/items is a map by patternProperties']);
  });

  it('is a projection of the shapes by which the service works', () => {
    const shown = (schema: object) => (
      JSON.parse(JSON.stringify(createComponents().refer(Type.Object({ schema })))) as { properties: { schema: Json } });
    const form = (schema: object) => shown(schema).properties.schema;
    const texts = Type.Union([Type.Literal('a'), Type.Literal('b')], { description: 'A or b.' });
    assert.deepEqual(form(texts), { type: 'string', enum: ['a', 'b'], description: 'A or b.' });
    assert.deepEqual(form(Type.Union([texts, Type.Null()])), { type: ['string', 'null'], enum: ['a', 'b', null], description: 'A or b.' });
    assert.deepEqual(form(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: 'Or none.' })), {
      type: ['integer', 'null'], minimum: 0, format: 'uint64', description: 'Or none.',
    });
    const Level = named('Level', Type.Object({ price: Type.Integer({ maximum: 7 }) }));
    assert.deepEqual(form(Type.Union([Level, Type.Null()])), { oneOf: [{ $ref: '#/components/schemas/Level' }, { type: 'null' }] });
    assert.deepEqual(form(Type.Union([Type.Object({}), Type.Null()])), { type: ['object', 'null'], properties: {} });
    assert.deepEqual(form(Type.Record(Type.String(), Level)), { type: 'object', additionalProperties: { $ref: '#/components/schemas/Level' } });
    assert.deepEqual([Type.Integer({ maximum: 2 ** 31 - 1 }), Type.Integer({ maximum: 2 ** 31 }), Type.Integer()].map((each) => form(each)['format']), [
      'int32', 'int64', 'int64',
    ]);
    assert.throws(() => form(Type.Union([Type.Literal('a'), Type.Literal(1)])), /choose one form/);
  });

  it('names every body, and all other things without spaces', () => {
    for (const each of operations) {
      const names = [each.operationId, ...each.tags, ...(each.parameters ?? []).map(({ name }) => name)];
      if (each.requestBody !== undefined) names.push(String(bodyOf(each)['$ref']).replace('#/components/schemas/', ''));
      for (const name of names) assert.match(name, /^[\w.-]+$/, each.operationId);
    }
    for (const name of Object.values(document.components).flatMap((each) => Object.keys(each))) assert.match(name, /^[\w.-]+$/);
    JSON.stringify(document, (key, value: unknown) => {
      if (key === 'examples') for (const name of Object.keys(value as object)) assert.match(name, /^[\w.-]+$/);
      return value;
    });
  });

  it('has one side and one outcome for requests and answers', () => {
    const { Side, Outcome } = schemas;
    assert.deepEqual([Side!['enum'], Side!['x-enum-varnames']], [[BUY, SELL], ['BUY', 'SELL']]);
    assert.deepEqual([Outcome!['enum'], Outcome!['x-enum-varnames']], [[YES, NO], ['YES', 'NO']]);
    const uses = new Set<string>();
    JSON.stringify(schemas, (key, value: unknown) => {
      const { type, $ref = '' } = (value ?? {}) as { type?: unknown; $ref?: string };
      if (/^(takerSide|side|outcome|winningOutcome)$/.test(key) && type !== 'boolean' && !$ref.endsWith('/RecordedOutcome')) uses.add(`${key} ${Array.isArray(type) ? String(type) : $ref.split('/').at(-1)!}`);
      return value;
    });
    assert.deepEqual([...uses].sort(), [
      'outcome Outcome', 'outcome integer,null', 'side Side', 'takerSide Side', 'winningOutcome Outcome', 'winningOutcome integer,null',
    ]);
  });

  it('has one form for each field of a request', () => {
    const formsOf = (name: string) => Object.fromEntries(Object.entries(schemas[name]!['properties'] as Record<string, Json>).map(([field, { $ref, type }]) => (
      [field, String($ref ?? type).split('/').at(-1)])));
    assert.deepEqual(formsOf('Order'), {
      marketId: 'Bytes32Input', trader: 'AddressInput', side: 'Side', outcome: 'Outcome', price: 'integer', size: 'string', nonce: 'string', expiration: 'string',
      makerFeeRecipient: 'string',
    });
    assert.deepEqual(formsOf('PermitSignature'), { nonce: 'string', value: 'string', deadline: 'string', v: 'RecoveryId', r: 'Bytes32Input', s: 'Bytes32Input' });
    assert.deepEqual(formsOf('CancelAfterRequest'), { trader: 'AddressInput', seconds: 'integer', deadline: 'string', signature: 'SignatureInput', chainId: 'integer' });
    assert.deepEqual(formsOf('RelaySettlementRequest'), {
      chainId: 'integer', marketAddress: 'AddressInput', settler: 'AddressInput', deadline: 'string', v: 'RecoveryId', r: 'Bytes32Input', s: 'Bytes32Input',
      winningOutcome: 'Outcome',
    });
  });

  it('has the errors of HTTP itself in one response', () => {
    for (const { operationId, responses } of operations) {
      assert.deepEqual(responses['default'], { $ref: '#/components/responses/Other' }, operationId);
      for (const status of [405, 408, 417]) assert.equal(responses[status], undefined, operationId);
    }
  });

  it('lists the codes of errors, and allows others', () => {
    assert.deepEqual(schemas['KnownErrorCode']!['enum'], Object.keys(errors));
    assert.deepEqual(schemas['ErrorCode']!['anyOf'], [{ $ref: '#/components/schemas/KnownErrorCode' }, { type: 'string' }]);
    assert.deepEqual((schemas['Problem']!['properties'] as Json)['code'], { $ref: '#/components/schemas/ErrorCode' });
  });

  it('has the headers of answers and errors, positions as integers in both directions', () => {
    const { responses, parameters } = operation('listOrders');
    const namesIn = (status: number) => Object.keys(responses[status]!.headers!).sort();
    assert.deepEqual([200, 400, 429].map(namesIn), [
      ['RateLimit', 'RateLimit-Policy', 'X-Log-Position'], ['X-Error-Code'], ['RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Error-Code'],
    ]);
    const position = parameters!.find(({ name }) => name === 'X-Min-Log-Position')!.schema;
    assert.deepEqual(position, { type: 'integer', minimum: -1, format: 'int64' });
    for (const each of operations) {
      for (const { headers: of } of Object.values(each.responses)) if (of?.['X-Log-Position'] !== undefined) assert.deepEqual(of['X-Log-Position']['schema'], position);
    }
    assert.deepEqual(headers['X-Error-Code']!['schema'], { $ref: '#/components/schemas/ErrorCode' });
  });

  it('names as its server the address at which it was read, as trusted proxies report it', async () => {
    const direct = await startShell();
    const proxied = await startShell({ app: { trustProxy: 1 } });
    const read = async (port: number, more: Record<string, string>) => {
      const { servers } = JSON.parse((await once(port, 'GET', '/openapi.json', { headers: more })).body) as Document;
      return servers.map(({ url }) => url);
    };
    const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'exchange.example', 'X-Forwarded-For': '192.0.2.1' };
    assert.deepEqual(await read(direct.port, { Host: 'exchange.example:8080' }), ['http://exchange.example:8080']);
    assert.deepEqual(await read(direct.port, { Host: 'own.example', ...forwarded }), ['http://own.example']);
    assert.deepEqual(await read(proxied.port, { Host: 'inside:1', ...forwarded }), ['https://exchange.example']);
    assert.deepEqual(await read(proxied.port, { 'Host': 'exchange.example', 'X-Forwarded-Proto': 'https' }), ['https://exchange.example']);
    for (const odd of ['a/b', 'user@host', 'a b', '"']) assert.deepEqual(await read(direct.port, { Host: odd }), ['/'], odd);
    await direct.stop();
    await proxied.stop();
  });
});
