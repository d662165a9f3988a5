/** The prices role of one process: the recorder, of which one in the world records, and the sender of quick markets. */
import { computeAddress } from 'ethers';
import type { Chain, Rpc } from '../../../command/chain/chain.js';
import { createChainReads } from '../../../command/chain/chain-reads.js';
import type { Report } from '../../../engine/report.js';
import type { LaneUser } from '../../../command/lane/requests.js';
import { pastPrice } from '../../../command/prices/past-price.js';
import { runRecorder } from '../../../command/prices/recorder.js';
import { soleRecorder } from '../../../command/prices/sole-recorder.js';
import { QUICK_RULES } from '../../../command/quick/quick-jobs.js';
import { runQuickMarkets } from '../../../command/quick/quick-markets.js';
import type { Keccak256 } from '../../../command/signing/keccak.js';
import type { Log } from '../../../engine/log/log.js';
import type { EngineView } from '../../../engine/run/view.js';
import type { Carry, Database } from '../stores/database.js';
import type { SimProcess } from '../world/process.js';
import { ASSET, QUICK_INTERVAL_S, QUICK_UNTIL_MS, SOURCES } from './price-world.js';
import { createSimSource, type SourceParts } from './source.js';

/** The key of quick markets: nobody's. */
export const QUICK_KEY = `0x${'9a'.repeat(32)}`;
const ADDRESS = computeAddress(QUICK_KEY).toLowerCase();

export interface PricesRole {
  readonly chain: Chain;
  readonly rpc: Rpc;
  readonly log: Log;
  readonly view: EngineView;
  readonly database: Database;
  readonly carry: Carry;
  readonly lane: LaneUser;
  readonly keccak256: Keccak256;
  readonly verify: () => Promise<void>;
  readonly now: () => number;
  readonly doubt: () => string | undefined;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly fail: (error: unknown) => void;
}

export function startPrices(process: SimProcess, parts: SourceParts, role: PricesRole): void {
  const { chain, rpc, log, view, database, carry, lane, keccak256, verify, now, doubt, signal, report, fail } = role;
  const sources = SOURCES.map((name) => createSimSource(name, process, parts));
  const sole = soleRecorder({
    signal, report,
    async open(options) {
      const session = await database.open({ ...options, carry, locks: ['prices'] });
      return {
        bell: session.bell, look: () => session.query('look', () => undefined),
        close() {
          session.end();
          return Promise.resolve();
        },
      };
    },
  });
  runRecorder({
    sources, assets: [ASSET], log, openBoundaries: () => view.openBoundaries(), holds: () => sole.holds(), now, doubt, signal, report,
  }).done.catch(fail);
  runQuickMarkets({
    chain, reads: createChainReads(chain, rpc), keccak256, lane, verify, address: ADDRESS, maxFeePerGas: 40_000_000_000n, now, doubt, signal, report,
    view: {
      isKnown: (marketId) => view.market(marketId) !== undefined, unresolved: () => view.quickMarkets(chain.chainId),
      nextBlock: () => view.cursor(chain.chainId)?.nextBlock ?? 0,
    },
    schedule: { get assets() { return parts.time.now() < QUICK_UNTIL_MS ? [ASSET] : []; }, intervalS: QUICK_INTERVAL_S, ahead: 1 },
    hasStartPrice: async ({ asset, startTime: time }) => (await pastPrice({ asset, time, sources, nowMs: now() })).observation !== undefined,
    rules: QUICK_RULES, pollMs: 2_500,
  }).done.catch(fail);
}
