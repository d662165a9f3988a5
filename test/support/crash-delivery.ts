/** Requests to a service that dies all the time: each is sent until it is answered, by whichever life of the service. */
import { Agent, request } from 'node:http';
import type { Answer, WalletRequest } from './gasless-wallet.js';
import { until } from './until.js';

/** Longer than any disaster lasts. */
const ANSWER_S = 240;

export interface DeliveryParts {
  /** Where the service is at present, or will be. */
  readonly url: () => Promise<string>;
  /** Is told every answer, also those after which the request is sent again. */
  readonly answered?: ((asked: WalletRequest, answer: Answer) => void) | undefined;
}

export function crashDelivery({ url, answered }: DeliveryParts) {
  const agent = new Agent({ keepAlive: true });
  let repeats = 0;
  return {
    /** How many were sent again because the service died before it answered. */
    repeats: () => repeats,
    deliver(asked: WalletRequest): Promise<Answer> {
      return until(`an answer to ${asked.method} ${asked.path} that is not 503`, async () => {
        try {
          const answer = await ask(agent, await url(), asked);
          answered?.(asked, answer);
          return answer.status !== 503 && answer;
        } catch (error) {
          // The connection's errors have codes.
          if ((error as NodeJS.ErrnoException).code === undefined) throw error;
          repeats++;
          return undefined;
        }
      }, ANSWER_S);
    },
  };
}

/** By node's own client: fetch hides which errors are the connection's. */
function ask(agent: Agent, url: string, { method, path, body, headers }: WalletRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sized = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    const sent = request(url + path, { agent, method, headers: { ...sized, ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => { text += chunk; });
      response.on('error', reject);
      response.on('end', () => {
        const headers = new Headers(response.headers as Record<string, string>);
        resolve({ status: response.statusCode!, headers, body: JSON.parse(text) as unknown });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
