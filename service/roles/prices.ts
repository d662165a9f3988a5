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
import { AGENDA_RULES } from '../../command/quick/agenda.js';
import { runQuickMarkets, type QuickMarkets } from '../../command/quick/quick-markets.js';
import type { Replica } from '../../engine/run/replica.js';
import { reading, type Reading } from '../../engine/state-table.js';
import { pause } from '../../engine/waiting.js';
import type { ChainAccess } from '../chains/chain-access.js';
import type { Config } from '../config.js';
import { reportTo } from '../logger.js';
import { neverFails } from '../process/failure.js';
import type { SharedParts } from '../process/shared-parts.js';
import { QUICK } from './lane.js';
import {
  assetState, passedOverState, pricesState, priceSourceState, quickMarketsState, type PricesState, type QuickMarketsState,
} from './prices-state.js';
import type { Role } from './role.js';

/** Quick markets are looked at once while the indexer looks so many times. */
const QUICK_POLLS = 5;

export const prices: Role = {
  async start(parts) {
    const replica = await parts.replica();
    const sources = openSources(parts);
    const recording = sources.length === 0 ? undefined : startRecording(sources, { replica, parts });
    const chains = await Promise.all([...parts.chains.values()].map((access) => startChain(access, { replica, sources, parts })));
    const running = chains.filter((each) => each !== undefined);
    return {
      routes: [], failed: recording === undefined ? neverFails : recording.failed,
      state: [
        parts.replicaState, reading(pricesState, () => recording === undefined ? [] : [recording.state()]),
        ...recording === undefined ? [] : readSources(recording),
        reading(quickMarketsState, () => running.map(({ state }) => state())),
      ],
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
  state(): PricesState;
  stop(): Promise<void>;
}

function readSources({ recorder, state }: Recording): readonly Reading[] {
  return [
    reading(priceSourceState, () => state().sources), reading(assetState, () => state().assets),
    reading(passedOverState, () => [...recorder.status().refused].map(([reason, count]) => ({ reason, count }))),
  ];
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
    state() {
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
  state(): QuickMarketsState;
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
    rules: AGENDA_RULES, pollMs: QUICK_POLLS * pollMs,
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
  const { holds, trouble, missing, decided, unresolvable, refused } = quickMarkets.status();
  return {
    ...place, standby: !holds, missingMarkets: missing, decidedMarkets: decided, unresolvableMarkets: unresolvable, refused, trouble: trouble ?? null,
  };
}
