/** The engine's limits. They are part of the rules: changing one changes what a history replays to. */

/** Fills, cancels and closings that one command may cause: it keeps the longest outcome below MAX_RECORD_BYTES. */
export const WORK_LIMIT = 2_500;

/** How far ahead of its command an order's expiration must be, in seconds. */
export const MIN_LIFETIME_S = 60;

/** An order stops matching this long before its expiration, so that its fills can still settle. */
export const EXPIRY_MARGIN_MS = 20_000;

/** Counts up with every change of the rules; snapshots of other rules are not used. */
export const RULES_VERSION = 2;
