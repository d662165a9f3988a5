/** Recognises that something failed because a disk is full, and says so. */
import { fullestDisk, type SpaceOf } from './disk.js';

/** What Linux, Postgres (SQLSTATE 53100) and Rust programs say when there is no space. */
const FULL = /No space left on device|\bENOSPC\b|\bEDQUOT\b|Disk quota exceeded|could not (?:extend|write)[^\n]*: wrote only/i;

/** Whether an error, one of its causes, or the last lines of a program that ended say that a disk is full. */
export function saysDiskFull(error: unknown): boolean {
  for (let each: unknown = error, depth = 0; each instanceof Error && depth < 10; each = each.cause, depth++) {
    const { code, lastLines } = each as { code?: unknown; lastLines?: unknown };
    if (code === 'ENOSPC' || code === 'EDQUOT' || code === '53100' || FULL.test(each.message)) return true;
    if (Array.isArray(lastLines) && lastLines.some((line) => FULL.test(String(line)))) return true;
  }
  return false;
}

/** The sentence for a full disk; undefined when the error is about something else. */
export async function diskFullText(
  error: unknown, { dataDir, spaceOf }: { readonly dataDir: string; readonly spaceOf: SpaceOf },
): Promise<string | undefined> {
  if (!saysDiskFull(error)) return undefined;
  const fullest = await fullestDisk(dataDir, spaceOf) ?? `the disk of DATA_DIR (${dataDir}) cannot be measured`;
  return `disk full: ${fullest}; free some space and start again`;
}
