/** The client's types of the API, from the document of the exchange: what `client/src/openapi.ts` has to be. */
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { isAmount } from '../../client/src/amount-fields.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { allEndpoints } from '../../service/endpoints.js';
import { CLIENT } from '../support/client-packages.js';

type Json = Readonly<Record<string, unknown>>;

/** How a file begins that a program has written. */
const HEADER = `/** Generated from /openapi.json by \`node tools/run.mjs test/client/write-openapi\`: the API's types, with hex as Hex and amounts as bigint. */
/* eslint-disable */
import type { Hex, Outcome, Side } from './vocabulary.js';

`;

/** What of the generator is used. */
interface Generator {
  default(document: object, options: { readonly silent: boolean; transform(schema: Json): unknown }): Promise<readonly unknown[]>;
  astToString(nodes: readonly unknown[]): string;
}

interface Compiler {
  readonly factory: { createTypeReferenceNode(name: string): unknown; createUnionTypeNode(types: readonly unknown[]): unknown };
}

/** The text of the file. */
export async function openapiTypes(): Promise<string> {
  const load = async (path: string) => await import(pathToFileURL(join(CLIENT, 'node_modules', path)).href) as unknown;
  const generator = await load('openapi-typescript/dist/index.mjs') as Generator;
  const { factory } = (await load('typescript/lib/typescript.js') as { default: Compiler }).default;
  const type = (name: string) => factory.createTypeReferenceNode(name);
  const nodes = await generator.default(marked(shapes()) as object, {
    silent: true,
    transform({ 'x-client-type': name, type: json }) {
      if (name === undefined) return undefined;
      return Array.isArray(json) && json.includes('null') ? factory.createUnionTypeNode([type(name as string), type('null')]) : type(name as string);
    },
  });
  return HEADER + generator.astToString(nodes);
}

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>>;
}

interface Document {
  readonly openapi: string;
  readonly info: object;
  readonly paths: Readonly<Record<string, { readonly get?: Operation }>>;
  readonly components: { readonly schemas: object; readonly responses: object };
}

/** A document of the shapes alone, with the two that have no name in the exchange's: the messages of a stream, and the codes of errors. */
function shapes(): object {
  const { openapi, info, paths, components } = JSON.parse(JSON.stringify(openapiDocument(allEndpoints, '0.0.0'))) as Document;
  const stream = paths['/api/v1/stream']?.get?.responses['200']?.content?.['text/event-stream']?.schema;
  if (stream === undefined) throw new Error('the document has no stream');
  const codes = Object.keys(components.responses).filter((name) => /^[a-z]/.test(name));
  return { openapi, info, paths: {}, components: { schemas: { ...components.schemas, StreamMessage: stream, ErrorCode: { type: 'string', enum: codes } } } };
}

/** The components that are types of the client's own. */
const OWN: Readonly<Record<string, string>> = { Side: 'Side', Outcome: 'Outcome', Price: 'bigint', AssetPrice: 'bigint' };

/** Names the client's type of each schema that has one, and leaves examples out. `name`: of the field or the component. */
function marked(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => marked(each, name));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value as Json).filter(([key]) => key !== 'examples' && key !== 'example')
    .map(([key, each]) => [key, marked(each, KEYWORDS.has(key) ? name : key)] as const);
  const own = clientType(value as Json, name);
  return Object.fromEntries(own === undefined ? fields : [...fields, ['x-client-type', own]]);
}

/** Of a schema: what is in them is about the same field. */
const KEYWORDS = new Set(['oneOf', 'anyOf', 'allOf', 'items', 'schema']);

function clientType({ type, pattern, '$ref': ref }: Json, name: string): string | undefined {
  if (ref !== undefined) return undefined;
  const types = [type].flat();
  if (types.includes('integer')) return OWN[name] ?? (isAmount(name) ? 'bigint' : undefined);
  if (types.includes('string') && typeof pattern === 'string' && pattern.startsWith('^0x')) return 'Hex';
  return pattern === '^(0x[0-9a-f]{64})?$' ? 'Hex | ""' : undefined;
}
