/** Records that come twice: two records with one id, and a record that was written into the history a second time. */
import type { Command } from '../../../engine/records/commands.js';
import { Differs, type CheckName, type Difference } from '../difference.js';
import type { IdStore } from './id-store.js';
import { shortened } from './record-check.js';
import type { AuditSource } from '../source/source.js';

/**
 * Whether another record may rightly have the id of this one: it follows from what is said, so that a writer who does not know whether it was
 * recorded may say it again.
 */
export function mayRepeat({ kind }: Command, isKnownFact: boolean): boolean {
  switch (kind) {
    case 'OpenMarket':
    case 'AdvanceChain':
    case 'RecordPrice':
    case 'SubmitSettlement':
    case 'SubmitRelay': return true;
    default: return isKnownFact;
  }
}

/** The first id that two records have and may not; undefined when there is none. Throws CannotAudit. */
export async function repeatedId(ids: IdStore, source: AuditSource): Promise<Difference | undefined> {
  for (const [first, again] of ids.repeated()) {
    const [earlier, later] = [await recordAt(source, first), await recordAt(source, again)];
    if (earlier === undefined || later?.id !== earlier.id) continue;
    if (later.command === earlier.command) return repeats(later, { first, again });
    return {
      check: 'ids', place: { position: again }, what: `the records at positions ${first} and ${again} have the same id ${later.id}`,
      means: 'An id names one record, and a writer never gives it twice. The digest does not cover ids: one of the two was altered, or another program wrote the record.',
      expected: 'an id of its own', found: later.id,
    };
  }
  return undefined;
}

/** What a replay may find where a record was written into a history a second time. */
const SYMPTOMS: readonly CheckName[] = ['records', 'commands', 'ids', 'outcomes', 'events', 'digests'];

/** The difference, by its true name where its record is one that the history has before. */
export async function namedRepeat(found: Difference, ids: IdStore, source: AuditSource): Promise<Difference> {
  const { check, place: { position: again } } = found;
  if (again === undefined || !SYMPTOMS.includes(check)) return found;
  try {
    const record = await recordAt(source, again);
    if (record === undefined) return found;
    for (const first of ids.find(record.id)) {
      const earlier = first < again ? await recordAt(source, first) : undefined;
      if (earlier?.id === record.id && earlier.command === record.command) return repeats(record, { first, again }, found);
    }
  } catch (error) {
    // What differs is known already, whatever the source does not tell any more.
    if (!(error instanceof Error)) throw error;
  }
  return found;
}

function repeats({ id, command }: NamedRecord, { first, again }: { first: number; again: number }, found?: Difference): Difference {
  return {
    check: 'records', place: { position: again }, what: `the record at position ${again} is the record of position ${first} a second time: the same id ${id}, the same command`,
    means: `A record is written once. It was added to the history, or a log that had lost count wrote it again${found === undefined ? '' : `; beside that, ${found.what}`}.`,
    expected: `a record that is not in the history yet`, found: shortened(command),
  };
}

interface NamedRecord {
  readonly id: string;
  /** As recorded. */
  readonly command: string;
}

const RECORD = /^\{"position":\d+,"id":"([0-9a-f-]{36})","command":(\{.*?),"outcome":\{"at":/s;

/** Undefined where there is no such record, or none of the form. */
async function recordAt(source: AuditSource, position: number): Promise<NamedRecord | undefined> {
  try {
    for await (const [line] of source.lines(position, position + 1)) {
      const [, id, command] = RECORD.exec(line?.toString() ?? '') ?? [];
      return id === undefined || command === undefined ? undefined : { id, command };
    }
  } catch (error) {
    if (!(error instanceof Differs)) throw error;
  }
  return undefined;
}
