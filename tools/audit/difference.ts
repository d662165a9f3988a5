/** What an audit checks, the first thing that it finds different, and why it may be unable to go on. */

/** Every check by its name in the report, with what one unit of its count is. */
export const checkTitles = {
  records: 'records at their positions, none missing, added or swapped',
  commands: 'commands encoded as this program encodes them, byte for byte',
  ids: 'record ids that follow from their commands, or have the right check digits, none twice',
  outcomes: 'outcomes decided again by the engine of this program',
  events: 'events in these outcomes, byte for byte',
  digests: 'digests of the hash chain',
  orderSignatures: 'signatures of orders',
  cancelSignatures: 'signatures of cancels',
  anchors: 'anchors of the history on the chain',
  settledFills: 'settled fills, in the history and on the chain',
  failedFills: 'failed fills, in the history and on the chain',
  quickResolutions: 'resolutions of quick markets by the prices that the history decided them by',
  chainFacts: 'other events of the contracts, in the history and on the chain',
  endedRelays: 'relayed requests that ended as the chain says',
  syncedPositions: 'holdings taken over from the chain',
  readModels: 'rows of the read models against a rebuild',
} as const;

export type CheckName = keyof typeof checkTitles;

/** Where the difference is: each field that is known. */
export interface Place {
  readonly position?: number;
  readonly fill?: number;
  readonly chainId?: number;
  readonly block?: number;
  readonly logIndex?: number;
  readonly txHash?: string;
  readonly table?: string;
}

export interface Difference {
  readonly check: CheckName;
  readonly place: Place;
  /** One sentence: what differs from what. */
  readonly what: string;
  /** What it says about the exchange, and what may have happened. */
  readonly means: string;
  /** What the audit computed or read elsewhere, and what it found instead. */
  readonly expected?: unknown;
  readonly found?: unknown;
}

/** Of two differences the one at the lower position; one without a position comes last. */
export function earlier(a: Difference | undefined, b: Difference | undefined): Difference | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return (b.place.position ?? Infinity) < (a.place.position ?? Infinity) ? b : a;
}

/** The audit cannot be made or continued: nothing is known to be wrong with the history. The message says what to do. */
export class CannotAudit extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CannotAudit';
  }
}

/** Throws CannotAudit when somebody has asked the audit to stop. */
export function stopIfAsked(signal: AbortSignal | undefined, during: string): void {
  if (signal?.aborted === true) throw new CannotAudit(`interrupted while ${during}`);
}

/** Ends the work on records: the audit reports the difference. */
export class Differs extends Error {
  constructor(readonly difference: Difference) {
    super(difference.what);
    this.name = 'Differs';
  }
}
