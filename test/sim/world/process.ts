/**
 * A process of the simulated service. When it crashes, its objects are thrown away: nothing that it does afterwards leaves it, and no answer
 * reaches it. What it had sent before still arrives.
 */
import type { VirtualTime } from './time.js';

/** Never resolves: an answer to somebody who is dead. One each: a promise keeps all who wait for it. */
const never = (): Promise<never> => new Promise(() => undefined);

export class SimProcess {
  /** What ends the objects of a process that has crashed, so that they do not go on as ghosts. */
  private readonly ends: (() => void)[] = [];
  private live = true;
  private open = 0;
  /** The wall clock of its machine minus the true time, in milliseconds. */
  wallAheadMs = 0;

  constructor(readonly name: string, private readonly time: VirtualTime) {}

  get alive(): boolean { return this.live; }

  /** How many requests have no answer yet. */
  get underWay(): number { return this.open; }

  /** Calls when the process ends. */
  atEnd(end: () => void): void { this.ends.push(end); }

  /** It is killed: what is on its way to others arrives. */
  kill(): void {
    if (!this.live) return;
    this.live = false;
    for (const end of this.ends.splice(0)) end();
  }

  /** Sends a request over the network: the work is done some time later, elsewhere, and its result or error comes back later still. */
  async request<T>(work: () => T | Promise<T>): Promise<T> {
    if (!this.live) return never();
    this.open += 1;
    await this.time.sleep(this.delayMs());
    let settle: () => T;
    try {
      const result = await work();
      settle = () => result;
    } catch (error) {
      settle = () => { throw error; };
    }
    await this.time.sleep(this.delayMs());
    this.open -= 1;
    return this.live ? settle() : never();
  }

  /** Resolves later; never for a process that is dead then. */
  async reached(ms = this.delayMs()): Promise<void> {
    await this.time.sleep(ms);
    if (!this.live) await never();
  }

  /** Mostly a few milliseconds, sometimes so many that others overtake. */
  private delayMs(): number {
    return this.time.once(30) ? 20 + 280 * this.time.random() : 0.5 + 4 * this.time.random();
  }
}
