/** The names of the keys that lanes sign with: each user of the lane has a key of its own. */

/** The name of the key that signs settlement transactions. */
export const OPERATOR = 'operator';
/** The name of the key that signs relayed transactions. */
export const RELAYER = 'relayer';
/** The name of the key that creates and resolves quick markets. */
export const QUICK = 'quick';
