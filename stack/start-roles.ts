/** `npm run start:roles`: the same stack as `npm start`, with each role in its own process, behind one address. */
import { fork } from 'node:child_process';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { pause } from '../engine/waiting.js';
import { keyVariablesOf } from '../service/chains/chains-file.js';
import type { Config } from '../service/config.js';
import { BAD_CONFIGURATION } from '../service/exit-codes.js';
import { stackResources } from './resources.js';
import { requestObserver } from '../service/http/observe.js';
import { checkPlace } from '../service/http/server.js';
import type { Logger } from '../service/logger.js';
import { createMetrics } from '../service/status/metrics.js';
import { joined } from '../service/status/probe.js';
import type { Resources } from '../service/resources.js';
import { serve } from '../service/process/serve.js';
import { runProgram, type Running } from '../service/program.js';
import type { RoleName } from '../service/roles/role-names.js';
import { childEnvironment } from './supervision/child-environment.js';
import { createFront } from './supervision/front.js';
import { rolesFile } from './supervision/roles-file.js';
import { ofRole, stackReadiness } from './supervision/stack-readiness.js';
import { supervise, type LiveProcess, type Managed } from './supervision/supervisor.js';

/** Time between two checks whether the stack is ready. */
const READY_POLL_MS = 250;
/** Not SIGHUP, which also comes when a terminal closes. */
const RESTART_SIGNAL = 'SIGUSR2';
const PROGRAM = fileURLToPath(new URL('../service/main.js', import.meta.url));

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
  const { urls, state, failed, hasDevChain, greeting } = await stackResources(
    { ...config, roles: [...new Set(config.processes.flat())] }, { environment: process.env, signs: false, logger, steps });
  const file = rolesFile(config.dataDir);
  const keyVariables = hasDevChain ? [] : await keyVariablesOf(config.chains);
  const stack = { environment: process.env, urls, hasDevChain, keyVariables };
  const environmentFor = (roles: readonly string[]) => childEnvironment(config, stack, roles);
  // Until they have begun to start, the front has none.
  const processes: { live: () => readonly LiveProcess[] } = { live: () => [] };
  const { front, open } = frontOf(config, { logger, live: () => processes.live(), state });
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
  if (greeting !== undefined) void greet(url, greeting);
  return await Promise.race([supervisor.failed, failed]);
}

interface FrontParts {
  readonly logger: Logger;
  readonly live: () => readonly LiveProcess[];
  readonly state: Resources['state'];
}

/** The front; `open` listens. */
function frontOf(config: Config, { logger, live, state = [] }: FrontParts) {
  const metrics = createMetrics();
  metrics.show(state);
  let leaving = false;
  const stack = () => ({ wanted: config.processes.map((group) => group.join('+')), live: live(), own: ownHealth() });
  const ownHealth = () => ({ reasons: leaving ? ['the service is stopping'] : [] });
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
async function greet(url: string, greeting: (url: string) => Promise<string | undefined>): Promise<void> {
  const isReady = (): Promise<boolean> => fetch(`${url}/health/ready`).then(({ ok }) => ok, () => false);
  while (!await isReady()) await pause(READY_POLL_MS);
  process.stdout.write(await greeting(url) ?? '');
}
