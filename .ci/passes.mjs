// The record of the last pass of each long part, and of all that a push runs: a digest of the files that it covers, in .ci/passed/.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { URL, fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const fileOf = (name, root) => join(root, '.ci', 'passed', name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'));

/**
 * Of the files' paths and contents. `covers` are paths, or a function that says of a file's path whether it is covered. Throws Error where a path
 * covers no file: the table would leave out what it means to cover.
 */
export function digestOf(covers, root = ROOT) {
  const digest = createHash('sha256');
  // Files that git does not know yet are covered too.
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' }).split('\0')
    .filter((file) => file !== '' && !file.startsWith('.ci/passed/'));
  const filesAt = (path) => {
    const found = files.filter((file) => path.endsWith('/') ? file.startsWith(path) : file === path);
    if (found.length === 0) throw new Error(`${path} covers no file: correct .ci/parts.mjs`);
    return found;
  };
  const covered = new Set(typeof covers === 'function' ? files.filter(covers) : covers.flatMap(filesAt));
  for (const file of [...covered].sort()) {
    const content = readFileSync(join(root, file));
    digest.update(`${file}\n${content.length}\n`).update(content);
  }
  return digest.digest('hex');
}

/** Whether the part has passed on the files as they are now. */
export function hasPassed(name, covers, root = ROOT) {
  const file = fileOf(name, root);
  return existsSync(file) && readFileSync(file, 'utf8').trim() === digestOf(covers, root);
}

/** Records a pass on the files with this digest; to be called for that alone. */
export function notePass(name, digest, root = ROOT) {
  mkdirSync(join(root, '.ci', 'passed'), { recursive: true });
  writeFileSync(fileOf(name, root), `${digest}\n`);
}
