/** What went wrong, in the API's own words. */
import { wordsOf } from './figures.js';

export function Refused({ error }: { readonly error: unknown }) {
  return error === undefined ? null : <p class="refusal" role="alert">{wordsOf(error)}</p>;
}
