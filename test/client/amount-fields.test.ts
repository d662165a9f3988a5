/** What is an amount to the client: every integer of the exchange's document that a number may not hold. */
import assert from 'node:assert/strict';
import { isAmount } from '../../client/src/amount-fields.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { allEndpoints } from '../../service/endpoints.js';

type Json = Readonly<Record<string, unknown>>;

describe('client: amounts', () => {
  /** Every integer of the answers, by its name; `mayBeLarge`: the document says that it may be beyond 2^53. */
  const integers = new Map<string, { mayBeLarge: boolean; isPrice: boolean }>();
  before(() => {
    const { components } = openapiDocument(allEndpoints, '0.0.0') as { components: { schemas: Record<string, Json> } };
    for (const [name, schema] of Object.entries(components.schemas)) visit(schema, name);
  });

  function visit(schema: Json, name: string): void {
    const isPrice = /\/(Asset)?Price$/.test(String(schema['$ref']));
    const isInteger = [schema['type']].flat().includes('integer');
    if (isInteger || isPrice) {
      const known = integers.get(name);
      const mayBeLarge = /beyond 2\^53/.test(String(schema['description']));
      integers.set(name, { mayBeLarge: mayBeLarge || known?.mayBeLarge === true, isPrice: isPrice || known?.isPrice === true });
    }
    for (const key of ['oneOf', 'anyOf', 'allOf', 'items'] as const) for (const each of [schema[key] ?? []].flat()) visit(each as Json, name);
    for (const [key, each] of Object.entries((schema['properties'] ?? {}) as Json)) visit(each as Json, key);
  }

  it('are all fields that the document says to be large, and all prices', () => {
    const amounts = [...integers].filter(([, { mayBeLarge, isPrice }]) => mayBeLarge || isPrice).map(([name]) => name);
    assert.ok(amounts.length > 20, 'they were not found');
    assert.deepEqual(amounts.filter((name) => !isAmount(name) && !['Price', 'AssetPrice'].includes(name)), []);
  });
});
