/** Text of others for a terminal: what an exchange, a node or a file says must not move the cursor, hide lines or add some. */

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text as one line, with everything that is not shown as itself in the form \\u{…}. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`);
}
