/** Distinguishes a process from a later process with the same id, so that the remains of a dead process are recognised. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * A text that no other process of this machine ever has: the process id with its start time and, on Linux, the boot id.
 * Undefined when no such process runs; a zombie does not count as running.
 */
export function processIdentity(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return process.platform === 'linux' ? identityFromProc(pid) : identityFromPs(pid);
}

/** Whether a process with the id runs. */
export function isRunning(pid: number): boolean {
  return processIdentity(pid) !== undefined;
}

function identityFromProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the program's name in parentheses and may hold anything; state is field 3, start time (ticks) field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return `${pid} ${fields[19]} ${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}`;
  } catch {
    return undefined;
  }
}

function identityFromPs(pid: number): string | undefined {
  try {
    const [state, ...start] = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], { encoding: 'utf8', env: { LC_ALL: 'C' } })
      .trim().split(/\s+/);
    if (state === undefined || state === '' || state.startsWith('Z')) return undefined;
    return `${pid} ${start.join(' ')}`;
  } catch {
    return undefined;
  }
}
