/** Starts the roles of a process: makes each role's ports from the settings, with Postgres, Kafka and HTTP behind them. */
import { randomUUID } from 'node:crypto';
import { createResolutionOptions } from '../../command/chain/resolution-options.js';
import { openCheckpoints } from '../../command/feed/kafka/checkpoints.js';
import type { FeedKafka } from '../../command/feed/role.js';
import { readCatalogue } from '../../command/indexer/catalogue.js';
import { KEEPER_RULES } from '../../command/keeper/keeper.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createOutbox } from '../../command/lane/outbox.js';
import type { OpenLaneUser } from '../../command/lane/requests.js';
import type { PriceSource } from '../../command/prices/price-source.js';
import { openRecorderSession } from '../../command/prices/sole-recorder.js';
import { SOURCE_URLS } from '../../command/prices/source-urls.js';
import { openStore } from '../../command/settlement/postgres-store.js';
import { marketsAhead } from '../../command/quick/terms.js';
import { MAX_QUEUED_ORDERS } from '../../command/orders/role-state.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { createRecoveryThread } from '../../command/signing/recovery-thread.js';
import { SUBMISSIONS } from '../../command/submissions.js';
import type { Report } from '../../engine/report.js';
import type { RunningRole } from '../../engine/running-role.js';
import { pause } from '../../engine/waiting.js';
import { startProjectionThread } from '../../projections/thread/thread.js';
import { endedRelaysIn } from '../../query/ended-relays.js';
import { lookUpEndpoints } from '../../query/endpoints.js';
import { orderReadsIn } from '../../query/order-reads.js';
import { createOrderLookup } from '../../query/orders/order.js';
import { mostPriceStreams } from '../../query/price-stream.js';
import { serve, type ServingRole } from '../api/endpoint.js';
import { requestObserver } from '../status/metrics.js';
import { NO_TOPIC, minInsyncOf } from '../kafka-settings.js';
import { reportTo } from '../logger.js';
import { createRecurring } from '../recurring.js';
import type { RoleName } from './roles.js';
import type { SharedParts } from './shared-parts.js';

/** Most roles serve no endpoints. */
export type StartedRole = RunningRole & Partial<ServingRole>;

/** A role's code, Kafka's client and the price providers are loaded where a process has the role: each takes a part of a second. */
const START: Readonly<Record<RoleName, (parts: SharedParts) => Promise<StartedRole>>> = {
  async projections({ config, urls, logger, logLength, starting }) {
    const { projections } = await import('../../projections/role.js');
    const { keepHistoryDays } = config;
    const startThread = () => startProjectionThread({ logUrl: urls.log, url: urls.readModels, keepHistoryDays }, reportTo(logger));
    return projections.start({ startThread, logLength, starting });
  },
  async engine(parts) {
    const { engine } = await import('../../engine/role.js');
    return engine.start({ ...parts, replica: await parts.replica(), tickMs: parts.machine.lookEveryMs, report: reportTo(parts.logger) });
  },
  async indexer(parts) {
    const { indexer } = await import('../../command/indexer/role.js');
    const { config } = parts;
    return indexer.start({
      ...parts, replica: await parts.replica(), onAskedToAdvance: parts.advance.listen,
      catalogue: { read: () => readCatalogue(config.catalogue), chainId: config.chainId },
    });
  },
  async lane(parts) {
    const { lane } = await import('../../command/lane/role.js');
    return lane.start({ ...parts, outbox: createOutbox({ url: parts.urls.outbox }), submissions: SUBMISSIONS });
  },
  async feed(parts) {
    const { feed } = await import('../../command/feed/role.js');
    return feed.start({
      ...parts, kafka: await feedKafka(parts), report: reportTo(parts.logger),
      openCheckpoints: (session) => openCheckpoints({ ...session, url: parts.urls.outbox }),
    });
  },
  async settlement(parts) {
    const { settlement } = await import('../../command/settlement/role.js');
    return settlement.start({
      ...parts, laneUser: laneUserOf(parts), askToAdvance: parts.advance.ask, newId: () => randomUUID(), report: reportTo(parts.logger),
      openFeed: async () => (await import('./fill-feed.js')).openFillFeed(parts),
      openIntakeStore: (session) => openStore({ ...session, url: parts.urls.outbox }),
    });
  },
  async relayer(parts) {
    const { relayer } = await import('../../command/relayer/role.js');
    const { config } = parts;
    return relayer.start({
      ...parts, replica: await parts.replica(), endedRelays: endedRelaysIn(await parts.readModels()), laneUser: laneUserOf(parts),
      recovery: await createSignerRecovery(parts.keccak256), admit: parts.conditions.admit,
      quota: { gasPerOwner: BigInt(config.relayGasPerOwner), gasPerToken: BigInt(config.relayGasPerToken) },
      keeperRules: KEEPER_RULES,
    });
  },
  async prices(parts) {
    const { prices } = await import('../../command/prices/role.js');
    const { config: { quickAssets: assets, quickIntervalS: intervalS }, urls, machine } = parts;
    const report = reportTo(parts.logger);
    return prices.start({
      ...parts, replica: await parts.replica(), sources: await openSources(parts, report), assets,
      schedule: { assets, intervalS, ahead: marketsAhead(intervalS) },
      openRecorderSession: (session) => openRecorderSession({ ...session, url: urls.outbox }), laneUser: laneUserOf(parts),
      tickMs: machine.lookEveryMs, report,
    });
  },
  async query(parts) {
    const { query } = await import('../../query/role.js');
    const { config, conditions, logger, chains, clock } = parts;
    // Reads the stablecoin, which `/api/v1/config` shows, and checks the contracts that are read for unresolved markets.
    for (const access of chains.values()) await access.begin(() => Promise.resolve());
    return query.start({
      ...parts, db: await parts.readModels(), isDatabaseAway: () => conditions.isAway('read models'), assets: config.quickAssets,
      resolutionOptions: createResolutionOptions({ chains, monotonic: () => clock.monotonic() }), sourceUrls: SOURCE_URLS,
      streamLimits: { streams: mostPriceStreams(config), perAddress: config.maxPriceStreamsPerAddress },
      priceStreamFailed: createRecurring({ logger, what: 'price stream' }), streamFailed: createRecurring({ logger, what: 'stream' }),
    });
  },
  async api(parts) {
    const { api } = await import('../../command/orders/role.js');
    const { config } = parts;
    const replica = await parts.replica();
    const db = await parts.readModels();
    const recovery = await createSignerRecovery(parts.keccak256);
    const started = await api.start({
      ...parts, replica, recovery, recoveryThread: createRecoveryThread(recovery, reportTo(parts.logger)), admit: parts.conditions.admit,
      limits: { ...config, maxQueuedOrders: MAX_QUEUED_ORDERS }, cancelAuth: config.cancelAuth, plannedHalts: config.plannedHalts,
      reads: orderReadsIn(db),
      failed: requestObserver(parts.metrics, parts.logger).failed,
    });
    const lookUpOrder = createOrderLookup({ view: replica.view, outcomeOf: replica.outcomeOf, db });
    return { ...started, routes: [...started.routes, ...serve(lookUpEndpoints, { lookUpOrder })] };
  },
};

/** Resolves when the role works. Throws the reason when it cannot; then nothing of the role is left running. */
export function startRole(name: RoleName, parts: SharedParts): Promise<StartedRole> {
  return START[name](parts);
}

function laneUserOf({ urls }: SharedParts): OpenLaneUser {
  return (whose) => openLaneUser({ ...whose, url: urls.outbox });
}

/** The cluster in which the fill feed is published; undefined without KAFKA_BROKERS. */
async function feedKafka({ config, logger }: SharedParts): Promise<FeedKafka | undefined> {
  if (config.kafkaBrokers.length === 0) return undefined;
  const { kafkaTopic: topic, kafkaTopicV2, kafkaReplication: replication } = config;
  const { kafkaOf } = await import('./fill-feed.js');
  const topicV2 = kafkaTopicV2 === NO_TOPIC ? undefined : kafkaTopicV2;
  return { open: await kafkaOf({ config, logger }, 'feed'), topic, topicV2, replication, minInsync: minInsyncOf(replication) };
}

async function openSources({ config, clock }: SharedParts, report: Report): Promise<readonly PriceSource[]> {
  const { priceSources: names, priceUrls: urls, pythApiKey, quickAssets: assets } = config;
  if (names.length === 0 || assets.length === 0) return [];
  const { createPriceSources } = await import('../../command/prices/price-sources.js');
  const { sources, skipped } = createPriceSources({
    names, assets, seed: 'prediction-exchange', urls,
    ...pythApiKey === '' ? {} : { pythKey: pythApiKey },
    ports: { now: () => clock.now(), random: () => Math.random(), report, fetch, pause },
  });
  for (const line of skipped) report('info', line);
  if (sources.length === 0) report('alert', `of the price sources ${names.join(', ')} none can be used: there are no prices and no new quick markets`);
  return sources;
}
