/** A price source that is a standing stream for what comes, and single requests for what has been. */
import type { Observation, SourceName } from '../observation.js';
import type { PriceSource, SourcePorts, TimeSpan } from '../price-source.js';
import { createRequests, type ProviderAccess } from './request.js';
import { createStandingStream, type SourceMessage, type StreamTimings, type Transport } from './standing-stream.js';

/** What every provider is given. */
export interface ProviderOptions {
  /** Of the HTTP interface, without a slash at its end. */
  readonly url: string;
  readonly timings: StreamTimings;
  readonly ports: SourcePorts;
}

/** What differs from provider to provider. */
export interface Provider extends ProviderOptions {
  readonly name: SourceName;
  readonly assets: readonly string[];
  readonly access: ProviderAccess;
  readonly transport: Transport;
  readonly read: (message: SourceMessage) => readonly Observation[];
  /** As PriceSource.observationsSince; `get` resolves with the JSON value at a URL. */
  readonly since: (
    get: (url: string) => Promise<unknown>, asset: string, span: TimeSpan,
  ) => Promise<readonly Observation[]>;
}

export function createStreamedSource(provider: Provider): PriceSource {
  const { name, url, access, since, timings: { requestMs } } = provider;
  const closing = new AbortController();
  const get = createRequests({ access, withinMs: requestMs, signal: closing.signal });
  const stream = createStandingStream(provider);
  return {
    name, url,
    start: stream.start,
    health: stream.health,
    observationsSince: (asset, span) => since(get, asset, span),
    async close() {
      closing.abort(new Error('the source is closed'));
      await stream.close();
    },
  };
}
