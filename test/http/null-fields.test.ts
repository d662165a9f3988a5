/** In the body of a request, `null` stands for an absent field: of every optional field that the OpenAPI document has, at any depth. */
import assert from 'node:assert/strict';
import { channelsOf } from '../../query/streams/channel.js';
import { requestIn } from '../../query/streams/socket-requests.js';
import {
  documentedShell, exampleOf, operations, resolved, signed, type DocumentedShell, type Json,
} from '../support/documented-requests.js';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
}

const nameOf = (place: readonly string[]): string => place.join('.');

const withBodies = operations.flatMap((each) => {
  const content = each.operation.requestBody?.content['application/json'];
  return content === undefined ? [] : [{ each, whole: exampleOf(each.operation)!, places: optionalPlaces(content.schema) }];
});

describe('service: null in a request', () => {
  let shell: DocumentedShell;
  before(async () => { shell = await documentedShell(); });
  after(() => shell.stop());

  it('has optional fields in these bodies', () => {
    const names = withBodies.map(({ each, places }) => `${each.operation.operationId}: ${places.map(nameOf).join(' ')}`);
    assert.deepEqual(names.filter((name) => !name.endsWith(': ')).sort(), [
      'cancelAfter: deadline signature chainId',
      'cancelAll: deadline signature chainId',
      'cancelOrders: deadline signature chainId',
      'checkOrder: signature permitSignature timeInForce postOnly notAfter selfTrade',
      'giveFunds: chainId',
      'placeOrder: permitSignature timeInForce postOnly notAfter selfTrade',
      'placeOrders: orders.0.permitSignature orders.0.timeInForce orders.0.postOnly orders.0.notAfter orders.0.selfTrade',
      'reduceOrder: deadline signature',
      'relayProposal: bondPermitDeadline bondV bondR bondS',
      'relayRedemption: marketAddress',
      'syncPosition: userAddress',
    ]);
  });

  for (const { each, whole, places } of withBodies) {
    for (const place of places) {
      it(`${each.method} ${each.path}: ${nameOf(place)} is absent`, async () => {
        const body = await signed(whole);
        const answerTo = async (value: unknown) => {
          const { status, body: text } = await shell.ask(each, { body: changed(body, place, value) });
          return { status, body: JSON.parse(text) as unknown };
        };
        const refused = await answerTo({ no: 'such value' });
        // The first time may be the only one that does something; its repeats are answered alike.
        await answerTo(undefined);
        const absent = await answerTo(undefined);
        assert.notDeepEqual(refused, absent, 'nobody looks at the field');
        assert.deepEqual(await answerTo(null), absent);
      });
    }
  }

  it('by WebSocket: from is absent', () => {
    const request = { type: 'subscribe', channels: ['markets'] };
    const read = (from: unknown) => requestIn(Buffer.from(JSON.stringify({ ...request, from })));
    assert.deepEqual(read(null), { ...request, channels: channelsOf(['markets']), from: undefined });
    assert.throws(() => read({}), { code: 'invalid_request' });
  });
});

/** The places of the fields that a schema does not require. */
function optionalPlaces(given: Schema, at: readonly string[] = []): readonly (readonly string[])[] {
  const { properties = {}, required = [], items } = resolved(given);
  const inItems = items === undefined ? [] : optionalPlaces(items, [...at, '0']);
  return [...inItems, ...Object.entries(properties).flatMap(([name, schema]) => (
    [...required.includes(name) ? [] : [[...at, name]], ...optionalPlaces(schema, [...at, name])]))];
}

/** A copy of the body with this value in a place; without the field, where the value is undefined. */
function changed(body: Json, place: readonly string[], value: unknown): Json {
  const copy = structuredClone(body) as Record<string, unknown>;
  let object = copy;
  for (const name of place.slice(0, -1)) {
    assert.ok(name in object, `the document's last example has no ${nameOf(place)}`);
    object = object[name] as Record<string, unknown>;
  }
  object[place.at(-1)!] = value;
  return copy;
}
