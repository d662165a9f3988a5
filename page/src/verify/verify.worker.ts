/** The worker of the verification: so that the page stays usable while a core decides the history again. */
import type { AnchorSource } from './anchors.js';
import { createVerifier, type Verification, type Verifier, type VerifyProgress } from './verifier.js';

/** What the page says: to begin or go on, or to stop. */
export type ToVerifier = { readonly kind: 'run'; readonly anchors: AnchorSource | undefined } | { readonly kind: 'stop' };

/** What the worker says. */
export type FromVerifier = { readonly kind: 'progress'; readonly progress: VerifyProgress } | { readonly kind: 'result'; readonly result: Verification };

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

self.addEventListener('message', ({ data }: MessageEvent<ToVerifier>) => {
  if (data.kind === 'stop') {
    run?.abort();
    return;
  }
  run = new AbortController();
  const { signal } = run;
  verifier ??= createVerifier({ ask: (url, init) => fetch(url, init), now: () => performance.now(), anchors: data.anchors, progress });
  void verifier.then((each) => each.run(signal)).then((result) => { say({ kind: 'result', result }); });
});
