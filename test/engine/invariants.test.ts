/** What holds after every command of any history, told from the events alone: conservation, priority, no crossed book. */
import fc from 'fast-check';
import { encodeCommand } from '../../engine/records/codec.js';
import { commandScripts } from '../support/command-scripts.js';
import { engines, type ComparedEngine } from '../reference/compared-engines.js';
import { createWitness } from '../support/event-witness.js';
import { createRandomCommands, crowd, pile, type RandomCommands } from '../support/random-commands.js';
import { createChainCommands } from '../support/random-facts.js';
import { createReferenceEngine } from '../reference/engine.js';

function watch(engine: ComparedEngine, generator: RandomCommands, commands: number): void {
  const witness = createWitness();
  for (let i = 0; i < commands; i++) {
    const command = generator.next();
    const { outcome } = engine.step(command, encodeCommand(command));
    generator.learn(outcome);
    witness.see(command, outcome);
    if (i % 1_000 === 0) witness.audit();
  }
  witness.audit();
}

for (const [name, create] of Object.entries(engines)) {
  describe(`every history of ${name}`, () => {
    it('keeps the invariants over 20,000 commands of a crowd', () => { watch(create(), createRandomCommands(6, crowd), 20_000); });

    it('keeps the invariants over 15,000 commands that pile up orders', () => { watch(create(), createRandomCommands(6, pile), 15_000); });

    it('keeps the invariants over 20,000 commands of a crowd that chains tell of', () => { watch(create(), createChainCommands(6, crowd), 20_000); });

    it('keeps the invariants over 15,000 commands that pile up orders, told by chains', () => { watch(create(), createChainCommands(6, pile), 15_000); });

    it('keeps the invariants over every short script', () => {
      fc.assert(fc.property(commandScripts, (commands) => {
        const engine = create();
        const witness = createWitness();
        for (const command of commands) {
          witness.see(command, engine.step(command, encodeCommand(command)).outcome);
          witness.audit();
        }
      }), { numRuns: 200 });
    });
  });
}

describe('the events', () => {
  it('suffice to rebuild every order, fill and level', () => {
    const generator = createChainCommands(7, crowd);
    const engine = createReferenceEngine();
    const witness = createWitness();
    for (let i = 0; i < 20_000; i++) {
      const command = generator.next();
      const { outcome } = engine.step(command, encodeCommand(command));
      generator.learn(outcome);
      witness.see(command, outcome);
      if (i % 1_000 === 0) witness.agreeWith(engine);
    }
    witness.agreeWith(engine);
  });
});
