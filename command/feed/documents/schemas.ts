/**
 * The JSON Schemas of the feed's messages as they are published: in plain JSON Schema (draft 7), for any validator in
 * any language.
 */
import { patterns } from '../../../engine/records/integers.js';
import { messageSchemas } from '../messages.js';
import { SignedFillMatched } from '../signed-fills.js';

type Json = Readonly<Record<string, unknown>>;

export type MessageType = keyof typeof messageSchemas;
export const MESSAGE_TYPES = Object.keys(messageSchemas) as MessageType[];

/** Every published version of every message, by its name in the documents, by which generators name its class. */
export const publishedMessages = { ...messageSchemas, FillMatchedV2: SignedFillMatched } as const;
export type MessageName = keyof typeof publishedMessages;
export const MESSAGE_NAMES = Object.keys(publishedMessages) as MessageName[];

/** The messages of `fills.v2`. */
export const SIGNED_NAMES: readonly MessageName[] = MESSAGE_TYPES.map((type) => type === 'FillMatched' ? 'FillMatchedV2' : type);

/** A format of our own as a pattern. The greatest value is in the descriptions. */
const PATTERNS: Readonly<Record<string, string>> = patterns;

function headOf(name: MessageName): { readonly type: MessageType; readonly version: number } {
  const { type, v } = publishedMessages[name].properties;
  return { type: type.const, version: v.const };
}

/** The file name of a message's schema. */
export function schemaFile(name: MessageName): string {
  const { type, version } = headOf(name);
  return `${type}.v${version}.schema.json`;
}

/** A message's schema without `$schema` and `$id`. */
export function plainSchema(name: MessageName): Json {
  const schema = JSON.stringify(publishedMessages[name]);
  const { description, ...rest } = JSON.parse(schema, (_key, value: unknown) => withEnum(withPattern(value))) as Json;
  return { title: name, description, ...rest };
}

/** A message's schema as a document of its own. The id is a name, not an address. */
export function publishedSchema(name: MessageName): Json {
  const { type, version } = headOf(name);
  return { $schema: 'http://json-schema.org/draft-07/schema#', $id: `urn:prediction-exchange:fill-feed:${type}:${version}`, ...plainSchema(name) };
}

function withPattern(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('format' in value) || typeof value.format !== 'string') return value;
  const { format, ...rest } = value;
  const pattern = PATTERNS[format];
  if (pattern === undefined) throw new Error(`the format ${format} has no pattern for other validators: add one`);
  return { ...rest, pattern };
}

/** A choice of texts or of integers as code generators like it. */
function withEnum(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('anyOf' in value)) return value;
  const { anyOf, ...rest } = value;
  const choices = (anyOf as { const?: unknown }[]).map((each) => each.const);
  if (choices.includes(undefined)) throw new Error('a choice of anything but constants has no published form yet: add one');
  return { type: typeof choices[0] === 'string' ? 'string' : 'integer', enum: choices, ...rest };
}
