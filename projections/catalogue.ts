/** Every projection that this program keeps, in the order in which a batch is folded into them. */
import { markets } from './markets.js';
import { orders } from './orders.js';
import { positions } from './positions.js';
import type { Projection } from './projection.js';
import { redemptions } from './redemptions.js';
import { resolutions } from './resolutions.js';
import { trades } from './trades.js';

export const projections: readonly Projection[] = [markets, orders, trades, positions, redemptions, resolutions];
