/**
 * The step that answers a failed request, in the error shape of its endpoint or, where there is none, as a problem
 * document.
 */
import { RequestError } from '../../engine/records/errors.js';
import { problems, requestErrorOf } from '../api/problems.js';
import { breakOff, send, type AnswerParts } from './answer.js';
import { ClientGone } from './request-steps.js';
import type { ErrorMiddleware, StepRequest } from './step.js';

export function answerErrors({ observer, ending, now }: Pick<AnswerParts, 'observer' | 'ending' | 'now'>): ErrorMiddleware {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- Express knows an error's step by its four arguments
  return (error, request, response, _next) => {
    if (error instanceof ClientGone) return;
    let instance: string | undefined;
    let known = requestErrorOf(error);
    if (known === undefined) {
      instance = observer.failed(error, `${request.method} ${pathOf(request)}`);
      known = new RequestError('internal');
    }
    const { endpoint, startedMs, answeredMs = now() } = response.locals;
    const shape = endpoint?.errorShape ?? problems;
    const reply = shape.answer(known, { instance, challenge: endpoint?.authority.challenge?.(known) });
    send(request, response, reply, { contentType: `${shape.contentType}; charset=utf-8`, ending });
    // A stream that had begun, or a client that has gone.
    if (!response.writableEnded) breakOff(request, response);
    if (endpoint !== undefined && startedMs !== undefined) {
      observer.answered(endpoint, reply.status, (answeredMs - startedMs) / 1_000);
    }
  };
}

/** The path of a request, shortened to 200 characters, since the client chooses it. */
function pathOf({ originalUrl }: StepRequest): string {
  const [path = ''] = originalUrl.split('?', 1);
  return path.slice(0, 200);
}
