/** The architecture of design section 9 and the house style, as rules that fail with their reason and the remedy. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FOLDERS, arrows, bannedCalls, form, owners, parse, rules, sizes, topLevel, type Rule } from './rules.js';

const root = rootAbove(fileURLToPath(new URL('.', import.meta.url)));
const files = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name.replaceAll('\\', '/')}`));
const sources = files.filter((path) => path.endsWith('.ts')).map((path) => parse({ path, text: readFileSync(join(root, path), 'utf8') }));

describe('architecture', () => {
  it('keeps the arrows, the owners of packages, the banned calls, the sizes and the form', () => {
    assert.ok(sources.length > 30, 'the sources were not found');
    const findings = sources.flatMap((source) => rules.flatMap((rule) => rule(source)));
    assert.equal(findings.length, 0, `\n${findings.join('\n')}`);
  });

  it('keeps the top level', () => {
    const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n').map((line) => line.replace(/\/$/, ''));
    const findings = topLevel(readdirSync(root).filter((name) => name !== '.git' && !ignored.includes(name)));
    assert.equal(findings.length, 0, `\n${findings.join('\n')}`);
  });
});

describe('architecture: the rules can fail', () => {
  const found = (rule: Rule, path: string, text: string) => rule(parse({ path, text }));
  const finds = (rule: Rule, path: string, text: string, expected: RegExp) => {
    const findings = found(rule, path, text);
    assert.equal(findings.length, 1, `${path}: ${text}\n${findings.join('\n')}`);
    assert.match(findings[0]!, expected);
  };
  const accepts = (rule: Rule, path: string, text: string) => { assert.deepEqual(found(rule, path, text), [], `${path}: ${text}`); };

  it('arrows', () => {
    finds(arrows, 'engine/rules/decide.ts', 'import { x } from \'../../command/y.js\';', /^engine\/rules\/decide\.ts:1 imports command\/y: engine may import itself only/);
    finds(arrows, 'projections/a.ts', '\nexport { x } from "../query/y.js";', /^projections\/a\.ts:2 .* projections may import itself, engine only/);
    finds(arrows, 'command/a.ts', 'const x = await import("../service/config.js");', /command may import itself, engine, contracts-abi only/);
    finds(arrows, 'service/a.ts', 'import type { X } from "../test/x.js";', /service may import/);
    finds(arrows, 'service/a.ts', 'type X = import("../test/x.js").X;', /service may import/);
    finds(arrows, 'query/a.ts', 'import { decide } from "../engine/rules/decide.js";', /vocabulary and codec only/);
    finds(arrows, 'engine/a.ts', 'import x from "../package.json";', /in no folder of the project/);
    accepts(arrows, 'engine/log/a.ts', 'import { x } from "../fields.js";');
    accepts(arrows, 'query/a.ts', 'import { x } from "../engine/records/fields.js"; import y from "pg";');
    accepts(arrows, 'service/http/a.ts', 'import { x } from "../../command/a.js";');
    accepts(arrows, 'test/a.ts', 'import { x } from "../service/a.js";');
  });

  it('owners of packages', () => {
    finds(owners, 'engine/rules/decide.ts', 'import pg from "pg";', /^engine\/rules\/decide\.ts:1 imports pg, which belongs to engine\/log/);
    finds(owners, 'engine/rules/decide.ts', 'import x from "pg/lib/x.js";', /imports pg,/);
    finds(owners, 'command/a.ts', 'import { Kafka } from "kafkajs";', /belongs to nobody yet/);
    finds(owners, 'command/a.ts', 'const x = require("left-pad");', /left-pad, which has no owner/);
    finds(owners, 'command/a.ts', 'import x from "@bitauth/libauth";', /@bitauth\/libauth, which belongs to command\/signing\/recover\.ts/);
    accepts(owners, 'service/logger.ts', 'import { pino } from "pino"; import x from "node:fs"; import y from "./y.js";');
    accepts(owners, 'engine/log/a.ts', 'import Type from "typebox";');
    accepts(owners, 'test/a.ts', 'import { Wallet } from "ethers";');
  });

  it('banned calls', () => {
    for (const call of ['Date.now()', 'new Date()', 'new Date', 'Math.random()', 'performance.now()', 'crypto.randomUUID()', 'randomUUID()', 'globalThis.Date.now()',
      'Date["now"]()', 'process.env']) {
      for (const folder of ['engine', 'projections', 'query']) finds(bannedCalls, `${folder}/a.ts`, `\nexport const x = ${call};`, /^\w+\/a\.ts:2 uses /);
    }
    finds(bannedCalls, 'service/config.ts', 'export const x = process.env["PORT"];', /one table in service\/config\.ts/);
    finds(bannedCalls, 'engine/log/a.ts', 'export const x = Date.now();', /the same records/);
    accepts(bannedCalls, 'engine/log/a.ts', 'export const x = performance.now();');
    accepts(bannedCalls, 'engine/a.ts', 'export const x = new Date(5); // Date.now() in a comment\nconst y = "Math.random()";');
    accepts(bannedCalls, 'service/main.ts', 'run(process.env, Date.now());');
  });

  it('sizes', () => {
    const lines = (count: number) => 'x();\n'.repeat(count);
    finds(sizes, 'engine/a.ts', lines(401), /has 401 lines, at most 400/);
    accepts(sizes, 'engine/a.ts', lines(400));
    finds(sizes, 'engine/a.ts', `\nfunction f() {\n${lines(69)}}`, /^engine\/a\.ts:2 has a function of 71 lines, at most 70/);
    finds(sizes, 'engine/a.ts', `const f = async () => {\n${lines(69)}};`, /71 lines/);
    finds(sizes, 'engine/a.ts', `class A {\n  m() {\n${lines(69)}}\n}`, /^engine\/a\.ts:2 .*71 lines/);
    finds(sizes, 'test/a.test.ts', `describe('a', () => {\nit('b', () => {\n${lines(69)}});\n});`, /^test\/a\.test\.ts:2 .*71 lines/);
    accepts(sizes, 'engine/a.ts', `function f() {\n${lines(68)}}`);
    accepts(sizes, 'test/a.test.ts', `describe('a', () => {\n${lines(100)}});`);
  });

  it('form', () => {
    finds(form, 'engine/a.ts', 'export const x = 1;', /does not open with a comment/);
    finds(form, 'engine/a.ts', '/** A. */\nexport default 1;', /^engine\/a\.ts:2 has a default export/);
    finds(form, 'engine/a.ts', '/** A. */\nexport default function f() {}', /has a default export/);
    finds(form, 'engine/index.ts', '/** A. */\nexport * from "./a.js";\nexport { b } from "./b.js";', /only re-exports/);
    for (const path of ['engine/utils.ts', 'command/order-helpers.ts', 'query/lib/a.ts', 'service/manager.ts', 'test/common/a.ts']) {
      finds(form, path, '/** A. */\nexport const x = 1;', /named after no subject/);
    }
    accepts(form, 'engine/a.ts', '// A.\nimport { x } from "./x.js";\nexport { y } from "./y.js";\nexport const z = x;');
    accepts(form, 'engine/calibrate.ts', '/** A. */\nexport const x = 1;');
  });

  it('top level', () => {
    const right = [...FOLDERS, 'README.md', 'package.json', 'tsconfig.json', 'docs'];
    assert.deepEqual(topLevel(right), []);
    assert.deepEqual(topLevel([...right, 'src']), ['src is at the top level, which is fixed (design, section 9): put it into a folder']);
    assert.deepEqual(topLevel(right.filter((name) => name !== 'README.md')), ['README.md is missing at the top level, which is fixed (design, section 9)']);
  });
});

/** The repository that the compiled test lies in, wherever it was compiled to. */
function rootAbove(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : rootAbove(join(folder, '..'));
}
