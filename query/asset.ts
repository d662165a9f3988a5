/** The asset in the path of an endpoint, and how answers give its price. */
import { RequestError } from '../engine/records/errors.js';
import { named } from '../engine/records/named-schema.js';
import { Type } from '../engine/records/schema-types.js';
import * as field from '../engine/records/answer-fields.js';
import { inPath } from '../service/api/parameter.js';
import * as kind from '../service/api/request-fields.js';

export const asset = inPath('asset', kind.asset, { description: 'Asset, such as BTC or ETH, in any case.', example: 'BTC' });

/** `assets`: those that have prices. */
export interface Assets {
  readonly assets: readonly string[];
}

/** Throws RequestError `unknown_asset` for an asset that has no prices. */
export function requireAsset(asset: string, { assets }: Assets): void {
  if (!assets.includes(asset)) throw new RequestError('unknown_asset', `it has those of ${assets.join(', ') || 'no asset'}`);
}

export const AssetPrice = named('AssetPrice', field.integer('Price of the asset in units of 1e-8 US dollars. An exact integer, which may be beyond 2^53.', 1));
export const PriceUsd = Type.Number({ exclusiveMinimum: 0, description: 'The same in US dollars.' });
