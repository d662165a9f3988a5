/** Sends a complete answer, good or bad. */
import type { SentReply } from '../api/endpoint.js';
import { discardBody } from './body.js';
import type { Ending } from './ending.js';
import type { StepRequest, StepResponse } from './step.js';

/** Does nothing when the client has gone. The rest of a body that nobody has read is dropped. */
export function send(request: StepRequest, response: StepResponse, { body, etag, ...head }: SentReply, ending: Ending): void {
  if (response.headersSent || response.destroyed) return;
  if (etag !== undefined) response.setHeader('ETag', etag).setHeader('Cache-Control', 'no-cache');
  setHead(response, head, ending);
  if (etag !== undefined && request.fresh) {
    response.statusCode = 304;
    response.removeHeader('Content-Type');
    response.end();
  } else {
    if (response.statusCode !== 204) response.setHeader('Content-Length', Buffer.byteLength(body));
    response.end(request.method === 'HEAD' ? undefined : body);
  }
  discardBody(request);
}

/** Sets the status and the headers of an answer. */
export function setHead(response: StepResponse, { status = 200, headers = {}, position, contentType }: Omit<SentReply, 'body'>, ending: Ending): void {
  response.statusCode = status;
  for (const name in headers) response.setHeader(name, headers[name] ?? '');
  if (position !== undefined) response.setHeader('X-Log-Position', String(position));
  if (contentType !== undefined && status !== 204) response.setHeader('Content-Type', contentType);
  if (ending.isLeaving) response.setHeader('Connection', 'close');
}
