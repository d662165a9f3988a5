/**
 * The start and the end of a process's roles: opens what they share, starts one after the other, and stops them in the
 * opposite order.
 */
import { neverFails } from '../../engine/running-role.js';
import type { Database } from '../../query/database.js';
import type { Endpoint, Reply, Route } from '../api/endpoint.js';
import { configHandler } from '../endpoints/config.js';
import { reportTo } from '../logger.js';
import { createAlerts } from '../status/alerts.js';
import type { StopStep } from '../stop.js';
import { ROLE_NAMES, type RoleName } from './roles.js';
import { openSharedParts, type OpenedParts, type OpenOptions, type SharedParts } from './shared-parts.js';
import { startRole, type StartedRole } from './start-role.js';

/** A process whose roles all work. */
export interface Working {
  readonly parts: SharedParts;
  readonly roles: ReadonlyMap<RoleName, StartedRole>;
  readonly handlers: ReadonlyMap<Endpoint, Route['handler']>;
  /** The read models, for the roles that answer from them. */
  readonly reads: Database | undefined;
  readonly getConfig: () => Reply;
}

export interface Startup {
  /** Resolves when each role works. Rejects with the reason why the process cannot work. */
  readonly started: Promise<Working>;
  /** Rejects when a part or a role has failed after the start. */
  readonly failed: Promise<never>;
  /** The steps that end everything that was started, in order, also before the start is over. */
  readonly stopSteps: readonly StopStep[];
}

/** How often the values are looked at that may be alerts. */
const LOOK_EVERY_MS = 5_000;

/** Begins the start. `abort` ends what it waits for. */
export function startRoles(options: OpenOptions & { readonly abort: (reason: Error) => void }): Startup {
  const { roles, logger, metrics, machine, waits, abort } = options;
  const names = ROLE_NAMES.filter((name) => roles.has(name));
  const running = new Map<RoleName, StartedRole>();
  let opened: OpenedParts | undefined;
  let looking: NodeJS.Timeout | undefined;

  async function start(): Promise<Working> {
    const { parts, failed } = opened = await openSharedParts(options);
    for (const name of names) {
      waits.signal.throwIfAborted();
      const starting = startRole(name, parts).then((role) => { running.set(name, role); });
      await waits.during(() => `the ${name} role is starting`, Promise.race([starting, failed, ...failuresOf(running)]));
    }
    // The replica is one for all roles.
    const state = [...new Set([...running.values()].flatMap((role) => role.state))];
    metrics.show(state);
    const look = createAlerts({ report: reportTo(logger), now: machine.clocks.monotonic });
    looking = setInterval(() => { void look([...parts.conditions.state, ...state]); }, LOOK_EVERY_MS).unref();
    return {
      parts, roles: running, reads: running.has('query') || running.has('api') ? await parts.readModels() : undefined,
      handlers: new Map([...running.values()].flatMap(
        ({ routes = [] }) => routes.map(({ endpoint, handler }) => [endpoint, handler] as const),
      )),
      getConfig: configHandler({
        config: options.config, chains: [...parts.chains.values()], now: () => parts.clock.now(),
      }),
    };
  }

  const started = start();
  started.catch(() => undefined);
  return {
    started,
    failed: started.then(() => Promise.race([opened?.failed ?? neverFails(), ...failuresOf(running)]), neverFails),
    stopSteps: [
      { what: 'stop asking the chains', async run() {
        abort(new Error('the process stops'));
        await opened?.leaveChains();
        await started.catch(() => undefined);
        clearInterval(looking);
      } },
      ...names.toReversed().map((name): StopStep => ({ what: `stop the ${name} role`, run: async () => { await running.get(name)?.stop(); } })),
      { what: 'stop the replica', run: async () => { await opened?.stopReplica(); } },
      { what: 'close the read models', run: async () => { await opened?.closeReadModels(); } },
      { what: 'close the log', run: async () => { await opened?.closeLog(); } },
    ],
  };
}

function failuresOf(running: ReadonlyMap<RoleName, StartedRole>): Promise<never>[] {
  return [...running.values()].map(({ failed }) => failed);
}
