/**
 * What the relayer sends at all: every contract, spender, token and market in a request is pinned to the chain's own.
 */
import type { Contracts } from '../chain/chain.js';
import { bondPermitOf, type Redemption, type RelayRequest } from './bodies.js';
import { isResolved, type RelayMarkets } from './markets.js';

/** What a request may name. */
export interface Targets {
  readonly contracts: Contracts;
  readonly markets: RelayMarkets;
}

const ZERO_WORD = /^0x0{64}$/;

/** Why the relayer does not send what is asked; undefined when every target is right. */
export function targetFault(request: RelayRequest, targets: Targets): string | undefined {
  const { contracts } = targets;
  switch (request.action) {
    case 'ctf-approval': return unless(request.body.operator === contracts.settlement, `operator is the settlement contract, ${contracts.settlement}`);
    case 'usdc-permit': {
      const spenders = [contracts.settlement, contracts.conditionalTokens, contracts.oracleResolver];
      return unless(spenders.includes(request.body.spender), `spender is one of ${spenders.join(', ')}`);
    }
    case 'ctf-redemption': return redemptionFault(request.body, targets);
    case 'batch-ctf-redemption':
      return firstOf(request.body.redemptions.map((each, i) => {
        const fault = redemptionFault(each, targets);
        return fault === undefined ? undefined : `redemptions[${i}]: ${fault}`;
      }));
    case 'ctf-split':
    case 'ctf-merge': {
      const { collateralToken, conditionId, amount } = request.body;
      return firstOf([
        collateralFault(collateralToken, contracts), unless(targets.markets.has(conditionId), 'conditionId is not a known market of this chain'),
        unless(amount > 0n, 'amount is more than 0'),
      ]);
    }
    case 'propose-resolution':
    case 'settle-market': {
      const market = targets.markets.get(request.body.marketAddress);
      if (market === undefined) return 'marketAddress is not a known market of this chain';
      return unless(market.resolver === contracts.oracleResolver, 'the market is a quick one, which is resolved by its price');
    }
  }
}

/** Whether the request lacks the bond's permit, which only testnets can do without. */
export function needsBondPermit(request: RelayRequest, { testnet }: { readonly testnet: boolean }): boolean {
  return request.action === 'propose-resolution' && !testnet && bondPermitOf(request) === undefined;
}

function redemptionFault(redemption: Redemption, { contracts, markets }: Targets): string | undefined {
  const { collateralToken, parentCollectionId, conditionId, indexSets, marketAddress } = redemption;
  const market = markets.get(conditionId);
  return firstOf([
    collateralFault(collateralToken, contracts),
    unless(ZERO_WORD.test(parentCollectionId), 'parentCollectionId is zero'),
    unless(market !== undefined, 'conditionId is not a known market of this chain'),
    unless(market !== undefined && isResolved(market), 'the market is not resolved yet'),
    unless(marketAddress === undefined || marketAddress === market?.address, `marketAddress is not that of the condition, ${market?.address}`),
    unless(indexSets.length > 0, 'indexSets is not empty'),
    unless(indexSets.every((each) => each === 1n || each === 2n), 'indexSets are "1" for YES and "2" for NO'),
    unless(new Set(indexSets).size === indexSets.length, 'indexSets has each outcome once'),
  ]);
}

function collateralFault(token: string, { collateral }: Contracts): string | undefined {
  return unless(token === collateral, `collateralToken is the chain's stablecoin, ${collateral}`);
}

function unless(holds: boolean, rule: string): string | undefined {
  return holds ? undefined : rule;
}

function firstOf(faults: readonly (string | undefined)[]): string | undefined {
  return faults.find((fault) => fault !== undefined);
}
