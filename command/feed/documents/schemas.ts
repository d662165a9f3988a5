/** The JSON Schemas of the feed's messages as they are published: in plain JSON Schema (draft 7), for any validator in any language. */
import { messageSchemas } from '../messages.js';

type Json = Readonly<Record<string, unknown>>;

export type MessageType = keyof typeof messageSchemas;
export const MESSAGE_TYPES = Object.keys(messageSchemas) as MessageType[];

/** A format of our own as a pattern, since other validators do not know the format. The greatest value is in the descriptions. */
const PATTERNS: Readonly<Record<string, string>> = { uint64: '^(0|[1-9][0-9]{0,19})$' };

/** The version in a message's field `v`. */
export function versionOf(type: MessageType): number {
  return messageSchemas[type].properties.v.const;
}

/** The file name of a message's schema. */
export function schemaFile(type: MessageType): string {
  return `${type}.v${versionOf(type)}.schema.json`;
}

/** A message's schema without `$schema` and `$id`. */
export function plainSchema(type: MessageType): Json {
  const { description, ...rest } = JSON.parse(JSON.stringify(messageSchemas[type]), (_key, value: unknown) => withEnum(withPattern(value))) as Json;
  return { title: `${type}, version ${versionOf(type)}`, description, ...rest };
}

/** A message's schema as a document of its own. The id is a name, not an address. */
export function publishedSchema(type: MessageType): Json {
  return { $schema: 'http://json-schema.org/draft-07/schema#', $id: `urn:prediction-exchange:fill-feed:${type}:${versionOf(type)}`, ...plainSchema(type) };
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
