/** The exit code for wrong settings, and which errors lead to it. */
import { ChainsFileError } from './chains/chains-file.js';
import { ForeignHistory } from './process/history-check.js';
import { HopelessProcess } from './supervision/supervisor.js';

/** EX_CONFIG of sysexits.h: starting again with the same settings would fail again. */
export const BAD_CONFIGURATION = 78;

export function isBadConfiguration(error: unknown): boolean {
  return error instanceof ChainsFileError || error instanceof ForeignHistory || error instanceof HopelessProcess;
}
