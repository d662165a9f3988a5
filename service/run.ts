/** Runs the exchange in one process: the roles that ROLES names, on the databases and chains that it is given. */
import { checkPlace } from './http/server.js';
import { openProcess } from './process/process.js';
import { STOP_TIMEOUT_MS } from './process/serve.js';
import { runProgram } from './program.js';
import type { ResourcesOf } from './resources.js';
import { ROLES } from './process/roles.js';

/** Runs until a signal or a failure ends the process. */
export async function runExchange(resourcesOf: ResourcesOf, environment: NodeJS.ProcessEnv): Promise<void> {
  await runProgram({
    name: 'prediction-exchange', what: 'the exchange',
    description: 'Runs the exchange in one process.', unused: ['PROCESSES'],
    help: `\n\nRoles:\n${Object.entries(ROLES).map(([name, { reads, writes }]) => `${name.padEnd(12)}reads ${reads}; writes ${writes}.`).join('\n')}`,
    stopWithinMs: ({ stopGraceMs }) => stopGraceMs + STOP_TIMEOUT_MS * 2,
    async run({ config, logger, steps, stop, serves }) {
      // npm run start:roles has ended, and nothing else would stop this process. It may have ended already.
      process.once('disconnect', () => { void stop(); });
      if (process.send !== undefined && !process.connected) void stop();
      await checkPlace(config);
      const { failed, greeting, ...resources } = await resourcesOf(config, { environment, signs: config.roles.includes('lane'), logger, steps });
      const exchange = await openProcess({ config, resources, logger, graceMs: config.stopGraceMs });
      steps.unshift(...exchange.stopSteps);
      logger.info({ url: exchange.url }, 'answering /health; the roles are starting');
      await exchange.started;
      logger.info({ url: exchange.url, roles: config.roles }, 'listening');
      serves();
      process.stdout.write(await greeting?.(exchange.url) ?? '');
      return await Promise.race([exchange.failed, ...failed === undefined ? [] : [failed]]);
    },
  }, environment);
}
