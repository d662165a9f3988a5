/** Sets whether a child process and its output keep this process running. */
import type { ChildProcess } from 'node:child_process';

/**
 * A child and its pipes keep this process running from its start. Release it (`kept` false) when it serves in the background. Keep it again before
 * waiting for its `close`, which comes after the last of its output: otherwise this process could end first.
 */
export function keepAlive(child: ChildProcess, kept: boolean): void {
  for (const handle of [child, ...child.stdio]) {
    const counted = handle as unknown as { ref(): void; unref(): void } | null | undefined;
    if (kept) counted?.ref();
    else counted?.unref();
  }
}
