/**
 * The relayer: from a signed request to its transaction. The order of its checks is fixed: body, addresses, signature's
 * form, chain, token's scope, targets, signature, what is known of the request, no-ops, simulation, what the owner's
 * orders need, quota, and then the lane.
 */
import type { RequestRelay } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import type { RelayAction } from '../../engine/records/fields.js';
import type { Commitment } from '../../engine/run/view.js';
import { ChainUnavailable, type Chain } from '../chain/chain.js';
import type { Keccak256 } from '../signing/typed-data.js';
import type { SignerRecovery } from '../signing/recover.js';
import { signingDomains, type DomainParams } from '../signing/signed-actions.js';
import { decodeAggregate, reasonOfRevert } from '../chain/abi.js';
import { parseRelayRequest, type RelayRequest } from './bodies.js';
import { lackOf, priceOf, type ChainReads, type Funds } from '../chain/chain-reads.js';
import { collateralDeducted, refuseReserved } from './reserved-balance.js';
import type { EndedRelay, RelaySender } from './sender.js';
import { isReached, sharesToRedeem } from './goals.js';
import { isResolved, marketNames, readMarkets, winnerOf, type RelayMarkets } from './markets.js';
import { planOf, type Plan } from './plan.js';
import type { Quota } from './quota.js';
import { createSignatureCheck, nonceSpaceOf, type NonceSpace, type SignatureVerdict } from './signatures.js';
import { needsBondPermit, targetFault } from './targets.js';

/** A chain that the relayer sends to. */
export interface RelayChain {
  readonly chain: Chain;
  readonly reads: ChainReads;
  readonly sender: RelaySender;
  /** The address of the relayer's key, lower-case. */
  readonly relayer: string;
  /** The most that the lane offers, in wei per unit of gas. */
  readonly maxFeePerGas: bigint;
  /** Of the stablecoin's signing domain; undefined until it has been read. */
  readonly token: () => DomainParams['token'];
  /**
   * Told of what an operator must mend, such as a key without gas; undefined when the relayer has sent something again.
   */
  readonly lacks: (what: string | undefined) => void;
  /** Whether the history has the market on this chain. */
  readonly isKnownMarket: (marketId: string) => boolean;
  /** What the owner's open orders and unsettled fills on this chain need, by the history as it is now. */
  readonly commitments: (owner: string) => Iterable<Commitment>;
  /** How a request has ended, by the read model; undefined when it knows of no ending. */
  readonly ended: (requestId: string) => Promise<EndedRelay | undefined>;
  /**
   * Resolves when the read model has all that the history has now. Throws RequestError `relay_unavailable` when that
   * takes too long.
   */
  readonly readModelCaughtUp: () => Promise<void>;
}

export interface RelayerParts {
  readonly chains: ReadonlyMap<number, RelayChain>;
  readonly keccak256: Keccak256;
  readonly recovery: SignerRecovery;
  readonly quota: Quota;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
}

export interface RelayParams {
  readonly action: RelayAction;
  /** The request's body. */
  readonly bytes: Buffer;
  /** Names the bearer token, for its quota. */
  readonly token: string;
  /** Throws RequestError when the bearer token is not for this action. */
  readonly authorise: () => void;
}

/** What a request has become. `done`: the state is as asked already, so nothing was sent; then `txHash` is empty. */
export interface Relayed {
  readonly txHash: string;
  readonly status: 'pending' | 'confirmed' | 'done';
}

export type Relay = (params: RelayParams) => Promise<Relayed>;

/** A signature may count for so long at most. */
export const MAX_DEADLINE_S = 30 * 86_400;

/** How long nothing is sent for an owner whose account has code after a transaction has reverted. */
export const CODE_PAUSE_MS = 3_600_000;

/**
 * Throws RequestError for the first fault. The same request, also many at once or after a restart, becomes one
 * transaction.
 */
export function createRelayer(parts: RelayerParts): Relay {
  const inFlight = new Map<string, Promise<Relayed>>();
  const checks = new Map<number, ReturnType<typeof createSignatureCheck>>();

  function signatureCheck({ chain, token }: RelayChain) {
    const known = token();
    if (known === undefined) throw unavailable(`the contracts of chain ${chain.chainId} have not been read yet`);
    const domains = signingDomains({
      chainId: chain.chainId, contracts: chain.contracts, settlementName: chain.domainName, token: known,
    });
    const check = checks.get(chain.chainId) ?? createSignatureCheck({ ...parts, domains });
    checks.set(chain.chainId, check);
    return check;
  }

  async function relay({ action, bytes, token, authorise }: RelayParams): Promise<Relayed> {
    const request = parseRelayRequest(action, bytes);
    const on = parts.chains.get(request.body.chainId);
    if (on === undefined) throw new RequestError('relay_unknown_chain');
    authorise();
    const check = signatureCheck(on);
    const { plan, markets } = await planWithin(request, on);
    refuseFarDeadlines(plan, parts.now());
    const spaces = plan.parts.map((part) => nonceSpaceOf(part, plan.owner, on.chain.contracts));
    const { nonces, hasCode } = await readNonces(on, plan.owner, spaces);
    const verdict = rightSigner(plan, check(plan, spaces, ({ id }) => nonces.get(id) ?? 0n));
    const key = `${plan.chainId}:${verdict.kind === 'used' ? '' : verdict.requestId}`;
    // Between here and the entry in `inFlight` nothing waits, so of requests at once the first one carries out and the
    // others share.
    const shared = verdict.kind === 'used' ? undefined : inFlight.get(key);
    if (shared !== undefined) return shared;
    const work = carryOut({ plan, markets, on, verdict, token, hasCode, parts });
    if (verdict.kind !== 'used') {
      inFlight.set(key, work);
      const forget = (): void => { inFlight.delete(key); };
      work.then(forget, forget);
    }
    return work;
  }

  return async (params) => {
    try {
      return await relay(params);
    } catch (error) {
      throw error instanceof ChainUnavailable ? unavailable(error.message) : error;
    }
  };
}

/** Reads the markets that the request names, and plans it. Throws RequestError for wrong targets. */
async function planWithin(
  request: RelayRequest, { chain, reads, isKnownMarket }: RelayChain,
): Promise<{ plan: Plan; markets: RelayMarkets }> {
  const { contracts } = chain;
  const markets = await readMarkets(marketNames(request), { contracts, reads, isKnown: isKnownMarket });
  const fault = targetFault(request, { contracts, markets });
  if (fault !== undefined) throw new RequestError('relay_target_refused', fault);
  if (needsBondPermit(request, chain)) throw new RequestError('relay_bond_permit_required');
  return { plan: planOf(request, { contracts, markets }), markets };
}

interface OwnerState {
  /** The next nonces by the ids of their spaces. */
  readonly nonces: ReadonlyMap<string, bigint>;
  /** The account delegates to a contract (EIP-7702), which may run in a transaction. */
  readonly hasCode: boolean;
}

/** Reads what is signed against. Throws RequestError for a contract wallet. */
async function readNonces({ reads }: RelayChain, owner: string, spaces: readonly NonceSpace[]): Promise<OwnerState> {
  const [code, nonces] = await Promise.all([reads.code(owner), reads.views(spaces.map(({ call }) => call), 'latest')]);
  // An account with a key that delegates to a contract (EIP-7702) can sign.
  if (code !== '0x' && !code.toLowerCase().startsWith('0xef0100')) throw new RequestError('relay_contract_wallet');
  const byId = spaces.map(({ id }, i): [string, bigint] => {
    const nonce = nonces[i];
    if (typeof nonce !== 'bigint') throw unavailable('a nonce cannot be read');
    return [id, nonce];
  });
  return { nonces: new Map(byId), hasCode: code !== '0x' };
}

function refuseFarDeadlines({ parts }: Plan, nowMs: number): void {
  const latest = BigInt(Math.floor(nowMs / 1_000) + MAX_DEADLINE_S);
  if (parts.some(({ signature }) => signature.deadline > latest)) {
    throw new RequestError('relay_deadline_too_far', `at most ${MAX_DEADLINE_S} s ahead, so ${latest} now`);
  }
}

type RightVerdict = Exclude<SignatureVerdict, { kind: 'wrong' }>;

function rightSigner(plan: Plan, verdict: SignatureVerdict): RightVerdict {
  if (verdict.kind === 'wrong') throw new RequestError('relay_wrong_signer', `${place(plan, verdict.item)}${verdict.detail}`);
  return verdict;
}

interface Work {
  readonly plan: Plan;
  readonly markets: RelayMarkets;
  readonly on: RelayChain;
  readonly verdict: RightVerdict;
  readonly token: string;
  /** The owner's account runs code. */
  readonly hasCode: boolean;
  readonly parts: RelayerParts;
}

async function carryOut(work: Work): Promise<Relayed> {
  const { plan, on, verdict, token, parts } = work;
  const { reads, sender, chain: { contracts } } = on;
  const known = await knownTransaction(verdict, on);
  if (known !== undefined) return known;
  const reached = await Promise.all(plan.goals.map((goal) => isReached(goal, { contracts, reads })));
  if (reached.every((each) => each)) return { txHash: '', status: 'done' };
  if (verdict.kind !== 'next') {
    throw new RequestError('relay_already_used', verdict.kind === 'used' && plan.parts.length > 1 ? `redemptions ${verdict.items.join(', ')}` : '');
  }
  const nonces = verdict.used.map(({ space, nonce }) => [space.id, String(nonce)] as const);
  sender.refuseUsed(nonces);
  if (work.hasCode) refuseCode(plan, on, parts.now());
  refuseExpired(plan, parts.now());
  const claims = await claimsOf(work);
  const funds = await enoughFunds(plan, on);
  await simulate(plan, on, funds);
  const checkReserved = () => refuseReserved(
    plan, { ...on, markets: work.markets, inFlight: () => sender.openOf(plan.owner, verdict.requestId) },
  );
  await checkReserved();
  const gas = { owner: plan.owner, token, gas: plan.gasLimit };
  parts.quota.take(gas);
  const { action, owner, goals, call, gasLimit } = plan;
  try {
    const problem = sender.problem();
    if (problem !== undefined) throw unavailable(problem);
    const taken = collateralDeducted(plan);
    const note = {
      requestId: verdict.requestId, action, owner, goals, nonces, fromBlock: funds.block,
      ...taken === 0n ? {} : { collateral: String(taken) },
    };
    const txHash = await sender.send({ note, token, claims, call, gasLimit, recheck: checkReserved });
    on.lacks(undefined);
    return { txHash, status: 'pending' };
  } catch (error) {
    parts.quota.giveBack(gas);
    throw error;
  }
}

/**
 * The transaction that the same request has already; undefined when there is none. Throws RequestError when it ended in
 * vain, its nonce unused.
 */
async function knownTransaction(
  verdict: RightVerdict, { sender, ended, readModelCaughtUp }: RelayChain,
): Promise<Relayed | undefined> {
  if (verdict.kind !== 'next' && verdict.kind !== 'repeat') return undefined;
  const open = sender.find(verdict.requestId);
  if (open !== undefined) return { txHash: await open, status: 'pending' };
  let over = sender.ended(verdict.requestId) ?? await ended(verdict.requestId);
  if (over === undefined && verdict.kind === 'repeat') {
    // The nonce is used, maybe by this very request, of which a read model that is behind does not know.
    await readModelCaughtUp();
    over = await ended(verdict.requestId);
  }
  if (over?.txHash === undefined) return undefined;
  // Sent again it would most likely do the same again, at the relayer's cost.
  if (verdict.kind === 'next' && !over.succeeded) throw new RequestError('relay_in_vain', `in transaction ${over.txHash}`);
  return { txHash: over.txHash, status: 'confirmed' };
}

function refuseExpired({ parts, ...plan }: Plan, nowMs: number): void {
  const at = parts.findIndex(({ signature }) => signature.deadline < BigInt(Math.floor(nowMs / 1_000)));
  if (at >= 0) throw new RequestError('relay_would_revert', `${place({ ...plan, parts }, at)}ExpiredSignature(${parts[at]?.signature.deadline})`);
}

/**
 * The code of an account runs in a split, whose shares it receives, and may use up the gas as it likes once it is on
 * the chain. Throws RequestError for a split, and for an hour after a transaction for the owner has reverted.
 */
function refuseCode({ owner, goals }: Plan, { sender }: RelayChain, nowMs: number): void {
  if (goals.some(({ kind }) => kind === 'split')) throw new RequestError('relay_contract_wallet', 'a split runs the code of the account that gets the shares');
  const leftMs = (sender.revertedAt(owner) ?? -Infinity) + CODE_PAUSE_MS - nowMs;
  if (leftMs > 0) throw new RequestError('relay_owner_paused', '', [], { retryAfterS: Math.ceil(leftMs / 1_000) });
}

/**
 * What each redemption will pay, by the shares that its owner has now; nothing for other actions. Throws RequestError
 * when nothing is left.
 */
async function claimsOf({ plan, markets, on: { chain: { contracts }, reads } }: Work): Promise<RequestRelay['claims']> {
  const taken = new Set<string>();
  const claims: RequestRelay['claims'] = [];
  for (const [i, goal] of plan.goals.entries()) {
    const shares = await sharesToRedeem(goal, { contracts, reads });
    if (goal.kind !== 'redemption' || shares === undefined) continue;
    const market = markets.get(goal.marketId);
    if (market === undefined || !isResolved(market)) throw new Error(`${goal.marketId} is not resolved: check the targets first`);
    const left = goal.tokens.map((id, n) => taken.has(id) ? 0n : shares[n] ?? 0n);
    if (left.every((each) => each === 0n)) {
      throw new RequestError('relay_would_revert', `${place(plan, i)}there is nothing to redeem: the owner has no such shares`);
    }
    for (const id of goal.tokens) taken.add(id);
    const [yesPays, noPays] = market.payouts;
    const payout = goal.tokens.reduce((sum, id, n) => (
      sum + (left[n] ?? 0n) * (id === String(market.tokens[0]) ? yesPays : noPays) / (yesPays + noPays)), 0n);
    claims.push({ marketId: goal.marketId, payout: String(payout), winningOutcome: winnerOf(market) });
  }
  return claims;
}

/**
 * Throws RequestError with the contract's reason when the transaction, or an item of the batch, would fail in the next
 * block.
 */
async function simulate(plan: Plan, { reads, relayer, maxFeePerGas }: RelayChain, funds: Funds): Promise<void> {
  const answer = await reads.simulate({
    from: relayer, ...plan.call, gasLimit: plan.gasLimit, gasPrice: priceOf(funds, maxFeePerGas),
  });
  if ('reverted' in answer) throw new RequestError('relay_would_revert', answer.reverted);
  if (plan.action !== 'batch-ctf-redemption') return;
  for (const [i, { success, returnData }] of decodeAggregate(answer.returned).entries()) {
    if (!success) throw new RequestError('relay_would_revert', `${place(plan, i)}${reasonOfRevert(returnData)}`);
  }
}

/** Throws RequestError when gas costs more than the lane may offer, or the key cannot pay for this transaction. */
async function enoughFunds(
  { gasLimit }: Plan, { chain: { chainId }, reads, relayer, maxFeePerGas, lacks }: RelayChain,
): Promise<Funds> {
  const funds = await reads.funds(relayer);
  const lack = lackOf(funds, { chainId, address: relayer, whose: 'the relayer', maxFeePerGas, gasLimit });
  if (lack === undefined) return funds;
  lacks(lack);
  throw unavailable(lack);
}

/** Which item of a batch; nothing for other requests. */
function place({ action }: Pick<Plan, 'action' | 'parts'>, item: number): string {
  return action === 'batch-ctf-redemption' ? `redemptions[${item}]: ` : '';
}

function unavailable(detail: string): RequestError {
  return new RequestError('relay_unavailable', detail);
}
