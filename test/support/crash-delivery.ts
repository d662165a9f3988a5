/** Requests to a service that dies all the time: each is sent until it is answered, by whichever life of the service. */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Asked } from './gasless-wallet.js';

export interface DeliveryParts {
  /** Where the service is at present, or will be. */
  readonly url: () => Promise<string>;
  /** Is told every answer, also those after which the request is sent again. */
  readonly answered?: ((asked: Asked, answer: Answer) => void) | undefined;
}

export function crashDelivery({ url, answered }: DeliveryParts) {
  const agent = new Agent({ keepAlive: true });
  let repeats = 0;
  return {
    /** How many were sent again because the service died before it answered. */
    repeats: () => repeats,
    async deliver(asked: Asked): Promise<Answer> {
      for (;;) {
        try {
          const answer = await ask(agent, await url(), asked);
          answered?.(asked, answer);
          if (answer.status !== 503) return answer;
        } catch (error) {
          // The connection's errors have codes.
          if ((error as NodeJS.ErrnoException).code === undefined) throw error;
          repeats++;
        }
        await sleep(20);
      }
    },
  };
}

/** By node's own client: fetch hides which errors are the connection's. */
function ask(agent: Agent, url: string, { method, path, body, headers }: Asked): Promise<Answer> {
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
