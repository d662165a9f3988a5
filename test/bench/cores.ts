/** Which core a process may use, by util-linux's `taskset`: so that what one part costs can be told from what others do beside it. Linux only. */
import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { promisify } from 'node:util';
import { childrenOf } from './compare/usage.js';

/** A process with its threads, the processes that it has started, and all that these start from now on. `core` undefined: all cores again. */
export async function pinTo(core: number | undefined, pid: number): Promise<void> {
  // What Node calls the available parallelism is that of the cores that this process may use now.
  const cores = core === undefined ? `0-${cpus().length - 1}` : String(core);
  // The process first: what it starts meanwhile has its cores.
  for (const each of [pid, ...await childrenOf(pid)]) await promisify(execFile)('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(each)]);
}
