/** The prices role: records what the price sources say, creates and resolves quick markets. Of several processes one records, and one sends. */
import type { Log } from '../../engine/log/log.js';
import type { Report } from '../../engine/report.js';
import type { Replica } from '../../engine/run/replica.js';
import { neverFails, type Clock, type Role } from '../../engine/running-role.js';
import { reading, type Reading } from '../../engine/state-table.js';
import type { ChainAccess } from '../chain/chain-access.js';
import { createChainReads } from '../chain/chain-reads.js';
import type { ChainWatch } from '../chain/chain-watch.js';
import { QUICK } from '../lane/keys.js';
import { LANE_POLICY } from '../lane/lane-options.js';
import type { OpenLaneUser } from '../lane/requests.js';
import { QUICK_RULES } from '../quick/quick-jobs.js';
import { runQuickMarkets, type QuickMarkets } from '../quick/quick-markets.js';
import type { Schedule } from '../quick/terms.js';
import type { Keccak256 } from '../signing/typed-data.js';
import { pastPrice } from './past-price.js';
import type { PriceSource } from './price-source.js';
import { runRecorder, type PriceRecorder } from './recorder.js';
import {
  assetState, passedOverState, pricesState, priceSourceState, quickMarketsState, type PricesState, type QuickMarketsState,
} from './role-state.js';
import { soleRecorder, type SoleRecorderOptions } from './sole-recorder.js';

/** Quick markets are looked at once while the indexer looks so many times. */
const QUICK_POLLS = 5;

export interface PricesPorts {
  /** The best first; without one, no price is recorded and no quick market is created. */
  readonly sources: readonly PriceSource[];
  readonly assets: readonly string[];
  /** The quick markets to create. */
  readonly schedule: Schedule;
  /** Opens the session whose holder records prices. */
  readonly openRecorderSession: SoleRecorderOptions['open'];
  readonly log: Pick<Log, 'append'>;
  readonly replica: Replica;
  readonly replicaState: Reading;
  /** By chain id. */
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly watch: (access: ChainAccess) => Promise<ChainWatch>;
  readonly laneUser: OpenLaneUser;
  readonly keccak256: Keccak256;
  readonly clock: Pick<Clock, 'now' | 'doubt'>;
  /** How often to see whether a source is to be asked of the past, in milliseconds. */
  readonly tickMs: number;
  readonly report: Report;
}

export const prices: Role<PricesPorts> = {
  async start(ports) {
    const recording = ports.sources.length === 0 ? undefined : startRecording(ports);
    const chains = await Promise.all([...ports.chains.values()].map((access) => startChain(access, ports)));
    const running = chains.filter((each) => each !== undefined);
    return {
      failed: recording === undefined ? neverFails() : recording.failed,
      state: [
        ports.replicaState, reading(pricesState, () => recording === undefined ? [] : [recording.state()]),
        ...recording === undefined ? [] : readSources(recording),
        reading(quickMarketsState, () => running.map(({ state }) => state())),
      ],
      async stop() { await Promise.all([recording?.stop(), ...running.map(({ stop }) => stop())]); },
    };
  },
};

interface Recording {
  readonly failed: Promise<never>;
  readonly recorder: PriceRecorder;
  state(): PricesState;
  stop(): Promise<void>;
}

function readSources({ recorder, state }: Recording): readonly Reading[] {
  return [
    reading(priceSourceState, () => state().sources), reading(assetState, () => state().assets),
    reading(passedOverState, () => [...recorder.status().refused].map(([reason, count]) => ({ reason, count }))),
  ];
}

function startRecording({ sources, assets, openRecorderSession, log, replica: { view }, clock, tickMs, report }: PricesPorts): Recording {
  const stopping = new AbortController();
  const { signal } = stopping;
  const now = () => clock.now();
  const sole = soleRecorder({ open: openRecorderSession, signal, report });
  const recorder = runRecorder({
    sources, assets, log, openBoundaries: () => view.openBoundaries(), holds: () => sole.holds(), now, doubt: () => clock.doubt(),
    tickMs, signal, report,
  });
  const failed = recorder.done.then(neverFails);
  failed.catch(() => undefined);
  const sinceS = (ms: number | undefined): number | null => ms === undefined ? null : Math.max(0, Math.floor((now() - ms) / 1_000));
  return {
    failed, recorder,
    state() {
      const { problem, assets } = recorder.status();
      return {
        standby: !sole.holds(), problem: problem ?? null,
        sources: sources.map((source) => {
          const health = source.health();
          return { name: source.name, connected: health.connected, sinceHeardS: sinceS(health.lastHeardMs), problem: health.problem ?? null };
        }),
        assets: assets.map(({ asset, source, lastMs }) => ({ asset, source, sincePriceS: sinceS(lastMs) })),
      };
    },
    async stop() {
      stopping.abort(new Error('the role stops'));
      await Promise.all([recorder.done, sole.done]);
    },
  };
}

interface RunningChain {
  state(): QuickMarketsState;
  stop(): Promise<void>;
}

/** Undefined for a chain without a key for quick markets. */
async function startChain(access: ChainAccess, ports: PricesPorts): Promise<RunningChain | undefined> {
  const { chain, rpc, report, configured: { quick: address, pollMs, maxFeePerGas = LANE_POLICY.maxFeePerGas } } = access;
  const { chainId } = chain;
  const { replica: { view }, sources, schedule, keccak256, clock } = ports;
  const now = () => clock.now();
  const stopping = new AbortController();
  await access.begin(() => Promise.resolve());
  if (address === undefined) return undefined;
  const watch = await ports.watch(access);
  const quickMarkets = runQuickMarkets({
    chain, reads: createChainReads(chain, rpc), keccak256, report, address, maxFeePerGas, now,
    doubt: () => clock.doubt(), verify: () => watch.verify(),
    signal: AbortSignal.any([stopping.signal, access.signal]),
    lane: ports.laneUser({ chainId, key: QUICK, purpose: 'quick_market' }),
    view: {
      isKnown: (marketId) => view.market(marketId) !== undefined, unresolved: () => view.quickMarkets(chainId),
      nextBlock: () => view.cursor(chainId)?.nextBlock ?? 0,
    },
    // Without a source no market could ever be resolved.
    schedule: sources.length === 0 ? { ...schedule, assets: [] } : schedule,
    hasStartPrice: async ({ asset, startTime: time }) => (await pastPrice({ asset, time, sources, nowMs: now() })).observation !== undefined,
    rules: QUICK_RULES, pollMs: QUICK_POLLS * pollMs,
  });
  return {
    state: () => quickState(quickMarkets, { chainId, address }),
    async stop() {
      stopping.abort(new Error('the role stops'));
      await quickMarkets.done;
    },
  };
}

function quickState(quickMarkets: QuickMarkets, place: { readonly chainId: number; readonly address: string }): QuickMarketsState {
  const { holds, problem, missing, decided, unresolvable, refused } = quickMarkets.status();
  return {
    ...place, standby: !holds, missingMarkets: missing, decidedMarkets: decided, unresolvableMarkets: unresolvable, refused, problem: problem ?? null,
  };
}
