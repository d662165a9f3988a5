/** Sends a complete answer, good or bad. */
import type { Reply } from '../api/endpoint.js';
import { discardBody } from './body.js';
import type { Ending } from './ending.js';
import type { StepResponse } from './step.js';

/** Does nothing when the client has gone. The rest of a body that nobody has read is dropped. */
export function send(response: StepResponse, { body, etag, ...head }: Reply, ending: Ending): void {
  if (response.headersSent || response.destroyed) return;
  if (etag !== undefined) response.set({ 'ETag': etag, 'Cache-Control': 'no-cache' });
  setHead(response, head, ending);
  response.send(body);
  discardBody(response.req);
}

/** Sets the status and the headers of an answer. */
export function setHead(response: StepResponse, { status = 200, headers = {}, position, contentType }: Omit<Reply, 'body'>, ending: Ending): void {
  response.status(status).set(headers);
  if (position !== undefined) response.set('X-Log-Position', String(position));
  if (contentType !== undefined) response.set('Content-Type', contentType);
  if (ending.isLeaving) response.set('Connection', 'close');
}
