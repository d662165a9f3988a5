/** What a click has begun: while it goes on, how it ended, and what nobody knows of it yet. */
import { useMemo } from 'preact/hooks';
import { signal, type ReadonlySignal } from '@preact/signals';
import { OutcomeUnknown } from '../../../client/src/errors.js';
import { wordsOf } from '../figures.js';
import { stopWaiting, waitsFor } from '../wallet/wallet.js';
import { keepUnanswered } from './unanswered.js';

export type ActionState
  = { readonly kind: 'idle' } | { readonly kind: 'busy'; readonly what: string }
    | { readonly kind: 'done'; readonly words: string } | { readonly kind: 'failed'; readonly error: unknown }
    | { readonly kind: 'unknown'; readonly what: string };

export interface ClickAction {
  readonly state: ReadonlySignal<ActionState>;
  /** Does nothing while an action goes on. `work` gives what to say once it is done. */
  run(what: string, work: () => Promise<string>): void;
}

export function createAction(): ClickAction {
  const state = signal<ActionState>({ kind: 'idle' });
  return {
    state,
    run(what, work) {
      if (state.peek().kind === 'busy') return;
      state.value = { kind: 'busy', what };
      work().then(
        (words): ActionState => ({ kind: 'done', words }),
        (error: unknown): ActionState => {
          if (error instanceof OutcomeUnknown) {
            keepUnanswered(what, error);
            return { kind: 'unknown', what };
          }
          return { kind: 'failed', error };
        },
      ).then((ended) => { state.value = ended; }, () => undefined);
    },
  };
}

/** An action of a component, which outlives it: what is sent is not taken back by looking elsewhere. */
export function useAction(): ClickAction {
  return useMemo(createAction, []);
}

/** Says how the action goes, also to who cannot see it. It is always there, so that a change of it is read out. */
export function ActionResult({ action }: { readonly action: ClickAction }) {
  const state = action.state.value;
  return (
    <div class="result" role="status" aria-live="polite">
      {state.kind === 'busy' && (
        <p class="notice">
          {state.what}: {waitsFor.value === '' ? 'waiting for the exchange…' : `waiting for ${waitsFor.value}…`}{' '}
          {waitsFor.value !== '' && <button type="button" class="plain" onClick={stopWaiting}>Give up</button>}
        </p>
      )}
      {state.kind === 'done' && <p class="success">{state.words}</p>}
      {state.kind === 'failed' && <p class="refusal">{wordsOf(state.error)}</p>}
      {state.kind === 'unknown' && <p class="notice">{state.what}: no answer yet. It may have been carried out; the page asks again.</p>}
    </div>
  );
}
