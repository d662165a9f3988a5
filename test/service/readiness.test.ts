/** Readiness put together from parts: of roles in one process, and of processes in one stack. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mergeReadiness, type IndexerHealth, type ReadinessParts, type SettlementHealth } from '../../service/status/readiness.js';
import { stackReadiness } from '../../stack/supervision/stack-readiness.js';

const engine = { position: 10, logLength: 10, standby: false };
const indexing: IndexerHealth = {
  chainId: 5, finalBlock: 17, lagBlocks: 2, reachable: true, stalled: false, failures: 0, lastError: null, sinceLookS: 2, stopped: null,
  resolutionTrouble: null, contradictedMarkets: 0, anchorsPassedOver: 0,
};
const settling: SettlementHealth = { chainId: 5, waitingFills: 4, sentFills: 3, oldestWaitingS: 59, settlementTrouble: null };

describe('service: readiness', () => {
  it('merges what several roles say of a chain into one entry, and shows each reason once', () => {
    assert.deepEqual(mergeReadiness([
      { reasons: ['late'], engine, chains: [indexing] }, { reasons: ['late'], engine, chains: [settling, { ...settling, chainId: 6 }] },
      { reasons: [], projections: [{ name: 'orders', position: 9, lag: 1 }] }, { reasons: [], readModels: { position: 8, lag: 1 } },
    ]), {
      reasons: ['late'], engine, projections: [{ name: 'orders', position: 9, lag: 1 }], readModels: { position: 8, lag: 1 },
      chains: [{ ...indexing, ...settling }, { ...settling, chainId: 6 }],
    });
    assert.deepEqual(mergeReadiness([]), { reasons: [] });
  });

  it('shows the engine that records before one that stands by, and the furthest before others', () => {
    const standby = { position: 12, logLength: 12, standby: true };
    assert.deepEqual(mergeReadiness([{ reasons: [], engine: standby }, { reasons: [], engine }]).engine, engine);
    const further = { ...engine, position: 11 };
    assert.deepEqual(mergeReadiness([{ reasons: [], engine }, { reasons: [], engine: further }]).engine, further);
  });

  it('shows the clock that is doubted most, the database that is silent, and the disk with the least space', () => {
    const clock = { trusted: true, doubts: [], time: '2026-11-22T07:30:00.000Z', wallAheadMs: 3, databaseAheadMs: 0, historyAheadMs: -9_000_000 };
    const off = { ...clock, wallAheadMs: -4_000 };
    const doubted = { ...clock, trusted: false, doubts: ['it jumped'] };
    const [log, silent] = [{ name: 'log', answers: true, lastError: null }, { name: 'log', answers: false, lastError: 'no answer' }] as const;
    const models = { name: 'read models', answers: true, lastError: null } as const;
    const disk = { directory: 'DATA_DIR/postgres', freeBytes: 7, minFreeBytes: 5 };
    assert.deepEqual(mergeReadiness([
      { reasons: [], clock, databases: [log, models], disk: { ...disk, directory: 'DATA_DIR', freeBytes: 9 } }, { reasons: [], clock: off, databases: [silent], disk },
      { reasons: [], databases: [log] },
    ]), { reasons: [], clock: off, databases: [silent, models], disk });
    assert.deepEqual(mergeReadiness([{ reasons: [], clock: off }, { reasons: [], clock: doubted }]), { reasons: [], clock: doubted });
  });

  describe('of a stack', () => {
    const servers: Server[] = [];
    afterEach(async () => {
      for (const server of servers.splice(0)) await new Promise((resolve) => { server.close(resolve).closeAllConnections(); });
    });

    /** A process that says this of itself. */
    async function process(role: string, health: ReadinessParts) {
      const server = createServer((_, response) => { response.end(JSON.stringify(health)); });
      servers.push(server);
      await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
      return { role, pid: 1, port: (server.address() as AddressInfo).port, serves: [role], standsBy: [] };
    }

    const read = async (wanted: readonly string[], live: Parameters<typeof stackReadiness>[0]['live']) => {
      const { status, body } = await stackReadiness({ wanted, live });
      return { status, ...JSON.parse(body) as { ready: boolean; roles: string[]; reasons: string[] } };
    };

    it('is ready when every role has a process that is', async () => {
      const live = [await process('engine', { reasons: [], engine }), await process('engine', { reasons: ['it catches up'] }), await process('api', { reasons: [] })];
      assert.deepEqual(await read(['engine', 'engine', 'api'], live), { status: 200, ready: true, roles: ['engine', 'api'], reasons: [], engine });
    });

    it('adds what the supervisor reports of the development chain that it runs', async () => {
      const live = [await process('indexer', { reasons: [], chains: [indexing] })];
      const { status, body } = await stackReadiness({ wanted: ['indexer'], live, own: { reasons: [], chains: [{ chainId: 5, unkeptBlocks: 3 }] } });
      assert.deepEqual([status, (JSON.parse(body) as ReadinessParts).chains], [200, [{ ...indexing, unkeptBlocks: 3 }]]);
    });

    it('is not ready while a process that says so has not told the front what it serves, which sends it nothing until then', async () => {
      const [query, lane] = [await process('query', { reasons: [] }), await process('lane', { reasons: [] })];
      const reasons = ['query: the process serves nothing at the moment'];
      assert.deepEqual(await read(['query'], [{ ...query, serves: [] }]), { status: 503, ready: false, roles: ['query'], reasons });
      assert.equal((await read(['lane'], [{ ...lane, serves: [], standsBy: ['lane'] }])).status, 200);
    });

    it('says which role is missing, silent or not ready', async () => {
      const silent = { role: 'query', pid: 1, port: 1, serves: ['query'], standsBy: [] };
      const live = [await process('api', { reasons: ['the engine is 20000 records behind'] }), silent];
      assert.deepEqual(await read(['engine', 'api', 'query', 'settlement+lane'], live), {
        status: 503, ready: false, roles: ['engine', 'api', 'query', 'settlement', 'lane'],
        reasons: ['no engine process runs', 'api: the engine is 20000 records behind', 'query: the process does not answer', 'no settlement+lane process runs'],
      });
    });
  });
});
