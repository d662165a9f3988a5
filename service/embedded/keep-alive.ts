/** Whether a child process and its output keep our own process running. */
import type { ChildProcess } from 'node:child_process';

/**
 * A child is kept (as it is from its start) while somebody waits for it: `close` comes after the last of its output, and a process with
 * nothing left to wait for ends. It is released when it is to serve in the background.
 */
export function keepAlive(child: ChildProcess, kept: boolean): void {
  for (const handle of [child, child.stdout, child.stderr]) {
    const counted = handle as unknown as { ref(): void; unref(): void } | null;
    if (kept) counted?.ref();
    else counted?.unref();
  }
}
