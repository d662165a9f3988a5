/** What holds after every command of any history, over histories long enough for all that can happen to happen together. */
import { engines } from '../reference/compared-engines.js';
import { createReferenceEngine } from '../reference/engine.js';
import { extent, SEED } from '../support/extent.js';
import { createRandomCommands, crowd, pile } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createControlCommands } from '../support/random-requests.js';
import { rebuilt, watch, watchScripts } from '../support/watched-histories.js';

const [CROWD, PILE] = extent({ push: [8_000, 8_000], long: [20_000, 15_000] });
const [seed, other] = extent({ push: [6, 7], long: [SEED, SEED + 1] });

for (const [name, create] of Object.entries(engines)) {
  describe(`every long history of ${name} (SEED=${SEED})`, () => {
    it(`keeps the invariants over ${CROWD} commands of a crowd`, () => { watch(create(), createRandomCommands(seed, crowd), CROWD); });

    it(`keeps the invariants over ${PILE} commands that pile up orders`, () => { watch(create(), createRandomCommands(seed, pile), PILE); });

    it(`keeps the invariants over ${CROWD} commands of a crowd that chains tell of, with a relayer and prices`, () => {
      watch(create(), createControlCommands(seed, crowd), CROWD);
    });

    it(`keeps the invariants over ${PILE} commands that pile up orders, told by chains`, () => { watch(create(), createChainCommands(seed, pile), PILE); });

    it('keeps the invariants over short scripts', () => { watchScripts(create, extent({ push: 100, long: 1_000 }), SEED); });
  });
}

describe('the events of a long history', () => {
  it('suffice to rebuild every order, fill and level', () => { rebuilt(createReferenceEngine(), createChainCommands(other, crowd), CROWD); });
});
