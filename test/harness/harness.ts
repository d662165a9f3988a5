/**
 * A process of the exchange for tests: the real roles, as in production and in the simulation, on ports that a test chooses one by one. What it
 * does not choose is in memory and works.
 */
import { randomUUID } from 'node:crypto';
import { openChain, type ChainPorts } from '../../command/chain/chain-access.js';
import type { ConfiguredChain } from '../../command/chain/configured-chain.js';
import { KEEPER_RULES } from '../../command/keeper/keeper.js';
import { createKeccak256, prepareDomain } from '../../command/signing/typed-data.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import type { Log } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import { decodeOutcome, type CommandOutcome } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import type { Event } from '../../engine/records/events.js';
import type { Report } from '../../engine/report.js';
import { startReplica, type Replica } from '../../engine/run/replica.js';
import type { StateTable } from '../../engine/state-table.js';
import type { ApiRequest, Endpoint, Reply, Route } from '../../service/api/endpoint.js';
import { until } from '../support/until.js';
import { memoryAdvance } from './memory/advance.js';
import { portsOf, startRoles, type RolePorts, type Roles, type StartedRole } from './ports.js';
import { createMemoryTables, memoryStores } from './stores.js';

export interface HarnessOptions {
  readonly roles: Roles;
  /** Default: a new log in memory. The harness closes it. */
  readonly log?: Log;
  /** The chains, with their keys and nodes. Default: none. */
  readonly chains?: readonly ConfiguredChain[];
  /** What is different at the access to the chains, such as a check that looks at nothing. */
  readonly access?: Partial<ChainPorts>;
  /** Ports that are not to be the usual ones. */
  readonly ports?: Partial<RolePorts>;
}

type Find<T> = () => T | undefined | false | Promise<T | undefined | false>;

export interface Harness {
  readonly log: Log;
  readonly replica: Replica;
  readonly ports: RolePorts;
  /** What was reported, `level: text`; and why a role has failed. */
  readonly reports: readonly string[];
  /** Appends a command past the API, and resolves with its outcome. */
  submit(command: Command): Promise<{ readonly position: number; readonly outcome: CommandOutcome }>;
  /** All events from a position on, as recorded. */
  events(from?: number): Promise<Event[]>;
  /** What the roles say of themselves in this table, as `/health/ready` shows it. */
  stateOf<S extends object>(table: StateTable<S>): Promise<readonly S[]>;
  /** What a role answers to a request. Throws what the role throws. */
  answer(endpoint: Endpoint, request: Partial<ApiRequest>): Promise<Reply>;
  /** Resolves with what `find` gives as soon as that is something; what was reported is in the message when it never is. */
  until<T>(what: string, find: Find<T>): Promise<T>;
  /** Stops in the service's order, once, and closes the log. */
  stop(): Promise<void>;
}

/** Resolves when all roles work. When one does not start, the others are stopped. */
export async function startHarness({ roles, log = createMemoryLog(), chains = [], access, ports: chosen }: HarnessOptions): Promise<Harness> {
  const stopping = new AbortController();
  const reports: string[] = [];
  const report: Report = (level, text) => { reports.push(`${level}: ${text}`); };
  const writerId = randomUUID();
  const replica = await startReplica({ log, record: { writerId }, signal: stopping.signal });
  await replica.caughtUp;
  const keccak256 = await createKeccak256();
  const opened = chains.map((configured) => openChain(configured, { keccak256, report, ...access }));
  const ports = portsOf({
    ...memoryStores(createMemoryTables(), { now: Date.now, standByMs: 20 }), ...memoryAdvance(),
    log, writerId, replica, report, keccak256, recovery: await createSignerRecovery(keccak256), newId: randomUUID,
    logLength: () => replica.view.position,
    clock: { now: Date.now, doubt: () => undefined, monotonic: () => performance.now() },
    chains: new Map(opened.map((each) => [each.chain.chainId, each])),
    domains: new Map(chains.map(({ chain: { chainId, domainName: name, contracts: { settlement: verifyingContract } } }) => (
      [chainId, prepareDomain(keccak256, { name, version: '1', chainId, verifyingContract })]))),
    endedRelays: { ended: () => Promise.resolve(undefined), caughtUp: () => Promise.resolve() },
    keeperRules: { ...KEEPER_RULES, graceS: 0 }, ...chosen,
  });
  const running: StartedRole[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(opened.map((each) => each.stop()));
    await Promise.all(running.map((role) => role.stop()));
    stopping.abort(new Error('the test stops the process'));
    await replica.done.catch(() => undefined);
    await log.close();
  };
  try {
    await startRoles(ports, roles, (role) => {
      running.push(role);
      role.failed.catch((error: unknown) => { reports.push(`failed: ${String(error)}`); });
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return harnessOf({ ports, running, reports, stop });
}

function harnessOf(
  { ports, running, reports, stop }: { ports: RolePorts; running: readonly StartedRole[]; reports: readonly string[]; stop: () => Promise<void> },
): Harness {
  const { log, replica } = ports;
  let end: Promise<void> | undefined;
  return {
    log, replica, ports, reports, stop: () => end ??= stop(),
    until: (what, find) => until(() => `${what}; reports:\n${reports.join('\n')}`, find),
    async submit(command) {
      const position = await log.append('commands', [{ id: recordId(`test:${randomUUID()}`), data: encodeCommand(command) }]);
      return { position, outcome: await replica.outcomeOf(position) };
    },
    async events(from = 0) {
      await until('the outcomes are recorded', () => replica.recording!.written === replica.view.position);
      return eventsFrom(log, from);
    },
    async stateOf<S extends object>(table: StateTable<S>) {
      const reading = running.flatMap(({ state }) => state).find((each) => each.table === table as StateTable<never>);
      const { shown = [] } = await reading?.readiness() ?? {};
      return shown as readonly S[];
    },
    answer: (endpoint, request) => answerOf(running.flatMap(({ routes = [] }) => routes), endpoint, request),
  };
}

/** What the routes of a role answer to a request. Throws what the role throws. */
export async function answerOf(routes: readonly Route[], endpoint: Endpoint, request: Partial<ApiRequest>): Promise<Reply> {
  const route = routes.find((each) => each.endpoint === endpoint);
  if (route === undefined) throw new Error(`no role serves ${endpoint.id}`);
  return await route.handler({ ...NOTHING_ASKED, ...request }) as Reply;
}

const NOTHING_ASKED: ApiRequest = {
  params: {}, query: {}, headers: {}, rawBody: Buffer.alloc(0), ip: '127.0.0.1', signal: new AbortController().signal,
};

async function eventsFrom(log: Log, from: number): Promise<Event[]> {
  const events: Event[] = [];
  for (let position = from; ;) {
    const page = await log.read('outcomes', position, 1_000);
    if (page.length === 0) return events;
    events.push(...page.flatMap(({ data }) => decodeOutcome(data).events));
    position += page.length;
  }
}
