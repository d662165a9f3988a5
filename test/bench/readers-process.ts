/** The process with the readers of a stream benchmark, as its parent asks it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Arrivals, ReadersRequest } from './stream-readers.js';

export interface Readers {
  ask(asked: ReadersRequest): Promise<Arrivals>;
  end(): void;
}

/** A clock that all processes of the machine share. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export async function startReaders(): Promise<Readers> {
  const program = fileURLToPath(new URL('./stream-readers.js', import.meta.url));
  const child = fork(program, { serialization: 'advanced', execArgv: [] });
  child.once('exit', (code) => { if (code !== 0) throw new Error(`the readers ended with ${code}`); });
  await once(child, 'spawn');
  return {
    end: () => { child.disconnect(); },
    async ask(asked) {
      const answered = once(child, 'message') as Promise<[{ answered: Arrivals }]>;
      child.send(asked);
      return (await answered)[0].answered;
    },
  };
}
