/** Our functions make the schemas that TypeBox's own make. */
import assert from 'node:assert/strict';
import TypeBox from 'typebox';
import { Type } from '../../engine/records/schema-types.js';

type Functions = typeof Type;

const OPTIONS = { description: 'what it is' };

/** By what they show; each makes the same with either. */
const SCHEMAS: Readonly<Record<string, (type: Functions) => object>> = {
  'a list': (type) => type.Array(type.String(), { maxItems: 3, ...OPTIONS }),
  'a boolean': ({ Boolean }) => Boolean(OPTIONS),
  'an integer': ({ Integer }) => Integer({ minimum: 1, maximum: 9 }),
  'a number': ({ Number }) => Number({ exclusiveMinimum: 0 }),
  'null': ({ Null }) => Null(OPTIONS),
  'a text': ({ String }) => String({ pattern: '^a$' }),
  'any value': ({ Unknown }) => Unknown(OPTIONS),
  'values of each type': ({ Union, Literal }) => Union([Literal('a'), Literal(1), Literal(true, OPTIONS)], OPTIONS),
  'a schema of ours': ({ Unsafe, Integer }) => Unsafe({ oneOf: [Integer()], ...OPTIONS }),
  'an object without fields': ({ Object }) => Object({}),
  'fields of which one may be absent': ({ Object, Optional, String }) => (
    Object({ a: String(), b: Optional(String(OPTIONS)), c: String() }, { additionalProperties: false })),
  'a field that is optional, copied': ({ Object, Optional, String }) => Object({ a: { ...Optional(String()), ...OPTIONS } }),
  'fields that may all be absent': ({ Object, Partial, String }) => Partial(Object({ a: String(), b: String() })),
  'fields but for some': ({ Object, Omit, Optional, String }) => Object(Omit(Object({ a: String(), b: Optional(String()), c: String() }), ['c']).properties),
};

describe('schemas', () => {
  for (const [what, make] of Object.entries(SCHEMAS)) {
    it(`are as TypeBox makes them: ${what}`, () => { assert.equal(JSON.stringify(make(Type)), JSON.stringify(make(TypeBox))); });
  }

  it('say fields of any name as generators of clients understand it: TypeBox has a pattern of names', () => {
    const record = ({ Record, String, Integer }: Pick<typeof Type, 'Record' | 'String' | 'Integer'>) => JSON.stringify(Record(String(), Integer(), OPTIONS));
    const ofTypeBox = record(TypeBox as unknown as typeof Type);
    assert.equal(record(Type), ofTypeBox.replace('"patternProperties":{"^.*$":{"type":"integer"}}', '"additionalProperties":{"type":"integer"}'));
  });

  it('are compared for every function', () => {
    const used = Object.values(SCHEMAS).map(String).join();
    assert.deepEqual(Object.keys(Type).filter((name) => name !== 'Record' && !new RegExp(`\\b${name}\\(`).test(used)), []);
  });
});
