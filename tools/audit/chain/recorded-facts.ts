/** What a history says about one chain, gathered until the chain is compared with it. */
import type { FactCommand } from '../../../command/indexer/facts.js';
import type { QuickDecision } from '../../../command/indexer/checks/chain-resolution.js';
import type { Command } from '../../../engine/records/commands.js';
import type { FillFailed, FillSettled, RejectionCode } from '../../../engine/records/events.js';
import type { CheckedRecord } from '../records/record-check.js';

/** A chain event as the history has it, first time. */
export interface RecordedFact {
  readonly position: number;
  readonly id: string;
  readonly command: FactCommand;
  /** The `v` of the command as it was recorded. */
  readonly version: number;
  /** Why the engine rejected it; null when it did not. */
  readonly rejected: RejectionCode | null;
  /** What the history says about the fill that it ends; null for other events. */
  readonly fill: FillSettled | FillFailed | null;
  /** What the history had decided of the quick market that it resolves; null for other events. */
  readonly quick: QuickDecision | null;
}

/** The fact in a record; undefined for other commands, and for facts that are recorded again (`known_fact`), which change nothing. */
export function factIn({ id, command, bytes, step }: CheckedRecord, quick: QuickDecision | null): RecordedFact | undefined {
  if (!isFact(command)) return undefined;
  const { position, outcome: { events: [first] } } = step;
  const rejected = first?.type === 'CommandRejected' ? first.code : null;
  if (rejected === 'known_fact') return undefined;
  const { v: version } = JSON.parse(bytes.toString()) as { v: number };
  return { position, id, command, version, rejected, fill: first?.type === 'FillSettled' || first?.type === 'FillFailed' ? first : null, quick };
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

/** Fields of the newest versions, which upcasts fill in. */
const NEWER = ['ifOver', 'countDefault'];

/** Whether the history says what a chain's event says, in the form of the version in which it was recorded. */
export function saysTheSame({ command, version }: Pick<RecordedFact, 'command' | 'version'>, expected: Command): boolean {
  const filledIn = version === command.v ? [] : NEWER;
  return textOf(command, filledIn) === textOf(expected, filledIn);
}

function textOf(command: Command, filledIn: readonly string[]): string {
  const fields = Object.entries(command).filter(([name, value]) => name !== 'at' && !filledIn.includes(name) && value !== undefined);
  return JSON.stringify(Object.fromEntries(fields.sort(([a], [b]) => a < b ? -1 : 1)));
}
