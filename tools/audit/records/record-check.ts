/** Checks one line of a history after the other: its place, its id, and that this program's engine decides the same, byte for byte. */
import { createHash } from 'node:crypto';
import { decodeCommand, formatDigest } from '../../../engine/records/codec.js';
import type { Command } from '../../../engine/records/commands.js';
import { BYTES32 } from '../../../engine/records/hex.js';
import type { Engine, Step } from '../../../engine/run/stepping.js';
import { viewOf } from '../../../engine/run/view.js';
import { Differs, type Difference } from '../difference.js';
import { dueId, isRecordId } from './record-ids.js';

export interface CheckedRecord {
  readonly id: string;
  readonly command: Command;
  /** The command's recorded bytes, a part of the line's. */
  readonly bytes: Buffer;
  readonly step: Step;
}

export interface RecordCheck {
  /** Checks the next line, without its line feed. Throws Differs; the engine may not be used after that. */
  check(line: Buffer): CheckedRecord;
  /** How many ids were compared with what follows from the command, or with their own check. */
  readonly ids: number;
  readonly events: number;
}

const ID_LENGTH = 36;
const COMMAND_KEY = '","command":';
const OUTCOME_KEY = ',"outcome":';
const DIGEST_KEY = ',"digest":"';
/** A command cannot contain this text: within a JSON string its quotes would be escaped. */
const OUTCOME = Buffer.from(`${OUTCOME_KEY}{"at":`);

export function createRecordCheck(engine: Engine, counted = { ids: 0, events: 0 }): RecordCheck {
  const view = viewOf(engine);
  let { ids, events } = counted;
  let before = formatDigest(engine.digest);
  return {
    get ids() { return ids; },
    get events() { return events; },
    check(line) {
      const { position } = view;
      const { id, bytes, start, cut } = partsOf(line, position);
      const { command, step } = decide(engine, bytes, position);
      const tail = `${OUTCOME_KEY}${step.text}${DIGEST_KEY}${step.digest}"}`;
      if (!isText(`${JSON.stringify(command)}${tail}`, line, start)) {
        if (!isText(tail, line, cut)) throw new Differs(explain({ position, before, bytes, step, tail: line.subarray(cut).toString() }));
        // An older version was changed by its upcasts.
        const encoded = JSON.stringify(JSON.parse(bytes.toString()));
        if (!isText(encoded, bytes, 0)) throw new Differs(otherForm(position, command.kind, { encoded, recorded: bytes.toString() }));
      }
      const due = dueId(command, id);
      if (due === undefined ? !isRecordId(id) : due !== id) throw new Differs(otherId(position, command.kind, due ?? 'a UUID in lower case', id));
      if (due !== undefined) ids++;
      events += step.outcome.events.length;
      before = step.digest;
      return { id, command, bytes, step };
    },
  };
}

/** The command's bytes, the outcome's text and the digest in a line that was checked before. Throws Differs for any other line. */
export function splitLine(line: Buffer, position: number): { readonly bytes: Buffer; readonly outcome: string; readonly digest: string } {
  const { bytes, cut } = partsOf(line, position);
  const tail = line.subarray(cut).toString();
  const [, outcome, digest] = TAIL.exec(tail) ?? [];
  if (outcome === undefined || digest === undefined) throw new Differs(malformed(position, tail, 'the line does not end with an outcome and its digest'));
  return { bytes, outcome, digest };
}

/** Where a text becomes bytes, without a new buffer for each. */
const SCRATCH = Buffer.alloc(1 << 16);
const MOST_BYTES_OF_CHARACTER = 3;

/** Whether the line from `start` on is exactly this text. */
function isText(text: string, line: Buffer, start: number): boolean {
  if (text.length > SCRATCH.length / MOST_BYTES_OF_CHARACTER) return Buffer.from(text).equals(line.subarray(start));
  const written = SCRATCH.write(text);
  return written === line.length - start && SCRATCH.compare(line, start, line.length, 0, written) === 0;
}

interface Parts {
  readonly id: string;
  readonly bytes: Buffer;
  /** Where the command begins, and where it ends. */
  readonly start: number;
  readonly cut: number;
}

/** Where the parts of a line are. Throws Differs when it is not the line of this position. */
function partsOf(line: Buffer, position: number): Parts {
  const head = `{"position":${position},"id":"`;
  const idEnd = head.length + ID_LENGTH;
  const commandStart = idEnd + COMMAND_KEY.length;
  const opening = line.toString('latin1', 0, commandStart);
  const id = opening.slice(head.length, idEnd);
  if (opening !== `${head}${id}${COMMAND_KEY}`) throw new Differs(misplaced(line.toString(), position));
  const cut = line.indexOf(OUTCOME, commandStart);
  if (cut < 0) throw new Differs(malformed(position, line.toString(), 'the record has no outcome'));
  return { id, bytes: line.subarray(commandStart, cut), start: commandStart, cut };
}

function decide(engine: Engine, bytes: Buffer, position: number): { readonly command: Command; readonly step: Step } {
  try {
    const command = decodeCommand(bytes);
    return { command, step: engine.step(bytes, command) };
  } catch (error) {
    throw new Differs(malformed(position, bytes.toString(), `the engine cannot decide the command: ${(error as Error).message}`));
  }
}

const POSITION = /^\{"position":(\d{1,16}),"id":"/;

function misplaced(text: string, position: number): Difference {
  const found = POSITION.exec(text)?.[1];
  if (found === undefined || Number(found) === position) return malformed(position, text, 'the line is not of the form {"position":…,"id":"…","command":{…},"outcome":{…},"digest":"…"}');
  const how = Number(found) > position ? 'a record was removed before it, or records were swapped' : 'a record was added or repeated before it, or records were swapped';
  return {
    check: 'records', place: { position }, what: `the record at position ${position} says that it is at position ${found}`,
    means: `Positions are dense from 0, so ${how}.`, expected: position, found: Number(found),
  };
}

function malformed(position: number, text: string, what: string): Difference {
  return {
    check: 'records', place: { position }, what: `position ${position}: ${what}`,
    means: 'The exchange never writes such a record: it was altered, or a newer version of the program wrote it.', found: shortened(text),
  };
}

function otherForm(position: number, kind: string, { encoded, recorded }: { readonly encoded: string; readonly recorded: string }): Difference {
  return {
    check: 'commands', place: { position }, what: `the command at position ${position} (${kind}) is not encoded as this program encodes it`,
    means: 'The digest covers these very bytes, so they were recorded so, by another program. Where a key comes twice, or blanks or escapes differ, readers '
      + 'may take the same bytes for different commands.',
    expected: shortened(encoded), found: shortened(recorded),
  };
}

function otherId(position: number, kind: string, expected: string, found: string): Difference {
  return {
    check: 'ids', place: { position }, what: `the id at position ${position} (${kind}) is not the one that its writer gives it`,
    means: 'Ids make appends safe to repeat. The digest does not cover them, and nothing else depends on them: only the id was altered, or another program wrote the record.',
    expected, found,
  };
}

interface Mismatch {
  readonly position: number;
  /** The digest before this record. */
  readonly before: string;
  readonly bytes: Buffer;
  readonly step: Step;
  /** The rest of the line, from the outcome on. */
  readonly tail: string;
}

const TAIL = new RegExp(`^,"outcome":(.*),"digest":"(${BYTES32.text})"\\}$`, 's');

/** Which part of the record was altered, as far as the digests tell. */
function explain(mismatch: Mismatch): Difference {
  const { position, before, bytes, step, tail } = mismatch;
  const [, outcome, digest] = TAIL.exec(tail) ?? [];
  if (outcome === undefined || digest === undefined) return malformed(position, tail, 'the line does not end with an outcome and its digest');
  const covered = digestOf(before, bytes, outcome);
  if (outcome === step.text) {
    return {
      check: 'digests', place: { position }, what: `the digest at position ${position} is not the one of the digest before it, the command and the outcome`,
      means: 'The command or the digest was altered after it was recorded; or a record before it was removed, added or swapped, and positions were written anew.',
      expected: covered, found: digest,
    };
  }
  const decided = firstDifference(step.text, outcome);
  const place = { position, ...decided.fill === undefined ? {} : { fill: decided.fill } };
  const shown = { expected: decided.expected, found: decided.found };
  if (digest === step.digest) {
    return {
      check: 'outcomes', place, what: `the outcome at position ${position} is not what the engine decides (${decided.where}), but the digest is`,
      means: 'The outcome was altered after it was recorded: the digest is still that of the true outcome.', ...shown,
    };
  }
  return {
    check: 'outcomes', place, what: `the outcome at position ${position} is not what the engine decides (${decided.where})`,
    means: digest === covered
      ? 'The digest covers this outcome, so it was recorded so or all was computed anew: the exchange did not follow its rules, or the history was rewritten. Anchors on the chain tell which.'
      : 'The digest does not cover this outcome either: the command was altered after it was recorded, or a record before it was removed, added or swapped.',
    ...shown,
  };
}

function digestOf(before: string, command: Buffer, outcome: string): string {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(command.length);
  return formatDigest(createHash('sha256').update(Buffer.from(before.slice(2), 'hex')).update(length).update(command).update(outcome).digest());
}

interface Decided {
  readonly where: string;
  readonly fill?: number;
  readonly expected: unknown;
  readonly found: unknown;
}

/** The first event that two outcomes do not share. */
function firstDifference(expected: string, found: string): Decided {
  const [ours, theirs] = [eventsIn(expected), eventsIn(found)];
  if (ours === undefined || theirs === undefined) return { where: 'it is not an outcome', expected: shortened(expected), found: shortened(found) };
  const length = Math.max(ours.length, theirs.length);
  const index = Array.from({ length }).findIndex((_, i) => JSON.stringify(ours[i]) !== JSON.stringify(theirs[i]));
  if (index < 0) return { where: 'its time or its form', expected: shortened(expected), found: shortened(found) };
  const [mine, other] = [ours[index], theirs[index]];
  const fill = other?.['fill'] ?? mine?.['fill'];
  return {
    where: `event ${index + 1}, ${String(other?.['type'] ?? mine?.['type'])}`, expected: mine ?? 'no further event', found: other ?? 'no further event',
    ...typeof fill === 'number' ? { fill } : {},
  };
}

type Json = Readonly<Record<string, unknown>>;

function eventsIn(text: string): readonly (Json | undefined)[] | undefined {
  try {
    const { events } = JSON.parse(text) as { events?: unknown };
    return Array.isArray(events) ? events as Json[] : undefined;
  } catch {
    return undefined;
  }
}

const MAX_SHOWN = 4_000;

/** A text for a report, cut where it is very long. */
export function shortened(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`;
}
