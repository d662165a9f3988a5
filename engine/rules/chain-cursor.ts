/** How far each chain is recorded, so that a repeated fact changes nothing: docs/matching-rules.md, "Facts". */
import type { AdvanceChain, Command } from '../records/commands.js';
import type { ChainCursor, State } from './state.js';

type MayTellFact<C> = C extends Command ? 'fact' extends keyof C ? C : never : never;

/** The commands that have to do with cursors: those that may tell a fact, and the one that ends a block. */
type ChainCommand = MayTellFact<Command> | AdvanceChain;

const START: ChainCursor = { nextBlock: 0, nextLog: 0 };

/** How far the chain is recorded; undefined before the chain's first fact. */
export function chainCursor(state: State, chainId: number): ChainCursor | undefined {
  return state.chains.get(chainId);
}

/**
 * The place of the command's fact if the fact is below its chain's cursor; undefined for a new fact, and for a command
 * without one.
 */
export function knownFact(state: State, command: ChainCommand): string | undefined {
  if (command.kind === 'AdvanceChain') {
    const { chainId, block } = command;
    return block < cursorOf(state, chainId).nextBlock ? `${chainId}:${block}` : undefined;
  }
  const { fact } = command;
  if (fact === undefined) return undefined;
  const { chainId, block, logIndex } = fact;
  const { nextBlock, nextLog } = cursorOf(state, chainId);
  return block < nextBlock || (block === nextBlock && logIndex < nextLog) ? `${chainId}:${block}:${logIndex}` : undefined;
}

/**
 * Moves the chain's cursor past the command's fact, also when the command was rejected. Like time, the cursor follows
 * commands, not events.
 */
export function moveCursor(state: State, command: ChainCommand): void {
  if (command.kind === 'AdvanceChain') {
    const { chainId, block, blockHash } = command;
    if (knownFact(state, command) === undefined) {
      state.chains.set(chainId, { nextBlock: block + 1, nextLog: 0, block, blockHash });
    }
    return;
  }
  const { fact } = command;
  if (fact === undefined || knownFact(state, command) !== undefined) return;
  state.chains.set(
    fact.chainId, { ...cursorOf(state, fact.chainId), nextBlock: fact.block, nextLog: fact.logIndex + 1 },
  );
}

function cursorOf(state: State, chainId: number): ChainCursor {
  return state.chains.get(chainId) ?? START;
}
