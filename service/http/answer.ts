/** The last step of a request that went well: calls the endpoint's handler and sends what it returns. */
import type { ApiRequest, Endpoint, Reply, Route, SentReply } from '../api/endpoint.js';
import type { ClientSignals } from './client-signals.js';
import { addressKey } from './limits.js';
import type { Observer } from './observe.js';
import { send } from './send.js';
import type { Step, StepRequest, StepResponse } from './step.js';
import { sendStream, type StreamParts } from './stream.js';

export interface AnswerParts extends StreamParts {
  readonly observer: Observer;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

export function answer({ endpoint, handler }: Route, parts: AnswerParts): Step {
  const { clients, ending, observer, now } = parts;
  const ofEndpoint = contentTypeOf(endpoint);
  return async (request, response) => {
    const reply = await handler(apiRequest(request, response, clients));
    const contentType = reply.contentType ?? ofEndpoint;
    if ('stream' in reply) {
      // How long clients listen says nothing about the service.
      response.locals.answeredMs = now();
      await sendStream(request, response, { ...reply, contentType }, parts);
    } else send(request, response, { ...await encoded(request, reply), contentType }, ending);
    const { startedMs = 0, answeredMs = now() } = response.locals;
    observer.answered(endpoint, response.statusCode, (answeredMs - startedMs) / 1_000);
  };
}

/** The reply in the encoding that the client takes. */
async function encoded({ headers: asked }: StepRequest, reply: Reply): Promise<SentReply> {
  if (reply.gzipped === undefined) return reply;
  const headers = { ...reply.headers, Vary: 'Accept-Encoding' };
  if (!takesGzip(asked['accept-encoding'])) return { ...reply, headers };
  return { ...reply, body: await reply.gzipped(), headers: { ...headers, 'Content-Encoding': 'gzip' } };
}

/** Whether the header names gzip, or else anything, with a weight that is not 0 (RFC 9110, 12.5.3). */
function takesGzip(header: string | string[] = ''): boolean {
  const codings = String(header).toLowerCase().split(',').map((coding) => coding.split(';').map((part) => part.trim()));
  const [, weight = 'q=1'] = codings.find(([name]) => name === 'gzip' || name === 'x-gzip') ?? codings.find(([name]) => name === '*') ?? ['', 'q=0'];
  return !/^q=0(\.0*)?$/.test(weight);
}

function contentTypeOf({ answer: { contentType = 'application/json' } }: Endpoint): string {
  return `${contentType}; charset=utf-8`;
}

/** The request as handlers know it. The parts that cost something are computed at first use. */
function apiRequest(request: StepRequest, { locals }: StepResponse, clients: ClientSignals): ApiRequest {
  const { params, headers, body = NO_BODY, socket } = request;
  let query: StepRequest['query'] | undefined;
  return {
    params, headers, rawBody: body, token: locals.token,
    get query() { return query ??= request.query; },
    get ip() { return addressKey(locals.address); },
    get signal() { return clients.signalOf(socket); },
  };
}

const NO_BODY = Buffer.alloc(0);
