/** A process's handle on the log in memory, over a network that delays, loses and repeats, and a store that is away or full at times. */
import { AttemptFailed, type Attempted } from '../../../engine/log/appender.js';
import { LogUnavailable, type Log } from '../../../engine/log/log.js';
import { createMemoryLog, type MemoryStore } from '../../../engine/log/memory/memory-log.js';
import type { Strikes, Weather } from './weather.js';
import type { SimProcess } from './process.js';
import type { VirtualTime } from './time.js';

export interface LogHandleParts {
  readonly time: VirtualTime;
  readonly weather: Weather;
  readonly strikes: Strikes;
}

/** SQLSTATE of a full disk. */
const DISK_FULL = Object.assign(new Error('could not extend file: No space left on device'), { code: '53100' });
const lost = (maybeWritten: boolean) => new AttemptFailed(new Error('the connection was lost'), { maybeWritten, canPass: true });

export function openLogHandle(store: MemoryStore, process: SimProcess, { time, weather, strikes }: LogHandleParts): Log {
  const isAway = (): boolean => {
    if (time.now() >= weather.logAwayUntilMs) return false;
    strikes.struck('log outage', process.name);
    return true;
  };

  async function link(attempt: () => Attempted): Promise<Attempted> {
    return process.request(() => {
      if (isAway()) throw lost(time.once(2));
      if (time.now() < weather.diskFullUntilMs) {
        strikes.struck('log disk full', process.name);
        throw new AttemptFailed(DISK_FULL, { maybeWritten: false, canPass: false });
      }
      const fate = weather.logFates.shift();
      if (fate === undefined) return attempt();
      switch (fate) {
        case 'request lost':
          strikes.struck('log request lost', process.name);
          throw lost(true);
        case 'reply lost':
          strikes.struck('log reply lost', process.name);
          attempt();
          throw lost(true);
        case 'duplicated': {
          strikes.struck('log append duplicated', process.name);
          const first = attempt();
          attempt();
          return first;
        }
        case 'delayed':
          strikes.struck('log append delayed', process.name);
          time.after(100 + 900 * time.random(), attempt);
          throw lost(true);
      }
    });
  }

  const handle = createMemoryLog(store, { link });
  process.atEnd(() => { void handle.close(); });
  const reading = <T>(read: () => Promise<T>): Promise<T> => process.request(() => {
    if (isAway()) throw new LogUnavailable(false);
    return read();
  });
  return {
    append: (stream, records, expected) => handle.append(stream, records, expected),
    read: (stream, from, limit) => reading(() => handle.read(stream, from, limit)),
    length: (stream) => reading(() => handle.length(stream)),
    async* follow(stream, from, signal) {
      for await (const batch of handle.follow(stream, from, signal)) {
        await process.reached();
        while (time.now() < weather.logAwayUntilMs && !signal.aborted) await process.reached(50);
        if (time.now() < weather.readersDelayedUntilMs && !signal.aborted) {
          strikes.struck('log reader delayed', process.name);
          await process.reached(1_500 * time.random());
        }
        if (!signal.aborted) yield batch;
      }
    },
    close: () => handle.close(),
  };
}
