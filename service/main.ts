/** `npm start`: the exchange from an environment; with an empty one, a development stack on an embedded Postgres. */
import { join } from 'node:path';
import { ConfigError, parseConfig, publicConfig, settingsHelp, type Config } from './config.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';
import { startExchange } from './exchange.js';
import { createLogger, type Logger } from './logger.js';
import { stopOnSignals, type StopStep } from './stop.js';
import { welcome } from './welcome.js';

if (process.argv.includes('--help')) {
  process.stdout.write(`Settings, as environment variables:\n${settingsHelp()}\n`);
} else {
  await main();
}

async function main(): Promise<void> {
  let config: Config;
  try {
    config = parseConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 78;
    return;
  }
  const logger = createLogger(config);
  logger.info(publicConfig(config), 'starting');
  const steps: StopStep[] = [];
  const stop = stopOnSignals(process, {
    steps, timeoutMs: config.stopTimeoutMs * 2, exit: (code) => { process.exit(code); }, log: (line) => { logger.info(line, 'stopping'); },
  });
  try {
    const database = config.databaseUrl === '' ? await embedded(config, logger) : undefined;
    if (database !== undefined) steps.push({ what: 'stop the embedded Postgres', run: () => database.stop() });
    const exchange = await startExchange(config, database?.url ?? config.databaseUrl, logger);
    steps.unshift(...exchange.stopSteps);
    logger.info({ url: exchange.url }, 'listening');
    if (database !== undefined) process.stdout.write(await welcome(exchange.url, config, exchange.run.engine.state.position - 1) ?? '');
    await Promise.race([exchange.failed, database?.ended.then((reason) => { throw new Error(`the database has ended: ${reason}`); })
      ?? exchange.failed]);
  } catch (error) {
    logger.fatal({ error: error instanceof Error ? error.stack : String(error) }, 'the exchange cannot go on');
    await stop(1);
  }
}

function embedded(config: Config, logger: Logger): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    directory: join(config.dataDir, 'postgres'), log: (line) => { logger.debug({ line }, 'postgres'); },
  });
}
