/** What holds after every command of any history, told from the events alone: conservation, priority, no crossed book. */
import { engines } from '../reference/compared-engines.js';
import { createReferenceEngine } from '../reference/engine.js';
import { createRandomCommands, crowd, pile } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createControlCommands } from '../support/random-requests.js';
import { rebuilt, watch, watchScripts } from '../support/watched-histories.js';

for (const [name, create] of Object.entries(engines)) {
  describe(`every history of ${name}`, () => {
    it('keeps the invariants of a crowd', () => { watch(create(), createRandomCommands(6, crowd), 2_000); });
    it('keeps the invariants of a crowd that chains tell of, with a relayer and prices', () => { watch(create(), createControlCommands(6, crowd), 2_000); });
    it('keeps the invariants of piled up orders, told by chains', () => { watch(create(), createChainCommands(6, pile), 3_000); });
    it('keeps the invariants over every short script', () => { watchScripts(create, 50); });
  });
}

describe('the events', () => {
  it('suffice to rebuild every order, fill and level', () => { rebuilt(createReferenceEngine(), createChainCommands(7, crowd), 3_000); });
});
