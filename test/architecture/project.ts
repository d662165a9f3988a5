/** The repository as the rules see it: every file's text by its path, and the sources parsed once for all rules. */
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

export interface Import {
  readonly module: string;
  /** For a relative import: the file it means, from the repository's root and without the ending. */
  readonly target?: string;
  readonly line: number;
  /** `import type`: gone at run time. */
  readonly typeOnly: boolean;
}

/** A source that has been parsed. */
export interface Source {
  /** From the repository's root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
  /** Every module that it imports, exports from, or loads by `import()` or `require()`. */
  readonly imports: readonly Import[];
}

export interface Project {
  /** Every file's text by its path; no file that .gitignore names. */
  readonly texts: ReadonlyMap<string, string>;
  /** The TypeScript sources. */
  readonly sources: readonly Source[];
}

/** Returns its findings: each says where, what is wrong, why, and what to do. */
export type Rule = (project: Project) => string[];

export const FOLDERS = ['client', 'command', 'contracts-abi', 'engine', 'page', 'projections', 'query', 'service', 'stack', 'test', 'tools'] as const;

/** What generators write clients from is compiled with the client's packages, by a test of its own. */
const NOT_READ = ['.git', 'package-lock.json', 'generators'];

/** Reads the repository at `root`. */
export function readProject(root: string): Project {
  const ignored = readFileSync(`${root}/.gitignore`, 'utf8').split('\n').map((line) => line.replace(/\/$/, ''));
  const texts: Record<string, string> = {};
  const read = (folder: string): void => {
    for (const entry of readdirSync(`${root}/${folder}`, { withFileTypes: true })) {
      if (ignored.includes(entry.name) || NOT_READ.includes(entry.name)) continue;
      const path = `${folder}${entry.name}`;
      if (entry.isDirectory()) read(`${path}/`);
      else if (entry.isFile()) texts[path] = readFileSync(`${root}/${path}`, 'utf8');
    }
  };
  read('');
  return projectOf(texts);
}

/** A project of the given texts by path. */
export function projectOf(texts: Readonly<Record<string, string>>): Project {
  const sources = Object.entries(texts).filter(([path]) => /\.tsx?$/.test(path)).map(([path, text]) => parse(path, text));
  return { texts: new Map(Object.entries(texts)), sources };
}

/** A rule that looks at one source at a time. */
export function eachSource(rule: (source: Source) => string[]): Rule {
  return ({ sources }) => sources.flatMap(rule);
}

/** Whether a path, with or without its ending, is the pattern, or below it where the pattern ends with `/*`. */
export function isOneOf(path: string, patterns: readonly string[]): boolean {
  const bare = path.replace(/\.tsx?$/, '');
  return patterns.some((pattern) => pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : bare === pattern.replace(/\.tsx?$/, ''));
}

export function visit(node: ts.Node, onNode: (node: ts.Node) => void): void {
  onNode(node);
  ts.forEachChild(node, (child) => { visit(child, onNode); });
}

export function lineOf(tree: ts.SourceFile, node: ts.Node): number {
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
}

function parse(path: string, text: string): Source {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true);
  const imports: Import[] = [];
  visit(tree, (node) => {
    const module = moduleOf(node);
    if (module === undefined) return;
    const typeOnly = ts.isImportTypeNode(node) || (ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
      || (ts.isExportDeclaration(node) && node.isTypeOnly);
    imports.push({ module, line: lineOf(tree, node), typeOnly, ...module.startsWith('.') ? { target: resolve(path, module) } : {} });
  });
  return { path, text, tree, imports };
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

function resolve(path: string, module: string): string {
  return new URL(module, `file:///${path}`).pathname.slice(1).replace(/\.js$/, '');
}
