/**
 * Checks that a trader can pay for an order together with everything that the trader has promised before. Balances are
 * read at the last block that the history has recorded, so a fill is never counted both as unsettled (history) and as
 * paid (chain).
 */
import { UNIT } from '../../engine/records/amounts.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { ChainUnavailable } from './chain.js';
import type { Holdings, HoldingsQuestion } from './holdings.js';
import type { OwnedPermit } from './permit-check.js';
import { reservationOf, type Reservation, type Reservations } from './reservations.js';

export interface ExposureParts {
  readonly chainId: number;
  readonly reservations: Reservations;
  /** Why the chain cannot be asked at present; undefined when it can. Checked first, since earlier answers are kept. */
  readonly problem: () => string | undefined;
  /**
   * The last block whose facts are all in the history; undefined while there is none, and while only part of a later
   * block's facts are.
   */
  readonly recordedBlock: () => number | undefined;
  /** How many blocks follow a block before the history records it. */
  readonly confirmations: number;
  /** The chain's latest block; fresh after `catchUp`. */
  readonly latestBlock: () => number | undefined;
  /** Resolves when the history has reached the chain's latest final block. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  readonly readHoldings: (question: HoldingsQuestion) => Promise<Holdings>;
  /** Whether the stablecoin would take a permit; see createPermitCheck. */
  readonly permitHolds: (permit: OwnedPermit) => Promise<boolean>;
  /** The ERC-1155 id of a market's YES or NO shares. */
  readonly tokenOf: (marketId: string, outcome: MarketOutcome) => bigint | undefined;
}

export interface Exposure {
  /**
   * Reserves what the order needs until the returned function is called: once the engine counts the order, or has
   * rejected it. Throws RequestError `insufficient_balance` or `insufficient_allowance` with `required`, `available`
   * and `reserved` (collateral or shares, in units of 1e-6) and with `block`, `latestBlock` and `blocksBehind` (how old
   * these figures are), or `chain_unavailable`.
   */
  hold(order: PlaceOrder): Promise<() => void>;
}

/** How often a read is repeated because the history recorded another block during it. */
const MAX_TRIES = 10;

export function createExposure(parts: ExposureParts): Exposure {
  /**
   * A permit that the token would accept counts instead of the allowance, also a lower one: contracts of an earlier
   * version take that.
   */
  async function allowanceOf(
    { trader: owner, permit }: PlaceOrder, { allowance, permitNonce }: Holdings,
  ): Promise<bigint> {
    if (permit === undefined || BigInt(permit.nonce) !== permitNonce) return allowance;
    return await parts.permitHolds({ owner, permit }) ? BigInt(permit.value) : allowance;
  }

  /** Checks and reserves in one turn of the event loop, so that no other order comes between the two. */
  async function attempt(order: PlaceOrder): Promise<(() => void) | Shortage> {
    const claim = reservationOf({ ...order, size: BigInt(order.size) });
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const block = parts.recordedBlock();
      if (block === undefined) {
        await parts.catchUp();
        continue;
      }
      const token = claim.kind === 'shares' ? parts.tokenOf(claim.marketId, claim.outcome) : undefined;
      const holdings = await parts.readHoldings({
        trader: order.trader, tokens: token === undefined ? [] : [token], block,
      });
      const allowance = claim.kind === 'shares' ? 0n : await allowanceOf(order, holdings);
      if (parts.recordedBlock() !== block) continue;
      return judge(claim, { holdings, allowance, block, reserved: parts.reservations.promised(claim) })
        ?? parts.reservations.hold(claim);
    }
    throw new ChainUnavailable(parts.chainId, 'the history has not reached a final block of the chain');
  }

  return {
    async hold(order) {
      try {
        const problem = parts.problem();
        if (problem !== undefined) throw new ChainUnavailable(parts.chainId, problem);
        const block = parts.recordedBlock();
        const first = await attempt(order);
        if (typeof first === 'function') return first;
        // Deposits and approvals are not facts, so the history may not have recorded their blocks yet: catch up and
        // check again.
        await parts.catchUp();
        if (parts.recordedBlock() === block) throw refusal(first, parts);
        const second = await attempt(order);
        if (typeof second === 'function') return second;
        throw refusal(second, parts);
      } catch (error) {
        if (error instanceof ChainUnavailable) throw new RequestError('chain_unavailable', 'the trader\'s balance cannot be read');
        throw error;
      }
    },
  };
}

/** What a trader lacks for an order; amounts in the claim's unit. */
interface Shortage {
  readonly code: 'insufficient_balance' | 'insufficient_allowance';
  readonly claim: Reservation;
  readonly available: bigint;
  readonly reserved: bigint;
  /** The block at whose end the trader had `available`. */
  readonly block: number;
}

function judge(
  claim: Reservation,
  { holdings, allowance, block, reserved }: { holdings: Holdings; allowance: bigint; block: number; reserved: bigint },
): Shortage | undefined {
  const unit = unitOf(claim);
  const available = claim.kind === 'collateral' ? holdings.collateral : holdings.shares[0] ?? 0n;
  const movable = claim.kind === 'collateral' ? allowance : holdings.approved ? available : 0n;
  if (claim.amount + reserved > available * unit) return { code: 'insufficient_balance', claim, available, reserved, block };
  if (claim.amount + reserved > movable * unit) return { code: 'insufficient_allowance', claim, available: movable, reserved, block };
  return undefined;
}

/** How many of the claim's units are a unit of 1e-6. */
function unitOf({ kind }: Reservation): bigint {
  return kind === 'collateral' ? UNIT : 1n;
}

function refusal(shortage: Shortage, { confirmations, latestBlock }: Pick<ExposureParts, 'confirmations' | 'latestBlock'>): RequestError {
  const { code, claim, available, reserved, block } = shortage;
  const unit = unitOf(claim);
  const up = (amount: bigint) => (amount + unit - 1n) / unit;
  const amounts = { required: up(claim.amount), available, reserved: up(reserved) };
  const latest = Math.max(block, latestBlock() ?? block);
  const age = { block, latestBlock: latest, blocksBehind: latest - block };
  const text = `${claim.kind}: required ${amounts.required}, available ${available}, of which ${amounts.reserved} are reserved; `
    + `read at block ${block}, ${ageText(age.blocksBehind, confirmations)}`;
  const permit = code === 'insufficient_allowance' && claim.kind === 'collateral' ? '; or send a permitSignature with the order' : '';
  return new RequestError(code, text + permit, [], { ...amounts, ...age });
}

/** How far behind the figures are, and what to wait for. A chain without confirmations is recorded block by block. */
function ageText(blocksBehind: number, confirmations: number): string {
  if (blocksBehind === 0) return 'the chain\'s latest';
  const behind = `${blocksBehind} behind the chain's latest`;
  return confirmations === 0
    ? `${behind}: a deposit or an approval since then counts once its block is recorded; send the order again`
    : `${behind}: a deposit or an approval counts once ${confirmations} blocks follow its own block; wait for them and send the order again`;
}
