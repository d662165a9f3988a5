/** A process per role behind a gateway, as systemd and a proxy run them: one that is killed is started again at its port. */
import { randomInt } from 'node:crypto';
import { createServer as createTcpServer } from 'node:net';
import { startGateway } from './gateway.js';
import { spawnService, type SpawnedService } from './service-process.js';
import { until, within } from './until.js';

export interface StackProcess {
  /** Its roles, joined by +. */
  readonly role: string;
  readonly pid: number;
  /** The same after each start. */
  readonly port: number;
}

export interface RoleProcesses {
  /** The gateway. */
  readonly url: string;
  /** Those that run, in the order of the settings. */
  processes(): readonly StackProcess[];
  /** Stops each process in turn, and goes on to the next one when its successor is ready. */
  restart(): Promise<void>;
  /** Rejects when a process has ended by itself: whatever happens around it, it should wait. */
  readonly failed: Promise<never>;
  /** SIGTERM to all; throws unless each exits with 0. */
  stop(): Promise<void>;
  /** The same, whatever the exit codes, and closes the gateway. */
  close(): Promise<void>;
}

export interface RoleProcessesOptions {
  /** The roles of each process, joined by +. */
  readonly processes: readonly string[];
  /** Of every process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Is told every line of their outputs. */
  readonly heard?: (line: string) => void;
}

/** A stack whose processes have to share a busy machine becomes ready within this time. */
const READY_S = 180;

interface Kept {
  readonly role: string;
  readonly port: number;
  service: SpawnedService | undefined;
  isReplaced: boolean;
}

/** Starts all at the same time. They may not be ready yet. */
export async function startRoleProcesses({ processes, environment, heard }: RoleProcessesOptions): Promise<RoleProcesses> {
  const ports = await freePorts(processes.length);
  const all = processes.map((role, i): Kept => ({ role, port: ports[i]!, service: undefined, isReplaced: false }));
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => { fail = reject; });
  failed.catch(() => undefined);
  let stopping = false;

  function start(kept: Kept): void {
    const { role, port } = kept;
    const service = kept.service = spawnService({ ...environment, ROLES: role.replaceAll('+', ' '), PORT: String(port) }, { heard });
    void service.exited.then((code) => {
      kept.service = undefined;
      if (stopping) return;
      if (code !== null && !kept.isReplaced) fail(new Error(`the ${role} process ended with ${code}:\n${service.lastLines().join('\n')}`));
      else start(kept);
    });
  }

  async function stopAll(): Promise<readonly (number | null)[]> {
    stopping = true;
    const running = all.flatMap(({ service }) => service ?? []);
    for (const { child } of running) child.kill('SIGTERM');
    return await within('the processes stop', Promise.all(running.map(({ exited }) => exited)), READY_S);
  }

  for (const each of all) start(each);
  const live = () => all.flatMap(({ role, port, service }): StackProcess[] => service === undefined ? [] : [{ role, port, pid: service.child.pid! }]);
  const gateway = await startGateway(live);
  return {
    url: gateway.url, processes: live, failed,
    async restart() {
      for (const kept of all) {
        const { service } = kept;
        kept.isReplaced = true;
        service!.child.kill('SIGTERM');
        await until(`the ${kept.role} process is another one`, () => kept.service !== service && kept.service !== undefined);
        kept.isReplaced = false;
        await ready(`http://127.0.0.1:${kept.port}`);
      }
    },
    async stop() {
      const codes = await stopAll();
      if (codes.some((code) => code !== 0)) throw new Error(`the processes ended with ${codes.join()}`);
    },
    async close() {
      await stopAll();
      await gateway.close();
    },
  };
}

/** Resolves when all that is behind this address says that it works. */
export async function ready(url: string): Promise<void> {
  await until(`${url} is ready`, () => fetch(`${url}/health/ready`).then(({ ok }) => ok, () => false), READY_S);
}

/** Free ports of this machine, one after the other, below those that the system gives out by itself (32,768 on). */
export async function freePorts(count: number): Promise<readonly number[]> {
  for (let tries = 0; tries < 100; tries++) {
    const first = randomInt(12_000, 32_000 - count);
    const ports = Array.from({ length: count }, (_, i) => first + i);
    const areFree = await Promise.all(ports.map(isFree));
    if (areFree.every(Boolean)) return ports;
  }
  throw new Error(`no ${count} ports one after the other are free`);
}

function isFree(port: number): Promise<boolean> {
  const holder = createTcpServer();
  return new Promise((resolve) => {
    holder.once('error', () => { resolve(false); });
    holder.listen(port, '127.0.0.1', () => { holder.close(() => { resolve(true); }); });
  });
}
