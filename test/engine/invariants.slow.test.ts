/** What holds after every command of any history, over histories long enough for all that can happen to happen together. */
import { engines } from '../reference/compared-engines.js';
import { createReferenceEngine } from '../reference/engine.js';
import { createRandomCommands, crowd, pile } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createLateCommands } from '../support/random-late-markets.js';
import { rebuilt, watch, watchScripts } from '../support/watched-histories.js';

for (const [name, create] of Object.entries(engines)) {
  describe(`every long history of ${name}`, () => {
    it('keeps the invariants over 20,000 commands of a crowd', () => { watch(create(), createRandomCommands(6, crowd), 20_000); });

    it('keeps the invariants over 15,000 commands that pile up orders', () => { watch(create(), createRandomCommands(6, pile), 15_000); });

    it('keeps the invariants over 20,000 commands of a crowd that chains tell of, with a relayer and prices', () => { watch(create(), createLateCommands(6, crowd), 20_000); });

    it('keeps the invariants over 15,000 commands that pile up orders, told by chains', () => { watch(create(), createChainCommands(6, pile), 15_000); });

    it('keeps the invariants over 200 short scripts', () => { watchScripts(create, 200); });
  });
}

describe('the events of a long history', () => {
  it('suffice to rebuild every order, fill and level', () => { rebuilt(createReferenceEngine(), createChainCommands(7, crowd), 20_000); });
});
