/** Every role by its name. */
import { api } from './api.js';
import { engine } from './engine.js';
import { feed } from './feed.js';
import { indexer } from './indexer.js';
import { lane } from './lane.js';
import { prices } from './prices.js';
import { projections } from './projections.js';
import { query } from './query.js';
import { relayer } from './relayer.js';
import type { RoleName } from './role-names.js';
import type { Role } from './role.js';
import { settlement } from './settlement.js';

export const allRoles: Readonly<Record<RoleName, Role>> = { projections, engine, indexer, lane, feed, settlement, relayer, prices, query, api };
