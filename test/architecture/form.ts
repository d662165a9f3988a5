/** How a file opens, what it exports and what it is called; and the top level, which is fixed. */
import ts from 'typescript';
import { FOLDERS, eachSource, lineOf, type Rule } from './project.js';

const BANNED_NAMES = /(^|[./-])(utils?|helpers?|lib|common|manager)([./-]|$)/i;

/** A file says in its first sentence what it is for, and its exports by their names. */
export const form: Rule = eachSource(({ path, text, tree }) => {
  const findings: string[] = [];
  if (!/^(#!.*\n)?\/(\*|\/)/.test(text)) findings.push(`${path} does not open with a comment: one sentence that says what the file is for`);
  if (BANNED_NAMES.test(path)) findings.push(`${path} is named after no subject: name it for what it does`);
  for (const statement of tree.statements) {
    const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) ?? [] : [];
    if (path === 'page/vite.config.ts') continue; // Vite takes the default export.
    if (ts.isExportAssignment(statement) || modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword)) {
      findings.push(`${path}:${lineOf(tree, statement)} has a default export: give it a name, so that it is called the same everywhere`);
    }
  }
  const content = tree.statements.filter((statement) => !ts.isImportDeclaration(statement));
  if (content.length > 0 && content.every((statement) => ts.isExportDeclaration(statement))) {
    findings.push(`${path} only re-exports: import from the files that hold the things`);
  }
  return findings;
});

/** The client is a package of its own, whose users see its names alone. */
const PRODUCT = FOLDERS.filter((folder) => folder !== 'test' && folder !== 'client');

/** An exported type has its name alone in the product: whoever meets the name anywhere knows which type it is. */
export const typeNames: Rule = ({ sources }) => {
  const places = new Map<string, string>();
  const product = sources.filter(({ path }) => PRODUCT.some((folder) => path.startsWith(`${folder}/`)));
  return product.flatMap(({ path, tree }) => tree.statements.flatMap((statement) => {
    const name = exportedType(statement);
    if (name === undefined) return [];
    const before = places.get(name);
    const here = `${path}:${lineOf(tree, statement)}`;
    if (before === undefined) {
      places.set(name, here);
      return [];
    }
    return [`${here} exports a type ${name}, and so does ${before}: say in one of the names which it is, or share the type`];
  }));
};

function exportedType(statement: ts.Statement): string | undefined {
  const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)
    || ts.isClassDeclaration(statement);
  const isExported = isType && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
  return isExported ? statement.name?.text : undefined;
}

const ALLOWED = new Set([
  ...FOLDERS, '.ci', 'client', 'deploy', 'docs', 'tools', '.dockerignore', '.gitignore', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md', 'eslint.config.js', 'package-lock.json',
  'package.json',
  'tsconfig.json',
]);
const REQUIRED = ['CONTRIBUTING.md', 'LICENSE', 'README.md', 'package.json', 'tsconfig.json', ...FOLDERS];

export const topLevel: Rule = ({ texts }) => {
  const names = new Set([...texts.keys()].map((path) => path.split('/')[0] ?? path));
  return [
    ...[...names].filter((name) => !ALLOWED.has(name)).map((name) => `${name} is at the top level, which is fixed: put it into a folder`),
    ...REQUIRED.filter((name) => !names.has(name)).map((name) => `${name} is missing at the top level, which is fixed`),
  ];
};
