/** The exchange as the page knows it: the TypeScript client, its configuration, and who signs. */
import { computed, signal } from '@preact/signals';
import { connect, type AnySigner, type Client } from '../../client/src/client.js';
import type { Configuration } from '../../client/src/answers.js';
import { observedFetch } from './connection.js';
import { keptNonces } from './wallet/kept-nonces.js';

/** Whoever has connected a wallet; the page only reads without one. */
export const signer = signal<AnySigner | undefined>(undefined);

/** The bearer token with which the relayer sends for a wallet; without one it is not asked. */
export const relayToken = signal<string | undefined>(undefined);

const nonces = keptNonces();

let before: Client | undefined;

/** The client, with the signer if there is one. What a client before has written, its reads include. */
export const exchange = computed<Client>(() => {
  before = connect({
    url: location.origin, fetch: observedFetch, signer: signer.value, token: relayToken.value, nonces,
    position: before?.position ?? -1,
  });
  return before;
});

/** The configuration, once it has been read. */
export const configuration = signal<Configuration | undefined>(undefined);

async function readConfiguration(): Promise<void> {
  for (;;) {
    try {
      configuration.value = await exchange.peek().read.config();
      return;
    } catch {
      // The state of the connection in the header says why; the client has waited before it gave up.
    }
  }
}

void readConfiguration();

/** A client whose reads include everything up to this log position: what a stream begins after. */
export function readerFrom(position: number): Client {
  return connect({ url: location.origin, fetch: observedFetch, position });
}
