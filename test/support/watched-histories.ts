/** Histories that an event witness looks at: each invariant after every command, or every thousand of them where it takes long. */
import fc from 'fast-check';
import { encodeCommand } from '../../engine/records/codec.js';
import type { ComparedEngine } from '../reference/compared-engines.js';
import type { ReferenceEngine } from '../reference/engine.js';
import { commandScripts } from './command-scripts.js';
import { createWitness, type Witness } from './event-witness.js';
import type { RandomCommands } from './random-commands.js';

/** Throws where a random history breaks an invariant. */
export function watch(engine: ComparedEngine, generator: RandomCommands, commands: number): void {
  follow(engine, generator, commands, (witness) => { witness.audit(); });
}

/** Throws where orders, fills and levels that are rebuilt from the events differ from the reference engine's own. */
export function rebuilt(engine: ReferenceEngine, generator: RandomCommands, commands: number): void {
  follow(engine, generator, commands, (witness) => { witness.agreeWith(engine); });
}

function follow(engine: ComparedEngine, generator: RandomCommands, commands: number, look: (witness: Witness) => void): void {
  const witness = createWitness();
  for (let i = 0; i < commands; i++) {
    const command = generator.next();
    const { outcome } = engine.step(command, encodeCommand(command));
    generator.learn(outcome);
    witness.see(command, outcome);
    if (i % 1_000 === 0) look(witness);
  }
  look(witness);
}

/** Throws where a short script breaks an invariant; every one is looked at after every command. */
export function watchScripts(create: () => ComparedEngine, numRuns: number, seed?: number): void {
  fc.assert(fc.property(commandScripts, (commands) => {
    const engine = create();
    const witness = createWitness();
    for (const command of commands) {
      witness.see(command, engine.step(command, encodeCommand(command)).outcome);
      witness.audit();
    }
  }), { numRuns, ...seed === undefined ? {} : { seed } });
}
