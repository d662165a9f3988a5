/**
 * Whether a trader can pay for an order together with all that the trader has promised already. Balances are read at the very block
 * that the history has got to, so a fill is never counted twice, as unsettled here and as paid there.
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
  /** Why the chain cannot be asked at present, though old answers may be at hand; undefined when it can. */
  readonly trouble: () => string | undefined;
  /** The last block whose facts are all in the history; undefined while there is none, and while a later block's facts come in. */
  readonly recordedBlock: () => number | undefined;
  /** Resolves when the history has got to the chain's latest final block. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  readonly readHoldings: (question: HoldingsQuestion) => Promise<Holdings>;
  /** The ERC-1155 id of a market's outcome. */
  readonly tokenOf: (marketId: string, outcome: MarketOutcome) => string | undefined;
}

export interface Exposure {
  /**
   * Promises what the order needs until the function returned is called (then the engine counts it, or it was refused). Throws
   * RequestError `insufficient_balance` or `insufficient_allowance` with `required`, `available` and `reserved` (collateral or shares,
   * 1e-6), or `chain_unavailable`.
   */
  hold(order: PlaceOrder): Promise<() => void>;
}

/** Tries while the history moves on under a read. */
const MAX_TRIES = 10;

export function createExposure(parts: ExposureParts): Exposure {
  /** Judged and promised in one turn of the event loop: no other order comes in between. */
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
    throw new ChainUnavailable(parts.chainId, 'the history has not got to a final block of the chain');
  }

  return {
    async hold(order) {
      try {
        const trouble = parts.trouble();
        if (trouble !== undefined) throw new ChainUnavailable(parts.chainId, trouble);
        const block = parts.recordedBlock();
        const first = await attempt(order);
        if (!(first instanceof RequestError)) return first;
        // A deposit or an approval is no fact of the history: it shows in blocks that nothing has made the history look at yet.
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

/** A permit that the chain would take replaces the allowance. */
function allowanceOf({ permit }: PlaceOrder, { allowance, permitNonce }: Holdings): bigint {
  return permit !== undefined && BigInt(permit.nonce) === permitNonce ? BigInt(permit.value) : allowance;
}

function refusal(
  code: 'insufficient_balance' | 'insufficient_allowance',
  { claim, unit, available, reserved }: { claim: Claim; unit: bigint; available: bigint; reserved: bigint },
): RequestError {
  const up = (amount: bigint) => (amount + unit - 1n) / unit;
  const amounts = { required: up(claim.amount), available, reserved: up(reserved) };
  return new RequestError(code, `${claim.kind}: required ${amounts.required}, available ${available}, of which reserved ${amounts.reserved}`, [], amounts);
}
