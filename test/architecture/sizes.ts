/** Files and functions that a reader can hold in the head, and how many times a file may overrule the type checker. */
import ts from 'typescript';
import { eachSource, lineOf, visit, type Rule } from './project.js';

const MAX_FILE_LINES = 400;
const MAX_FUNCTION_LINES = 70;
/** Written by a program, from what is short. */
const GENERATED = ['client/src/openapi.ts'];

/** A function that declares tests is a list of them and may be longer; each test in it may not. */
export const sizes: Rule = eachSource(({ path, text, tree }) => {
  const lines = text.trimEnd().split('\n').length;
  const findings = lines <= MAX_FILE_LINES || GENERATED.includes(path) ? [] : [`${path} has ${lines} lines, at most ${MAX_FILE_LINES}: split it by what its parts are for`];
  visit(tree, (node) => {
    if (!ts.isFunctionLike(node) || (path.startsWith('test/') && declaresTests(node))) return;
    const length = tree.getLineAndCharacterOfPosition(node.end).line + 2 - lineOf(tree, node);
    if (length <= MAX_FUNCTION_LINES) return;
    findings.push(`${path}:${lineOf(tree, node)} has a function of ${length} lines, at most ${MAX_FUNCTION_LINES}: name its steps as functions`);
  });
  return findings;
});

/** How many non-null assertions (`x!`) a folder may have; a folder without a line here has none. Lower a number when there are fewer. */
export const ASSERTIONS: Readonly<Record<string, number>> = {
  // Slots of typed arrays and of pools that are never out of range.
  'engine/book': 72, 'engine/rules': 49, 'command/signing': 3,
};

/** A non-null assertion says that the author knows better than the compiler, and nothing checks it again. */
export function assertionsWithin(bounds: Readonly<Record<string, number>>): Rule {
  return ({ sources }) => {
    const places = new Map<string, string[]>();
    for (const { path, tree } of sources) {
      if (path.startsWith('test/')) continue;
      const folder = path.split('/').slice(0, -1).slice(0, 2).join('/');
      visit(tree, (node) => { if (ts.isNonNullExpression(node)) places.set(folder, [...places.get(folder) ?? [], `${path}:${lineOf(tree, node)}`]); });
    }
    return [...places].flatMap(([folder, found]) => {
      const bound = bounds[folder] ?? 0;
      if (found.length <= bound) return [];
      return [`${folder}/ has ${found.length} non-null assertions, at most ${bound} (${shortened(found)}): `
        + 'handle the missing value, or throw an error that says what cannot be'];
    });
  };
}

function shortened(places: readonly string[]): string {
  return places.length <= 5 ? places.join(', ') : `${places.slice(0, 5).join(', ')} and ${places.length - 5} more`;
}

/** Whether `describe` or `it` is called in it, or in a loop of it, but not in another function within it. */
function declaresTests(node: ts.Node): boolean {
  let declares = false;
  ts.forEachChild(node, (child) => {
    declares ||= ts.isCallExpression(child) && /^(describe|it)\b/.test(child.expression.getText());
    declares ||= !ts.isFunctionLike(child) && declaresTests(child);
  });
  return declares;
}
