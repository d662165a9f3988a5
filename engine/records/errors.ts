/** Why a request is refused, by code. What a client is told of each code, and with which HTTP status, is said in service/api/errors.ts. */

/** The request was looked at, and the same request is refused again unless something else changes. */
const REFUSALS = [
  'invalid_request', 'invalid_json', 'invalid_address', 'invalid_market_id', 'invalid_order_hash',
  'invalid_chain_id', 'invalid_price', 'invalid_size', 'size_too_small', 'invalid_expiration', 'invalid_signature',
  'invalid_permit', 'relay_invalid_body', 'relay_invalid_address', 'relay_invalid_signature',
  'relay_unknown_chain', 'relay_wrong_signer', 'relay_deadline_too_far', 'relay_bond_permit_required',
  'cancel_signature_required', 'invalid_cancel_signature', 'not_order_owner', 'trader_suspended',
  'relay_target_refused', 'not_found', 'unknown_market', 'unknown_order', 'unknown_chain', 'unknown_asset',
  'not_recorded_yet', 'history_removed', 'signature_required', 'invalid_request_signature', 'too_late', 'not_filled', 'would_match',
  'outdated_request', 'already_cancelled', 'not_reduced', 'market_closed', 'duplicate_nonce', 'nonce_cancelled',
  'too_many_open_orders', 'already_filled', 'relay_in_vain', 'relay_cover_needed', 'relay_already_used', 'body_too_large',
  'insufficient_balance', 'insufficient_allowance', 'relay_contract_wallet', 'relay_would_revert',
  'relay_owner_paused', 'relay_quota_used', 'internal',
] as const;

/** Says nothing about the request: a part of the exchange cannot take it now, or does not know what became of it. */
const UNAVAILABLE = [
  'trading_halted', 'clock_untrusted', 'disk_full', 'overloaded', 'outcome_unknown', 'not_caught_up', 'chain_unavailable',
  'relay_unavailable', 'unavailable',
] as const;

export const ERROR_CODES = [...REFUSALS, ...UNAVAILABLE];
export type ErrorCode = typeof ERROR_CODES[number];

/** What is wrong with one field: a JSON pointer and what was expected. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/**
 * A request is refused. What is wrong with this request is said once: by `fields` where it is the fields', else by
 * `detail`. `extra` has further fields for the client.
 */
export class RequestError<Code extends string = ErrorCode> extends Error {
  constructor(readonly code: Code, readonly detail = '', readonly fields: readonly FieldError[] = [],
    readonly extra: Readonly<Record<string, unknown>> = {}) {
    const reason = reasonOf(detail, fields);
    super(reason === '' ? code : `${code}: ${reason}`);
    this.name = 'RequestError';
  }

  /** What is wrong with this request, in words; empty when the code says all. */
  get reason(): string {
    return reasonOf(this.detail, this.fields);
  }

  /** Whether the same request may be accepted later, without anything else having changed: the exchange could not take it now. */
  get isUnavailable(): boolean {
    return (UNAVAILABLE as readonly string[]).includes(this.code);
  }
}

function reasonOf(detail: string, fields: readonly FieldError[]): string {
  return detail === '' ? fields.map(({ field, message }) => `${field} ${message}`).join('; ') : detail;
}
