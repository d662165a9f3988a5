/** The worker of the verification: so that the page stays usable while a core decides the history again. */
import type { AnchorSource } from './anchors.js';
import { browserCheckpoints } from './browser-checkpoints.js';
import { restored } from './checkpoint.js';
import { createVerifier, type Verification, type Verifier, type VerifyProgress } from './verifier.js';

/** What the page says: to look for a place to go on from, to begin or go on, or to stop. */
export type ToVerifier = { readonly kind: 'look' } | { readonly kind: 'stop' } | {
  readonly kind: 'run';
  readonly anchors: AnchorSource | undefined;
  /** Whether to begin at the checkpoint that this browser has kept, if it has one. */
  readonly isFromCheckpoint: boolean;
};

/** What the worker says. */
export type FromVerifier = { readonly kind: 'progress'; readonly progress: VerifyProgress } | { readonly kind: 'result'; readonly result: Verification }
  /** How many records this browser has verified before. */
  | { readonly kind: 'checkpoint'; readonly records: number };

const PROGRESS_MS = 200;

let verifier: Promise<Verifier> | undefined;
let run: AbortController | undefined;
let shownMs = -PROGRESS_MS;

const say = (message: FromVerifier): void => { self.postMessage(message); };

function progress(now: VerifyProgress): void {
  if (performance.now() - shownMs < PROGRESS_MS) return;
  shownMs = performance.now();
  say({ kind: 'progress', progress: now });
}

const checkpoints = browserCheckpoints();

async function look(): Promise<void> {
  const found = await checkpoints.read();
  if (found !== undefined && restored(found) !== undefined) say({ kind: 'checkpoint', records: found.records });
}

async function begin({ anchors, isFromCheckpoint }: Extract<ToVerifier, { kind: 'run' }>): Promise<Verifier> {
  const ask = (url: string, init: RequestInit): Promise<Response> => fetch(url, init);
  const checkpoint = isFromCheckpoint ? await checkpoints.read() : undefined;
  return createVerifier({ ask, now: () => performance.now(), anchors, progress, keep: checkpoints.keep }, checkpoint);
}

self.addEventListener('message', ({ data }: MessageEvent<ToVerifier>) => {
  switch (data.kind) {
    case 'look':
      void look();
      return;
    case 'stop':
      run?.abort();
      return;
    case 'run': {
      run = new AbortController();
      const { signal } = run;
      verifier ??= begin(data);
      void verifier.then((each) => each.run(signal)).then((result) => { say({ kind: 'result', result }); });
    }
  }
});
