/** A source of prices as one process has it: a stream over a network, and questions about the past. */
import type { Observation } from '../../../command/prices/observation.js';
import type { PriceSource } from '../../../command/prices/price-source.js';
import type { Strikes } from '../world/faults.js';
import type { SimProcess } from '../world/process.js';
import { START_MS, type VirtualTime } from '../world/time.js';
import type { PriceWorld, SimSourceName } from './price-world.js';

export interface SourceParts {
  readonly time: VirtualTime;
  readonly strikes: Strikes;
  readonly prices: PriceWorld;
}

export function createSimSource(name: SimSourceName, process: SimProcess, { time, strikes, prices }: SourceParts): PriceSource {
  const state = prices.sources[name];
  let [closed, connections, connected] = [false, 1, true];
  let lastHeardMs: number | undefined;
  const secondNow = (): number => Math.floor((START_MS + time.now()) / 1_000);
  const isAway = (): boolean => {
    if (time.now() >= state.awayUntilMs) return false;
    strikes.struck('price source away', name);
    return true;
  };

  function listen(second: number, listener: (observation: Observation) => void): void {
    const atMs = (prices.published(name, second)?.publishedAtMs ?? second * 1_000) - START_MS;
    time.after(atMs - time.now() + 1 + 40 * time.random(), () => {
      if (closed || !process.alive) return;
      listen(second + 1, listener);
      // Known only now: a fault of the source may have begun or ended since the last second.
      const observation = prices.published(name, second);
      if (observation === undefined) return;
      if (isAway()) {
        connected = false;
        return;
      }
      if (!connected) [connected, connections] = [true, connections + 1];
      const late = time.now() < state.lateUntilMs;
      if (late) strikes.struck('price late', name);
      if (prices.isAbsurd(observation)) strikes.struck('absurd price', name);
      time.after(late ? 500 + 9_000 * time.random() : 0, () => {
        if (closed || !process.alive) return;
        lastHeardMs = START_MS + time.now();
        listener(observation);
      });
    });
  }

  return {
    name, url: `${name}.example`,
    start(listener) { listen(secondNow() + 1, listener); },
    close() {
      closed = true;
      return Promise.resolve();
    },
    observationsSince: (_, { fromMs, toMs }) => process.request(() => {
      if (isAway()) throw new Error('the provider is away');
      const last = Math.min(Math.floor(toMs / 1_000), secondNow());
      const first = Math.floor(fromMs / 1_000);
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => prices.published(name, first + n))
        .filter((each) => each !== undefined)
        .filter(({ publishedAtMs }) => publishedAtMs >= fromMs && publishedAtMs <= toMs && publishedAtMs <= START_MS + time.now());
    }),
    health: () => ({ connected, connections, lastHeardMs, badMessages: 0, problem: undefined }),
  };
}
