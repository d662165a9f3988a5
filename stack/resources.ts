/** The databases and chains of an exchange on a laptop: what the settings do not name is started here. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfiguredChain } from '../command/chain/configured-chain.js';
import { chainsOf } from '../service/chains-of.js';
import type { Config } from '../service/config.js';
import { DirectoryInUse } from '../service/machine/directory-lock.js';
import { ROLE_NAMES } from '../service/process/roles.js';
import { logged, urlsOf, type ResourceOptions, type OpenResources } from '../service/resources.js';
import { startDevelopmentChain, type DevelopmentChain } from './chain/development.js';
import { createFaucet } from './chain/faucet.js';
import { dataDirectoryError } from './data-directory.js';
import { databaseOf, sharedDatabaseOf } from './database-of.js';
import { fundsRoutes } from './dev-funds.js';
import { giveToken, tokenRoutes } from './dev-token.js';
import { developmentTokenText, keepDevelopmentToken, type DevelopmentToken } from './development-token.js';
import { readerUrlOf } from './reader-login.js';
import { welcome } from './welcome.js';

export interface StackResources extends OpenResources {
  readonly failed: Promise<never>;
  /** Whether the development chain was started here. */
  readonly hasDevChain: boolean;
  /** The bearer token of the development stack; undefined with a database of the settings. */
  readonly token: DevelopmentToken | undefined;
}

/**
 * Names the databases and chains of the settings, and starts those that they leave out. A process that has only some of the roles joins the
 * embedded stack of another process on the same DATA_DIR, if one runs.
 */
export async function stackResources(config: Config, opening: ResourceOptions): Promise<StackResources> {
  const { logger, steps } = opening;
  const joins = config.roles.length < ROLE_NAMES.length;
  const named = (error: unknown): never => { throw dataDirectoryError(error, config.dataDir); };
  const database = await (joins ? sharedDatabaseOf : databaseOf)(config, (line) => { logger.debug({ line }, 'postgres'); }).catch(named);
  steps.push({ what: 'stop the embedded Postgres', run: () => database.close() });
  const { chains, dev } = await openChains(config, { ...opening, joins }).catch(named);
  steps.unshift({ what: 'stop the development chain', run: async () => { await dev?.close(); } });
  const isDevelopment = config.databaseUrl === '';
  const token = isDevelopment ? await keepDevelopmentToken({ url: database.url, dataDir: config.dataDir }) : undefined;
  return {
    urls: urlsOf(config, database.url, isDevelopment ? await readerUrlOf(database.url) : undefined), chains: logged(chains, logger),
    hasDevChain: dev !== undefined, token,
    // Only of a chain that was started here: it is on this machine alone, and its money is worth nothing.
    ...dev === undefined
      ? {}
      : {
          routes: [
            ...fundsRoutes({ chainId: dev.chain.chainId, give: createFaucet(dev), now: () => performance.now() }),
            ...token === undefined ? [] : tokenRoutes(token.text),
          ],
          ownPagesOnly: [giveToken],
        },
    failed: Promise.race([database.ended, ...dev === undefined ? [] : [dev.ended]]).then((ended) => { throw ended; }),
    ...token === undefined
      ? {}
      : {
          greeting: async (url) => (await welcome({ url, config, chains, dev }) ?? '') + developmentTokenText(token, { isTerminal: process.stdout.isTTY }),
        },
  };
}

interface Chains {
  readonly chains: readonly ConfiguredChain[];
  readonly dev: DevelopmentChain | undefined;
}

/** The development chain with CHAINS=dev, else the chains of the settings. */
async function openChains(config: Config, { joins, logger, ...secrets }: ResourceOptions & { readonly joins: boolean }): Promise<Chains> {
  if (config.chains !== 'dev') return { chains: await chainsOf(config.chains, secrets), dev: undefined };
  try {
    const dev = await startDevelopmentChain(config, (line) => { logger.debug({ line }, 'chain'); });
    return { chains: [dev.configured], dev };
  } catch (error) {
    const running = join(config.dataDir, 'chain', 'chains.json');
    if (!joins || !(error instanceof DirectoryInUse) || !await isThere(running)) throw error;
    return { chains: await chainsOf(running, secrets), dev: undefined };
  }
}

function isThere(path: string): Promise<boolean> {
  return readFile(path).then(() => true, () => false);
}
