/**
 * Checks that a trader can pay for an order together with everything that the trader has promised before. Balances are read at the last
 * block that the history has recorded, so a fill is never counted both as unsettled (history) and as paid (chain).
 */
import { UNIT } from '../../engine/records/amounts.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { ChainUnavailable } from './chain.js';
import type { Holdings, HoldingsQuestion } from './holdings.js';
import { claimOf, type Claim, type Reservations } from './reservations.js';

export interface ExposureParts {
  readonly chainId: number;
  readonly reservations: Reservations;
  /** Why the chain cannot be asked at present; undefined when it can. Checked first, since earlier answers are kept. */
  readonly trouble: () => string | undefined;
  /** The last block whose facts are all in the history; undefined while there is none, and while only part of a later block's facts are. */
  readonly recordedBlock: () => number | undefined;
  /** Resolves when the history has reached the chain's latest final block. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  readonly readHoldings: (question: HoldingsQuestion) => Promise<Holdings>;
  /** The ERC-1155 id of a market's YES or NO shares. */
  readonly tokenOf: (marketId: string, outcome: MarketOutcome) => string | undefined;
}

export interface Exposure {
  /**
   * Reserves what the order needs until the returned function is called: once the engine counts the order, or has rejected it. Throws
   * RequestError `insufficient_balance` or `insufficient_allowance` with `required`, `available` and `reserved` (collateral or shares,
   * in units of 1e-6), or `chain_unavailable`.
   */
  hold(order: PlaceOrder): Promise<() => void>;
}

/** How often a read is repeated because the history recorded another block during it. */
const MAX_TRIES = 10;

export function createExposure(parts: ExposureParts): Exposure {
  /** Checks and reserves in one turn of the event loop, so that no other order comes between the two. */
  async function attempt(order: PlaceOrder): Promise<(() => void) | RequestError> {
    const claim = claimOf({ ...order, size: BigInt(order.size) });
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const block = parts.recordedBlock();
      if (block === undefined) {
        await parts.catchUp();
        continue;
      }
      const token = claim.kind === 'shares' ? parts.tokenOf(claim.marketId, claim.outcome) : undefined;
      const holdings = await parts.readHoldings({ trader: order.trader, tokens: token === undefined ? [] : [token], block });
      if (parts.recordedBlock() !== block) continue;
      return judge(claim, order, { holdings, reserved: parts.reservations.promised(claim) }) ?? parts.reservations.hold(claim);
    }
    throw new ChainUnavailable(parts.chainId, 'the history has not reached a final block of the chain');
  }

  return {
    async hold(order) {
      try {
        const trouble = parts.trouble();
        if (trouble !== undefined) throw new ChainUnavailable(parts.chainId, trouble);
        const block = parts.recordedBlock();
        const first = await attempt(order);
        if (!(first instanceof RequestError)) return first;
        // Deposits and approvals are not facts, so the history may not have recorded their blocks yet: catch up and check again.
        await parts.catchUp();
        if (parts.recordedBlock() === block) throw first;
        const second = await attempt(order);
        if (second instanceof RequestError) throw second;
        return second;
      } catch (error) {
        if (error instanceof ChainUnavailable) throw new RequestError('chain_unavailable', 'the trader\'s balance cannot be read');
        throw error;
      }
    },
  };
}

function judge(claim: Claim, order: PlaceOrder, { holdings, reserved }: { holdings: Holdings; reserved: bigint }): RequestError | undefined {
  const unit = claim.kind === 'collateral' ? UNIT : 1n;
  const available = claim.kind === 'collateral' ? holdings.collateral : holdings.shares[0] ?? 0n;
  const movable = claim.kind === 'collateral' ? allowanceOf(order, holdings) : holdings.approved ? available : 0n;
  if (claim.amount + reserved > available * unit) return refusal('insufficient_balance', { claim, unit, available, reserved });
  if (claim.amount + reserved > movable * unit) return refusal('insufficient_allowance', { claim, unit, available: movable, reserved });
  return undefined;
}

/** A permit that the token would accept replaces the allowance. */
function allowanceOf({ permit }: PlaceOrder, { allowance, permitNonce }: Holdings): bigint {
  return permit !== undefined && BigInt(permit.nonce) === permitNonce ? BigInt(permit.value) : allowance;
}

function refusal(
  code: 'insufficient_balance' | 'insufficient_allowance',
  { claim, unit, available, reserved }: { claim: Claim; unit: bigint; available: bigint; reserved: bigint },
): RequestError {
  const up = (amount: bigint) => (amount + unit - 1n) / unit;
  const amounts = { required: up(claim.amount), available, reserved: up(reserved) };
  const text = `${claim.kind}: required ${amounts.required}, available ${available}, of which ${amounts.reserved} are reserved`;
  return new RequestError(code, text, [], amounts);
}
