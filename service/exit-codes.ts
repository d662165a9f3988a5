/** The exit code for wrong settings, and which errors lead to it. */
import { WrongChain } from '../command/chain/rpc.js';
import { LogRefused, UnusableLog } from '../engine/log/log.js';
import { CannotStart } from './cannot-start.js';
import { ContractMismatch } from './chains/chain-check.js';
import { ChainsFileError } from './chains/chains-file.js';
import { DevChainUnusable } from './embedded/chain/dev-chain-state.js';
import { ForeignHistory } from './process/history-check.js';
import { HopelessProcess } from './supervision/supervisor.js';

/** EX_CONFIG of sysexits.h: starting again with the same settings would fail again. */
export const BAD_CONFIGURATION = 78;

export function isBadConfiguration(error: unknown): boolean {
  if (error instanceof CannotStart) return error.hopeless;
  const kinds = [ChainsFileError, ContractMismatch, DevChainUnusable, ForeignHistory, HopelessProcess, LogRefused, UnusableLog, WrongChain];
  return kinds.some((kind) => error instanceof kind);
}
