/** The read models in memory, which may be behind. */
import type { MemoryStore } from '../../../engine/log/memory/memory-log.js';
import { createMemoryReads, type MemoryReads } from '../../harness/memory/reads.js';
import type { Strikes } from './weather.js';
import type { VirtualTime } from './time.js';

export interface ReadModels extends MemoryReads {
  /** Until then nothing is projected. Virtual time. */
  behindUntilMs: number;
}

export function createReadModels({ store, time, strikes }: { store: MemoryStore; time: VirtualTime; strikes: Strikes }): ReadModels {
  const { records } = store;
  const reads = createMemoryReads({
    lookMs: 100,
    outcomes() {
      const missing = records.outcomes.length - reads.folded();
      if (time.now() >= models.behindUntilMs || missing === 0) return records.outcomes;
      strikes.struck('read models behind', `by ${missing}`);
      return records.outcomes.slice(0, reads.folded());
    },
  });
  const models: ReadModels = { ...reads, behindUntilMs: 0 };
  return models;
}
