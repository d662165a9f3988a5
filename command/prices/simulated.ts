/**
 * Simulated prices, for development and tests: a random walk that depends on nothing but a seed, the asset and the
 * second.
 */
import { createHash } from 'node:crypto';
import type { Observation } from './observation.js';
import type { PriceSource, SourceHealth, SourcePorts } from './price-source.js';

export interface SimulatedOptions {
  /** The price around which each asset walks, in units of 1e-8 USD. */
  readonly aroundE8: Readonly<Record<string, bigint>>;
  readonly seed: string;
  readonly ports: Pick<SourcePorts, 'now' | 'pause'>;
}

/**
 * Steps last 1, 4, 16, … seconds, the longest 18 hours, and are twice as large when they last four times as long, as in
 * a random walk.
 */
const STEPS = Array.from({ length: 9 }, (_, n) => ({ seconds: 4 ** n, scale: 2n ** BigInt(n) }));
/** The largest step of a second, in millionths. All steps together stay within 3.1 %. */
const STEP_MILLIONTHS = 60n;

/**
 * The price in a second since the Unix epoch, in units of 1e-8 USD: the same in every process, today and after a
 * restart.
 */
export function simulatedPriceE8({ seed, asset, aroundE8, second }: {
  seed: string;
  asset: string;
  aroundE8: bigint;
  second: number;
}): bigint {
  const walked = STEPS.reduce((sum, { seconds, scale }) => {
    const step = Math.floor(second / seconds);
    const [from, to] = [step, step + 1].map((n) => drawn(`${seed}/${asset}/${seconds}/${n}`)) as [bigint, bigint];
    const passed = BigInt(second - step * seconds);
    return sum + scale * (from * (BigInt(seconds) - passed) + to * passed) / BigInt(seconds);
  }, 0n);
  return aroundE8 + (aroundE8 * walked * STEP_MILLIONTHS >> 31n) / 1_000_000n;
}

/** From -2^31 up to 2^31, evenly. */
function drawn(name: string): bigint {
  return BigInt(createHash('sha256').update(name).digest().readInt32BE());
}

/** One price per asset at the beginning of each second. A second that was slept through is left out. */
export function createSimulated({ aroundE8, seed, ports: { now, pause } }: SimulatedOptions): PriceSource {
  const closing = new AbortController();
  let lastSecond = -1;
  let lastHeardMs: number | undefined;
  let running: Promise<void> | undefined;
  const at = (asset: string, second: number): Observation[] => {
    const around = aroundE8[asset];
    if (around === undefined) return [];
    return [{ asset, source: 'simulated', priceE8: simulatedPriceE8({ seed, asset, aroundE8: around, second }), publishedAtMs: second * 1_000 }];
  };

  async function run(listener: (observation: Observation) => void): Promise<void> {
    while (!closing.signal.aborted) {
      const second = Math.floor(now() / 1_000);
      if (second > lastSecond) {
        [lastSecond, lastHeardMs] = [second, now()];
        for (const asset of Object.keys(aroundE8)) at(asset, second).forEach(listener);
      }
      await pause((second + 1) * 1_000 - now(), closing.signal);
    }
  }

  return {
    name: 'simulated', url: `simulated:${seed}`,
    start(listener) { running ??= run(listener); },
    async close() {
      closing.abort(new Error('the source is closed'));
      await running;
    },
    observationsSince: async (asset, { fromMs, toMs }) => {
      const first = Math.ceil(fromMs / 1_000);
      return Array.from(
        { length: Math.max(0, Math.floor(toMs / 1_000) - first + 1) }, (_, n) => at(asset, first + n),
      ).flat();
    },
    health(): SourceHealth {
      const connected = running !== undefined;
      return { connected, connections: connected ? 1 : 0, lastHeardMs, badMessages: 0, problem: undefined };
    },
  };
}
