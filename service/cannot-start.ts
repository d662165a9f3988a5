/** Errors of a start: one sentence that says what is wrong and what to do, whatever the error behind it says. */

/** The program cannot start. The message names the setting, and says what to do. */
export class CannotStart extends Error {
  /** Whether another start with the same settings would fail again. */
  readonly hopeless: boolean;

  constructor(message: string, { hopeless, cause }: { readonly hopeless: boolean; readonly cause?: unknown }) {
    super(message, { cause });
    this.name = 'CannotStart';
    this.hopeless = hopeless;
  }
}

/** The error as one text. The errors of several attempts, such as one per address of a host, are joined: their own message is empty. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

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
