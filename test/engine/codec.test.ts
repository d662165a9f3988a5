/** Records as bytes: what is written reads back, what is malformed is neither written nor skipped, and old versions are brought up. */
import { deepEqual, equal, match, notEqual, ok, throws } from 'node:assert/strict';
import { Ajv } from 'ajv';
import { Type } from '../../engine/records/schema-types.js';
import { checkedRecordId, encodeCommand, encodeOutcome, isChecked, recordId, withCheck } from '../../engine/run/new-record.js';
import { compileWriter, decodeCommand, decodeOutcome, MalformedRecord, parseShape, shapes } from '../../engine/records/codec.js';
import { commandSchemas, type Command } from '../../engine/records/commands.js';
import { eventSchemas } from '../../engine/records/events.js';
import { createEngine } from '../../engine/run/engine.js';
import { record } from '../../engine/records/fields.js';
import { MAX_RECORD_BYTES, RecordTooLarge } from '../../engine/log/log.js';
import { crowd, marketId, START_MS, traderAddress } from '../support/random-commands.js';
import { written } from '../reference/engine.js';
import { createControlCommands } from '../support/random-requests.js';

const order = {
  kind: 'PlaceOrder', v: 2, at: START_MS, orderHash: marketId(7), marketId: marketId(1), trader: traderAddress(1), side: 0, outcome: 1, price: 620_000,
  size: '18446744073709551615', nonce: '0', expiration: '1700000100', signature: `0x${'ab'.repeat(65)}`,
} satisfies Command;

describe('the codec', () => {
  it('reads back every command and outcome of a random history, amounts to the last digit', () => {
    const generator = createControlCommands(21, crowd);
    const engine = createEngine();
    for (let i = 0; i < 3_000; i++) {
      const command = generator.next();
      const data = encodeCommand(command);
      deepEqual(decodeCommand(data), command);
      const { outcome, text, digest } = engine.step(data);
      generator.learn(outcome);
      deepEqual(decodeOutcome(encodeOutcome(text, digest)), { ...outcome, digest });
      equal(text, JSON.stringify({ ...outcome, events: outcome.events.map(written) }));
    }
  });

  it('has schemas that are right by the schema of schemas, which no process checks at its start', () => {
    const ajv = new Ajv();
    for (const [name, schema] of Object.entries({ ...commandSchemas, ...eventSchemas })) ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`);
    equal(ajv.validateSchema({ properties: { price: { type: 'price' } } }), false);
  });

  const malformed: readonly (readonly [string, object, RegExp])[] = [
    ['an unknown kind', { ...order, kind: 'BurnItAll' }, /unknown kind of record: "BurnItAll"/],
    ['no kind', { ...order, kind: undefined }, /unknown kind of record/],
    ['a kind that every object has', { ...order, kind: 'toString' }, /unknown kind of record: "toString"/],
    ['a later version', { ...order, v: 3 }, /PlaceOrder has version 3; this program knows up to 2/],
    ['no version', { ...order, v: undefined }, /has version undefined/],
    ['an amount as a number', { ...order, size: 5 }, /record\/size must be string/],
    ['an amount beyond 64 bits', { ...order, size: '18446744073709551616' }, /record\/size must match format "uint64"/],
    ['an amount with a leading zero', { ...order, size: '05' }, /uint64/],
    ['a negative amount', { ...order, size: '-5' }, /uint64/],
    ['an empty amount', { ...order, size: '' }, /uint64/],
    ['upper-case hex', { ...order, trader: `0x${'AB'.repeat(20)}` }, /record\/trader must match pattern/],
    ['a price of 0', { ...order, price: 0 }, /record\/price must be >= 1/],
    ['a price of 1.00', { ...order, price: 1_000_000 }, /record\/price must be <= 999999/],
    ['half a tick', { ...order, price: 1.5 }, /record\/price must be integer/],
    ['a third side', { ...order, side: 2 }, /record\/side/],
    ['a field too many', { ...order, fee: '1' }, /must NOT have additional properties/],
    ['a field too few', { ...order, nonce: undefined }, /must have required property 'nonce'/],
  ];
  for (const [what, command, message] of malformed) {
    it(`refuses ${what}, to write and to read`, () => {
      throws(() => encodeCommand(command as Command), { name: 'MalformedRecord', message });
      throws(() => decodeCommand(Buffer.from(JSON.stringify(command))), { name: 'MalformedRecord', message });
    });
  }

  it('refuses bytes that are not a JSON object', () => {
    for (const text of ['', '{', 'null', '[]', '7', '"PlaceOrder"']) throws(() => decodeCommand(Buffer.from(text)), MalformedRecord, text);
    for (const text of ['{}', '{"at":1,"events":[]}', '{"at":1,"events":{},"digest":"0x"}']) throws(() => decodeOutcome(Buffer.from(text)), MalformedRecord, text);
    throws(() => decodeOutcome(Buffer.from('{"at":1,"events":[{"type":"Miracle","v":1}],"digest":"0x"}')), /unknown kind of record: "Miracle"/);
    throws(() => decodeOutcome(Buffer.from('{"at":1,"events":[null],"digest":"0x"}')), MalformedRecord);
  });

  it('refuses a record that is larger than the log takes', () => {
    const large = '€'.repeat(1_000);
    equal(encodeCommand({
      kind: 'OpenMarket', v: 3, ifOver: 'close', at: START_MS, marketId: marketId(1), question: large, description: '', category: 'general', contractAddress: traderAddress(1),
      maker: traderAddress(2), expiration: 1_800_000_000, chainId: 1, marketKind: 'standard',
    }).length > 3_000, true, 'bytes count, not characters');
    throws(() => encodeOutcome(`{"at":1,"events":[]${' '.repeat(MAX_RECORD_BYTES)}}`, '0x'), RecordTooLarge);
  });

  it('gives the same UUIDv5 for the same natural key, always', () => {
    equal(recordId('order:1'), recordId('order:1'));
    match(recordId('order:1'), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    equal(new Set(Array.from({ length: 1_000 }, (_, i) => recordId(`order:${i}`))).size, 1_000);
  });

  it('gives an id with check digits, in which any changed digit shows', () => {
    const id = checkedRecordId('order:1');
    // By Python: '%08x' % zlib.crc32(b'e6da1837-4a3e-8f08-a060-a4b2')
    equal(id, 'e6da1837-4a3e-8f08-a060-a4b2cb5a27b1');
    equal(withCheck(id), id);
    ok(isChecked(id));
    ok(!isChecked(id.toUpperCase()) && !isChecked(`${id.slice(0, 28)}${id.slice(28).toUpperCase()}`));
    for (let place = 0; place < id.length; place++) {
      if (id[place] === '-') continue;
      for (let step = 1; step < 16; step++) {
        const altered = `${id.slice(0, place)}${((parseInt(id[place]!, 16) + step) % 16).toString(16)}${id.slice(place + 1)}`;
        notEqual(withCheck(altered), altered);
        ok(!isChecked(altered));
      }
    }
  });

  it('keeps the ids of records that are in logs already, which are those of the uuid package', () => {
    const ids = {
      '': '359e9fd8-2083-58ae-81f3-71c7b7074886',
      'order:1': 'e6da1837-4a3e-5f08-a060-a4b2ccc679ca',
      'clock:1700000000000:42': 'a548a744-3edf-5928-8415-2ae90192c607',
      'settlement:31337:0xäö🎲': '4a7d8d08-cd0a-5f5c-bea0-ad9d8f9bcb71',
    };
    for (const [key, id] of Object.entries(ids)) equal(recordId(key), id);
  });
});

describe('the codec, with records of older versions', () => {
  const Note = record({ kind: Type.Literal('Note'), v: Type.Literal(3), text: Type.String(), tags: Type.Array(Type.String()) });
  const table = shapes({ Note }, {
    Note: {
      1: ({ message, ...rest }) => ({ ...rest, v: 2, text: message }),
      2: (older) => ({ ...older, v: 3, tags: [] }),
    },
  });

  it('brings each up step by step', () => {
    const now = { kind: 'Note', v: 3, text: 'hello', tags: [] };
    deepEqual(parseShape(table, 'Note', { kind: 'Note', v: 1, message: 'hello' }), now);
    deepEqual(parseShape(table, 'Note', { kind: 'Note', v: 2, text: 'hello' }), now);
    deepEqual(parseShape(table, 'Note', now), now);
  });

  it('validates what comes out, and knows no version that was never there', () => {
    throws(() => parseShape(table, 'Note', { kind: 'Note', v: 1 }), /Note is malformed: record must have required property 'text'/);
    throws(() => parseShape(table, 'Note', { kind: 'Note', v: 0 }), /Note has version 0; this program knows up to 3/);
  });
});

describe('compiled writers', () => {
  it('escape what has to be escaped, and nothing else', () => {
    const write = compileWriter(Type.Object({ type: Type.Literal('T'), text: Type.String(), n: Type.Integer(), side: Type.Union([Type.Literal(0), Type.Literal(1)]) }));
    for (const text of ['plain', '"quoted"\\', '\u0000\u2028\ud800', '€']) {
      const event = { type: 'T', text, n: -7, side: 1 };
      equal(write(event as never), JSON.stringify(event));
    }
  });

  it('are not made for records with optional fields, which would have no place', () => {
    throws(() => compileWriter(Type.Object({ maybe: Type.Optional(Type.String()) })), /no optional fields/);
  });
});
