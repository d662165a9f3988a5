/** Runs the exchange in one process: the roles that ROLES names, on the databases and chains that it is given. */
import { checkPlace } from './http/server.js';
import { openProcess } from './process/process.js';
import { placeOf } from './process/supervised.js';
import { runProgram } from './program.js';
import type { ResourcesOf } from './resources.js';
import { ROLES } from './roles/role-names.js';

/** How often a process looks whether it takes requests for other roles than before. */
const TELL_EVERY_MS = 100;

/** Runs until a signal or a failure ends the process. */
export async function runExchange(resourcesOf: ResourcesOf, environment: NodeJS.ProcessEnv): Promise<void> {
  await runProgram({
    name: 'prediction-exchange', what: 'the exchange',
    description: 'Runs the exchange in one process.', unused: ['PROCESSES'],
    help: `\n\nRoles:\n${Object.entries(ROLES).map(([name, { reads, writes }]) => `${name.padEnd(12)}reads ${reads}; writes ${writes}.`).join('\n')}`,
    stopWithinMs: ({ stopTimeoutMs, stopGraceMs }) => stopGraceMs + stopTimeoutMs * 2,
    async run({ config, logger, steps, stop, serves }) {
      // When the supervisor dies, nothing would restart or stop this process any more. It may have died already.
      process.once('disconnect', () => { void stop(); });
      if (process.send !== undefined && !process.connected) void stop();
      await checkPlace(config);
      const { failed, greeting, ...resources } = await resourcesOf(config, { environment, signs: config.roles.includes('lane'), logger, steps });
      const place = placeOf(process, config);
      const exchange = await openProcess({ config, resources, logger, forgotten: () => place.forgotten() });
      steps.unshift(...exchange.stopSteps);
      logger.info({ url: exchange.url }, 'answering /health; the roles are starting');
      await exchange.started;
      logger.info({ url: exchange.url, roles: config.roles }, 'listening');
      place.tell(exchange.takes());
      setInterval(() => { place.tell(exchange.takes()); }, TELL_EVERY_MS).unref();
      serves();
      process.stdout.write(await greeting?.(exchange.url) ?? '');
      return await Promise.race([exchange.failed, ...failed === undefined ? [] : [failed]]);
    },
  }, environment);
}
