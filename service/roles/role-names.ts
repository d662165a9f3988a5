/** The roles that a process can have. */

/** A process starts its roles in this order. */
export const ROLE_NAMES = ['projections', 'engine', 'indexer', 'lane', 'feed', 'settlement', 'relayer', 'prices', 'query', 'api'] as const;
export type RoleName = typeof ROLE_NAMES[number];
