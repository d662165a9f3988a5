/** What a mocha process and the run that has started it tell each other. */

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** Files to run next, together; none when all have run. */
export type Order = readonly string[];

export type Message
  /** The process waits for its next files. */
  = | { readonly type: 'next' }
    /** A test file begins: what ends the process from now on is this file's doing. */
    | { readonly type: 'file'; readonly file: string }
    /** A test file has ended, or what follows all of them, whose `file` is empty. `titles` are its tests that passed. */
    | { readonly type: 'ended'; readonly file: string; readonly ms: number; readonly titles: readonly string[] } & Counts
    /** A test or a hook has failed. */
    | { readonly type: 'failed'; readonly file: string; readonly title: string; readonly text: string }
    /** All is done, and nothing follows. Absent when the process was ended before. */
    | { readonly type: 'done' };
