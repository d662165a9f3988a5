/** Runs the files of a batch in mocha processes: each takes the next files when it is done with the ones before. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Counts, Message, Order } from './messages.js';
import { total, type Failure, type Part } from './report.js';
import type { Batch } from './selection.js';

const END_MS = 30_000;
/** A young generation in which what a test leaves dies. */
const MEMORY = ['--min-semi-space-size=32', '--max-semi-space-size=32'];

export interface BatchOptions {
  readonly batch: Batch;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Further arguments for `batch.ts`. */
  readonly args?: readonly string[];
  /** How long the process may live on after its last test; default 30 s. */
  readonly endMs?: number;
  readonly onEnded?: (message: Extract<Message, { type: 'ended' }>) => void;
  readonly onFailure?: (failure: Failure) => void;
}

/** Resolves when the processes have ended; never rejects for what happens in them: a process that dies counts as a failure. */
export async function runBatch(options: BatchOptions): Promise<readonly Part[]> {
  const { batch: { name, processes, files }, onFailure } = options;
  const waiting = files.values();
  const names = Array.from({ length: processes }, (_, i) => processes === 1 ? name : `${name} (${i + 1} of ${processes})`);
  const parts = await Promise.all(names.map((each) => runProcess(each, waiting, options)));
  const left = [...waiting].flat();
  for (const file of left) onFailure?.({ file, title: 'its process', text: 'the process ended before this file' });
  return left.length === 0 ? parts : [...parts, { name, ms: 0, counts: new Map(left.map((file) => [file, { passed: 0, failed: 1 }])) }];
}

async function runProcess(name: string, waiting: Iterator<readonly string[]>, {
  environment, args = [], endMs = END_MS, onEnded, onFailure,
}: BatchOptions): Promise<Part> {
  const begun = Date.now();
  const counts = new Map<string, Counts>();
  let current = '';
  const left = new Set<string>();
  let isDone = false;
  let late: NodeJS.Timeout | undefined;
  const count = (file: string, more: Counts): void => { counts.set(file, total([counts.get(file) ?? { passed: 0, failed: 0 }, more])); };
  const fail = (failure: Failure): void => {
    count(failure.file || name, { passed: 0, failed: 1 });
    onFailure?.(failure);
  };
  const child = fork(fileURLToPath(new URL('batch.js', import.meta.url)), args, { env: environment, execArgv: MEMORY });
  child.on('message', (message: Message) => {
    switch (message.type) {
      case 'next': {
        left.clear();
        current = '';
        const { value: files = [] } = waiting.next() as { value?: Order };
        for (const file of files) left.add(file);
        child.send(files);
        break;
      }
      case 'file':
        current = message.file;
        left.delete(current);
        break;
      case 'failed': fail(message); break;
      case 'ended':
        count(message.file || name, { passed: message.passed, failed: 0 });
        onEnded?.(message);
        break;
      case 'done':
        isDone = true;
        late = setTimeout(() => {
          fail({ file: name, title: 'the end of its process', text: `goes on ${endMs / 1_000} s after its last test: something was left open` });
          child.kill('SIGKILL');
        }, endMs);
        break;
    }
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('exit', (...how) => { resolve(how); });
    child.once('error', (error) => { fail({ file: name, title: 'its process', text: error.message }); resolve([0, null]); });
  });
  clearTimeout(late);
  const how = `ended with ${signal ?? `code ${code}`}`;
  if (!isDone) {
    fail({ file: current || name, title: 'its process', text: `${how} before its last test` });
    for (const file of left) fail({ file, title: 'its process', text: `${how} before this file` });
  } else if (code !== 0 && total(counts.values()).failed === 0) fail({ file: name, title: 'its process', text: `${how} although no test has failed` });
  return { name, ms: Date.now() - begun, counts };
}
