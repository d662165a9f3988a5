/** The rules about sizes, form and the top level can fail. */
import { form, topLevel, typeNames } from './form.js';
import { FOLDERS } from './project.js';
import { assertionsWithin, sizes } from './sizes.js';
import { accepts, finds } from './verdicts.js';

describe('architecture: rules about sizes can fail', () => {
  const lines = (count: number) => 'x();\n'.repeat(count);

  it('for files and functions', () => {
    finds(sizes, { 'engine/a.ts': lines(401) }, /has 401 lines, at most 400/);
    accepts(sizes, { 'engine/a.ts': lines(400) });
    finds(sizes, { 'engine/a.ts': `\nfunction f() {\n${lines(69)}}` }, /^engine\/a\.ts:2 has a function of 71 lines, at most 70/);
    finds(sizes, { 'engine/a.ts': `const f = async () => {\n${lines(69)}};` }, /71 lines/);
    finds(sizes, { 'engine/a.ts': `class A {\n  m() {\n${lines(69)}}\n}` }, /^engine\/a\.ts:2 .*71 lines/);
    finds(sizes, { 'test/a.test.ts': `describe('a', () => {\nit('b', () => {\n${lines(69)}});\n});` }, /^test\/a\.test\.ts:2 .*71 lines/);
    accepts(sizes, { 'engine/a.ts': `function f() {\n${lines(68)}}` });
    finds(sizes, { 'engine/a.ts': `function f() {\n${lines(69)}it(1);\n}` }, /function of 72 lines/);
    finds(sizes, { 'test/a.ts': `function f() {\n${lines(69)}g(() => { it(1); });\n}` }, /function of 72 lines/);
    accepts(sizes, { 'test/a.test.ts': `describe('a', () => {\n${lines(100)}it('b', f);\n});` });
    accepts(sizes, { 'test/a.ts': `export function contract() {\nfor (const a of b) {\n${lines(100)}it('b', f);\n}\n}` });
  });

  it('for non-null assertions', () => {
    const files = { 'query/a.ts': 'f(x!);\ng(y![0]!);', 'engine/run/a.ts': 'f(x!);' };
    finds(assertionsWithin({ 'query': 2, 'engine/run': 1 }), files, /^query\/ has 3 non-null assertions, at most 2 \(query\/a\.ts:1, query\/a\.ts:2, query\/a\.ts:2\)/);
    finds(assertionsWithin({ query: 3 }), files, /^engine\/run\/ has 1 non-null assertions, at most 0 /);
    finds(assertionsWithin({}), { 'query/a.ts': 'f(x!);\n'.repeat(9) }, /has 9 non-null assertions, at most 0 \(.* and 4 more\)/);
    accepts(assertionsWithin({ 'query': 3, 'engine/run': 1 }), files);
    accepts(assertionsWithin({}), { 'test/a.ts': 'f(x!);\n'.repeat(99), 'query/a.ts': 'if (!x) f(x !== 1);\n'.repeat(99) });
  });
});

describe('architecture: rules about form can fail', () => {
  it('for files', () => {
    finds(form, { 'engine/a.ts': 'export const x = 1;' }, /does not open with a comment/);
    finds(form, { 'engine/a.ts': '/** A. */\nexport default 1;' }, /^engine\/a\.ts:2 has a default export/);
    finds(form, { 'engine/a.ts': '/** A. */\nexport default function f() {}' }, /has a default export/);
    finds(form, { 'engine/index.ts': '/** A. */\nexport * from "./a.js";\nexport { b } from "./b.js";' }, /only re-exports/);
    for (const path of ['engine/utils.ts', 'command/order-helpers.ts', 'query/lib/a.ts', 'service/manager.ts', 'test/common/a.ts']) {
      finds(form, { [path]: '/** A. */\nexport const x = 1;' }, /named after no subject/);
    }
    accepts(form, { 'engine/a.ts': '// A.\nimport { x } from "./x.js";\nexport { y } from "./y.js";\nexport const z = x;' });
    accepts(form, { 'engine/calibrate.ts': '/** A. */\nexport const x = 1;' });
  });

  it('for names of types', () => {
    const first = { 'engine/a.ts': '/** A. */\nexport interface A {}' };
    const both = { ...first, 'query/b.ts': '/** B. */\nexport type A = 1;' };
    finds(typeNames, both, /^query\/b\.ts:2 exports a type A, and so does engine\/a\.ts:2: say in one/);
    finds(typeNames, { ...first, 'query/b.ts': '/** B. */\nexport class A {}' }, /exports a type A/);
    accepts(typeNames, { ...first, 'query/b.ts': '/** B. */\ninterface A {}\nexport const b: A = {};' });
    accepts(typeNames, { ...first, 'test/c.ts': '/** C. */\nexport type A = 1;' });
    accepts(typeNames, { 'engine/a.ts': '/** A. */\nexport const A = 1;\nexport type A = typeof A;' });
  });

  it('for the top level', () => {
    const files = ['CONTRIBUTING.md', 'LICENSE', 'README.md', 'package.json', 'tsconfig.json', 'docs/a.md'];
    const right = Object.fromEntries([...FOLDERS.map((folder) => `${folder}/a.txt`), ...files].map((path) => [path, '']));
    accepts(topLevel, right);
    finds(topLevel, { ...right, 'src/a.ts': '' }, /^src is at the top level, which is fixed: put it into a folder$/);
    finds(topLevel, Object.fromEntries(Object.entries(right).filter(([path]) => path !== 'README.md')), /^README\.md is missing at the top level, which is fixed$/);
  });
});
