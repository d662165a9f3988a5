/** `npm start`: the exchange from an environment; with an empty one, a development stack on an embedded Postgres. */
import { inspect } from 'node:util';
import { Command } from 'commander';
import { ConfigError, parseConfig, publicConfig, settingsHelp, type Config } from './config.js';
import { databaseOf } from './embedded/database-of.js';
import { ChainsFileError } from './chains/chains-file.js';
import { chainsOf } from './chains/chains-of.js';
import { startExchange } from './roles/exchange.js';
import { createLogger } from './logger.js';
import { stopOnSignals, type StopStep } from './stop.js';
import { welcome } from './cli/welcome.js';

/** EX_CONFIG of sysexits.h. */
const BAD_CONFIGURATION = 78;

await new Command('prediction-exchange')
  .description('Runs the exchange. It takes no arguments; settings are environment variables.')
  .addHelpText('after', `\nSettings:\n${settingsHelp()}`)
  .action(main)
  .parseAsync();

async function main(): Promise<void> {
  let config: Config;
  try {
    config = parseConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = BAD_CONFIGURATION;
    return;
  }
  const logger = createLogger(config);
  logger.info(publicConfig(config), 'starting');
  const steps: StopStep[] = [];
  const stop = stopOnSignals(process, {
    steps, timeoutMs: config.stopTimeoutMs * 2, exit: (code) => { process.exit(code); }, log: (line) => { logger.info(line, 'stopping'); },
  });
  try {
    const database = await databaseOf(config, (line) => { logger.debug({ line }, 'postgres'); });
    steps.push({ what: 'stop the embedded Postgres', run: () => database.close() });
    const chains = await chainsOf(config, { environment: process.env, log: (line) => { logger.debug({ line }, 'chain'); } });
    steps.unshift({ what: 'stop the development chain', run: () => chains.close() });
    const exchange = await startExchange(config, { databaseUrl: database.url, chains: chains.chains }, logger);
    steps.unshift(...exchange.stopSteps);
    logger.info({ url: exchange.url }, 'listening');
    if (config.databaseUrl === '') {
      const position = exchange.run.engine.state.position - 1;
      process.stdout.write(await welcome({ url: exchange.url, config, position, dev: chains.dev }) ?? '');
    }
    await Promise.race([
      exchange.failed, database.ended.then((reason) => { throw new Error(`the database has ended: ${reason}`); }),
      chains.ended.then((reason) => { throw new Error(`the development chain has ended: ${reason}`); }),
    ]);
  } catch (error) {
    logger.fatal({ error: inspect(error) }, `the exchange cannot go on: ${error instanceof Error ? error.message : String(error)}`);
    await stop(error instanceof ChainsFileError ? BAD_CONFIGURATION : 1);
  }
}
