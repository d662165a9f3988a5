/** `npm start`: one process with the roles that ROLES names. With an empty environment: all roles, on an embedded development stack. */
import { inspect } from 'node:util';
import { Command } from 'commander';
import { ConfigError, parseConfig, publicConfig, settingsHelp, type Config } from './config.js';
import { BAD_CONFIGURATION, isBadConfiguration } from './exit-codes.js';
import { openGrounds } from './grounds.js';
import { createLogger } from './logger.js';
import { allRoles } from './roles/all-roles.js';
import { startProcess } from './process/process.js';
import { stopOnSignals, type StopStep } from './stop.js';
import { welcome } from './welcome.js';

await new Command('prediction-exchange')
  .description('Runs the exchange. The command takes no arguments; settings are environment variables.')
  .addHelpText('after', `\nSettings:\n${settingsHelp()}\n\nRoles:\n${rolesHelp()}`)
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
  // When the supervisor dies, nothing would restart or stop this process any more.
  process.once('disconnect', () => { void stop(); });
  try {
    const grounds = await openGrounds(config, { environment: process.env, logger, steps });
    const exchange = await startProcess(config, grounds, logger);
    steps.unshift(...exchange.stopSteps);
    logger.info({ url: exchange.url, roles: config.roles }, 'listening');
    if (grounds.isDevelopment) process.stdout.write(await welcome({ url: exchange.url, config, dev: grounds.dev }) ?? '');
    await Promise.race([exchange.failed, grounds.failed]);
  } catch (error) {
    logger.fatal({ error: inspect(error) }, `the exchange cannot continue: ${error instanceof Error ? error.message : String(error)}`);
    await stop(isBadConfiguration(error) ? BAD_CONFIGURATION : 1);
  }
}

function rolesHelp(): string {
  return Object.values(allRoles).map(({ name, reads, writes }) => `${name.padEnd(12)}reads ${reads}; writes ${writes}.`).join('\n');
}
