/** The demonstration's client of the relayer: sends what wallets without gas have signed. */
import { Refused, type Api, type ApiChain } from './api.js';
import { say, until } from './progress.js';
import { bodiesSignedBy, requestSigner, type RequestBodies } from './signed-requests.js';
import type { DemoToken } from './token.js';

export interface Relayer {
  /** Signed bodies of requests. */
  readonly bodies: RequestBodies;
  /** Has a signed request sent, waits until the chain is as it asks, and says so. */
  perform(what: string, relay: DemoRelay): Promise<void>;
}

export interface DemoRelay {
  readonly action: string;
  /** Of `bodies`. */
  readonly body: Promise<object>;
  /** Whether the chain is as asked. */
  readonly isSo: () => Promise<boolean>;
}

export interface DemoRelayerParts {
  readonly api: Api;
  readonly chain: ApiChain;
  readonly token: DemoToken;
  /** Until when signatures count, Unix seconds. */
  readonly deadline: bigint;
}

/** The chain's clock goes in blocks, and so behind the service's: the time that was waited for is near. */
const NEARLY = /MarketNotExpired|DisputeWindowOpen/;

export function relayerOf({ api, chain, token, deadline }: DemoRelayerParts): Relayer {
  const headers = { Authorization: `Bearer ${token.text}` };

  /** Sends a request, again while the relayer cannot send it yet: it becomes one transaction all the same. Returns that transaction's hash. */
  async function send(action: string, body: object): Promise<string> {
    let reason = '';
    const answer = await until(() => `the relayer sends ${action} (${reason})`, async () => {
      try {
        return await api.post<{ readonly tx_hash?: string; readonly txHash?: string }>(`/api/v1/relayer/${action}`, body, headers);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.status === 401 || error.status === 403) throw new Error(`${error.message}. The bearer token is from ${token.from}`, { cause: error });
        if (error.status !== 503 && !NEARLY.test(error.message)) throw error;
        reason = error.message;
        return undefined;
      }
    });
    return answer.tx_hash ?? answer.txHash ?? '';
  }

  return {
    bodies: bodiesSignedBy(requestSigner({ chain, get: (path) => api.get(path), deadline: () => deadline }), chain),
    async perform(what, { action, body, isSo }) {
      const hash = await send(action, await body);
      await until(`the chain has it that ${what} (${action}, transaction ${hash})`, async () => await isSo() || undefined);
      say(`  ${what}: ${hash === '' ? 'it is so already' : `transaction ${hash}`}`);
    },
  };
}
