/** Parsers of what is asked for in a new market. They throw SettingError, which says what was expected. */
import { KEY_FORMAT, privateKeyIn } from '../../command/lane/private-key.js';
import { CATEGORIES, type Category } from '../../engine/records/fields.js';
import { SettingError } from '../../service/settings.js';

const MAX_QUESTION_BYTES = 1_000;
const MAX_DESCRIPTION_BYTES = 10_000;

export function categoryOf(text: string): Category {
  const category = CATEGORIES.find((each) => each === text);
  if (category === undefined) throw new SettingError(`expected one of ${CATEGORIES.join(', ')}`);
  return category;
}

/** An amount of the stablecoin such as `10` or `2.5`, in units of 1e-6. */
export function collateralOf(text: string): bigint {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (whole === undefined) throw new SettingError('expected an amount of the stablecoin with at most 6 decimals, such as 10 or 2.5');
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
}

/** The factory counts bytes of UTF-8. */
export function questionOf(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes === 0 || bytes > MAX_QUESTION_BYTES) throw new SettingError(`expected 1 to ${MAX_QUESTION_BYTES} bytes of UTF-8, not ${bytes}`);
  return text;
}

export function descriptionOf(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_DESCRIPTION_BYTES) throw new SettingError(`expected at most ${MAX_DESCRIPTION_BYTES} bytes of UTF-8, not ${bytes}`);
  return text;
}

/** 0x and 64 hexadecimal digits: a market's id. */
export function marketIdOf(text: string): string {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) throw new SettingError('expected a market\'s id: 0x and 64 hexadecimal digits');
  return text.toLowerCase();
}

/** A private key from the environment or a file. The text never appears in the error. */
export function privateKeyOf(text: string, where: string): string {
  const key = privateKeyIn(text);
  if (key === undefined) throw new SettingError(`${where}: expected a private key: ${KEY_FORMAT}`);
  return key;
}
