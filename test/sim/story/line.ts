/** What a program hears of a request to a process: the answer, the refusal, or nothing, when the process dies, is slow, or the answer is lost. */
import { RequestError } from '../../../engine/records/errors.js';
import type { ApiRequest, Endpoint, Reply } from '../../../service/api/endpoint.js';
import { cancelAfter } from '../../../command/orders/cancel-after.js';
import { cancelEndpoints } from '../../../command/orders/endpoints.js';
import type { Running } from '../world/exchange.js';
import type { WorldParts } from '../world/parts.js';

const FREEING: readonly Endpoint[] = cancelEndpoints.filter((endpoint) => endpoint !== cancelAfter);

export const PATIENCE_MS = 12_000;

export type AskResult<T> = T | RequestError | 'no answer' | 'not reached';

/** A request as the HTTP shell would pass it on. */
export interface EndpointRequest extends Partial<Pick<ApiRequest, 'params' | 'query' | 'rawBody' | 'token'>> {
  readonly endpoint: Endpoint;
}

/** A process that does not serve the endpoint yet is not reached. */
export function ask({ time, watch }: WorldParts, to: Running | undefined, { endpoint, ...asking }: EndpointRequest): Promise<AskResult<Reply>> {
  return new Promise((resolve) => {
    time.after(1 + 5 * time.random(), () => {
      const handler = to?.process.alive === true ? to.handlers.get(endpoint) : undefined;
      if (to === undefined || handler === undefined) return resolve('not reached');
      time.after(PATIENCE_MS, () => { resolve('no answer'); });
      const heard = (answer: Reply | RequestError): void => {
        if (to.process.alive) time.after(1 + 5 * time.random(), () => { if (to.process.alive) resolve(answer); });
      };
      // Cancels free funds, and are taken all the same.
      const isDoubted = !FREEING.includes(endpoint) && to.clock?.doubt() !== undefined;
      handler({ params: {}, query: {}, headers: {}, rawBody: Buffer.alloc(0), ip: '127.0.0.1', signal: new AbortController().signal, ...asking }).then((reply) => {
        if (isDoubted) watch.takenInDoubt(to.process.name, endpoint.id);
        heard(reply);
      }, (error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        heard(error);
      });
    });
  });
}
