/** Streams over a log that a test appends to, with real read models, behind the real shell: what the tests of both transports need. */
import type { CommandOutcome } from '../../engine/records/codec.js';
import { createBell, pause } from '../../engine/waiting.js';
import { openReadModels } from '../../query/database.js';
import { createPlaces } from '../../query/places.js';
import { getStream } from '../../query/streams/get-stream.js';
import { openWebSocket } from '../../query/streams/open-web-socket.js';
import { createStreams, type StreamOptions } from '../../query/streams/streams.js';
import { testDatabase } from './postgres.js';
import { appendOutcomes, logOf, outcomesOf, startWorker } from './projected.js';
import { traderAddress } from './random-commands.js';
import { startShell, type ShellOptions } from './shell.js';
import { until } from './until.js';

/** Engine time of the first outcomes, in milliseconds. */
export const AT = 1_700_000_000_000;

export const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;

/** Events of a story. */
export const opened = (marketId: string, question = 'Will it rain?') => ({
  type: 'MarketOpened', v: 2, marketId, question, description: '', category: 'general', contractAddress: traderAddress(99), maker: traderAddress(98),
  expiration: 1_900_000_000, chainId: 1, marketKind: 'standard', quick: null,
} as const);

const terms = (number: number, marketId: string) => (
  { v: 1, orderHash: hash(0xf000 + number), orderNumber: number, marketId, side: 0, outcome: 0, price: 500_000 } as const);

export const rest = (number: number, marketId: string, size: number) => [
  { ...terms(number, marketId), type: 'OrderAccepted', trader: traderAddress(1), size: String(size), nonce: String(number), expiration: '1800000000' } as const,
  { ...terms(number, marketId), type: 'OrderRested', size: String(size) } as const,
];

export const cancel = (number: number, marketId: string, size: number) => [
  { ...terms(number, marketId), type: 'OrderCancelled', remaining: String(size), rested: String(size), reason: 'user' } as const];

export type StreamWorld = Awaited<ReturnType<typeof streamWorld>>;

export async function streamWorld() {
  const { url, drop } = await testDatabase();
  const log = await logOf([]);
  const stop = new AbortController();
  const worker = startWorker({ url, log, freshnessMs: 0, signal: stop.signal });
  let length = 0;
  const append = async (...outcomes: CommandOutcome[]): Promise<void> => {
    await appendOutcomes(log, outcomes);
    length += outcomes.length;
  };
  await append(...outcomesOf(AT, []));
  await until('the read models exist', () => worker.position() > 0 || undefined);
  const db = await openReadModels({ url });
  /** What rings instead of the heartbeats' and of the pings' time. */
  const [beats, pings] = [createBell(), createBell()];
  const ringing = (bell: typeof beats): typeof pause => async (ms, signal) => {
    await (ms === 15_000 ? bell.wait(signal ?? stop.signal, 600_000) : pause(ms, signal));
  };

  return {
    log, db, append, length: () => length, beats, pings,
    /** Resolves when the read models have all that was appended. */
    caughtUp: () => db.waitForPosition(length - 1, { timeoutMs: 30_000 }),
    /** Streams with the shell before them. */
    async serve(options: Partial<StreamOptions> = {}, { app, ...more }: Omit<ShellOptions, 'handlers'> = {}) {
      const streams = createStreams({
        log, db, places: createPlaces('streams', { streams: 100, perAddress: 0 }), assets: ['BTC', 'ETH'], onError: (error) => { throw error; },
        pause: ringing(beats), ...options,
      });
      const shell = await startShell({
        handlers: { getStream: getStream.serve({ streams }), openWebSocket: openWebSocket.serve({ streams }) },
        app: { pause: ringing(pings), ...app }, ...more,
      });
      return {
        streams, shell,
        async stop() {
          await shell.stop();
          await streams.close();
        },
      };
    },
    async close() {
      stop.abort();
      await worker.done;
      await db.close();
      await drop();
    },
  };
}
