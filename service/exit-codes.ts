/**
 * The exit code after which nobody may start the program again before somebody has acted, and which errors lead to it.
 */
import { WrongChain } from '../command/chain/rpc.js';
import { CannotStart } from '../engine/cannot-start.js';
import { ContractMismatch } from '../command/chain/chain-check.js';
import { ChainsFileError } from './chains-file.js';
import { ForeignHistory } from '../command/signing/history-check.js';

/**
 * EX_CONFIG of sysexits.h: starting again with the same settings would fail again; or, after the log has lost records,
 * it might not, and would go on with the shorter history.
 */
export const BAD_CONFIGURATION = 78;

/**
 * What tells of a log that has lost records. By their names: the errors of a worker thread come without their classes,
 * and some are of modules that only some roles load.
 */
const OF_THE_LOG: readonly string[] = ['RecordsLost', 'BrokenSequence', 'UnusableLog', 'LogRefused', 'ForeignReadModels', 'ForeignFeed', 'ForeignIntake'];

export function isBadConfiguration(error: unknown): boolean {
  if (error instanceof CannotStart) return error.hopeless;
  if (error instanceof Error && OF_THE_LOG.includes(error.name)) return true;
  return [ChainsFileError, ContractMismatch, ForeignHistory, WrongChain].some((kind) => error instanceof kind);
}
