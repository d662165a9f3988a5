/** The engine's state and books belong to the engine: everybody else asks its read-only view. */
import ts from 'typescript';
import { isOneOf, eachSource, lineOf, visit, type Rule, type Source } from './project.js';

const INSIDE = ['engine/rules/*', 'engine/book/*'];
const EXCEPT = ['engine/rules/limits'];

/**
 * Those who may: the engine, the tests of its inside, the second engine, the floors of its benchmarks, and tests that compare with the
 * engine's own sums and orders.
 */
const INSIDERS = ['engine/*', 'test/engine/*', 'test/reference/*', 'test/bench/*', 'test/chain/reservations.test.ts', 'test/settlement/poison.chain.test.ts'];

const REMEDY = 'nobody outside engine/ touches its state or books: ask the read-only view in engine/run/view.ts, or add the question there';

export const engineState: Rule = eachSource((source) => isOneOf(source.path, INSIDERS) ? [] : [...imported(source), ...accessed(source)]);

function imported({ path, imports }: Source): string[] {
  return imports.flatMap(({ target, line }) => target === undefined || !isOneOf(target, INSIDE) || isOneOf(target, EXCEPT)
    ? []
    : [`${path}:${line} imports ${target}: ${REMEDY}`]);
}

function accessed({ path, tree }: Source): string[] {
  const findings: string[] = [];
  const state = importedAs(tree, 'State');
  visit(tree, (node) => {
    if (isStateOfEngine(node)) findings.push(`${path}:${lineOf(tree, node)} reads ${node.getText().replaceAll(/\s+/g, ' ')}: ${REMEDY}`);
    if (state !== undefined && ts.isTypeReferenceNode(node) && node.typeName.getText() === state) {
      findings.push(`${path}:${lineOf(tree, node)} is typed with the engine's State: ${REMEDY}`);
    }
  });
  return findings;
}

/** `engine.state`, `run.engine['state']`, `{ state } = engine`, `{ state }: Engine` and `Engine['state']`. */
function isStateOfEngine(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return node.name.text === 'state' && isEngine(node.expression);
  if (ts.isElementAccessExpression(node)) return /^['"]state['"]$/.test(node.argumentExpression.getText()) && isEngine(node.expression);
  if (ts.isIndexedAccessTypeNode(node)) return /^['"]state['"]$/.test(node.indexType.getText()) && node.objectType.getText() === 'Engine';
  if (!ts.isBindingElement(node) || (node.propertyName ?? node.name).getText() !== 'state') return false;
  const holder = node.parent.parent;
  if (!ts.isVariableDeclaration(holder) && !ts.isParameter(holder)) return false;
  return holder.type?.getText() === 'Engine' || (holder.initializer !== undefined && isEngine(holder.initializer));
}

function isEngine(node: ts.Expression): boolean {
  return /(^|\.)(\w*E|e)ngine!?$/.test(node.getText()) || /^createEngine\(/.test(node.getText());
}

/** What an import from the engine calls a name here. */
function importedAs(tree: ts.SourceFile, name: string): string | undefined {
  let local: string | undefined;
  visit(tree, (node) => {
    if (!ts.isImportSpecifier(node) || (node.propertyName ?? node.name).text !== name) return;
    if (/(^|\/)engine\//.test((node.parent.parent.parent.moduleSpecifier as ts.StringLiteral).text)) local = node.name.text;
  });
  return local;
}
