/** Parsers of what is asked for in a new bearer token. They throw SettingError, which says what was expected. */
import { SettingError, type Parse } from '../../service/settings.js';
import { SCOPES, type Scope } from '../../service/api/scopes.js';

const NAME = /^[A-Za-z][\w.@-]{0,63}$/;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const MAX_SECONDS = 3_650 * 86_400;

/** A name begins with a letter, so that it is never taken for an id. */
export function nameOf(text: string): string {
  if (!NAME.test(text)) throw new SettingError('expected a letter, then at most 63 letters, digits and . _ @ -');
  return text;
}

/** The earlier scopes and this one, each once. */
export function scopesOf(earlier: readonly Scope[]): Parse<readonly Scope[]> {
  return (text) => {
    const scope = SCOPES.find((each) => each === text);
    if (scope === undefined) throw new SettingError(`the scopes are ${SCOPES.join(', ')}`);
    return [...new Set([...earlier, scope])];
  };
}

/** A time such as `75s`, `90m`, `12h` or `30d`, in seconds: 1 second to 10 years. */
export function secondsOf(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (SECONDS[unit] ?? NaN);
  if (!(seconds >= 1 && seconds <= MAX_SECONDS)) throw new SettingError('expected a number with s, m, h or d, such as 12h, up to 3650d');
  return seconds;
}
