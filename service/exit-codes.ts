/** Exit codes that say more than that something went wrong. */
import { ChainsFileError } from './chains/chains-file.js';
import { ForeignHistory } from './process/history-check.js';
import { HopelessProcess } from './supervision/supervisor.js';

/** EX_CONFIG of sysexits.h: starting again with the same settings cannot help. */
export const BAD_CONFIGURATION = 78;

export function isBadConfiguration(error: unknown): boolean {
  return error instanceof ChainsFileError || error instanceof ForeignHistory || error instanceof HopelessProcess;
}
