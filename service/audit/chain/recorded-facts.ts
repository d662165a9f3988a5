/** What a history says about one chain, gathered until the chain is compared with it. */
import type { FactCommand } from '../../../command/indexer/facts.js';
import type { QuickDecision } from '../../../command/indexer/checks/told-resolution.js';
import type { Command } from '../../../engine/records/commands.js';
import type { FillFailed, FillSettled, RejectionCode } from '../../../engine/records/events.js';
import type { Step } from '../../../engine/run/engine.js';

/** A chain event as the history has it, first time. */
export interface RecordedFact {
  readonly position: number;
  readonly id: string;
  readonly command: FactCommand;
  /** Why the engine rejected it; null when it did not. */
  readonly rejected: RejectionCode | null;
  /** What the history says about the fill that it ends; null for other events. */
  readonly fill: FillSettled | FillFailed | null;
  /** What the history had decided of the quick market that it resolves; null for other events. */
  readonly quick: QuickDecision | null;
}

/** The fact in a record; undefined for other commands, and for facts that are recorded again (`known_fact`), which change nothing. */
export function factIn({ position, id, command, step, quick }: {
  readonly position: number; readonly id: string; readonly command: Command; readonly step: Step; readonly quick: QuickDecision | null;
}): RecordedFact | undefined {
  if (!isFact(command)) return undefined;
  const [first] = step.outcome.events;
  const rejected = first?.type === 'CommandRejected' ? first.code : null;
  if (rejected === 'known_fact') return undefined;
  return { position, id, command, rejected, fill: first?.type === 'FillSettled' || first?.type === 'FillFailed' ? first : null, quick };
}

function isFact(command: Command): command is FactCommand {
  return 'fact' in command && command.fact !== undefined;
}

/** The order of a chain's events. */
export function byPlace(a: { readonly block: number; readonly logIndex: number }, b: { readonly block: number; readonly logIndex: number }): number {
  return a.block - b.block || a.logIndex - b.logIndex;
}

/** A place on a chain as one text. */
export const keyOf = ({ block, logIndex }: { readonly block: number; readonly logIndex: number }): string => `${block}:${logIndex}`;

/** The fields of the newest version that older ones lack have nothing to say about what they recorded. */
const VERSIONED = ['at', 'v', 'ifOver', 'countDefault'];

/** What a command says, whenever it was recorded and in whichever version: equal texts say the same. */
export function textOf(command: Command): string {
  const fields = Object.entries(command).filter(([name, value]) => !VERSIONED.includes(name) && value !== undefined);
  return JSON.stringify(Object.fromEntries(fields.sort(([a], [b]) => a < b ? -1 : 1)));
}
