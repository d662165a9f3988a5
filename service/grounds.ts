/** The databases and chains of the exchange: named by the settings, or started here. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dataDirectoryError } from './cannot-start.js';
import type { Secrets } from './chains/chains-file.js';
import { chainsOf, type ChainsOfConfig } from './chains/chains-of.js';
import { logUrlOf, type Config } from './config.js';
import { databaseOf, sharedDatabaseOf } from './embedded/database-of.js';
import { DirectoryInUse } from './embedded/directory-lock.js';
import { readerUrlOf } from './embedded/reader-login.js';
import { reportTo, type Logger } from './logger.js';
import type { Grounds, StartedHere } from './process/process.js';
import { ROLE_NAMES } from './roles/role-names.js';
import type { StopStep } from './stop.js';

export interface OpenGrounds extends Grounds {
  /** Whether somebody has started this on a machine of their own: with an embedded Postgres. */
  readonly isDevelopment: boolean;
  /** The development chain that was started here; undefined without one. */
  readonly dev: ChainsOfConfig['dev'];
  /** Rejects when the Postgres or the chain that was started here ends by itself. */
  readonly failed: Promise<never>;
}

interface Opening extends Secrets {
  readonly logger: Logger;
  /** Receives the steps that stop what is started here. */
  readonly steps: StopStep[];
}

/**
 * Names the databases and chains of the settings, and starts those that they leave out: nothing here waits for a database of the settings. A
 * process that has only some of the roles joins the embedded stack of another process on the same DATA_DIR, if one runs.
 */
export async function openGrounds(config: Config, { environment, signs, logger, steps }: Opening): Promise<OpenGrounds> {
  const joins = config.roles.length < ROLE_NAMES.length;
  const named = (error: unknown): never => { throw dataDirectoryError(error, config.dataDir); };
  const database = await (joins ? sharedDatabaseOf : databaseOf)(config, (line) => { logger.debug({ line }, 'postgres'); }).catch(named);
  steps.push({ what: 'stop the embedded Postgres', run: () => database.close() });
  const chains = await chainsOfStack(config, { joins, environment, signs, log: (line) => { logger.debug({ line }, 'chain'); }, report: reportTo(logger) }).catch(named);
  steps.unshift({ what: 'stop the development chain', run: () => chains.close() });
  for (const { chain: { chainId, name, contracts: { settlement }, exposureCheck } } of chains.chains) {
    logger.info({ chainId, name, settlement, exposureCheck }, 'orders settle on this chain');
  }
  const reads = config.queryDatabaseUrl || (config.databaseUrl === '' ? await readerUrlOf(database.url) : undefined);
  return {
    urls: {
      log: logUrlOf(config, database.url), readModels: database.url, outbox: config.outboxUrl || database.url,
      ...reads === undefined ? {} : { reads },
    },
    chains: chains.chains,
    isDevelopment: config.databaseUrl === '', dev: chains.dev,
    started: chains.dev === undefined ? undefined : healthOf(chains.dev),
    failed: Promise.race([
      database.ended.then((ended) => { throw ended; }), chains.ended.then((ended) => { throw ended; }),
    ]),
  };
}

function healthOf({ chain: { chainId }, unkeptBlocks }: NonNullable<ChainsOfConfig['dev']>): StartedHere {
  return {
    health: () => ({ reasons: [], chains: [{ chainId, unkeptBlocks: unkeptBlocks() }] }),
    figures: [{
      name: 'exchange_dev_chain_unkept_blocks', help: 'Number of blocks of the development chain that were mined and are not on disk yet', read: unkeptBlocks,
    }],
  };
}

async function chainsOfStack(
  config: Config, { joins, ...opening }: { joins: boolean } & Parameters<typeof chainsOf>[1],
): Promise<ChainsOfConfig> {
  try {
    return await chainsOf(config, opening);
  } catch (error) {
    const running = join(config.dataDir, 'chain', 'chains.json');
    if (!joins || !(error instanceof DirectoryInUse) || !await isThere(running)) throw error;
    return chainsOf({ ...config, chains: running }, opening);
  }
}

function isThere(path: string): Promise<boolean> {
  return readFile(path).then(() => true, () => false);
}
