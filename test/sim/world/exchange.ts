/**
 * The processes of the service: two with the roles engine and api, two with indexer, lane, settlement, relayer and prices. The roles are the real
 * ones, on ports in memory. A process that ends by itself is started again, as its supervisor does.
 */
import { ForeignHistory } from '../../../command/signing/history-check.js';
import { HistoryDiffers } from '../../../engine/run/history-differs.js';
import type { Replica } from '../../../engine/run/replica.js';
import type { Clock } from '../../../engine/running-role.js';
import type { ApiRequest, Endpoint, Reply } from '../../../service/api/endpoint.js';
import { startRoles, type Roles } from '../../harness/ports.js';
import type { WorldParts } from './parts.js';
import { openPorts, type Special } from './ports.js';
import { SimProcess } from './process.js';

export const PROCESSES = ['front-0', 'front-1', 'back-0', 'back-1'] as const;
export type ProcessName = typeof PROCESSES[number];

export interface Running {
  readonly process: SimProcess;
  /** What is wrong with it on purpose: it must end. */
  readonly special: Special;
  replica: Replica | undefined;
  clock: Clock | undefined;
  /** How it answers requests. */
  readonly handlers: Map<Endpoint, (request: ApiRequest) => Promise<Reply>>;
}

export class Exchange {
  readonly running = new Map<ProcessName, Running>();
  private starts = 0;
  /** Called with the error with which a process ended by itself. */
  failed: (name: ProcessName, error: Error) => void = () => undefined;

  constructor(private readonly parts: WorldParts) {}

  start(name: ProcessName, special: Special = {}): void {
    const { time, trace } = this.parts;
    const run: Running = { process: new SimProcess(name, time), special, replica: undefined, clock: undefined, handlers: new Map() };
    this.running.set(name, run);
    trace.note(`${name} starts`);
    this.startRoles(run, this.starts++).catch((error: unknown) => { this.ended(name, run, error as Error); });
  }

  /** Kills the process, and starts it again after a while. */
  crash(name: ProcessName, special?: Special): boolean {
    const run = this.running.get(name);
    if (run?.process.alive !== true) return false;
    const { time, trace } = this.parts;
    trace.note(`${name} is killed`);
    run.process.kill();
    time.after(200 + 3_000 * time.random(), () => { this.start(name, special); });
    return true;
  }

  living(): Running[] {
    return [...this.running.values()].filter(({ process }) => process.alive);
  }

  private async startRoles(run: Running, start: number): Promise<void> {
    const { process, special, handlers } = run;
    const { trace } = this.parts;
    const name = process.name as ProcessName;
    const fail = (error: unknown): void => { this.ended(name, run, error as Error); };
    const isFront = name.startsWith('front');
    const ports = await openPorts(this.parts, { ...special, process, start, records: isFront, fail });
    Object.assign(run, { replica: ports.replica, clock: ports.clock });
    await startRoles(ports, isFront ? FRONT : this.back(), (role) => {
      role.failed.catch(fail);
      process.atEnd(() => { role.stop().catch(() => undefined); });
      for (const { endpoint, handler } of role.routes ?? []) handlers.set(endpoint, async (request) => await handler(request) as Reply);
    });
    trace.note(`${name} works`);
  }

  private back(): Roles {
    const { prices: { areTraded }, relays } = this.parts;
    return {
      indexer: {}, lane: {}, settlement: { timings: { pollMs: 500, laneLookMs: 1_000 } },
      ...relays ? { relayer: { timings: { pollMs: 1_000, answerWithinMs: 8_000 } } } : {}, ...areTraded ? { prices: {} } : {},
    };
  }

  private ended(name: ProcessName, run: Running, error: Error): void {
    if (!run.process.alive) return;
    const { strikes, trace } = this.parts;
    trace.note(`${name} ends: ${error.message}`);
    const { alter, domain } = run.special;
    if (error instanceof HistoryDiffers && alter !== undefined) strikes.struck(name.startsWith('front') ? 'engine differs' : 'checker differs');
    else if (error instanceof ForeignHistory && domain !== undefined) strikes.struck('settings of another exchange');
    else this.failed(name, error);
    this.crash(name);
  }
}

const FRONT: Roles = { engine: {}, api: {} };
