/** `DATA_DIR/roles.json`: the live processes of a stack, for operators and tools. Replaced at every change, so readers never see half a file. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LiveProcess } from './supervisor.js';

export interface RolesFile {
  write(live: readonly Pick<LiveProcess, 'role' | 'pid' | 'port'>[]): void;
  remove(): void;
}

export function rolesFile(dataDir: string): RolesFile {
  const path = join(dataDir, 'roles.json');
  return {
    // Synchronous: changes are rare, and two writes must not swap their order.
    write(live) {
      writeFileSync(`${path}.new`, `${JSON.stringify(live.map(({ role, pid, port }) => ({ role, pid, port })), undefined, 2)}\n`);
      renameSync(`${path}.new`, path);
    },
    remove() { rmSync(path, { force: true }); },
  };
}
