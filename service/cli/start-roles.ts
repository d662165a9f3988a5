/** `npm run start:roles`: the same stack as `npm start`, with each role in its own process, behind one address. */
import { fork } from 'node:child_process';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { pause } from '../../engine/waiting.js';
import { developmentTokenText, keepDevelopmentToken, type DevelopmentToken } from '../access/development-token.js';
import { keyVariablesOf } from '../chains/chains-file.js';
import type { Config } from '../config.js';
import { BAD_CONFIGURATION } from '../exit-codes.js';
import { openGrounds } from '../grounds.js';
import { requestObserver } from '../http/observe.js';
import { checkPlace } from '../http/server.js';
import type { Logger } from '../logger.js';
import { createMetrics } from '../metrics.js';
import { joined } from '../conditions/probe.js';
import type { Grounds } from '../process/process.js';
import { serve } from '../process/serve.js';
import type { ReadinessParts } from '../process/readiness.js';
import { runProgram, type Running } from '../program.js';
import type { RoleName } from '../roles/role-names.js';
import { childEnvironment } from '../supervision/child-environment.js';
import { createFront } from '../supervision/front.js';
import { rolesFile } from '../supervision/roles-file.js';
import { ofRole, stackReadiness } from '../supervision/stack-readiness.js';
import { supervise, type LiveProcess, type Managed } from '../supervision/supervisor.js';
import { welcome } from '../welcome.js';

/** Time between two checks whether the stack is ready. */
const READY_POLL_MS = 250;
/** Not SIGHUP, which also comes when a terminal closes. */
const RESTART_SIGNAL = 'SIGUSR2';
const PROGRAM = fileURLToPath(new URL('../main.js', import.meta.url));

await runProgram({
  name: 'prediction-exchange start:roles', what: 'the stack',
  description: 'Runs every role in a process of its own, starts again what dies, and serves clients at PORT.', unused: ['ROLES'],
  stopWithinMs: ({ stopTimeoutMs, stopGraceMs, processes }) => stopGraceMs + stopTimeoutMs * 2 * (processes.length + 1),
  run,
}, process.env);

async function run({ config, logger, steps, serves }: Running): Promise<never> {
  // From the first moment on, since a signal that nobody hears ends a process.
  let restart = (): void => { logger.info(`${RESTART_SIGNAL}: the stack is only starting, nothing is restarted`); };
  process.on(RESTART_SIGNAL, () => { restart(); });
  await checkPlace(config);
  const grounds = await openGrounds(config, { environment: process.env, signs: false, logger, steps });
  const token = grounds.isDevelopment ? await keepDevelopmentToken({ url: grounds.urls.readModels, dataDir: config.dataDir }) : undefined;
  const file = rolesFile(config.dataDir);
  const hasDevChain = grounds.dev !== undefined;
  const keyVariables = hasDevChain ? [] : await keyVariablesOf(config.chains);
  const stackGrounds = { environment: process.env, urls: grounds.urls, hasDevChain, keyVariables };
  const environmentFor = (roles: readonly string[]) => childEnvironment(config, stackGrounds, roles);
  // Until they have begun to start, the front has none.
  const processes: { live: () => readonly LiveProcess[] } = { live: () => [] };
  const { front, open } = frontOf(config, { logger, live: () => processes.live(), started: grounds.started });
  // First, since with PORT=0 it could otherwise get a port that is meant for a process.
  const { url, leave, stop } = await open();
  const supervisor = supervise({
    managed: await places(config), changed: (live) => { file.write(live); }, hopeless: BAD_CONFIGURATION, stopTimeoutMs: config.stopTimeoutMs * 2,
    now: () => performance.now(), report: (level, line) => { logger[level](line, 'process'); },
    forget: ({ port }) => front.forget(port, config.stopTimeoutMs),
    // Detached: Ctrl-C in a terminal then reaches only the supervisor, which stops the other processes in order.
    spawn: ({ role, port }) => fork(PROGRAM, {
      env: { ...environmentFor(role.split('+')), ROLES: role.replaceAll('+', ' '), PORT: String(port) }, execArgv: ['--enable-source-maps'], detached: true,
    }),
  });
  processes.live = () => supervisor.live();
  steps.unshift({ what: 'stop the roles', run: async () => {
    await supervisor.stop();
    file.remove();
  } });
  steps.unshift({ what: 'say that the stack leaves', run: leave }, { what: 'stop taking requests', run: stop });
  restart = () => {
    logger.info(`${RESTART_SIGNAL}: restarting the processes, one after the other`);
    void supervisor.restart().then(() => { logger.info('the processes are restarted'); });
  };
  logger.info({ url }, 'serving; the roles are starting');
  serves();
  if (token !== undefined) void greet({ url, config: { ...config, roles: [...new Set(config.processes.flat())] }, ...grounds }, token);
  return await Promise.race([supervisor.failed, grounds.failed]);
}

interface FrontParts {
  readonly logger: Logger;
  readonly live: () => readonly LiveProcess[];
  readonly started: Grounds['started'];
}

/** The front; `open` listens. */
function frontOf(config: Config, { logger, live, started }: FrontParts) {
  const metrics = createMetrics();
  metrics.show(started?.figures ?? []);
  metrics.show([{
    name: 'exchange_processes', help: 'Number of live processes by role', read: () => config.processes.map((group) => group.join('+')).map((role) => (
      { labels: { role }, value: live().filter((each) => each.role === role).length })),
  }]);
  let leaving = false;
  const stack = () => ({ wanted: config.processes.map((group) => group.join('+')), live: live(), own: ownHealth() });
  const ownHealth = (): ReadinessParts => ({ ...started?.health(), reasons: [...leaving ? ['the service is stopping'] : [], ...started?.health().reasons ?? []] });
  const whole = joined(() => stackReadiness(stack()));
  const front = createFront({
    portsOf: (role) => portsOf(live(), role), readiness: (role) => role === undefined ? whole() : stackReadiness(ofRole(stack(), role)), metrics,
    showsMetrics: config.metricsPort === undefined, observer: requestObserver(metrics, logger), trustProxy: config.trustProxy,
  });
  return {
    front,
    async open() {
      // A request that is passed on has a connection to a process, too.
      const listener = await serve(front, { config, metrics, logger, filesPerConnection: 2 });
      return {
        ...listener,
        async leave() {
          leaving = true;
          front.leave();
          await pause(config.stopGraceMs);
        },
      };
    },
  };
}

/** The processes that serve the role; those that stand by, where none does: their answer says why. */
function portsOf(live: readonly LiveProcess[], role: RoleName): readonly number[] {
  const serving = live.filter(({ serves }) => serves.includes(role));
  return (serving.length > 0 ? serving : live.filter(({ standsBy }) => standsBy.includes(role))).map(({ port }) => port);
}

/** Assigns each process a free port of this machine, which it keeps over restarts. */
async function places(config: Config): Promise<Managed[]> {
  const held = await Promise.all(config.processes.map(async (group) => ({ role: group.join('+'), ...await holdPort() })));
  await Promise.all(held.map(({ release }) => release()));
  return held.map(({ role, port }) => ({ role, port }));
}

/** A free port, which is held until `release`, so that the next call finds another port. */
async function holdPort(): Promise<{ readonly port: number; release(): Promise<void> }> {
  const holder = createSocketServer();
  await new Promise<void>((resolve, reject) => { holder.once('error', reject).listen(0, '127.0.0.1', resolve); });
  return { port: (holder.address() as AddressInfo).port, release: () => new Promise((resolve) => { holder.close(() => { resolve(); }); }) };
}

/** Prints the welcome text when the stack is ready. */
async function greet(parts: Parameters<typeof welcome>[0], token: DevelopmentToken): Promise<void> {
  const isReady = (): Promise<boolean> => fetch(`${parts.url}/health/ready`).then(({ ok }) => ok, () => false);
  while (!await isReady()) await pause(READY_POLL_MS);
  process.stdout.write((await welcome(parts) ?? '') + developmentTokenText(token, { isTerminal: process.stdout.isTTY }));
}
