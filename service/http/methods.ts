/** Answers requests to a path with another method than its endpoints have here: preflights of browsers, and refusals. */
import { RequestError } from '../../engine/records/errors.js';
import type { Endpoint } from '../api/endpoint.js';
import type { Ending } from './ending.js';
import { send } from './send.js';
import type { Step } from './step.js';

const ALLOWED_HEADERS = 'Content-Type, Authorization, Last-Event-ID, X-Min-Log-Position, X-Cancel-Signature, X-Cancel-Deadline';

/** `endpoints`: all of the path; `ownPagesOnly`: those that web pages of other sites may not call. */
export function preflight(endpoints: readonly Endpoint[], ownPagesOnly: readonly Endpoint[], ending: Ending): Step {
  const headers = {
    'Allow': methodsOf(endpoints).join(', '),
    'Access-Control-Allow-Methods': methodsOf(endpoints.filter((each) => !ownPagesOnly.includes(each))).join(', '),
    'Access-Control-Allow-Headers': ALLOWED_HEADERS,
    'Access-Control-Max-Age': '7200',
  };
  return (request, response) => { send(request, response, { status: 204, headers, body: '' }, ending); };
}

/** Refuses a method that the path does not have, and one that only other processes serve. */
export function otherMethods(endpoints: readonly Endpoint[]): Step {
  const methods = methodsOf(endpoints);
  return ({ method = '' }) => {
    if (methods.includes(method)) throw new RequestError('not_found', 'another process of the service serves this endpoint');
    throw new RequestError('method_not_allowed', '', [], { allow: methods.join(', ') });
  };
}

function methodsOf(endpoints: readonly Endpoint[]): string[] {
  return [...endpoints.flatMap(({ method }) => method === 'GET' ? ['GET', 'HEAD'] : [method]), 'OPTIONS'];
}
