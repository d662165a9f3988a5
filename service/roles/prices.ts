/** The prices role: records what the price sources say, creates and resolves quick markets. Of several processes one records, and one sends. */
import { LANE_POLICY } from '../../command/lane/lane-options.js';
import type { OpenLaneUser } from '../../command/lane/requests.js';
import { createChainReads } from '../../command/chain/chain-reads.js';
import { pastPrice } from '../../command/prices/past-price.js';
import type { PriceSource } from '../../command/prices/price-source.js';
import { runRecorder, type Recorder } from '../../command/prices/recorder.js';
import { soleRecorder, type SoleRecorderOptions } from '../../command/prices/sole-recorder.js';
import { QUICK_RULES } from '../../command/quick/quick-jobs.js';
import { runQuickMarkets, type QuickMarkets } from '../../command/quick/quick-markets.js';
import type { Schedule } from '../../command/quick/terms.js';
import type { Keccak256 } from '../../command/signing/keccak.js';
import type { Log } from '../../engine/log/log.js';
import type { Report } from '../../engine/report.js';
import type { Replica } from '../../engine/run/replica.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { createTroubleAlarm } from '../chains/chain-alarms.js';
import type { ChainWatch } from '../chains/chain-watch.js';
import type { Figure } from '../status/metrics.js';
import { neverFails } from '../process/failure.js';
import type { PricesHealth, QuickMarketsHealth, ReadinessParts } from '../status/readiness.js';
import { QUICK } from './lane.js';
import type { Clock, Role } from './role.js';

const WATCH_MS = 5_000;
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
  readonly replicaHealth: () => ReadinessParts;
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
    const quickMarkets = () => running.map(({ health }) => health());
    return {
      routes: [], figures: [...recording === undefined ? [] : priceFigures(recording), ...quickFigures(quickMarkets)],
      failed: recording === undefined ? neverFails : recording.failed,
      health: () => ({ ...ports.replicaHealth(), prices: recording === undefined ? [] : [recording.health()], quickMarkets: quickMarkets() }),
      async stop() { await Promise.all([recording?.stop(), ...running.map(({ stop }) => stop())]); },
    };
  },
};

interface Recording {
  readonly failed: Promise<never>;
  readonly recorder: Recorder;
  health(): PricesHealth;
  stop(): Promise<void>;
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
  const failed = recorder.done.then(() => neverFails);
  failed.catch(() => undefined);
  const sinceS = (ms: number | undefined): number | null => ms === undefined ? null : Math.max(0, Math.floor((now() - ms) / 1_000));
  return {
    failed, recorder,
    health() {
      const { trouble, assets } = recorder.status();
      return {
        standby: !sole.holds(), trouble: trouble ?? null,
        sources: sources.map((source) => {
          const health = source.health();
          return { name: source.name, connected: health.connected, sinceHeardS: sinceS(health.lastHeardMs), trouble: health.trouble ?? null };
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
  health(): QuickMarketsHealth;
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
  const look = createTroubleAlarm(`chain ${chainId}: the quick markets' sender`, { report, sender: quickMarkets });
  const timer = setInterval(look, WATCH_MS).unref();
  return {
    health: () => quickHealth(quickMarkets, { chainId, address }),
    async stop() {
      stopping.abort(new Error('the role stops'));
      clearInterval(timer);
      await quickMarkets.done;
    },
  };
}

function quickHealth(quickMarkets: QuickMarkets, place: { readonly chainId: number; readonly address: string }): QuickMarketsHealth {
  const { holds, trouble, missing, decided, unresolvable, refused } = quickMarkets.status();
  return {
    ...place, standby: !holds, missingMarkets: missing, decidedMarkets: decided, unresolvableMarkets: unresolvable, refused, trouble: trouble ?? null,
  };
}

/** The metrics of the prices and their sources. */
function priceFigures({ recorder, health }: Recording): readonly Figure[] {
  const ofSources = (name: string, help: string, value: (source: PricesHealth['sources'][number]) => number | null): Figure => (
    { name, help, read: () => health().sources.map((source) => ({ labels: { source: source.name }, value: value(source) ?? -1 })) });
  return [
    { name: 'exchange_prices_holds', help: '1 while this process records prices', read: () => health().standby ? 0 : 1 },
    { name: 'exchange_prices_troubled', help: '1 when no price can be recorded', read: () => health().trouble === null ? 0 : 1 },
    ofSources('exchange_price_source_connected', '1 while the price source is connected', ({ connected }) => connected ? 1 : 0),
    ofSources('exchange_price_source_age_seconds', 'Seconds since the source\'s last price; -1 before the first', ({ sinceHeardS }) => sinceHeardS),
    {
      name: 'exchange_price_age_seconds', help: 'Seconds since the publication of the last price that counts; -1 before the first',
      read: () => health().assets.map(({ asset, sincePriceS }) => ({ labels: { asset }, value: sincePriceS ?? -1 })),
    },
    {
      name: 'exchange_price_observations_passed_over', help: 'Observations that were not recorded, by reason',
      read: () => [...recorder.status().refused].map(([reason, value]) => ({ labels: { reason }, value })),
    },
  ];
}

/** The metrics of the quick markets. */
function quickFigures(chains: () => readonly QuickMarketsHealth[]): readonly Figure[] {
  const figure = (name: string, help: string, value: (chain: QuickMarketsHealth) => number): Figure => (
    { name, help, read: () => chains().map((chain) => ({ labels: { chain: chain.chainId }, value: value(chain) })) });
  return [
    figure('exchange_quick_markets_holds', '1 while this process creates and resolves quick markets', ({ standby }) => standby ? 0 : 1),
    figure('exchange_quick_markets_missing', 'Number of quick markets that there should be and are not', ({ missingMarkets }) => missingMarkets),
    figure('exchange_quick_markets_decided', 'Number of decided quick markets that the chain has not resolved', ({ decidedMarkets }) => decidedMarkets),
    figure('exchange_quick_markets_unresolvable', 'Number of quick markets without a price that did not come in time', ({ unresolvableMarkets }) => unresolvableMarkets),
    figure('exchange_quick_markets_refused', 'Number of creations and resolutions that the contracts refused last', ({ refused }) => refused),
    figure('exchange_quick_markets_troubled', '1 when nothing can be looked at or sent', ({ trouble }) => trouble === null ? 0 : 1),
  ];
}
