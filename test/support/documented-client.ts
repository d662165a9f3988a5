/** A client that holds every answer against the table of endpoints: its schema, no field that is not documented, no error that is not. */
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import type { ClientErrorCode } from '../../service/api/errors.js';
import { errorsOf, type Endpoint } from '../../service/api/endpoint.js';
import { allEndpoints } from '../../service/endpoints.js';
import { patternOf } from './role-of.js';

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Integers beyond 2^53 are bigints; empty for what is not JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** `X-Log-Position`, NaN without one. */
  readonly position: number;
}

export interface Request {
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface DocumentedClient {
  /** Any request to an endpoint of the table. */
  request(method: string, path: string, request?: Request): Promise<Answered>;
  /** A read that is answered with 200 and includes `position`. */
  get(path: string, position?: number): Promise<Record<string, unknown>>;
  /** A request that is answered with this error. Returns the problem document. */
  refused(code: ClientErrorCode, method: string, path: string, request?: Request): Promise<Record<string, unknown>>;
  /** The operation ids that have answered with success so far. */
  readonly succeeded: ReadonlySet<string>;
}

const JSON_TYPE = /^application\/(problem\+)?json;/;

export function documentedClient(url: string): DocumentedClient {
  const succeeded = new Set<string>();

  const request = async (method: string, path: string, { body, headers = {} }: Request = {}): Promise<Answered> => {
    const sent = body === undefined ? headers : { 'Content-Type': 'application/json', ...headers };
    const response = await fetch(url + path, { method, headers: sent, ...(body === undefined ? {} : { body }) });
    const endpoint = endpointOf(method, path);
    const isStream = response.ok && endpoint.answer.stream === true;
    const text = isStream ? await firstEvent(response) : await response.text();
    const type = response.headers.get('Content-Type')!;
    const what = `${method} ${path}: ${response.status} ${text.slice(0, 1_000)}`;
    if (response.ok || (response.status in (endpoint.answer.statuses ?? {}) && type.startsWith('application/json'))) {
      if (isStream || type.startsWith('application/json')) assertValid(answerValidator(endpoint), JSON.parse(text), what);
      if (response.ok) succeeded.add(endpoint.id);
    } else {
      assert.equal(type, `${endpoint.errorShape.contentType}; charset=utf-8`, what);
      const problem = JSON.parse(text) as { status: number; code: ClientErrorCode };
      assertValid(errorValidator(endpoint), problem, what);
      assert.equal(problem.status, response.status, what);
      assert.equal(response.headers.get('X-Error-Code'), problem.code, what);
      assert.ok(errorsOf(endpoint).includes(problem.code), `${endpoint.id} does not document ${what}`);
    }
    const position = response.headers.get('X-Log-Position');
    return {
      status: response.status, headers: response.headers, text, body: isStream || JSON_TYPE.test(type) ? parseJsonObject(Buffer.from(text)) : {},
      position: position === null ? NaN : Number(position),
    };
  };
  return {
    request, succeeded,
    get: async (path, position) => {
      const answer = await request('GET', path, position === undefined ? {} : { headers: { 'X-Min-Log-Position': String(position) } });
      assert.equal(answer.status, 200, answer.text);
      if (position !== undefined) assert.ok(answer.position >= position, `${path} is at ${answer.position}, not at ${position} or later`);
      return answer.body;
    },
    refused: async (code, method, path, what) => {
      const { body, text } = await request(method, path, what);
      assert.equal(body['code'], code, text);
      return body;
    },
  };
}

const ajv = new Ajv2020({ strict: true, allErrors: true });
/** The standards say what their documents may have. */
const STANDARDS = ['getOpenapi', 'getAsyncapi'];
const answerValidator = compiledOnce(({ id, answer: { schema } }) => STANDARDS.includes(id) ? schema : closed(schema) as object);
const errorValidator = compiledOnce(({ errorShape: { schema } }) => schema);

/** The validator of an endpoint's shape, compiled when it is first needed: all clients of a process share it. */
function compiledOnce(shapeOf: (endpoint: Endpoint) => object): (endpoint: Endpoint) => ValidateFunction {
  const compiled = new Map<Endpoint, ValidateFunction>();
  return (endpoint) => {
    let validate = compiled.get(endpoint);
    if (validate === undefined) compiled.set(endpoint, validate = ajv.compile(shapeOf(endpoint)));
    return validate;
  };
}

/** The data of a stream's first event. Nothing more of the stream is read. */
async function firstEvent(response: Response): Promise<string> {
  let text = '';
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const [, data] = /^data: (.*)\n\n/m.exec(text) ?? [];
    if (data !== undefined) return data;
  }
  throw new Error(`the stream ended without an event: ${text}`);
}

function endpointOf(method: string, target: string): Endpoint {
  const path = target.split('?', 1)[0]!;
  const endpoint = allEndpoints.find((each) => each.method === method && patternOf(each).test(path));
  if (endpoint === undefined) throw new Error(`the table has no ${method} ${path}`);
  return endpoint;
}

/** The schema with every object that names its fields closed: answers may gain fields, but not unnoticed. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  const named = 'properties' in schema && Object.keys(schema.properties as object).length > 0;
  return named && !('additionalProperties' in schema) && (schema as { type?: unknown }).type === 'object' ? { ...parts, additionalProperties: false } : parts;
}

function assertValid(validate: ValidateFunction, value: unknown, what: string): void {
  assert.ok(validate(value), `${what}\n${JSON.stringify(validate.errors, null, 1)}`);
}
