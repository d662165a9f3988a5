/** A client that holds every answer against the route table: its schema, no field that is not documented, no error that is not. */
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseJsonObject } from '../../command/orders/exact-json.js';
import type { ErrorCode } from '../../engine/records/errors.js';
import { errorsOf } from '../../service/api/openapi.js';
import type { Route } from '../../service/api/route.js';
import { answerSchemas } from '../../service/api/routes.js';
import { ProblemAnswer } from '../../service/api/schemas.js';
import { testRoutes } from './shell.js';

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
  refused(code: ErrorCode, method: string, path: string, request?: Request): Promise<Record<string, unknown>>;
  /** The operation ids that have answered with success so far. */
  readonly succeeded: ReadonlySet<string>;
}

const JSON_TYPE = /^application\/(problem\+)?json;/;

export function documentedClient(url: string): DocumentedClient {
  const routes = testRoutes();
  const schemas = answerSchemas(routes);
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  const validators = new Map(routes.map(({ id }) => {
    // An OpenAPI document's shape is that standard's to say.
    const schema = schemas.get(id)!;
    return [id, ajv.compile(id === 'getOpenapi' ? schema : closed(schema) as object)];
  }));
  const isProblem = ajv.compile(ProblemAnswer);
  const succeeded = new Set<string>();

  const request = async (method: string, path: string, { body, headers = {} }: Request = {}): Promise<Answered> => {
    const sent = body === undefined ? headers : { 'Content-Type': 'application/json', ...headers };
    const response = await fetch(url + path, { method, headers: sent, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    const route = routeOf(routes, method, path);
    const type = response.headers.get('Content-Type')!;
    const what = `${method} ${path}: ${response.status} ${text.slice(0, 1_000)}`;
    if (response.ok || (response.status in (route.answer.statuses ?? {}) && type.startsWith('application/json'))) {
      if (type.startsWith('application/json')) assertValid(validators.get(route.id)!, JSON.parse(text), what);
      if (response.ok) succeeded.add(route.id);
    } else {
      assert.equal(type, 'application/problem+json; charset=utf-8', what);
      const problem = JSON.parse(text) as { status: number; code: ErrorCode };
      assertValid(isProblem, problem, what);
      assert.equal(problem.status, response.status, what);
      assert.ok(errorsOf(route).includes(problem.code), `${route.id} does not document ${what}`);
    }
    const position = response.headers.get('X-Log-Position');
    return {
      status: response.status, headers: response.headers, text, body: JSON_TYPE.test(type) ? parseJsonObject(Buffer.from(text)) : {},
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

function routeOf(routes: readonly Route[], method: string, target: string): Route {
  const path = target.split('?', 1)[0]!;
  const route = routes.find((each) => each.method === method && new RegExp(`^${each.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path));
  if (route === undefined) throw new Error(`the table has no ${method} ${path}`);
  return route;
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
