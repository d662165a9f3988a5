/**
 * `node FLAGS dist/tools/bundle/compile.js FILE…`: runs files of the bundle and keeps what V8 has compiled of them, for processes with
 * the same flags.
 */
import { writeFileSync } from 'node:fs';
import { cacheOf, load } from './load.js';

const files = process.argv.slice(2);
// All have run before the first is kept: what a file calls in another one is compiled then, too.
for (const file of files) load(file);
for (const file of files) writeFileSync(cacheOf(file), load(file).script.createCachedData());
