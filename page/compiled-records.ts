/**
 * Makes at the build what the engine makes of its schemas at run time: the page's policy does not let a script make code
 * of text. The module takes the place of engine/records/compiled.ts, and has the commands' readers and validators and the events' writers.
 */
import { Ajv } from 'ajv';
import { _ } from 'ajv/dist/compile/codegen/index.js';
import standaloneModule from 'ajv/dist/standalone/index.js';
import type { Plugin } from 'vite';
import { writerCode } from '../engine/records/codec.js';
import { commandSchemas } from '../engine/records/commands.js';
import type { FunctionCode } from '../engine/records/compiled.js';
import { eventSchemas, MarketOpenedV1 } from '../engine/records/events.js';
import { readerCode } from '../engine/records/reader.js';
import { options } from '../engine/records/schema.js';

/** The types of this CommonJS module say where its default is; Node and Vite find it elsewhere. */
const standalone = standaloneModule as unknown as (ajv: Ajv, names: Readonly<Record<string, string>>) => string;
const PLACE = /\/engine\/records\/compiled\.ts$/;
/** Validators name this function of ajv's by its file. */
const LENGTH = 'require("ajv/dist/runtime/ucs2length").default';

export const compiledRecords = {
  name: 'compiled-records',
  load: { filter: { id: PLACE }, handler: moduleText },
} satisfies Plugin;

const commands = Object.entries(commandSchemas).map(([name, schema]) => ({ at: `commandSchemas.${name}`, schema }));
const events = Object.entries(eventSchemas).map(([name, schema]) => ({ at: `eventSchemas.${name}`, schema }));

/** Commands are read, and events are written: the verification reads no events. */
function moduleText(): string {
  const reads = commands.map(({ at, schema }) => `[${at}, ${textOf(readerCode(schema))}]`);
  const writes = [...events, { at: 'MarketOpenedV1', schema: MarketOpenedV1 }].map(({ at, schema }) => `[${at}, ${textOf(writerCode(schema))}]`);
  return [
    'import ucs2length from "ajv/dist/runtime/ucs2length.js";',
    'import { commandSchemas } from "./commands.js";',
    'import { eventSchemas, MarketOpenedV1 } from "./events.js";',
    'import { formats } from "./integers.js";',
    ...validators(),
    `const functions = { read: new Map([${reads.join(', ')}]), write: new Map([${writes.join(', ')}]) };`,
    'function made(found) { if (found === undefined) throw new Error("the page was built without it"); return found; }',
    'export const functionOf = (schema, use) => made(functions[use].get(schema));',
    'export const validatorOf = (schema) => made(validators.get(schema));',
  ].join('\n');
}

function textOf({ parameters, body }: FunctionCode): string {
  return `function (${parameters.join(', ')}) {\n${body}\n}`;
}

function validators(): string[] {
  const ajv = new Ajv({ ...options, code: { source: true, esm: true, formats: _`formats` } });
  for (const { at, schema } of commands) ajv.addSchema(schema, at);
  const names = Object.fromEntries(commands.map(({ at }, i) => [`validator${i}`, at]));
  return [
    standalone(ajv, names).replaceAll(LENGTH, 'ucs2length.default ?? ucs2length').replaceAll('export const validator', 'const validator'),
    `const validators = new Map([${commands.map(({ at }, i) => `[${at}, validator${i}]`).join(', ')}]);`,
  ];
}
