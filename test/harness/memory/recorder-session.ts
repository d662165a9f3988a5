/** The session in memory whose holder records prices. */
import type { StandBy } from '../../../engine/reactor.js';
import type { RecorderSession } from '../../../command/prices/sole-recorder.js';
import type { Carry, Database } from './database.js';

export async function memoryRecorderSession(database: Database, options: StandBy & { readonly carry: Carry }): Promise<RecorderSession> {
  const session = await database.open({ ...options, locks: ['prices'] });
  return {
    bell: session.bell, look: () => session.query('look', () => undefined),
    close() {
      session.end();
      return Promise.resolve();
    },
  };
}
