/** `npm start`: one process with the roles that ROLES names. With an empty environment: all roles, on an embedded development stack. */
import { developmentTokenText, keepDevelopmentToken } from './access/development-token.js';
import { openGrounds } from './grounds.js';
import { checkPlace } from './http/server.js';
import { openProcess } from './process/process.js';
import { runProgram } from './program.js';
import { ROLES } from './roles/role-names.js';
import { placeOf } from './supervision/supervised.js';

/** How often a process looks whether it takes requests for other roles than before. */
const TELL_EVERY_MS = 100;

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
    const grounds = await openGrounds(config, { environment: process.env, signs: config.roles.includes('lane'), logger, steps });
    const token = grounds.isDevelopment ? await keepDevelopmentToken({ url: grounds.urls.readModels, dataDir: config.dataDir }) : undefined;
    const place = placeOf(process, config);
    const exchange = await openProcess({ config, grounds, logger, forgotten: () => place.forgotten() });
    steps.unshift(...exchange.stopSteps);
    logger.info({ url: exchange.url }, 'answering /health; the roles are starting');
    await exchange.started;
    logger.info({ url: exchange.url, roles: config.roles }, 'listening');
    place.tell(exchange.takes());
    setInterval(() => { place.tell(exchange.takes()); }, TELL_EVERY_MS).unref();
    serves();
    if (grounds.isDevelopment) {
      const { welcome } = await import('./welcome.js');
      process.stdout.write(await welcome({ url: exchange.url, config, ...grounds }) ?? '');
    }
    if (token !== undefined) process.stdout.write(developmentTokenText(token, { isTerminal: process.stdout.isTTY }));
    return await Promise.race([exchange.failed, grounds.failed]);
  },
}, process.env);
