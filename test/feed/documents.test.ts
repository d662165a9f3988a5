/** The published documents of the fill feed: what the sources give, never changed within a version, and right by the rules of their formats. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { Ajv } from 'ajv';
import { asyncapiDocument } from '../../command/feed/documents/asyncapi.js';
import { encodedExamples, exampleMessages } from '../../command/feed/documents/examples.js';
import {
  MESSAGE_NAMES, MESSAGE_TYPES, SIGNED_NAMES, publishedSchema, schemaFile,
} from '../../command/feed/documents/schemas.js';
import { FOLDER, PAGE, pageWithExamples, publishedFiles } from '../../command/feed/documents/write.js';
import { decodeMessage, encodeMessage, type SequencedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import { createSignedEncoder, type SignedFillMatched } from '../../command/feed/signed-fills.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { asyncapiFaults } from '../support/asyncapi-faults.js';
import { feedHistory } from '../support/feed-history.js';
import { appendAll } from '../support/log-records.js';

type Json = Record<string, unknown>;

/**
 * SHA-256 of each committed schema without its texts. For good: consumers check messages by these files. Another shape of a message is a new
 * version of it, in a new file with a line of its own here, and in a new topic.
 */
const SHAPES: Readonly<Record<string, string>> = {
  'ChainAdvanced.v1.schema.json': '8d0798757d85350d72972f2a3c4cee6be7bacd2753945a3fe8a4c93e0fab8df6',
  'FillFailed.v1.schema.json': '75364954dff7b9f08662a5dbbc82161973837247aa3777425eb6cc77e345f102',
  'FillMatched.v1.schema.json': '85238fe486e2b377c8817d42adb7f31025ce059d2e00aab8141e52b83055cbc8',
  'FillMatched.v2.schema.json': '6f454389dad58e01c2c71646683c9eecf9225ff20a897e06e6d9e22853e2b3b8',
  'FillSettled.v1.schema.json': '56a539eb8084151c979ee960ef4980e302b3374275e3b4c45344b878a4cb0267',
  'MarketOpened.v1.schema.json': 'f1a2f58687ff322101f1e5e111a5fbb7c5bbe78a9b39a180aafcb4b55e856116',
};

interface AsyncapiDocument {
  readonly channels: Readonly<Record<'fills' | 'signedFills', { readonly messages: Json }>>;
  readonly components: {
    readonly messages: Readonly<Record<string, {
      readonly headers: { readonly properties: Json };
      readonly bindings: { readonly kafka: { readonly key: object } };
      readonly examples: readonly { readonly headers: Json; readonly payload: Json }[];
    }>>;
    readonly schemas: Json;
  };
}

const root = new URL('../../../', import.meta.url);
const committed = (name: string) => readFileSync(new URL(`${FOLDER}/${name}`, root), 'utf8');
const schemaFiles = readdirSync(new URL(FOLDER, root)).filter((name) => name.endsWith('.schema.json'));

describe('the fill feed\'s documents', () => {
  it('are what the sources give', () => {
    for (const [name, text] of Object.entries(publishedFiles())) assert.equal(committed(name), text, `${FOLDER}/${name} is out of date: npm run generate`);
  });

  it('have not changed the shape of a published version', () => {
    const shapes = Object.fromEntries(schemaFiles.map((name) => [name, shapeOf(JSON.parse(committed(name)))]));
    assert.deepEqual(shapes, SHAPES, 'a published version of a message is for good: make version 2 of the message beside it');
  });

  it('would have been found to change it, and may get better texts', () => {
    const schema = publishedSchema('FillFailed') as { properties: Record<string, Json>; required: string[]; description: string };
    const { properties, required } = schema;
    assert.equal(shapeOf({ ...schema, description: 'Another text.' }), SHAPES['FillFailed.v1.schema.json']);
    for (const changed of [
      { required: required.slice(1) }, { properties: { ...properties, more: {} } }, { additionalProperties: true },
      { properties: { ...properties, price: { ...properties['price'], minimum: 0 } } },
    ]) assert.notEqual(shapeOf({ ...schema, ...changed }), SHAPES['FillFailed.v1.schema.json']);
  });

  it('describe every message and every field', () => {
    for (const name of MESSAGE_NAMES) {
      const { title, description, properties, $id } = publishedSchema(name) as { [name: string]: unknown; properties: Record<string, Json> };
      const [, type = '', version = ''] = /^(\w+)\.v(\d)\.schema\.json$/.exec(schemaFile(name)) ?? [];
      assert.equal(title, version === '1' ? type : `${type}V${version}`);
      assert.equal($id, `urn:prediction-exchange:fill-feed:${type}:${version}`);
      const orders = [properties['makerOrder'], properties['takerOrder']].flatMap((order) => Object.values(order?.['properties'] ?? {}) as Json[]);
      for (const text of [description, ...[...Object.values(properties), ...orders].map((field) => field['description'])]) {
        assert.match(String(text), /^[0-9A-Z`].+\.$/s, name);
      }
    }
  });

  it('have schemas by which a strict validator takes every message, and no other', () => {
    const ajv = new Ajv({ strict: true });
    const validators = new Map(MESSAGE_TYPES.map((type) => [type, ajv.compile(JSON.parse(committed(`${type}.v1.schema.json`)) as object)]));
    for (const { message } of allMessages()) {
      const validate = validators.get(message.type)!;
      assert.ok(validate(message), `${message.type}: ${ajv.errorsText(validate.errors)}`);
      assert.ok(!validate({ ...message, v: 2 }) && !validate({ ...message, more: 1 }) && !validate({ ...message, at: undefined }));
      if ('size' in message) for (const size of [1, '01', '-1', '1e3', '1'.repeat(21), '']) assert.ok(!validate({ ...message, size }), String(size));
      if ('reason' in message) assert.ok(!validate({ ...message, reason: 'bad_luck' }));
    }
  });

  it('have a schema by which a strict validator takes every fill with its signed orders, and no other', async () => {
    const ajv = new Ajv({ strict: true });
    const validate = ajv.compile(JSON.parse(committed('FillMatched.v2.schema.json')) as object);
    const { commands, outcomes } = feedHistory(2, 1_000);
    const log = createMemoryLog();
    await appendAll(log, 'commands', commands);
    const sequencer = createSequencer(FEED_START);
    const fills = outcomes.flatMap((outcome) => sequencer.take(outcome)).filter(({ message }) => message.type === 'FillMatched');
    for (const { value } of await createSignedEncoder(log)(fills)) {
      const message = JSON.parse(value.toString()) as SignedFillMatched;
      assert.ok(validate(message), ajv.errorsText(validate.errors));
      const { makerOrder } = message;
      for (const wrong of [{ v: 1 }, { takerOrder: undefined }, { makerOrder: { ...makerOrder, more: 1 } }, { makerOrder: { ...makerOrder, signature: '0x' } }]) {
        assert.ok(!validate({ ...message, ...wrong }), JSON.stringify(wrong));
      }
    }
  });

  it('have examples that a consumer reads as the messages that they are', () => {
    const messages = exampleMessages();
    for (const type of MESSAGE_TYPES) {
      const { partition, seq, value, headers } = encodedExamples()[type];
      const example = messages.find((each) => each.partition === partition && each.seq === seq);
      assert.equal(example?.message.type, type);
      assert.deepEqual(decodeMessage({ partition, value, headers }), example);
    }
  });
});

describe('the fill feed\'s page', () => {
  it('shows every message as it comes', () => {
    const page = readFileSync(new URL(PAGE, root), 'utf8');
    assert.equal(page, pageWithExamples(page), `${PAGE} is out of date: npm run generate`);
    const shown = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text = '']) => JSON.parse(text) as Json);
    assert.deepEqual(shown, Object.values(encodedExamples()).map(({ partition, key, headers, value }) => (
      { partition, key, headers, value: JSON.parse(value.toString()) as Json })));
    assert.throws(() => pageWithExamples(page.replace('```json', '```')), /has 5 blocks of JSON, and there are 6 messages/);
  });

  it('has an example of seventy lines', () => { assert.ok(committed('consumer.mjs').split('\n').length - 1 <= 70); });
});

describe('the fill feed\'s AsyncAPI document', () => {
  const document = JSON.parse(committed('asyncapi.json')) as AsyncapiDocument;

  it('has names that are names of classes, and no choice but enums', () => {
    const titles: unknown[] = [];
    JSON.stringify(document.components, (_key, part: unknown) => {
      const { type, properties, title } = (part ?? {}) as Json;
      if (type === 'object' && properties !== undefined) titles.push(title);
      return part;
    });
    assert.ok(titles.length > 2 * MESSAGE_NAMES.length);
    for (const name of [...titles, ...Object.keys(document.components.schemas)]) assert.match(String(name), /^[A-Z][A-Za-z0-9]*$/);
    assert.doesNotMatch(JSON.stringify(document), /"(anyOf|oneOf)"/);
  });

  it('keeps the rules of AsyncAPI 3.0', () => { assert.deepEqual(asyncapiFaults(document), []); });

  it('would be found out', () => {
    const text = JSON.stringify(asyncapiDocument());
    for (const [right, wrong, fault] of [
      ['"asyncapi":"3.0.0",', '', /^: must have required property 'asyncapi'$/],
      ['"action":"send"', '"action":"publish"', /^\/operations\/publish\/action: must be equal to one of the allowed values$/],
      ['"partitions":8', '"partitions":"8"', /^\/channels\/fills\/bindings\/kafka\/partitions: must be integer$/],
      ['"$ref":"#/components/schemas/FillFailed"', '"$ref":"#/components/schema/FillFailed"', /^#\/components\/schema\/FillFailed leads nowhere$/],
    ] as const) {
      assert.ok(text.includes(right));
      const faults = asyncapiFaults(JSON.parse(text.replace(right, wrong)) as object);
      assert.ok(faults.some((each) => fault.test(each)), faults.join('\n'));
    }
  });

  it('has headers and a key by which every message passes', () => {
    const ajv = new Ajv({ strict: true, formats: { uuid: /^[0-9a-f-]{36}$/ } });
    for (const each of allMessages()) {
      const { headers, bindings } = document.components.messages[each.message.type]!;
      const encoded = encodeMessage(each);
      assert.ok(ajv.validate(headers, encoded.headers), ajv.errorsText());
      assert.deepEqual(Object.keys(headers.properties).sort(), Object.keys(encoded.headers).sort());
      assert.ok(ajv.validate(bindings.kafka.key, encoded.key), ajv.errorsText());
    }
  });

  it('has every message in its channel, with the committed schema and an example', () => {
    const examples = encodedExamples();
    assert.deepEqual(Object.keys(document.channels.fills.messages), MESSAGE_TYPES);
    assert.deepEqual(Object.keys(document.channels.signedFills.messages), SIGNED_NAMES);
    for (const name of MESSAGE_NAMES) {
      const schema = JSON.parse(committed(schemaFile(name))) as Json;
      assert.deepEqual({ $schema: schema['$schema'], $id: schema['$id'], ...document.components.schemas[name] as Json }, schema);
      const { headers, value } = examples[name];
      const [example] = document.components.messages[name]!.examples;
      assert.deepEqual([example?.headers, example?.payload], [headers, JSON.parse(value.toString())]);
    }
  });
});

/** Of the examples' history and of a random one with every kind of message. */
function allMessages(): SequencedMessage[] {
  const sequencer = createSequencer(FEED_START);
  return [...exampleMessages(), ...feedHistory(2, 1_000).outcomes.flatMap((outcome) => sequencer.take(outcome))];
}

/** Neither texts nor order are part of a shape. */
function shapeOf(schema: unknown): string {
  return hash('sha256', JSON.stringify(schema, (key, value: unknown) => {
    if (Array.isArray(value)) return [...value as unknown[]].sort();
    if (typeof value === 'object' && value !== null) return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1));
    return key === 'description' || key === 'title' ? undefined : value;
  }));
}
