/** The rule about what a browser runs, too, finds what it is for. */
import { runsAnywhere } from './runs-anywhere.js';
import { accepts, finds } from './verdicts.js';

describe('architecture: what runs in a browser, too', () => {
  it('imports nothing of Node', () => {
    for (const file of ['engine/records/a.ts', 'engine/rules/a.ts', 'engine/book/a.ts', 'engine/run/stepping.ts']) {
      finds(runsAnywhere, { [file]: 'import { hash } from "node:crypto";' }, /in a browser/);
    }
    accepts(runsAnywhere, { 'engine/run/digest-chain.ts': 'import { hash } from "node:crypto";' });
  });
});
