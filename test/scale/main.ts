/** `node tools/run.mjs test/scale/main`: prints the tables of docs/scale.md. */
import { needs, waits, walls } from './tables.js';

for (const table of [needs(), walls(), waits()]) process.stdout.write(`${table}\n\n`);
