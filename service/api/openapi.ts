/** The OpenAPI 3.1 document of the endpoints. */
import { named as nameSchema, nameOf } from '../../engine/records/named-schema.js';
import { Type } from '../../engine/records/schema-types.js';
import type { Authority } from './authority.js';
import { createComponents, type Components } from './components.js';
import { errorsOf, tags, type Body, type Endpoint, type Examples } from './endpoint.js';
import type { ErrorShape } from './error-shape.js';
import { errors, type ClientErrorCode } from './errors.js';
import type { Parameter } from './parameter.js';
import { minLogPosition } from './parameters.js';
import { ERROR_CODE_HEADER, ErrorCode, problems } from './problems.js';

type Json = Record<string, unknown>;

const INTRODUCTION = 'Order-book exchange for binary prediction markets. Prices, sizes and volumes have 6 decimals. JSON integers are exact, also beyond 2^53. '
  + 'Integers of requests that may be beyond 2^31 are decimal strings here; where one form is documented, the other one is taken, too. '
  + 'Integers are written with digits alone: 1.0 and 1e2 are refused. In a body, `null` stands for an absent field. '
  + 'Every error has its code in the header X-Error-Code. '
  + 'Any origin may call the API: orders and cancels are authorised by their signatures, and there are no cookies; while '
  + 'cancelAuth in /api/v1/config is open, no page of another site may cancel. Every GET endpoint also accepts HEAD.';

/**
 * The document as plain JSON values. Its only server is the one that it was read from: who serves it puts that server's
 * address there.
 */
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
      ...problemComponents(endpoints, components), headers: headerComponents(components), schemas: components.schemas,
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
    ...(body === undefined ? {} : { requestBody: describeBody(id, body, components) }),
    responses: {
      ...answer.webSocket === true
        ? { 101: { description: answer.description } }
        : { 200: answerOf(endpoint, answer.description, components) },
      ...otherStatuses(endpoint, components),
      ...errorResponses(endpoint, components),
      default: { $ref: '#/components/responses/Other' },
    },
  };
}

/** Every body has a named schema: one that has no name of its own is named after its operation. */
function describeBody(id: string, { schema, optional, examples }: Body, components: Components): Json {
  const name = `${id.charAt(0).toUpperCase()}${id.slice(1)}Request`;
  const ofBody = nameOf(schema) === undefined ? nameSchema(name, { ...schema }) : schema;
  return { required: !optional, content: { 'application/json': { schema: components.refer(ofBody), examples: named(examples) } } };
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

function answerOf({ answer, consistent, limit }: Endpoint, description: string, components: Components): Json {
  const described: Record<string, string> = {
    ...(consistent ? { [LOG_POSITION]: 'Last log position that the answer includes; -1 while the read models are empty.' } : {}), ...answer.headers,
  };
  const headers = {
    ...Object.fromEntries(Object.entries(described).map(([name, what]) => [name, { description: what, schema: headerSchema(name, components) }])),
    ...limit === 'none' ? {} : RATE_LIMIT,
  };
  const content: Record<string, Json> = {
    [answer.contentType ?? 'application/json']: { schema: components.refer(answer.schema), examples: named(answer.examples) },
  };
  for (const [type, { description: what }] of Object.entries(answer.alternatives ?? {})) {
    content[type] = { schema: { type: 'string', description: what } };
  }
  return { description, content, ...Object.keys(headers).length > 0 && { headers } };
}

const LOG_POSITION = 'X-Log-Position';

/** Positions have one schema, in whichever direction they go. */
function headerSchema(name: string, components: Components): Json {
  return name === LOG_POSITION ? components.refer(minLogPosition.schema) : { type: 'string' };
}

function otherStatuses(endpoint: Endpoint, components: Components): Json {
  const statuses = Object.entries(endpoint.answer.statuses ?? {});
  return Object.fromEntries(statuses.map(([status, description]) => (
    [status, answerOf(endpoint, description, components)])));
}

/** The errors of HTTP itself, which every request can get: they are one response of the document. */
const OF_HTTP: readonly ClientErrorCode[] = ['method_not_allowed', 'request_timeout', 'expectation_failed'];

/** One response per status. Errors with the same status differ by their code, so their examples are in one response. */
function errorResponses(endpoint: Endpoint, components: Components): Json {
  const { errorShape } = endpoint;
  const byStatus = new Map<number, ClientErrorCode[]>();
  for (const code of errorsOf(endpoint).filter((each) => !OF_HTTP.includes(each))) byStatus.set(
    errors[code].status, [...byStatus.get(errors[code].status) ?? [], code],
  );
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, {
    description: codes.map((code) => `\`${code}\`: ${textOf(code)}`).join(' '),
    ...errorContent(
      errorShape, components, Object.fromEntries(codes.map((code) => [code, exampleOf(code, errorShape)])),
    ),
    headers: {
      ...ERROR_CODE, ...mayPass(status) ? RETRY_AFTER : {}, ...codes.some(lacksAuthority) ? CHALLENGE : {},
      ...codes.includes('rate_limited') ? RATE_LIMIT : {},
    },
  }]));
}

/** References to headers that several responses have. */
const header = (...names: readonly string[]): Json => Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
const ERROR_CODE = header(ERROR_CODE_HEADER);
const RETRY_AFTER = header('Retry-After');
const RATE_LIMIT = header('RateLimit', 'RateLimit-Policy');
const CHALLENGE = header('WWW-Authenticate');

function headerComponents(components: Components): Json {
  const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example });
  return {
    [ERROR_CODE_HEADER]: { description: 'The name of the error, as `code` in the bodies that have it.', schema: components.refer(ErrorCode) },
    'Retry-After': { description: 'Seconds to wait.', schema: components.refer(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })) },
    'RateLimit': text('The limit that counted the request: how many are left (`r`), and in how many seconds they are counted anew (`t`). '
      + 'Absent where the limit is switched off.', '"orders"; r=5998; t=47'),
    'RateLimit-Policy': text('The limit: how many requests (`q`) in a window of how many seconds (`w`), by client address.', '"orders"; q=6000; w=60'),
    'WWW-Authenticate': text('What authority the request needs, and what is wrong with the one that it has.', 'Bearer realm="prediction-exchange"'),
  };
}

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
    responses: {
      Other: {
        description: `What HTTP itself refuses, whatever the endpoint. ${OF_HTTP.map((code) => `${errors[code].status} \`${code}\`: ${textOf(code)}`).join(' ')}`,
        ...errorContent(problems, components, Object.fromEntries(OF_HTTP.map((code) => [code, exampleOf(code, problems)]))), headers: ERROR_CODE,
      },
      Refused: { description: 'An error.', ...all, headers: ERROR_CODE },
      RefusedForNow: { description: 'An error that may pass.', ...all, headers: { ...ERROR_CODE, ...RETRY_AFTER } },
      ...Object.fromEntries(codes.map((code) => [code, {
        $ref: `#/components/responses/${mayPass(errors[code].status) ? 'RefusedForNow' : 'Refused'}`, description: textOf(code),
      }])),
    },
  };
}

function named(examples: Examples): Json {
  return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name.replaceAll(/[^A-Za-z0-9_]+/g, '-'), { summary: name, value }]));
}
