/** What decides the history imports nothing of Node, so that the page runs the very same code in a browser. */
import { eachSource, isOneOf, type Rule } from './project.js';

const ANYWHERE = ['engine/records/*', 'engine/rules/*', 'engine/book/*', 'engine/run/stepping', 'engine/run/snapshot-state'];

/** No file of the deciding part imports `node:…`. Node's global names are kept out by the compiler, which checks the page without them. */
export const runsAnywhere: Rule = eachSource(({ path, imports }) => {
  if (!isOneOf(path, ANYWHERE)) return [];
  return imports.filter(({ module }) => module.startsWith('node:')).map(({ module, line }) => `${path}:${line} imports ${module}: `
    + 'the page decides the history with this code in a browser; write it without, or take it as an argument, as engine/run/stepping.ts takes Digests');
});
