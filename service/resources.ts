/** The databases and chains that a process uses, as its settings name them. */
import { CannotStart } from '../engine/cannot-start.js';
import type { Secrets } from './chains-file.js';
import { chainsOf } from './chains-of.js';
import type { ConfiguredChain } from '../command/chain/configured-chain.js';
import type { Endpoint, Route } from './api/endpoint.js';
import { logUrlOf, type Config } from './config.js';
import type { Logger } from './logger.js';
import type { Urls } from './process/shared-parts.js';
import type { StopStep } from './stop.js';

export interface Resources {
  readonly urls: Urls;
  /** Where orders settle; empty: orders are matched and trades do not settle. */
  readonly chains: readonly ConfiguredChain[];
  /** What is served beside the endpoints of the exchange, by who starts what is not a part of it; absent: nothing. */
  readonly routes?: readonly Route[];
  /** Those of its endpoints that web pages of other sites may not call; absent: none. */
  readonly ownPagesOnly?: readonly Endpoint[];
}

export interface OpenResources extends Resources {
  /** Rejects when something that was started here ends by itself; absent when nothing was. */
  readonly failed?: Promise<never>;
  /** What the terminal shows once the service listens at this URL; undefined: nothing. */
  readonly greeting?: (url: string) => Promise<string | undefined>;
}

export interface ResourceOptions extends Secrets {
  readonly logger: Logger;
  /** Receives the steps that stop what is started here. */
  readonly steps: StopStep[];
}

/** Opens what a process needs. */
export type ResourcesOf = (config: Config, opening: ResourceOptions) => Promise<OpenResources>;

/** The databases and chains of the settings: starts nothing, and does not wait for a database. */
export async function namedResources(config: Config, opening: ResourceOptions): Promise<OpenResources> {
  if (config.databaseUrl === '') {
    throw new CannotStart('DATABASE_URL is not set: this program brings no Postgres of its own; npm start does, for development', { hopeless: true });
  }
  return {
    urls: urlsOf(config, config.databaseUrl), chains: logged(await chainsOf(config.chains, opening), opening.logger),
  };
}

/** The URLs of the settings; `databaseUrl` has the read models, and everything that no setting puts elsewhere. */
export function urlsOf(config: Config, databaseUrl: string, readerUrl?: string): Urls {
  const reads = config.queryDatabaseUrl || readerUrl;
  return {
    log: logUrlOf(config, databaseUrl), readModels: databaseUrl, outbox: config.outboxUrl || databaseUrl,
    ...reads === undefined ? {} : { reads },
  };
}

/** Returns the chains, and names them in the log. */
export function logged(chains: readonly ConfiguredChain[], logger: Logger): readonly ConfiguredChain[] {
  for (const { chain: { chainId, name, contracts: { settlement }, exposureCheck } } of chains) {
    logger.info({ chainId, name, settlement, exposureCheck }, 'orders settle on this chain');
  }
  return chains;
}
