/**
 * From a request whose targets are right to what is signed, what is sent, with how much gas, and which state is asked
 * for.
 */
import type { RelayAction } from '../../engine/records/fields.js';
import type { ActionMessage } from '../signing/action-digest.js';
import type { SignedActionName } from '../signing/signed-actions.js';
import { encodeAggregate, encodeCall, type ContractCall } from '../chain/abi.js';
import { bondPermitOf, ownerOf, type Redemption, type RelayRequest, type RequestOf, type SignatureFields } from './bodies.js';
import type { Goal } from './goals.js';
import type { RelayMarket, RelayMarkets } from './markets.js';
import type { Targets } from './targets.js';

/** One signed message of a request: a batch has several, all others one. */
export interface SignedPart {
  readonly name: SignedActionName;
  /** All members but the nonce. */
  readonly message: ActionMessage;
  /** The condition or market whose nonces are meant; undefined for nonces without a key. */
  readonly nonceOf: string | undefined;
  readonly signature: SignatureFields;
}

/** What is to be done for a request. */
export interface Plan {
  readonly action: RelayAction;
  readonly chainId: number;
  /** Who has signed. */
  readonly owner: string;
  readonly parts: readonly SignedPart[];
  readonly call: { readonly to: string; readonly data: string };
  readonly gasLimit: bigint;
  /** The state that is asked for: one goal per signed message. */
  readonly goals: readonly Goal[];
  /**
   * Of a proposal: what its proposer posts, in units of 1e-6 of the collateral, and whether a permit that comes along
   * allows that.
   */
  readonly bond?: { readonly amount: bigint; readonly isPermitted: boolean };
}

/**
 * Gas ceilings: at least half above what the project's contracts need (docs/performance.md, "Gas"; the test of that
 * table holds this too). A proposal's text may be 11,000 bytes long, and another oracle or stablecoin may need more.
 */
export const GAS_CEILINGS: Readonly<Record<RelayAction, bigint>> = {
  'ctf-approval': 120_000n, 'usdc-permit': 150_000n, 'ctf-redemption': 250_000n, 'batch-ctf-redemption': 270_000n, 'propose-resolution': 1_200_000n,
  'settle-market': 600_000n, 'ctf-split': 300_000n, 'ctf-merge': 250_000n,
};
/** Of a batch, besides its items' ceilings. */
const BATCH_GAS = 60_000n;

/** The plan of a request. Every target of the request must have been found right. */
export function planOf(request: RelayRequest, targets: Targets): Plan {
  const { action, body: { chainId } } = request;
  const items = itemsOf(request, targets);
  const [only] = items;
  if (only === undefined) throw new Error(`a request of ${action} has nothing to do`);
  const calls = items.map(({ call }) => ({ to: call.to, data: encodeCall(call) }));
  return {
    action, chainId, owner: ownerOf(request), parts: items.map(({ part }) => part),
    goals: items.map(({ goal }) => goal),
    ...request.action === 'propose-resolution'
      ? { bond: {
          amount: marketOf(targets.markets, request.body.marketAddress).bond,
          isPermitted: bondPermitOf(request) !== undefined,
        } }
      : {},
    call: action === 'batch-ctf-redemption'
      ? { to: targets.contracts.multicall, data: encodeAggregate(calls) }
      : { to: only.call.to, data: encodeCall(only.call) },
    gasLimit: action === 'batch-ctf-redemption' ? BATCH_GAS + BigInt(items.length) * GAS_CEILINGS[action] : GAS_CEILINGS[action],
  };
}

interface Item {
  readonly part: SignedPart;
  readonly call: ContractCall;
  readonly goal: Goal;
}

function itemsOf(request: RelayRequest, targets: Targets): readonly Item[] {
  switch (request.action) {
    case 'ctf-approval': return [approval(request, targets)];
    case 'usdc-permit': return [permit(request, targets)];
    case 'ctf-redemption': return [redemption(request.body, request.body.owner, targets)];
    case 'batch-ctf-redemption': return request.body.redemptions.map((each) => redemption(each, request.body.owner, targets));
    case 'propose-resolution': return [proposal(request, targets)];
    case 'settle-market': return [settlement(request, targets)];
    case 'ctf-split':
    case 'ctf-merge': return [wholeSets(request, targets)];
  }
}

function approval({ body }: RequestOf<'ctf-approval'>, { contracts }: Targets): Item {
  const { owner, operator, approved, deadline } = body;
  return {
    part: { name: 'ctf-approval', message: { owner, operator, approved, deadline }, nonceOf: undefined, signature: body },
    call: {
      abi: 'conditionalTokens', to: contracts.conditionalTokens, method: 'setApprovalForAllWithSig', args: [owner, operator, approved, ...signed(body)],
    },
    goal: { kind: 'approval', owner, operator, approved },
  };
}

function permit({ body }: RequestOf<'usdc-permit'>, { contracts }: Targets): Item {
  const { owner, spender, value, deadline } = body;
  return {
    part: { name: 'usdc-permit', message: { owner, spender, value, deadline }, nonceOf: undefined, signature: body },
    call: { abi: 'collateral', to: contracts.collateral, method: 'permit', args: [owner, spender, value, ...signed(body)] },
    goal: { kind: 'allowance', owner, spender, value: String(value) },
  };
}

function redemption(body: Redemption, owner: string, { contracts, markets }: Targets): Item {
  const { collateralToken, parentCollectionId, conditionId, indexSets, deadline } = body;
  const { tokens } = marketOf(markets, conditionId);
  const ids = indexSets.map((indexSet) => String(indexSet === 1n ? tokens[0] : tokens[1]));
  return {
    part: {
      name: 'ctf-redemption', message: { owner, collateralToken, parentCollectionId, conditionId, indexSets, deadline }, nonceOf: conditionId, signature: body,
    },
    call: {
      abi: 'conditionalTokens', to: contracts.conditionalTokens, method: 'redeemPositionsWithSig',
      args: [owner, collateralToken, parentCollectionId, conditionId, indexSets, ...signed(body)],
    },
    goal: { kind: 'redemption', owner, marketId: conditionId, tokens: ids },
  };
}

function wholeSets({ action, body }: RequestOf<'ctf-split'> | RequestOf<'ctf-merge'>, { contracts }: Targets): Item {
  const { owner, collateralToken, conditionId, amount, deadline } = body;
  return {
    part: {
      name: action, message: { owner, collateralToken, conditionId, amount, deadline }, nonceOf: undefined,
      signature: body,
    },
    call: {
      abi: 'conditionalTokens', to: contracts.conditionalTokens, method: action === 'ctf-split' ? 'splitPositionWithSig' : 'mergePositionsWithSig',
      args: [owner, collateralToken, conditionId, amount, ...signed(body)],
    },
    goal: { kind: action === 'ctf-split' ? 'split' : 'merge', owner, marketId: conditionId, amount: String(amount) },
  };
}

function proposal(request: RequestOf<'propose-resolution'>, { contracts, markets }: Targets): Item {
  const { body } = request;
  const { marketAddress, proposer, outcome, deadline } = body;
  const { marketId, bond } = marketOf(markets, marketAddress);
  const bondPermit = bondPermitOf(request) ?? NO_PERMIT;
  return {
    part: {
      name: 'propose-resolution', message: { market: marketAddress, proposer, outcome, bond, deadline }, nonceOf: marketId, signature: body,
    },
    call: {
      abi: 'oracleResolver', to: contracts.oracleResolver, method: 'proposeWithSig', args: [marketAddress, proposer, outcome, ...signed(body), signed(bondPermit)],
    },
    goal: { kind: 'proposal', marketId, proposer, outcome },
  };
}

function settlement({ body }: RequestOf<'settle-market'>, { contracts, markets }: Targets): Item {
  const { marketAddress, settler, winningOutcome, deadline } = body;
  const { marketId } = marketOf(markets, marketAddress);
  return {
    part: {
      name: 'settle-market', message: { market: marketAddress, settler, winningOutcome: BigInt(winningOutcome), deadline }, nonceOf: marketId, signature: body,
    },
    call: {
      abi: 'oracleResolver', to: contracts.oracleResolver, method: 'settleWithSig', args: [marketAddress, settler, winningOutcome, ...signed(body)],
    },
    goal: { kind: 'resolution', marketId, winningOutcome: winningOutcome === 0 ? 0 : 1 },
  };
}

/** What the contract takes for no permit. */
const NO_PERMIT: SignatureFields = { deadline: 0n, v: 27, r: `0x${'0'.repeat(64)}`, s: `0x${'0'.repeat(64)}` };

function signed({ deadline, v, r, s }: SignatureFields): readonly unknown[] {
  return [deadline, v, r, s];
}

function marketOf(markets: RelayMarkets, name: string): RelayMarket {
  const market = markets.get(name);
  if (market === undefined) throw new Error(`${name} is not a market: check the targets first`);
  return market;
}
