/** The roles that a process can have. */

/** In the order in which a process starts those that it has. */
export const ROLE_NAMES = ['projections', 'engine', 'indexer', 'lane', 'settlement', 'query', 'api'] as const;
export type RoleName = typeof ROLE_NAMES[number];
