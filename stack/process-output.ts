/** Reads what a child process writes, line by line, and keeps its last lines for the message that says why it ended. */
import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** A process without input whose output is read here. */
export type ChildWithOutput = ChildProcessByStdio<null, Readable, Readable>;

/**
 * Passes every line that is not blank to `heard`. Returns a function that gives the latest `kept` lines, which include the reason when the
 * process could not be started.
 */
export function readOutput(child: ChildWithOutput, { kept, heard }: { kept: number; heard: (line: string) => void }): () => readonly string[] {
  const last: string[] = [];
  const keep = (line: string) => {
    last.push(line);
    if (last.length > kept) last.shift();
  };
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      if (line.trim() === '') return;
      keep(line);
      heard(line);
    });
  }
  child.once('error', (error) => { keep(error.message); });
  return () => last;
}
