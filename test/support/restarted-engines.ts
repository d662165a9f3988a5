/** Recorded histories, and engines that are restarted from a snapshot in the middle of them. */
import { deepEqual, ok } from 'node:assert/strict';
import { deserialize } from 'node:v8';
import { encodeCommand } from '../../engine/records/codec.js';
import { createEngine, type Engine } from '../../engine/run/engine.js';
import { decodeSnapshot, encodeSnapshot } from '../../engine/run/snapshot.js';
import { createRandomCommands, crowd, pile, type Profile } from './random-commands.js';
import { createChainCommands } from './random-facts.js';
import { createControlCommands } from './random-orders.js';

/** Histories by name. */
export const histories = [
  ['a crowd', crowd, createRandomCommands], ['a pile', pile, createRandomCommands],
  ['a crowd that chains tell of, with a relayer and prices', crowd, createControlCommands], ['a pile that chains tell of', pile, createChainCommands],
] as const;

/** Recorded commands of a random history. */
export function history(seed: number, profile: Profile, length: number, create = createRandomCommands): Buffer[] {
  const generator = create(seed, profile);
  const engine = createEngine();
  return Array.from({ length }, () => {
    const data = encodeCommand(generator.next());
    generator.learn(engine.step(data).outcome);
    return data;
  });
}

export function replay(engine: Engine, commands: readonly Buffer[]): Engine {
  for (const data of commands) engine.step(data);
  return engine;
}

/** The engine as it comes back from its own snapshot. */
export function restart(engine: Engine): Engine {
  const restored = decodeSnapshot(encodeSnapshot(engine));
  ok(restored !== undefined);
  return createEngine(restored.state, restored.digest);
}

/** All that a snapshot holds, behind its checksum. */
function stateIn(snapshot: Buffer): unknown {
  return deserialize(snapshot.subarray(32));
}

/** Throws where an engine that was restarted at one of these positions, which ascend, differs from one that was not. */
export function restartsChangeNothing(commands: readonly Buffer[], positions: readonly number[]): void {
  const whole = replay(createEngine(), commands);
  const state = encodeSnapshot(whole);
  const first = createEngine();
  let reached = 0;
  for (const at of positions) {
    replay(first, commands.slice(reached, at));
    reached = at;
    const restarted = replay(restart(first), commands.slice(at));
    deepEqual(restarted.digest, whole.digest, `restarted at ${at}`);
    const after = encodeSnapshot(restarted);
    // Equal states need not be equal bytes. Where they are, comparing them object by object is for nothing.
    if (!after.equals(state)) deepEqual(stateIn(after), stateIn(state), `restarted at ${at}: the states differ`);
  }
}
