/** The OpenAPI 3.1 document of the endpoints. */
import type { Authority } from './authority.js';
import { createComponents, type Components } from './components.js';
import { errorsOf, tags, type Endpoint, type Examples } from './endpoint.js';
import type { ErrorShape } from './error-shape.js';
import { errors, type ClientErrorCode } from './errors.js';
import type { Parameter } from './parameter.js';
import { minLogPosition } from './parameters.js';
import { problems } from './problems.js';

type Json = Record<string, unknown>;

const INTRODUCTION = 'Order-book exchange for binary prediction markets. Prices, sizes and volumes have 6 decimals. JSON integers are exact, also beyond 2^53; '
  + 'integers of orders and permits may also be sent as decimal strings. '
  + 'They are written with digits alone: 1.0 and 1e2 are refused. '
  + 'Any origin may call the API: orders and cancels are authorised by their signatures, and there are no cookies; while '
  + 'cancelAuth in /api/v1/config is open, no page of another site may cancel. Every GET endpoint also accepts HEAD.';

/** The document as plain JSON values. */
export function openapiDocument(endpoints: readonly Endpoint[], version: string): Json {
  const components = createComponents();
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operation(endpoint, components);
  return {
    openapi: '3.1.0',
    info: { title: 'Prediction exchange', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' }, description: INTRODUCTION },
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      ...problemComponents(endpoints, components), schemas: components.schemas,
      securitySchemes: Object.assign({}, ...endpoints.map(({ authority }) => authority.schemes)) as Json,
    },
  };
}

function operation(endpoint: Endpoint, components: Components): Json {
  const { id, tag, summary, description, body, authority, answer } = endpoint;
  const parameters = [...Object.values(endpoint.parameters), ...endpoint.consistent ? [minLogPosition] : []];
  return {
    operationId: id, tags: [tag], summary, description, security: securityOf(authority),
    ...(parameters.length === 0 ? {} : { parameters: parameters.map((each) => describeParameter(each, components)) }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: !body.optional, content: { 'application/json': { schema: components.refer(body.schema), examples: named(body.examples) } },
          },
        }),
    responses: {
      ...answer.webSocket === true
        ? { 101: { description: answer.description } }
        : { 200: answerOf(endpoint, answer.description, components) },
      ...otherStatuses(endpoint, components),
      ...errorResponses(endpoint, components),
    },
  };
}

/**
 * All schemes of an authority are required together, each with the scope; an empty list means that nothing is required.
 */
function securityOf({ schemes, scope }: Authority): Json[] {
  const names = Object.keys(schemes);
  return names.length === 0
    ? []
    : [Object.fromEntries(names.map((name) => [name, scope === undefined ? [] : [scope]]))];
}

function describeParameter(
  { name, in: place, required, description, schema, example }: Parameter, components: Components,
): Json {
  return { name, in: place, required, description, schema: components.refer(schema), example };
}

function answerOf({ answer, consistent }: Endpoint, description: string, components: Components): Json {
  const headers: Record<string, string> = {
    ...(consistent ? { 'X-Log-Position': 'Last log position that the answer includes; -1 while the read models are empty.' } : {}), ...answer.headers,
  };
  const content: Record<string, Json> = {
    [answer.contentType ?? 'application/json']: { schema: components.refer(answer.schema), examples: named(answer.examples) },
  };
  for (const [type, { description: what }] of Object.entries(answer.alternatives ?? {})) {
    content[type] = { schema: { type: 'string', description: what } };
  }
  return {
    description, content,
    ...(Object.keys(headers).length === 0
      ? {}
      : {
          headers: Object.fromEntries(Object.entries(headers).map(([name, what]) => [name, { description: what, schema: { type: 'string' } }])),
        }),
  };
}

function otherStatuses(endpoint: Endpoint, components: Components): Json {
  const statuses = Object.entries(endpoint.answer.statuses ?? {});
  return Object.fromEntries(statuses.map(([status, description]) => (
    [status, answerOf(endpoint, description, components)])));
}

/** One response per status. Errors with the same status differ by their code, so their examples are in one response. */
function errorResponses(endpoint: Endpoint, components: Components): Json {
  const { errorShape } = endpoint;
  const byStatus = new Map<number, ClientErrorCode[]>();
  for (const code of errorsOf(endpoint)) byStatus.set(
    errors[code].status, [...byStatus.get(errors[code].status) ?? [], code],
  );
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, {
    description: codes.map((code) => `\`${code}\`: ${textOf(code)}`).join(' '),
    ...errorContent(
      errorShape, components, Object.fromEntries(codes.map((code) => [code, exampleOf(code, errorShape)])),
    ),
    ...(mayPass(status) ? { headers: RETRY_AFTER } : codes.some(lacksAuthority) ? { headers: CHALLENGE } : {}),
  }]));
}

const RETRY_AFTER = { 'Retry-After': { $ref: '#/components/headers/Retry-After' } };
const CHALLENGE = {
  'WWW-Authenticate': { description: 'What authority the request needs, and what is wrong with the one that it has.', schema: { type: 'string' } },
};
const lacksAuthority = (code: ClientErrorCode) => errors[code].status === 401 || code === 'insufficient_scope';
const mayPass = (status: number) => status === 503 || status === 429;

const textOf = (code: ClientErrorCode) => `${errors[code].text}.${errors[code].retry ? ' The same request can succeed later.' : ''}`;

function errorContent({ contentType, schema }: ErrorShape, components: Components, examples?: Json): Json {
  return { content: { [contentType]: {
    schema: components.refer(schema), ...(examples === undefined ? {} : { examples }),
  } } };
}

/** The examples of problem documents are components, since many endpoints share them. */
function exampleOf(code: ClientErrorCode, { example }: ErrorShape): Json {
  return example === problems.example ? { $ref: `#/components/examples/${code}` } : { value: example(code) };
}

/**
 * The responses to which a problem's `type` refers: one per error code, which differ only in their descriptions. And
 * the examples that operations refer to: of the errors that some endpoint answers as problem documents.
 */
function problemComponents(endpoints: readonly Endpoint[], components: Components): Json {
  const codes = Object.keys(errors) as ClientErrorCode[];
  const answered = new Set(endpoints.filter(({ errorShape }) => errorShape === problems).flatMap(errorsOf));
  const examples = codes.filter((code) => answered.has(code)).map((code) => [
    code, { summary: errors[code].text, value: problems.example(code) },
  ]);
  const all = errorContent(problems, components);
  return {
    examples: Object.fromEntries(examples) as Json,
    headers: { 'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } } },
    responses: {
      Refused: { description: 'An error.', ...all },
      RefusedForNow: { description: 'An error that may pass.', ...all, headers: RETRY_AFTER },
      ...Object.fromEntries(codes.map((code) => [code, {
        $ref: `#/components/responses/${mayPass(errors[code].status) ? 'RefusedForNow' : 'Refused'}`, description: textOf(code),
      }])),
    },
  };
}

function named(examples: Examples): Json {
  return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name.replaceAll(' ', '-'), { summary: name, value }]));
}
