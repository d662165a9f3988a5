/** Time, randomness and the environment are arguments: calls that reach for them are banned where they would make two runs differ. */
import ts from 'typescript';
import { FOLDERS, eachSource, isOneOf, lineOf, visit, type Rule } from './project.js';

interface Ban {
  readonly call: string;
  /** Where it is banned, and exceptions from that. */
  readonly within: readonly string[];
  readonly except: readonly string[];
  readonly why: string;
}

const PURE = ['engine/*', 'projections/*', 'query/*'];
const INJECTED = 'the same records must give the same result always; take it as an argument';

/** The log's adapters in `engine/log/` do input and output, so they may measure how long it takes, and vary pauses. */
const BANS: readonly Ban[] = [
  ...['Date.now', 'new Date()'].map((call) => ({ call, within: PURE, except: [], why: INJECTED })),
  ...['performance.now', 'randomUUID', 'Math.random'].map((call) => ({ call, within: PURE, except: ['engine/log/*'], why: INJECTED })),
  {
    call: 'Date.now', within: ['command/*', 'service/*'], except: ['service/machine/clock.ts', 'service/http/limits.ts'],
    why: 'a wrong wall clock would get into the history; take the trusted time of service/machine/clock.ts as an argument',
  },
  {
    call: 'uptime', within: [...PURE, 'command/*', 'service/*'], except: ['service/machine/clock.ts'],
    why: 'Node.js reads a file for it, which once cost every order a tenth of its time; take what the clock of service/machine/clock.ts says',
  },
  {
    call: 'process.env', within: FOLDERS.map((folder) => `${folder}/*`), except: ['service/main.ts', 'stack/main.ts', 'tools/backup.ts', 'tools/demo.ts', 'tools/rebuild.ts', 'stack/start-roles.ts',
      'tools/token.ts', 'tools/market.ts', 'tools/deploy.ts', 'client/src/cli/main.ts', 'client/examples/*', 'test/*'],
    why: 'settings are one table in service/config.ts, which the programs\' entry files give the environment; add the setting there',
  },
];

export const bannedCalls: Rule = eachSource(({ path, tree }) => {
  const bans = BANS.filter(({ within, except }) => isOneOf(path, within) && !isOneOf(path, except));
  const findings: string[] = [];
  visit(tree, (node) => {
    for (const { call, why } of bans) if (isCall(node, call)) findings.push(`${path}:${lineOf(tree, node)} uses ${call}: ${why}`);
  });
  return findings;
});

function isCall(node: ts.Node, call: string): boolean {
  if (call === 'new Date()') return ts.isNewExpression(node) && node.expression.getText() === 'Date' && (node.arguments?.length ?? 0) === 0;
  if (call === 'randomUUID' || call === 'uptime') return ts.isIdentifier(node) && node.text === call && !ts.isImportSpecifier(node.parent);
  if (ts.isElementAccessExpression(node)) return `${node.expression.getText()}.${node.argumentExpression.getText().slice(1, -1)}` === call;
  return ts.isPropertyAccessExpression(node) && `${node.expression.getText().replace(/^globalThis\./, '')}.${node.name.text}` === call;
}
