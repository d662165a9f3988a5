/** Says how a child process ended: which process, by which signal or with which code. What it wrote last is kept beside that, for the log lines. */

/** A Postgres or a development chain that was started here has ended by itself. */
export class ChildEnded extends Error {
  constructor(message: string, readonly lastLines: readonly string[]) {
    super(message);
    this.name = 'ChildEnded';
  }
}

export interface ChildEnd {
  readonly name: string;
  readonly pid: number | undefined;
  readonly code: number | null;
  readonly signal: string | null;
  readonly lastLines: readonly string[];
}

export function childEnded({ name, pid, code, signal, lastLines }: ChildEnd): ChildEnded {
  const how = signal !== null ? `was stopped: signal ${signal}` : code !== null ? `has ended: exit code ${code}` : 'has ended';
  return new ChildEnded(`${name} (pid ${pid ?? 'unknown'}) ${how}`, [...lastLines]);
}
