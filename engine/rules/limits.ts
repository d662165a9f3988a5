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

/** A quick market lasts at least 20 s, so that the windows of its two prices do not overlap, and at most a day. */
export const MIN_QUICK_S = 20;
export const MAX_QUICK_S = 86_400;

/** The most quick markets on an asset that start or end at the same time. */
export const MAX_BOUNDARY_MARKETS = 100;

/**
 * A price counts for a time if it was published at it or up to this much later. The chain's QuickResolver holds the
 * same limit.
 */
export const PRICE_WINDOW_MS = 15_000;

/** How long after that a better source's price is waited for. */
export const LATE_PRICES_MS = 5_000;

/**
 * A boundary that no market waits for is forgotten after 30 days: a market that is recorded later than that is rare.
 */
export const BOUNDARY_MEMORY_MS = 2_592_000_000;

/** How far a source's clock may be ahead of the engine's time. */
export const MAX_PRICE_LEAD_MS = 1_000;

/** A trader's default counts for a day: the next one within it suspends the trader. */
export const DEFAULT_MEMORY_MS = 86_400_000;

/**
 * How long a trader's second default suspends the trader; each further one twice as long as the one before, up to an
 * hour.
 */
export const FIRST_SUSPENSION_MS = 30_000;
export const LONGEST_SUSPENSION_MS = 3_600_000;

/** Increases with every change of the rules. Snapshots of another version are not used. */
export const RULES_VERSION = 5;
