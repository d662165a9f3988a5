/** The rules about packages and about banned calls can fail. */
import { bannedCalls } from './bans.js';
import { installed, owners, ownersOf } from './packages.js';
import { accepts, finds } from './verdicts.js';

describe('architecture: rules about packages can fail', () => {
  it('when somebody else imports one', () => {
    finds(owners, { 'engine/rules/decide.ts': 'import pg from "pg";' }, /^engine\/rules\/decide\.ts:1 imports pg, which belongs to engine\/log/);
    finds(owners, { 'engine/rules/decide.ts': 'import x from "pg/lib/x.js";' }, /imports pg,/);
    finds(owners, { 'command/a.ts': 'const x = require("left-pad");' }, /left-pad, which has no owner/);
    finds(owners, { 'command/a.ts': 'import x from "@bitauth/libauth";' }, /@bitauth\/libauth, which belongs to command\/signing\/recover\.ts/);
    accepts(owners, { 'service/logger.ts': 'import { pino } from "pino"; import x from "node:fs"; import y from "./y.js";' });
    accepts(owners, { 'engine/records/schema-types.ts': 'import type Type from "typebox";' });
    accepts(owners, { 'test/a.ts': 'import { Wallet } from "ethers";' });
  });

  it('when an owner, a package or an import is missing', () => {
    const files = { 'package.json': '{"dependencies":{"pg":"^8.0.0"}}', 'query/database.ts': 'import pg from "pg";' };
    const table = { pg: ['query/database.ts'] };
    accepts(ownersOf(table), files);
    finds(ownersOf({}), files, /^package\.json depends on pg, which has no owner/);
    finds(ownersOf({ pg: ['query/database.ts', 'query/gone.ts'] }), files, /says that query\/gone\.ts owns pg, but nothing there imports it/);
    finds(ownersOf(table), { ...files, 'query/database.ts': 'import x from "pg-other";' }, /says that query\/database\.ts owns pg/);
    finds(ownersOf({ pg: ['query/*', 'command/*'] }), files, /says that command\/\* owns pg/);
    finds(ownersOf({ ...table, ajv: ['query/a.ts'] }), { ...files, 'query/a.ts': 'import "ajv";' }, /names ajv, which package\.json does not have/);
  });

  it('when nothing looks for a program that a package brings', () => {
    const manifest = { 'package.json': '{"dependencies":{"@a/vm":"^1.0.0"}}' };
    accepts(ownersOf({ '@a/vm': ['service/vm.ts'] }), { ...manifest, 'service/vm.ts': 'const name = `@a/vm-${platform}`;' });
    finds(ownersOf({ '@a/vm': ['service/vm.ts'] }), { ...manifest, 'service/vm.ts': 'const name = `@a/virtual-${platform}`;' }, /service\/vm\.ts owns @a\/vm/);
  });

  it('when the system imports what only development has', () => {
    const manifest = { 'package.json': '{"dependencies":{"pg":"^8.0.0"},"devDependencies":{"solc":"^0.8.0"}}' };
    finds(installed, { ...manifest, 'service/a.ts': 'import x from "solc";' }, /^service\/a\.ts:1 imports solc, which is not in package\.json's dependencies/);
    finds(installed, { ...manifest, 'test/a.ts': 'import x from "left-pad";' }, /left-pad, which is not in/);
    accepts(installed, { ...manifest, 'service/a.ts': 'import x from "pg/lib/x.js"; import type { Y } from "solc";', 'test/a.ts': 'import x from "solc";' });
  });
});

describe('architecture: banned calls can be found', () => {
  it('in the pure folders, with the exceptions of the log and of the programs', () => {
    for (const call of ['Date.now()', 'new Date()', 'new Date', 'Math.random()', 'performance.now()', 'crypto.randomUUID()', 'randomUUID()', 'globalThis.Date.now()',
      'Date["now"]()', 'process.env']) {
      for (const folder of ['engine', 'projections', 'query']) finds(bannedCalls, { [`${folder}/a.ts`]: `\nexport const x = ${call};` }, /^\w+\/a\.ts:2 uses /);
    }
    finds(bannedCalls, { 'service/config.ts': 'export const x = process.env["PORT"];' }, /one table in service\/config\.ts/);
    finds(bannedCalls, { 'engine/log/a.ts': 'export const x = Date.now();' }, /the same records/);
    accepts(bannedCalls, { 'engine/log/a.ts': 'export const x = performance.now();' });
    accepts(bannedCalls, { 'engine/a.ts': 'export const x = new Date(5); // Date.now() in a comment\nconst y = "Math.random()";' });
    accepts(bannedCalls, { 'service/main.ts': 'run(process.env, performance.now());' });
    finds(bannedCalls, { 'command/a.ts': 'import os from "node:os"; export const x = os.uptime();' }, /a tenth of its time/);
    accepts(bannedCalls, { 'service/machine/clock.ts': 'import { uptime } from "node:os"; export const x = uptime();' });
    accepts(bannedCalls, { 'service/machine/clock.ts': 'export const wall = () => Date.now();' });
    finds(bannedCalls, { 'service/process/a.ts': 'export const x = Date.now();' }, /the trusted time of service\/machine\/clock.ts/);
  });
});
