/** What sources and documents refer to is in the repository: files, sections, settings, and no document that readers do not have. */
import ts from 'typescript';
import { FOLDERS, visit, type Project, type Rule } from './project.js';

/** Phrases that cite a document without a path, so that nobody can look it up. */
const CITATIONS: readonly RegExp[] = [
  /\b(?:design|interface|contracts|style)\.md\b/i,
  /\b(?:[Dd]esign|[Ii]nterface), (?:section|[A-Z"])/,
  /\b(?:design|interface)'s\b/i,
  /\bthe (?:design|brief|house style|style guide)\b/i,
  /\bsection \d/i,
];

/** No text cites a document that is not in the repository. */
export const citations: Rule = ({ texts }) => [...texts].flatMap(([path, text]) => linesOf(withoutImports(path, text)).flatMap(([line, number]) => {
  const cited = CITATIONS.map((phrase) => phrase.exec(line)?.[0]).find((phrase) => phrase !== undefined);
  return cited === undefined ? [] : [`${path}:${number} cites "${cited}", which is not in the repository: say the thing itself, or give the path of one of its documents`];
}));

const ENDINGS = 'ts|md|sol|json|js|mjs|cjs|yml|yaml|sql|sh';

interface Reference {
  readonly to: string;
  readonly line: number;
}

/** Markdown links, backticked paths in documents, and paths in comments lead to files or folders that are there. */
export const references: Rule = (project) => [...project.texts].flatMap(([path, text]) => {
  const found = path.endsWith('.md') ? [...linksIn(path, text), ...quotedIn(text)] : commentedIn(path, text);
  return found.flatMap(({ to, line }) => {
    const [file = '', anchor] = to.split('#');
    if (!exists(project, file)) return [`${path}:${line} refers to ${to}, which does not exist: correct the path, or leave the reference out`];
    if (anchor === undefined || headings(project.texts.get(file) ?? '').some((heading) => slug(heading) === anchor)) return [];
    return [`${path}:${line} refers to ${to}, but ${file} has no such heading: name one that it has`];
  });
});

/** A comment that cites a section of a document, as `docs/chain.md, "Facts"`, cites one that is there. */
export const sections: Rule = ({ texts }) => [...texts].flatMap(([path, text]) => linesOf(text).flatMap(([line, number]) =>
  [...line.matchAll(/(docs\/[\w/-]+\.md)`?, "([^"]+)"/g)].flatMap(([, file = '', section = '']) => headings(texts.get(file) ?? '').includes(section)
    ? []
    : [`${path}:${number} cites "${section}" of ${file}, which has no such heading: name one that it has`])));

/** Capitals with an underscore, or with a value given to them. */
const SETTING = /\b[A-Z][A-Z\d]*(?:_[A-Z\d]+)+\b|\b[A-Z]{3,}(?==[\w./])/g;

/**
 * Settings that the documents name are in the table of settings, or read by the tests and benchmarks. `known` are the names in the table,
 * `removed` those that were once there.
 */
export function settingsAmong(known: readonly string[], removed: readonly string[]): Rule {
  return (project) => {
    const names = new Set([...known, ...constantsOf(project)].filter((name) => !removed.includes(name)));
    return [...project.texts].filter(([path]) => path.endsWith('.md')).flatMap(([path, text]) => linesOf(text).flatMap(([line, number]) =>
      [...new Set(line.match(SETTING))].filter((name) => !names.has(name))
        .map((name) => `${path}:${number} names ${name}, which is no setting in service/config.ts: correct the name, or add the setting`)));
  };
}

function linesOf(text: string): [string, number][] {
  return text.split('\n').map((line, index) => [line, index + 1]);
}

function withoutImports(path: string, text: string): string {
  return path.endsWith('.ts') ? text.replaceAll(/^import [^;]*;/gm, (statement) => statement.replaceAll(/[^\n]/g, ' ')) : text;
}

/** A document's links to files, relative to it. */
function linksIn(path: string, text: string): Reference[] {
  return linesOf(text).flatMap(([line, number]) => [...line.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
    .filter((link) => !/^\w+:/.test(link))
    .map((link) => ({ to: new URL(link, `file:///${path}`).href.slice('file:///'.length), line: number })));
}

function quotedIn(text: string): Reference[] {
  return linesOf(text).flatMap(([line, number]) => [...line.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => pathsIn(code))
    .map((to) => ({ to, line: number })));
}

function commentedIn(path: string, text: string): Reference[] {
  if (!/\.(ts|sol|js|mjs)$/.test(path)) return [];
  return linesOf(text).flatMap(([line, number]) => {
    const comment = /^\s*(?:\/\*|\*).*|(?:^|\s)\/\/ .*/.exec(line)?.[0] ?? '';
    return pathsIn(comment).map((to) => ({ to, line: number }));
  });
}

/** Paths from the repository's root, of files or of folders with a closing `/`. `*` stands for any name. */
function pathsIn(text: string): string[] {
  const path = new RegExp(String.raw`(?<![\w/.@-])(?:${[...FOLDERS, 'docs', 'deploy', 'tools'].join('|')})/(?:[\w*.-]+/)*(?:[\w*.-]+\.(?:${ENDINGS})\b)?`, 'g');
  return [...text.matchAll(path)].map(([found]) => found);
}

function exists({ texts }: Project, path: string): boolean {
  const pattern = new RegExp(`^${path.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '[^/]*')}`);
  return [...texts.keys()].some((known) => path.endsWith('/') || path === '' ? pattern.test(known) : pattern.exec(known)?.[0] === known);
}

function headings(text: string): string[] {
  return linesOf(text).flatMap(([line]) => /^#+ (.*)$/.exec(line)?.[1] ?? []);
}

function slug(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\w\s-]/g, '').replaceAll(/\s/g, '-');
}

/** The names in capitals that the sources and scripts have: constants, and variables that a test or a script reads. */
function constantsOf({ texts, sources }: Project): string[] {
  const names: string[] = [];
  for (const { tree } of sources) {
    visit(tree, (node) => { if ((ts.isIdentifier(node) || ts.isStringLiteral(node)) && /^[A-Z][A-Z\d_]+$/.test(node.text)) names.push(node.text); });
  }
  const scripts = [...texts].filter(([path]) => path.startsWith('.ci/') || path === 'package.json');
  return [...names, ...scripts.flatMap(([, text]) => text.match(/\b[A-Z][A-Z\d_]+\b/g) ?? [])];
}
