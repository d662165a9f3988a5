/** `DATA_DIR/roles.json`: the live processes of a stack, for operators and tools. Rewritten whole at every change: a reader never sees half of it. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LiveProcess } from './supervisor.js';

export interface RolesFile {
  write(live: readonly LiveProcess[]): void;
  remove(): void;
}

export function rolesFile(dataDir: string): RolesFile {
  const path = join(dataDir, 'roles.json');
  return {
    // Synchronous: changes come seldom, and two of them must not be written in the wrong order.
    write(live) {
      writeFileSync(`${path}.new`, `${JSON.stringify(live.map(({ role, pid, port }) => ({ role, pid, port })), undefined, 2)}\n`);
      renameSync(`${path}.new`, path);
    },
    remove() { rmSync(path, { force: true }); },
  };
}
