/**
 * Starts a program that does not outlive this process: when this process ends, however it ends, the program is stopped.
 *
 * A shell starts a guard in the background and then becomes the program (`exec`), so the program has the process id that `spawn` returned.
 * The guard reads from a pipe whose other end only this process has. The end of this process, also by `kill -9`, closes the pipe, and the
 * guard stops the program. The guard exists before the program does, so there is no moment without it. Works on every system with a POSIX
 * shell; `setpriv --pdeathsig` is Linux' alone, and is lost when the program changes its user.
 */
import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { commandAs, type Account } from './postgres-account.js';
import type { ChildWithOutput } from './process-output.js';

export interface GuardedProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** The user that runs the program; empty for this process's user. */
  readonly account?: Account;
  readonly env: Readonly<Record<string, string>>;
  /** Signals that stop the program, without SIG: each is sent when the program has not ended 10 s after the one before. */
  readonly stopSignals: readonly string[];
}

/**
 * `$1` is the list of signals, `$2` the program. `$$` is the process id of the shell and then of the program, also in the guard. The guard's
 * parent ends at once (`&` within parentheses), so the guard is never a child of the program: Postgres counts unknown children as crashed.
 */
const SHELL = `
guard() {
  trap '' INT TERM HUP QUIT
  read -r ended <&3 && exit
  for signal in $1; do
    kill -"$signal" $$ 2>/dev/null || exit
    for second in 1 2 3 4 5 6 7 8 9 10; do kill -0 $$ 2>/dev/null && sleep 1; done
  done
}
( guard "$1" </dev/null >/dev/null 2>&1 & )
shift
exec "$@" 3<&-
`;

/**
 * Starts the program without input, in a session of its own, so that Ctrl-C in a terminal reaches only this process. The working directory
 * is `/`. A program that cannot be started ends with code 126 or 127, and the shell's reason in its output.
 */
export function spawnGuarded({ program, args, account = {}, env, stopSignals }: GuardedProgram): ChildWithOutput {
  const { ids, ...command } = commandAs(account, program, args);
  const child = spawn('/bin/sh', ['-c', SHELL, 'guard', stopSignals.join(' '), command.program, ...command.args], {
    ...ids, env, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const pipe = child.stdio[3] as Writable;
  // The guard may be killed first: the program then goes on, and the next start stops it.
  pipe.on('error', () => undefined);
  child.once('exit', () => { pipe.end('ended\n'); });
  return child as unknown as ChildWithOutput;
}
