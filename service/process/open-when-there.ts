/**
 * Opens the log and the read models as soon as other processes have made them; a start waits for that, and ends where
 * its user may not read them.
 */
import { CannotStart } from '../../engine/cannot-start.js';
import { LogUnavailable, type Log } from '../../engine/log/log.js';
import { openLog } from '../../engine/log/open-log.js';
import { isStatementError } from '../../engine/log/postgres/connection.js';
import { codeOf } from '../../engine/log/postgres/faults.js';
import { messageOf } from '../../engine/report.js';
import { openReadModels, type Database } from '../../query/database.js';
import type { Logger } from '../logger.js';
import { createRecurring } from '../recurring.js';
import type { Waits } from './waits.js';

export interface OpeningDatabase {
  readonly url: string;
  /** Host and database of the URL, without secrets. */
  readonly place: string;
  readonly waits: Waits;
}

/** `failed` is called when the store turns out to have lost records. */
export async function openLogWhenThere(
  { url, place, waits, failed }: OpeningDatabase & { readonly failed: (error: Error) => void },
): Promise<Log> {
  const look = limitDenials((why) => `this user may not read the log at ${place} (${why}): grant it the role query_reader, and start a process that writes the `
    + 'log again, which lets that role read it');
  const open = (): Promise<Log> => openLog(url, { failed }).catch(explained);
  return await waits.until(`the log at ${place}`, () => look(open), (error) => error instanceof LogUnavailable || error instanceof NotThere);
}

/** Waits until a process with the projections role has made the read models. `setting` names the URL. */
export async function openReadModelsWhenThere({ url, setting, place, waits, logger }: OpeningDatabase & {
  readonly setting: string; readonly logger: Logger;
}): Promise<Database> {
  const look = limitDenials((why) => `the user of ${setting} may not read the read models at ${place} (${why}): grant it the role query_reader, and start a process `
    + 'with the role projections again, which lets that role read them');
  return await waits.until(`the read models at ${place}`, () => look(() => open(url, logger)), (error) => !(error instanceof CannotStart));
}

/** What was looked for is not there now, and may be later. */
class NotThere extends Error {}

/** What Postgres says tells more than that the log cannot be reached. */
function explained(error: unknown): never {
  const cause = error instanceof LogUnavailable ? error.cause : undefined;
  if (!isStatementError(cause)) throw error;
  throw new NotThere(isMissing(cause) ? 'no process has made it yet' : messageOf(cause), { cause });
}

/**
 * A process that makes tables lets others read them a moment later: so many looks in a row, some three seconds, may be
 * denied. Then the work rejects with CannotStart.
 */
const DENIALS = 6;

function limitDenials(sentence: (why: string) => string): <T>(work: () => Promise<T>) => Promise<T> {
  let denials = 0;
  return async (work) => {
    try {
      return await work();
    } catch (error) {
      denials = isDenied(error) ? denials + 1 : 0;
      throw denials < DENIALS ? error : new CannotStart(sentence(messageOf(error)), { hopeless: false, cause: error });
    }
  };
}

const ON_STANDBY = 'the read models are on a standby: it tells nobody what it has replayed, so it is asked every few milliseconds while a read waits for a position';

/** Opens the read models, and tells of their problems. Throws why they cannot be read. */
async function open(url: string, logger: Logger): Promise<Database> {
  let there = false;
  let standby = false;
  let why: Error = new NotThere('no process with the projections role has made them yet');
  const warn = createRecurring({ logger, what: 'read models' });
  const tellStandby = (): void => { logger.info(standby ? ON_STANDBY : 'the read models are on a standby no more'); };
  const models = await openReadModels({
    url,
    onError(error) {
      if (there) warn(error.message);
      else if (!isMissing(error)) why = error;
    },
    onStandby(isStandby) {
      standby = isStandby;
      if (there) tellStandby();
    },
  });
  try {
    await models.position();
  } catch (error) {
    const isHidden = (await models.rows(HIDDEN, []).catch(() => [])).length > 0;
    await models.close();
    if (isHidden) throw new Denied('permission denied for schema read_models');
    throw isDenied(error) ? error : why;
  }
  there = true;
  if (standby) tellStandby();
  return models;
}

/** Postgres passes over a schema that this user may not use, as if its tables were missing. */
const HIDDEN = {
  name: 'read_models_hidden', text: `select from pg_namespace where nspname = 'read_models' and not has_schema_privilege(oid, 'usage')`,
};

class Denied extends Error {}

/** A table or the schema is not there. */
function isMissing(error: unknown): boolean {
  return ['42P01', '3F000'].includes(codeOf(error));
}

function isDenied(error: unknown): boolean {
  return error instanceof Denied || codeOf(error instanceof NotThere ? error.cause : error) === '42501';
}
