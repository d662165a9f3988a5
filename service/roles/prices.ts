/** The prices role: records what the price sources say, creates and resolves quick markets. Of several processes one records, and one sends. */
import { LANE_POLICY } from '../../command/lane/lane-options.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createChainReads } from '../../command/chain/chain-reads.js';
import { pastPrice } from '../../command/prices/past-price.js';
import type { PriceSource } from '../../command/prices/price-source.js';
import { createPriceSources } from '../../command/prices/price-sources.js';
import type { ProviderUrls } from '../../command/prices/source-urls.js';
import { runRecorder, type Recorder } from '../../command/prices/recorder.js';
import { openRecorderSession, soleRecorder } from '../../command/prices/sole-recorder.js';
import { QUICK_RULES } from '../../command/quick/quick-jobs.js';
import { runQuickMarkets, type QuickMarkets } from '../../command/quick/quick-markets.js';
import type { Replica } from '../../engine/run/replica.js';
import { pause } from '../../engine/waiting.js';
import type { ChainAccess } from '../chains/chain-access.js';
import { createTroubleAlarm } from '../chains/chain-alarms.js';
import type { Config } from '../config.js';
import { reportTo } from '../logger.js';
import type { Figure } from '../status/metrics.js';
import { neverFails } from '../process/failure.js';
import type { PricesHealth, QuickMarketsHealth } from '../status/readiness.js';
import type { SharedParts } from '../process/shared-parts.js';
import { QUICK } from './lane.js';
import type { Role } from './role.js';

const WATCH_MS = 5_000;
/** Quick markets are looked at once while the indexer looks so many times. */
const QUICK_POLLS = 5;

export const prices: Role = {
  async start(parts) {
    const replica = await parts.replica();
    const sources = openSources(parts);
    const recording = sources.length === 0 ? undefined : startRecording(sources, { replica, parts });
    const chains = await Promise.all([...parts.chains.values()].map((access) => startChain(access, { replica, sources, parts })));
    const running = chains.filter((each) => each !== undefined);
    const quickMarkets = () => running.map(({ health }) => health());
    return {
      routes: [], figures: [...recording === undefined ? [] : priceFigures(recording), ...quickFigures(quickMarkets)],
      failed: recording === undefined ? neverFails : recording.failed,
      health: () => ({ ...parts.replicaHealth(), prices: recording === undefined ? [] : [recording.health()], quickMarkets: quickMarkets() }),
      async stop() { await Promise.all([recording?.stop(), ...running.map(({ stop }) => stop())]); },
    };
  },
};

interface Grounds {
  readonly replica: Replica;
  readonly parts: SharedParts;
}

function openSources({ config, logger, now }: SharedParts): readonly PriceSource[] {
  const { priceSources: names, pythApiKey, quickAssets: assets } = config;
  if (names.length === 0 || assets.length === 0) return [];
  const report = reportTo(logger);
  const { sources, skipped } = createPriceSources({
    names, assets, seed: 'prediction-exchange', urls: providerUrls(config), ...pythApiKey === '' ? {} : { pythKey: pythApiKey },
    surroundings: { now, random: () => Math.random(), report, fetch, pause },
  });
  for (const line of skipped) report('note', line);
  if (sources.length === 0) report('alarm', `of the price sources ${names.join(', ')} none can be used: there are no prices and no new quick markets`);
  return sources;
}

function providerUrls({ pythUrl, coinbaseUrl, coinbaseStreamUrl, binanceUrl, binanceStreamUrl }: Config): ProviderUrls {
  return { pyth: pythUrl, coinbase: coinbaseUrl, coinbaseStream: coinbaseStreamUrl, binance: binanceUrl, binanceStream: binanceStreamUrl };
}

interface Recording {
  readonly failed: Promise<never>;
  readonly recorder: Recorder;
  health(): PricesHealth;
  stop(): Promise<void>;
}

function startRecording(sources: readonly PriceSource[], { replica: { view }, parts }: Grounds): Recording {
  const { config, log, logger, now, urls, machine, conditions: { clock } } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const report = reportTo(logger);
  const sole = soleRecorder({ open: (session) => openRecorderSession({ url: urls.outbox, ...session }), signal, report });
  const recorder = runRecorder({
    sources, assets: config.quickAssets, log, openBoundaries: () => view.openBoundaries(), holds: () => sole.holds(), now, doubt: () => clock.doubt(),
    tickMs: machine.lookEveryMs, signal, report,
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
async function startChain(
  access: ChainAccess, { replica: { view }, sources, parts }: Grounds & { sources: readonly PriceSource[] },
): Promise<RunningChain | undefined> {
  const { chain, rpc, report, configured: { quick: address, pollMs, maxFeePerGas = LANE_POLICY.maxFeePerGas } } = access;
  const { chainId } = chain;
  const { config, now, keccak256, conditions: { clock } } = parts;
  const stopping = new AbortController();
  await access.begin(() => Promise.resolve());
  if (address === undefined) return undefined;
  const watch = await parts.watch(access);
  const quickMarkets = runQuickMarkets({
    chain, reads: createChainReads(chain, rpc), keccak256, report, address, maxFeePerGas, now,
    doubt: () => clock.doubt(), verify: () => watch.verify(),
    signal: AbortSignal.any([stopping.signal, access.signal]),
    lane: openLaneUser({ url: parts.urls.outbox, chainId, key: QUICK, purpose: 'quick_market' }),
    view: {
      isKnown: (marketId) => view.market(marketId) !== undefined, unresolved: () => view.quickMarkets(chainId),
      nextBlock: () => view.cursor(chainId)?.nextBlock ?? 0,
    },
    // Without a source no market could ever be resolved.
    schedule: { assets: sources.length === 0 ? [] : config.quickAssets, intervalS: config.quickIntervalS, ahead: config.quickAhead },
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
