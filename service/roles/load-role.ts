/** The code of every role, loaded where a process has it: each takes a part of a second. */
import type { RoleName } from './role-names.js';
import type { Role } from './role.js';

const ROLE_FILES: Readonly<Record<RoleName, () => Promise<Role>>> = {
  projections: async () => (await import('./projections.js')).projections,
  engine: async () => (await import('./engine.js')).engine,
  indexer: async () => (await import('./indexer.js')).indexer,
  lane: async () => (await import('./lane.js')).lane,
  feed: async () => (await import('./feed.js')).feed,
  settlement: async () => (await import('./settlement.js')).settlement,
  relayer: async () => (await import('./relayer.js')).relayer,
  prices: async () => (await import('./prices.js')).prices,
  query: async () => (await import('./query.js')).query,
  api: async () => (await import('./api.js')).api,
};

export function loadRole(name: RoleName): Promise<Role> {
  return ROLE_FILES[name]();
}
