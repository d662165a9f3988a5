/** What a program hears of a request to a process: the answer, the refusal, or nothing, when the process dies, is slow, or the answer is lost. */
import { RequestError } from '../../../engine/records/errors.js';
import type { Running } from '../world/exchange.js';
import type { VirtualTime } from '../world/time.js';

export const PATIENCE_MS = 12_000;

export type Heard<T> = T | RequestError | 'no answer' | 'not reached';

/** `work` is undefined for a process that does not take requests yet. */
export function ask<T>(time: VirtualTime, to: Running | undefined, work: (to: Running) => (() => Promise<T>) | undefined): Promise<Heard<T>> {
  return new Promise((resolve) => {
    time.after(1 + 5 * time.random(), () => {
      const taken = to?.process.alive === true ? work(to) : undefined;
      if (to === undefined || taken === undefined) return resolve('not reached');
      time.after(PATIENCE_MS, () => { resolve('no answer'); });
      const heard = (answer: T | RequestError): void => {
        if (to.process.alive) time.after(1 + 5 * time.random(), () => { if (to.process.alive) resolve(answer); });
      };
      taken().then(heard, (error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        heard(error);
      });
    });
  });
}
