/** The OpenAPI 3.1 document of a route table. */
import { errors, type ErrorCode } from '../../engine/records/errors.js';
import { problemExample } from '../http/problems.js';
import { minLogPosition } from './parameters.js';
import { tags, type Examples, type Parameter, type Route } from './route.js';
import { ProblemAnswer } from './schemas.js';

type Json = Record<string, unknown>;

/** The document as an object of plain JSON. */
export function openapiDocument(routes: readonly Route[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Prediction exchange', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: 'Order-book exchange for binary prediction markets. Prices, sizes and volumes have 6 decimals. JSON integers are exact, also beyond 2^53. '
        + 'Any origin may call it: orders and cancels are authorised by their signatures, and there are no cookies. Every GET route also takes HEAD.',
    },
    servers: [{ url: '/' }],
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      schemas: { Problem: ProblemAnswer },
      responses: Object.fromEntries((Object.keys(errors) as ErrorCode[]).map((code) => [code, errorResponse(code)])),
    },
  };
}

/** The error codes that a route can answer with, those of the shell included. */
export function errorsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.errors);
  if (route.body !== undefined) for (const code of ['body_too_large', 'unsupported_media_type', 'request_timeout'] as const) codes.add(code);
  if (route.consistent) for (const code of ['invalid_request', 'not_caught_up'] as const) codes.add(code);
  if (route.limit !== 'none') codes.add('rate_limited');
  return [...codes.add('internal')];
}

function operation(route: Route): Json {
  const parameters = route.consistent ? [...route.parameters, minLogPosition] : route.parameters;
  return {
    operationId: route.id, tags: [route.tag], summary: route.summary, description: route.description,
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(describeParameter) }),
    ...(route.body === undefined
      ? {}
      : {
          requestBody: { required: route.body.optional !== true, content: { 'application/json': { schema: route.body.schema, examples: named(route.body.examples) } } },
        }),
    responses: { 200: answerOf(route, route.answer.description), ...otherStatuses(route), ...errorResponses(route) },
  };
}

function describeParameter({ name, in: place, required, description, schema, example }: Parameter): Json {
  return { name, in: place, required, description, schema, example };
}

function answerOf({ answer, consistent }: Route, description: string): Json {
  const headers: Record<string, string> = {
    ...(consistent ? { 'X-Log-Position': 'Last log position that the answer includes; -1 while the read model is empty.' } : {}), ...answer.headers,
  };
  const content: Record<string, Json> = { [answer.contentType ?? 'application/json']: { schema: answer.schema, examples: named(answer.examples) } };
  for (const [type, what] of Object.entries(answer.alternatives ?? {})) content[type] = { schema: { type: 'string', description: what } };
  return {
    description, content,
    ...(Object.keys(headers).length === 0
      ? {}
      : {
          headers: Object.fromEntries(Object.entries(headers).map(([name, what]) => [name, { description: what, schema: { type: 'string' } }])),
        }),
  };
}

function otherStatuses(route: Route): Json {
  const statuses = Object.entries(route.answer.statuses ?? {});
  return Object.fromEntries(statuses.map(([status, description]) => [status, answerOf(route, description)]));
}

/** One response a status: errors that share one are told apart by `code`, so their examples stand side by side. */
function errorResponses(route: Route): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route)) byStatus.set(errors[code].status, [...byStatus.get(errors[code].status) ?? [], code]);
  return Object.fromEntries([...byStatus].map(([status, codes]) => {
    const [only] = codes;
    if (codes.length === 1) return [status, { $ref: `#/components/responses/${only}` }];
    const examples = Object.fromEntries(codes.map((code) => [code, { value: problemExample(code) }]));
    return [status, { description: codes.map((code) => `\`${code}\`: ${errors[code].text}.`).join(' '), content: problemContent(examples) }];
  }));
}

function errorResponse(code: ErrorCode): Json {
  const { text, retry, status } = errors[code];
  return {
    description: `${text}.${retry ? ' The same request can succeed later.' : ''}`,
    content: problemContent({ [code]: { value: problemExample(code) } }),
    ...(status === 503 || status === 429 ? { headers: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } } } : {}),
  };
}

function problemContent(examples: Json): Json {
  return { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' }, examples } };
}

function named(examples: Examples): Json {
  return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name.replaceAll(' ', '-'), { summary: name, value }]));
}
