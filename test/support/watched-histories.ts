/** Recorded histories: ones that an event witness looks at after each command, engines restarted in the middle of them, and one of prices alone. */
import { deepEqual, ok } from 'node:assert/strict';
import fc from 'fast-check';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Engine } from '../../engine/run/stepping.js';
import { decodeSnapshot, encodeSnapshot } from '../../engine/run/snapshot.js';
import type { ComparedEngine } from '../reference/compared-engines.js';
import type { ReferenceEngine } from '../reference/engine.js';
import { commandScripts } from './command-scripts.js';
import { newCommand } from './commands.js';
import { createWitness, type Witness } from './event-witness.js';
import { createRandomCommands, crowd, pile, marketId, traderAddress, txHash, type RandomCommands, type Profile } from './random-commands.js';
import { createChainCommands } from './random-facts.js';
import { createControlCommands } from './random-requests.js';

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
    ok(encodeSnapshot(restarted).equals(state), `restarted at ${at}: the states differ`);
  }
}

const ASSETS = ['BTC', 'ETH'] as const;
const START_S = 1_700_000_100;
const INTERVAL_S = 900;
const CHAIN = 31_337;

/** The recorded commands of so many seconds, in order: per second a price of each asset, per interval a market's opening, closing and end. */
export function* priceHistory(seconds: number): Generator<Buffer> {
  for (let second = 0; second < seconds; second++) {
    const time = START_S + second;
    for (const [n, asset] of ASSETS.entries()) {
      const price = String(6_140_000_000_000 + 1_000_003 * ((second * 7_919 + n) % 1_000));
      yield encodeCommand(newCommand('RecordPrice', {
        at: time * 1_000 + 350 + n, asset, source: 'pyth', rank: 0, price, publishedAt: time * 1_000,
      }));
    }
    if (second % INTERVAL_S === 0) for (const command of atBoundary(second / INTERVAL_S, time)) yield encodeCommand(command);
  }
}

/** The running markets close and are resolved; those after the next ones are made. */
function* atBoundary(interval: number, time: number): Generator<Command> {
  const at = time * 1_000 + 900;
  const factAt = (logIndex: number) => ({ fact: { chainId: CHAIN, block: interval, logIndex } });
  // The second one finds nothing more to do.
  for (let i = 0; i < 2; i++) yield newCommand('AdvanceClock', { at });
  for (const [n, asset] of ASSETS.entries()) {
    const id = (of: number) => marketId(2 * of + n);
    if (interval > 1) yield newCommand('ResolveMarket', { at, marketId: id(interval - 2), winningOutcome: 0, ...factAt(2 * n) });
    yield newCommand('OpenMarket', {
      at, marketId: id(interval), question: `${asset} up or down?`, contractAddress: traderAddress(interval), maker: traderAddress(0),
      expiration: time + 2 * INTERVAL_S, chainId: CHAIN, marketKind: 'quick',
      tokens: { yes: txHash(4 * interval + 2 * n), no: txHash(4 * interval + 2 * n + 1) }, quick: { asset, startTime: time + INTERVAL_S },
      ...factAt(2 * n + 1),
    });
  }
}
