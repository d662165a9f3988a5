/** Every projection of this program, in the order in which a batch is folded into them. */
import { claims } from './models/claims.js';
import { markets } from './models/markets.js';
import { orders } from './models/orders.js';
import { positions } from './models/positions.js';
import { prices } from './models/prices.js';
import type { Projection } from './projection.js';
import { quickMarkets } from './models/quick-markets.js';
import { redemptions } from './models/redemptions.js';
import { resolutions } from './models/resolutions.js';
import { trades } from './models/trades.js';

export const projections: readonly Projection[] = [
  markets, orders, trades, positions, redemptions, resolutions, claims, prices, quickMarkets,
];
