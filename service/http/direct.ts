/**
 * Runs steps without Express, whose router and prototypes cost a request two to three times what its steps cost: it sets the prototypes of
 * each request and response, after which V8 has no fixed shape for them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorStep, Found, Next, Step, StepRequest, StepResponse } from './step.js';

const NONE: Readonly<Record<string, string>> = {};

/** For requests without parameters in path or query. Calls `failed` when a step fails, as Express does. */
export function runSteps(steps: readonly Step[], failed: ErrorStep, request: IncomingMessage, response: ServerResponse): void {
  const ours: StepRequest = Object.assign(request, { params: NONE, query: NONE, fresh: false, originalUrl: request.url ?? '', body: undefined });
  const answer = Object.assign(response, { locals: {} as Found });
  runFrom(0, { steps, failed, request: ours, response: answer });
}

interface Run {
  readonly steps: readonly Step[];
  readonly failed: ErrorStep;
  readonly request: StepRequest;
  readonly response: StepResponse;
}

function runFrom(index: number, run: Run): void {
  const { steps, failed, request, response } = run;
  const next: Next = (error) => { if (error === undefined) runFrom(index + 1, run); else failed(error, request, response, next); };
  try {
    const underway = steps[index]?.(request, response, next);
    if (underway instanceof Promise) underway.catch(next);
  } catch (error) {
    next(error);
  }
}
