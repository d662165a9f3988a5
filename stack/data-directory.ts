/** What is wrong with DATA_DIR, where the operating system's error does not name the setting. */
import { CannotStart } from '../engine/cannot-start.js';

/** What the operating system's errors about files and directories mean. */
const FILE_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there', EPERM: 'this user may not write there', EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is not a directory', EEXIST: 'a part of the path is not a directory', ENOENT: 'it cannot be created',
  ENOSPC: 'the disk is full', EDQUOT: 'the disk quota is used up',
};

/** Names DATA_DIR in an error of the operating system about a file below it. Other errors are returned as they are. */
export function dataDirectoryError(error: unknown, dataDir: string): unknown {
  const { code = '', path = dataDir } = error as NodeJS.ErrnoException;
  const fault = FILE_FAULTS[code];
  if (!(error instanceof Error) || fault === undefined) return error;
  return new CannotStart(`DATA_DIR cannot be used: ${fault} (${code}, ${path}): set DATA_DIR to a directory that this user can write to, or make room there`,
    { hopeless: !['ENOSPC', 'EDQUOT'].includes(code), cause: error });
}
