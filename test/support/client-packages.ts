/** The packages of client/, which are no packages of the service: generators of clients, wallets, a compiler of their own. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the clients, with its `node_modules`; `npm test` installs them. */
export const CLIENT = fileURLToPath(new URL('../../../client', import.meta.url));

/** Runs a program of the packages, by its path below their `node_modules`, as `runProgram` does. */
export function runOfClient(program: string, args: readonly string[], folder: string): Promise<string> {
  return runProgram([join(CLIENT, 'node_modules', program), ...args], folder);
}

/**
 * Runs Node in `folder` with these arguments. Returns what the program writes; rejects with all that it has written when
 * it ends with another code than 0.
 */
export async function runProgram(args: readonly string[], folder: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const options = { cwd: folder, timeout: 120_000, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${error.message}\n${stdout}${stderr}`));
    });
  });
}
