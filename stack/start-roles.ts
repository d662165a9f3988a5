/**
 * `npm run start:roles`: the same stack as `npm start`, with each role in a process of its own. It ends when the first of them ends:
 * restarting processes is the work of systemd and compose (deploy/).
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { within } from '../engine/waiting.js';
import { keyVariablesOf } from '../service/chains-file.js';
import type { Config } from '../service/config.js';
import { checkPlace, urlOf } from '../service/http/server.js';
import { NODE_ARGUMENTS } from '../service/process/node-arguments.js';
import { STOP_TIMEOUT_MS } from '../service/process/serve.js';
import { runProgram, type Running } from '../service/program.js';
import type { RoleName } from '../service/process/roles.js';
import { childEnvironment, type ChildPlace } from './child-environment.js';
import { developmentTokenText } from './development-token.js';
import { stackResources } from './resources.js';

const PROGRAM = fileURLToPath(new URL('../service/main.js', import.meta.url));

async function run({ config, logger, steps, serves }: Running): Promise<never> {
  const places = placesOf(config);
  for (const { port } of places) await checkPlace({ host: config.host, port });
  const { urls, failed, hasDevChain, token } = await stackResources(
    { ...config, roles: [...new Set(config.processes.flat())] }, { environment: process.env, signs: false, logger, steps });
  const stack = { environment: process.env, urls, hasDevChain, keyVariables: hasDevChain ? [] : await keyVariablesOf(config.chains) };
  // Detached: Ctrl-C in a terminal then reaches only this process, which passes it on once. By the channel that `fork` opens, the
  // processes also end when this one is killed.
  const children = places.map((place) => startedAs(nameOf(place), fork(PROGRAM, {
    env: childEnvironment(config, stack, place), execArgv: [...NODE_ARGUMENTS], detached: true,
  })));
  const stopping = new AbortController();
  steps.unshift({ what: 'stop the roles', run: async () => {
    stopping.abort();
    await Promise.all(children.map((child) => stop(child, config.stopGraceMs + STOP_TIMEOUT_MS * 2)));
  } });
  serves();
  process.stdout.write(placesText(config, places));
  if (token !== undefined) process.stdout.write(developmentTokenText(token, { isTerminal: process.stdout.isTTY }));
  const firstEnd = children.map(async ({ ended }): Promise<never> => {
    const end = await ended;
    // Ends that were asked for are no reason.
    if (stopping.signal.aborted) return new Promise(() => undefined);
    throw end;
  });
  return await Promise.race([failed, ...firstEnd]);
}

/** The roles that clients ask, in the order of their ports. */
const ASKED_BY_CLIENTS: readonly RoleName[] = ['api', 'query', 'relayer'];

/** The process with the api role has PORT, those with query and relayer come next, then the others; with PORT=0 each has any free port. */
function placesOf({ processes, port, metricsPort }: Config): readonly ChildPlace[] {
  const rank = (roles: readonly RoleName[]): number => {
    const first = ASKED_BY_CLIENTS.findIndex((role) => roles.includes(role));
    return first < 0 ? ASKED_BY_CLIENTS.length : first;
  };
  const nth = (first: number, i: number): number => first === 0 ? 0 : first + i;
  return [...processes].sort((a, b) => rank(a) - rank(b)).map((roles, i) => (
    { roles, port: nth(port, i), metricsPort: metricsPort && { ...metricsPort, port: nth(metricsPort.port, i) } }));
}

function nameOf({ roles }: ChildPlace): string {
  return roles.join('+');
}

function placesText({ host, dataDir }: Config, places: readonly ChildPlace[]): string {
  const width = Math.max(...places.map((place) => nameOf(place).length));
  const lines = places.map((place) => (
    `  ${nameOf(place).padEnd(width)}  ${place.port === 0 ? 'any free port: its log lines name it' : urlOf({ host, port: place.port })}`));
  return ['', 'prediction-exchange starts each of these roles in a process of its own, and ends when one of them ends:', ...lines,
    '  /health/ready at each port says whether that process works, and for what it waits.', `  Data is kept in ${dataDir}.`, '', ''].join('\n');
}

/** How the first process of the stack ended. The stack ends with the same exit code. */
class RoleEnded extends Error {
  constructor(message: string, readonly exitCode: number) {
    super(message);
    this.name = 'RoleEnded';
  }
}

interface Child {
  readonly child: ChildProcess;
  readonly ended: Promise<RoleEnded>;
}

function startedAs(name: string, child: ChildProcess): Child {
  const ended = once(child, 'exit').then(([code, signal]) => {
    const how = code === null ? `was ended by ${String(signal)}` : `has ended with exit code ${String(code)}`;
    const exitCode = code as number | null ?? 128 + constants.signals[signal as NodeJS.Signals];
    return new RoleEnded(`the ${name} process (pid ${child.pid}) ${how}; the others are stopped`, exitCode);
  });
  ended.catch(() => undefined);
  return { child, ended };
}

async function stop({ child, ended }: Child, withinMs: number): Promise<void> {
  child.kill('SIGTERM');
  if (await within(ended.then(() => true, () => true), withinMs) === undefined) child.kill('SIGKILL');
}

// Last, since what is above has to be there when it runs.
void runProgram({
  name: 'prediction-exchange start:roles', what: 'the stack',
  description: 'Runs every role in a process of its own, the one with the api role at PORT and the others at the ports after it. '
    + 'Ends when the first of them ends.',
  unused: ['ROLES'],
  stopWithinMs: ({ stopGraceMs }) => stopGraceMs + STOP_TIMEOUT_MS * 4,
  run,
}, process.env);
