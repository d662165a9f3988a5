/** An AsyncAPI document against the specification's own JSON Schemas, and its references. */
import { createRequire } from 'node:module';
import { Ajv, type ValidateFunction } from 'ajv';

/** The rules of AsyncAPI 3.0, by the specification's own JSON Schemas. */
const SCHEMA = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json') as object;

let compiled: ValidateFunction | undefined;

/** One line per fault of the document. A reference that leads nowhere in it is a fault, too. */
export function asyncapiFaults(document: object): string[] {
  compiled ??= new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(SCHEMA);
  const validate = compiled;
  validate(document);
  const faults = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
  return [...new Set([...faults, ...lostReferences(document, document)])];
}

function lostReferences(part: unknown, document: object): string[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) => {
    if (key !== '$ref') return lostReferences(value, document);
    return typeof value === 'string' && target(value, document) !== undefined ? [] : [`${String(value)} leads nowhere`];
  });
}

/** What a reference within the document means; undefined if it leads nowhere. */
function target(reference: string, document: object): unknown {
  const [file, ...path] = reference.split('/');
  if (file !== '#') return undefined;
  return path.reduce<unknown>((part, name) => typeof part === 'object' && part !== null ? (part as Record<string, unknown>)[name] : undefined, document);
}
