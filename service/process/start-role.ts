/** Starts the roles of a process: makes each role's ports from the settings, with Postgres, Kafka and HTTP behind them. */
import { randomUUID } from 'node:crypto';
import { openCheckpoints } from '../../command/feed/kafka/checkpoints.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createOutbox } from '../../command/lane/outbox.js';
import type { OpenLaneUser } from '../../command/lane/requests.js';
import { KEEPER_RULES } from '../../command/keeper/keeper.js';
import type { PriceSource } from '../../command/prices/price-source.js';
import { openRecorderSession } from '../../command/prices/sole-recorder.js';
import { openStore } from '../../command/settlement/postgres-store.js';
import { marketsAhead } from '../../command/quick/terms.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import type { Report } from '../../engine/report.js';
import type { Replica } from '../../engine/run/replica.js';
import { pause } from '../../engine/waiting.js';
import { mostPriceStreams } from '../../query/price-stream.js';
import { openMissingMarkets, readCatalogue } from '../chains/catalogue.js';
import { NO_TOPIC, minInsyncOf } from '../feed/kafka-settings.js';
import { reportTo } from '../logger.js';
import { createRecurring } from '../recurring.js';
import { startProjectionThread } from '../projection-thread/thread.js';
import { MAX_QUEUED_ORDERS } from '../roles/api-state.js';
import { endedRelaysIn } from '../roles/handlers/ended-relays.js';
import type { FeedKafka } from '../roles/feed.js';
import type { RoleName } from '../roles/role-names.js';
import type { RunningRole } from '../roles/role.js';
import type { SharedParts } from './shared-parts.js';

/** A role's code, Kafka's client and the price providers are loaded where a process has the role: each takes a part of a second. */
const START: Readonly<Record<RoleName, (parts: SharedParts) => Promise<RunningRole>>> = {
  async projections({ urls, logger, logLength, starting }) {
    const { projections } = await import('../roles/projections.js');
    const startThread = () => startProjectionThread({ logUrl: urls.log, url: urls.readModels }, reportTo(logger));
    return projections.start({ startThread, logLength, starting });
  },
  async engine(parts) {
    const { engine } = await import('../roles/engine.js');
    return engine.start({ ...parts, replica: await parts.replica(), tickMs: parts.machine.lookEveryMs, report: reportTo(parts.logger) });
  },
  async indexer(parts) {
    const { indexer } = await import('../roles/indexer.js');
    return indexer.start({
      ...parts, replica: await parts.replica(), onAskedToAdvance: parts.advance.listen, openCatalogue: (replica) => openCatalogue(parts, replica),
    });
  },
  async lane(parts) {
    const { lane } = await import('../roles/lane.js');
    return lane.start({ ...parts, outbox: createOutbox({ url: parts.urls.outbox }) });
  },
  async feed(parts) {
    const { feed } = await import('../roles/feed.js');
    return feed.start({
      ...parts, kafka: await feedKafka(parts), report: reportTo(parts.logger),
      openCheckpoints: (session) => openCheckpoints({ ...session, url: parts.urls.outbox }),
    });
  },
  async settlement(parts) {
    const { settlement } = await import('../roles/settlement.js');
    return settlement.start({
      ...parts, laneUser: laneUserOf(parts), askToAdvance: parts.advance.ask, newId: () => randomUUID(), report: reportTo(parts.logger),
      openFeed: async () => (await import('../feed/fill-feed.js')).openFillFeed(parts),
      openIntakeStore: (session) => openStore({ ...session, url: parts.urls.outbox }),
    });
  },
  async relayer(parts) {
    const { relayer } = await import('../roles/relayer.js');
    const { config } = parts;
    return relayer.start({
      ...parts, replica: await parts.replica(), endedRelays: endedRelaysIn(await parts.readModels()), laneUser: laneUserOf(parts),
      recovery: await createSignerRecovery(parts.keccak256), admit: parts.conditions.admit,
      quota: { gasPerOwner: BigInt(config.relayGasPerOwner), gasPerToken: BigInt(config.relayGasPerToken) },
      keeperRules: KEEPER_RULES,
    });
  },
  async prices(parts) {
    const { prices } = await import('../roles/prices.js');
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
    const { query } = await import('../roles/query.js');
    const { config, conditions, logger } = parts;
    return query.start({
      ...parts, db: await parts.readModels(), isDatabaseAway: () => conditions.isAway('read models'), assets: config.quickAssets,
      streamLimits: { ...config, maxPriceStreams: mostPriceStreams(config) }, priceStreamFailed: createRecurring({ logger, what: 'price stream' }),
    });
  },
  async api(parts) {
    const { api } = await import('../roles/api.js');
    const { config } = parts;
    return api.start({
      ...parts, replica: await parts.replica(), db: await parts.readModels(), recovery: await createSignerRecovery(parts.keccak256),
      admit: parts.conditions.admit, limits: { ...config, maxQueuedOrders: MAX_QUEUED_ORDERS }, cancelAuth: config.cancelAuth,
    });
  },
};

/** Resolves when the role works. Throws the reason when it cannot; then nothing of the role is left running. */
export function startRole(name: RoleName, parts: SharedParts): Promise<RunningRole> {
  return START[name](parts);
}

function laneUserOf({ urls }: SharedParts): OpenLaneUser {
  return (whose) => openLaneUser({ ...whose, url: urls.outbox });
}

async function openCatalogue({ config, log, keccak256, clock }: SharedParts, { view, outcomeOf }: Replica): Promise<void> {
  const catalogue = await readCatalogue(config.catalogue);
  await openMissingMarkets({
    catalogue, chainId: config.chainId, keccak256, outcomeOf, now: () => clock.now(), isKnown: (marketId) => view.market(marketId) !== undefined,
    append: (record) => log.append('commands', [record]),
  });
}

/** The cluster in which the fill feed is published; undefined without KAFKA_BROKERS. */
async function feedKafka({ config, logger }: SharedParts): Promise<FeedKafka | undefined> {
  if (config.kafkaBrokers.length === 0) return undefined;
  const { kafkaTopic: topic, kafkaTopicV2, kafkaReplication: replication } = config;
  const { kafkaOf } = await import('../feed/fill-feed.js');
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
    surroundings: { now: () => clock.now(), random: () => Math.random(), report, fetch, pause },
  });
  for (const line of skipped) report('note', line);
  if (sources.length === 0) report('alarm', `of the price sources ${names.join(', ')} none can be used: there are no prices and no new quick markets`);
  return sources;
}
