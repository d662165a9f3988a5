/** A price provider for crash tests: it outlives the service, keeps what it has published, and has its own problems around boundaries. */
import { setTimeout as sleep } from 'node:timers/promises';
import { PYTH_FEEDS } from '../../command/prices/price-sources.js';
import { simulatedPriceE8 } from '../../command/prices/simulated.js';
import { startHermes, type HermesServer } from './hermes-server.js';

/** What was published about an asset. */
export interface Published {
  readonly second: number;
  /** In units of 1e-8 USD. */
  readonly price: string;
}

export interface CrashProviderOptions {
  readonly assets: readonly string[];
  /** Boundaries are the multiples of it since the Unix epoch. */
  readonly intervalS: number;
}

export interface CrashProvider {
  readonly server: HermesServer;
  /** By asset, in order. */
  readonly published: ReadonlyMap<string, readonly Published[]>;
  /** The first second from a boundary on in which a price is published. */
  firstSecond(boundary: number): number;
  /** Publishes a price per second until the signal. */
  publish(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A price comes so long after its second has begun. */
const DELAY_MS = 150;
const AROUND_E8 = 60_000n * 10n ** 8n;

/** One boundary after the other has one of these. */
const PROBLEMS = ['none', 'cut', 'silent', 'failing'] as const;

export async function crashProvider({ assets, intervalS }: CrashProviderOptions): Promise<CrashProvider> {
  const server = await startHermes({ feeds: assets.map(feedOf) });
  const published = new Map(assets.map((asset): [string, Published[]] => [asset, []]));
  const problemOf = (boundary: number) => PROBLEMS[boundary / intervalS % PROBLEMS.length];
  const boundaryNear = (second: number) => Math.round(second / intervalS) * intervalS;
  const live = () => server.clients.filter(({ response }) => !response.destroyed && !response.writableEnded);

  /** Before a silent boundary nothing is published for a second, and for two after it. */
  function isSilent(second: number): boolean {
    const boundary = boundaryNear(second);
    return problemOf(boundary) === 'silent' && second >= boundary - 1 && second < boundary + 2;
  }

  function publishAt(second: number): void {
    const [boundary, before] = [boundaryNear(second), boundaryNear(second + 1)];
    if (second === before - 1 && problemOf(before) === 'cut') for (const client of live()) client.end();
    if (second === boundary && problemOf(boundary) === 'failing') server.refuseNext({ status: 500 }, { status: 500 });
    if (isSilent(second)) return;
    for (const asset of assets) {
      const price = String(simulatedPriceE8({ seed: 'crash', asset, aroundE8: AROUND_E8, second }));
      const id = feedOf(asset);
      published.get(asset)!.push({ second, price });
      const update = { price, conf: '1000000', expo: -8, publish_time: second };
      server.past.set(id, [...server.past.get(id) ?? [], update]);
      for (const client of live()) client.price(id, update);
    }
  }

  return {
    server, published,
    firstSecond(boundary) {
      let second = boundary;
      while (isSilent(second)) second++;
      return second;
    },
    async publish(signal) {
      for (let second = Math.floor(Date.now() / 1_000); !signal.aborted; second++) {
        await sleep(Math.max(0, second * 1_000 + DELAY_MS - Date.now()));
        publishAt(second);
      }
    },
    close: () => server.close(),
  };
}

function feedOf(asset: string): string {
  return PYTH_FEEDS[asset]!;
}
