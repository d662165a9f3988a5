/** The served AsyncAPI document: right by the specification, with every message of the streams in a shape that generators take. */
import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { streamsDocument } from '../../query/streams/asyncapi.js';
import { channelsOf } from '../../query/streams/channel.js';
import { createChannels, emptyOpening } from '../../query/streams/channels.js';
import { messageSchemas } from '../../query/streams/message-fields.js';
import { asyncapiOfAll } from '../../service/endpoints/documents.js';
import { asyncapiFaults } from '../support/asyncapi-faults.js';
import { randomOutcomes } from '../support/projected.js';
import { traderAddress } from '../support/random-commands.js';

type Json = Record<string, unknown>;
interface Message {
  readonly title: string;
  readonly payload: { readonly $ref: string };
  readonly examples?: readonly { readonly payload: unknown }[];
}

const document = JSON.parse(JSON.stringify(asyncapiOfAll())) as {
  readonly channels: Record<string, { readonly address: string; readonly messages: Json }>;
  readonly operations: Json;
  readonly components: { readonly messages: Record<string, Message>; readonly schemas: Record<string, Json> };
};
/** Of the streams alone: the fill feed's are published for good. */
const { components: { schemas } } = JSON.parse(JSON.stringify(streamsDocument())) as { components: { schemas: Record<string, Json> } };
const resolvable = JSON.parse(JSON.stringify(document.components.schemas).replaceAll('#/components/schemas/', 'document#/definitions/')) as Json;
const ajv = new Ajv({ strict: true, allErrors: true, formats: { int32: true, int64: true, uint64: true } }).addSchema({ $id: 'document', definitions: resolvable });
const assertMatches = (name: string, value: unknown): void => {
  const { $ref } = document.components.messages[name]!.payload;
  assert.ok(ajv.validate({ $ref: $ref.replace('#/components/schemas/', 'document#/definitions/') }, value), `${name}: ${ajv.errorsText()}`);
};

describe('service: the AsyncAPI document', () => {
  it('keeps the rules of AsyncAPI 3.0', () => { assert.deepEqual(asyncapiFaults(document), []); });

  it('has the fill feed, both transports, and every channel of the streams', () => {
    assert.deepEqual(Object.entries(document.channels).map(([name, { address }]) => [name, address]), [
      ['fills', 'fills.v1'], ['signedFills', 'fills.v2'], ['stream', '/api/v1/stream'], ['socket', '/api/v1/ws'], ['book', 'book:{marketId}'],
      ['trades', 'trades:{marketId}'], ['orders', 'orders:{address}'], ['prices', 'prices:{asset}'], ['markets', 'markets'],
    ]);
  });

  it('has every message by both transports, and the requests and answers of the WebSocket', () => {
    const told = Object.keys(messageSchemas).flatMap((kind) => Object.keys(document.channels[kind]!.messages));
    assert.equal(new Set(told).size, Object.values(messageSchemas).flat().length);
    assert.deepEqual(Object.keys(document.channels['stream']!.messages), [...told, 'StreamError']);
    assert.deepEqual(Object.keys(document.channels['socket']!.messages), [
      ...told, 'Subscribe', 'Unsubscribe', 'Subscribed', 'Unsubscribed', 'StreamHeartbeat', 'StreamError',
    ]);
    for (const operation of ['subscribe', 'unsubscribe']) assert.ok('reply' in (document.operations[operation] as Json));
  });

  it('gives each object and each choice a name that makes a class, and has no unions of constants', () => {
    for (const [name, schema] of Object.entries(schemas)) {
      assert.match(name, /^[A-Z][A-Za-z]+$/);
      assert.equal(schema['title'], name);
      eachPart(Object.fromEntries(Object.entries(schema).filter(([key]) => key !== 'enum' && key !== 'type')), (part) => {
        assert.ok(!('anyOf' in part) && !('oneOf' in part) && !('enum' in part), `${name}: ${JSON.stringify(part)}`);
        assert.ok(part['type'] !== 'object', `${name} has an object without a name: ${JSON.stringify(part)}`);
      });
    }
  });

  it('gives each integer of the streams a format, since generators take one without for 32 bits', () => {
    const integers: Json[] = [];
    JSON.stringify(schemas, (_, value: unknown) => {
      if (typeof value === 'object' && value !== null && (value as Json)['type'] === 'integer') integers.push(value as Json);
      return value;
    });
    assert.ok(integers.length > 20);
    assert.deepEqual(integers.filter(({ format }) => format === undefined), []);
  });

  it('describes every message of a random history, and its own examples', () => {
    const outcomes = randomOutcomes(1, 400);
    const markets = outcomes.flatMap(({ events }) => events.flatMap((event) => event.type === 'MarketOpened' ? [event.marketId] : [])).slice(0, 6);
    const channels = channelsOf([
      ...markets.flatMap((market) => [`book:${market}`, `trades:${market}`]), ...[0, 1, 2].map((n) => `orders:${traderAddress(n)}`), 'prices:BTC', 'prices:ETH', 'markets',
    ]);
    const fold = createChannels();
    for (const channel of channels) fold.add(channel, emptyOpening(channel));
    const texts = outcomes.flatMap((outcome, position) => fold.fold(position, outcome).map((message) => message.json(true)));
    const names = new Map(Object.entries(messageSchemas).flatMap(([kind, each]) => each.map((schema, i) => (
      [`${kind} ${(schema.properties as unknown as { type: { const: string } }).type.const}`, Object.keys(document.channels[kind]!.messages)[i]!] as const))));
    const seen = new Set<string>();
    for (const text of [...texts, ...channels.flatMap((channel) => fold.snapshot(channel)?.json(false) ?? [])]) {
      const message = JSON.parse(text) as { channel: string; type: string };
      const name = names.get(`${message.channel.replace(/:.*/, '')} ${message.type}`)!;
      assertMatches(name, message);
      assert.ok(!ajv.validate({ $ref: `document#/definitions/${name}` }, { ...message, type: 'another' }), name);
      seen.add(name);
    }
    assert.equal(seen.size, names.size, 'a message that the history does not have');
    for (const name of ['Subscribe', 'Unsubscribe']) for (const { payload } of document.components.messages[name]!.examples ?? []) assertMatches(name, payload);
  });
});

function eachPart(value: unknown, look: (part: Json) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value) && !('properties' in value)) look(value as Json);
  for (const part of Object.values(value)) eachPart(part, look);
}
