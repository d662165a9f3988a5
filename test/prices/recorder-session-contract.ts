/** What every session of a price recorder promises: Postgres', and the one in memory that the simulation and the harness use. */
import { equal, rejects } from 'node:assert/strict';
import type { RecorderSession, SoleRecorderOptions } from '../../command/prices/sole-recorder.js';
import { until } from '../support/until.js';

export interface RecorderAdapter {
  readonly open: SoleRecorderOptions['open'];
  /** The server ends every session. */
  endSessions(): Promise<unknown>;
  close(): Promise<void>;
}

/** Registers the tests. */
export function describeRecorderSession(make: () => Promise<RecorderAdapter>): void {
  let adapter: RecorderAdapter;
  const stopping = new AbortController();
  const { signal } = stopping;
  const open: RecorderSession[] = [];

  before(async () => { adapter = await make(); });
  afterEach(async () => { for (const session of open.splice(0)) await session.close(); });
  after(() => adapter.close());

  async function held(standingBy: () => void = () => undefined): Promise<RecorderSession> {
    const session = await adapter.open({ signal, standingBy });
    open.push(session);
    return session;
  }

  it('is held by one; who stands by is told so once, and gets it when that one closes', async () => {
    const first = await held();
    let told = 0;
    const second = held(() => { told += 1; });
    await until('the second one stands by', () => told > 0);
    await first.look();
    await first.close();
    await (await second).look();
    equal(told, 1);
  });

  it('a wait for it ends with the signal, and takes nothing', async () => {
    await held();
    const giving = new AbortController();
    let standsBy = false;
    const waiting = adapter.open({ signal: giving.signal, standingBy() { standsBy = true; } });
    await until('it stands by', () => standsBy);
    giving.abort(new Error('given up'));
    await rejects(waiting, { message: 'given up' });
    await open.splice(0)[0]!.close();
    await (await held()).look();
  });

  it('that the server has ended rings, and says so at every look', async () => {
    const session = await held();
    const ended = session.bell.wait(signal, 30_000);
    await adapter.endSessions();
    equal(await ended, 'rung');
    for (let looks = 0; looks < 2; looks++) await rejects(session.look(), { name: 'OutboxUnavailable' });
    await (await held()).look();
  });
}
