/** The engine's limits. They are part of the rules: after a change of a limit, a replay gives other outcomes. */

/** The most fills, cancels and closings per command. This keeps the longest outcome below MAX_RECORD_BYTES. */
export const WORK_LIMIT = 2_500;

/** An order's expiration must be at least this many seconds after its command's time. */
export const MIN_LIFETIME_S = 60;

/** An order stops matching this long before its expiration, so that its fills can still settle. */
export const EXPIRY_MARGIN_MS = 20_000;

/** The most requests to the relayer that are open at the same time. */
export const MAX_OPEN_RELAYS = 100_000;

/** The transactions that are kept per open request: the latest ones. */
export const KEPT_RELAY_TRANSACTIONS = 100;

/** Increases with every change of the rules. Snapshots of another version are not used. */
export const RULES_VERSION = 2;
