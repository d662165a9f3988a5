/** What an endpoint does not have, a field at any depth or a query parameter, is refused by all endpoints of the OpenAPI document in the same way. */
import assert from 'node:assert/strict';
import { relayerErrors } from '../../service/api/relayer-errors.js';
import { documentedShell, exampleOf, operations, resolved, signed, type DocumentedShell, type Json } from '../support/documented-requests.js';

/** No endpoint has it. The slash is escaped in a pointer. */
const NAME = 'colo/r';
const POINTER = 'colo~1r';
const TEXT = 'is not known here; leave it out';

describe('service: names that an endpoint does not know', () => {
  let shell: DocumentedShell;
  before(async () => { shell = await documentedShell(); });
  after(() => shell.stop());

  for (const each of operations) {
    const { method, path, operation, endpoint } = each;
    it(`${method} ${path} refuses a query parameter`, async () => {
      const { status, body } = await shell.ask(each, { query: [`${encodeURIComponent(NAME)}=1`] });
      assert.equal(status, 400, body);
      const problem = JSON.parse(body) as { code?: string; error: string; errors?: unknown };
      if (endpoint.errorShape === relayerErrors) assert.equal(problem.error, `the request is not as documented: /${POINTER} ${TEXT}`);
      else assert.deepEqual([problem.code, problem.errors], ['invalid_request', [{ field: `/${POINTER}`, message: TEXT }]]);
    });

    const whole = exampleOf(operation);
    if (whole === undefined) continue;
    it(`${method} ${path} refuses a field, in each object of the body`, async () => {
      const spoilt = spoiltCopies(await signed(whole));
      assert.ok(spoilt.length > 0);
      for (const [at, body] of spoilt) {
        const { status, body: text } = await shell.ask(each, { body });
        const answer = JSON.parse(text) as { code?: string; error: string; errors?: unknown; results?: { errors?: unknown }[] };
        if (endpoint.errorShape === relayerErrors) {
          assert.deepEqual([status, answer], [400, { success: false, error: 'Invalid request body' }], at);
          continue;
        }
        // Each order of a batch is answered for itself, and a check tells the refusal.
        const errors = JSON.stringify(answer.errors ?? answer);
        const field = (at.startsWith('/orders/') ? at.slice('/orders/0'.length) : at) + `/${POINTER}`;
        assert.ok(errors.includes(JSON.stringify({ field, message: TEXT })), `${at}: ${status} ${text}`);
        if (operation.operationId !== 'checkOrder' && !at.startsWith('/orders/')) assert.equal(status, 400, text);
      }
    });

    it(`${method} ${path} says so in the document`, () => {
      assert.deepEqual(openObjects(operation.requestBody!.content['application/json'].schema), []);
    });
  }
});

/** For each object of the value, its place, and a copy of the whole in which it has one name more. */
function spoiltCopies(whole: Json): readonly (readonly [at: string, copy: Json])[] {
  const places: string[][] = [];
  const walk = (value: unknown, at: readonly string[]): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) places.push([...at]);
    for (const [name, part] of Object.entries(value)) walk(part, [...at, name]);
  };
  walk(whole, []);
  return places.map((place) => {
    const copy = structuredClone(whole) as Record<string, unknown>;
    let object = copy;
    for (const name of place) object = object[name] as Record<string, unknown>;
    object[NAME] = 1;
    return [place.map((name) => `/${name}`).join(''), copy] as const;
  });
}

/** The places of a schema at which an object may have further names. */
function openObjects(schema: unknown, at = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { $ref } = schema as { $ref?: string };
  if ($ref !== undefined) return openObjects(resolved(schema), $ref);
  const isOpen = 'properties' in schema && (schema as { additionalProperties?: unknown }).additionalProperties !== false;
  return [...isOpen ? [at] : [], ...Object.entries(schema).flatMap(([name, part]) => openObjects(part, `${at}/${name}`))];
}
