/** Every error that a client can get, in one table: status, text, and whether the same request can succeed later. */
import type { ErrorCode, RequestError } from '../../engine/records/errors.js';

/** Errors of HTTP and of access, which only the service finds. */
export type HttpErrorCode = 'missing_token' | 'invalid_token' | 'insufficient_scope' | 'other_site' | 'method_not_allowed'
  | 'unsupported_media_type' | 'expectation_failed' | 'upgrade_required' | 'too_many_streams' | 'rate_limited' | 'request_timeout';
export type ClientErrorCode = ErrorCode | HttpErrorCode;
/** An error as clients get it. */
export type ClientError = RequestError<ClientErrorCode>;

export interface ErrorKind {
  readonly status: number;
  /** What went wrong and what to do. What is wrong with the request may follow in the answer, so the text does not say it. */
  readonly text: string;
  /** Whether sending the same request again later can help. */
  readonly retry: boolean;
}

const kind = (status: number, text: string, retry = false): ErrorKind => ({ status, text, retry });

export const errors: Readonly<Record<ClientErrorCode, ErrorKind>> = {
  invalid_request: kind(400, 'the request is not as documented'),
  invalid_json: kind(400, 'what was sent is not a JSON object in UTF-8'),
  invalid_address: kind(400, 'an address is missing or not well-formed'),
  invalid_market_id: kind(400, 'a market\'s id is missing or not well-formed'),
  invalid_order_hash: kind(400, 'an order\'s hash is missing or not well-formed'),
  invalid_chain_id: kind(400, 'a chain\'s id is missing or not well-formed'),
  invalid_price: kind(400, 'the price is not one that an order may have; prices have 6 decimals, 1000000 = 1.00'),
  invalid_size: kind(400, 'the size is not one that an order may have; sizes have 6 decimals'),
  size_too_small: kind(400, 'the order is too small for the market\'s chain; see minOrderSize in /api/v1/config'),
  invalid_expiration: kind(400, 'the order expires too soon, or at no time at all; compare your clock with serverTime of /api/v1/config'),
  invalid_signature: kind(400, 'the order is not signed by its trader; /api/v1/config has domain and types'),
  invalid_permit: kind(400, 'the permit does not hold'),
  relay_invalid_body: kind(400, 'Invalid request body'),
  relay_invalid_address: kind(400, 'Invalid address format'),
  relay_invalid_signature: kind(400, 'Invalid signature format'),
  relay_unknown_chain: kind(400, 'No relayer configured for chain'),
  relay_wrong_signer: kind(400, 'the signature is not the owner\'s of this message; /api/v1/config has domain, types and nonce'),
  relay_deadline_too_far: kind(400, 'the deadline is too far ahead; sign with an earlier one'),
  relay_bond_permit_required: kind(400, 'a proposal on this chain needs the bond\'s permit: bondPermitDeadline, bondV, bondR and bondS'),
  cancel_signature_required: kind(401, 'a cancel needs X-Cancel-Signature (EIP-712 CancelOrder) and X-Cancel-Deadline'),
  signature_required: kind(401, 'this request needs its trader\'s EIP-712 signature: deadline and signature'),
  missing_token: kind(401, 'this request needs a bearer token: Authorization: Bearer and the token, which the exchange\'s operator issues'),
  invalid_token: kind(401, 'the bearer token is not valid; ask the exchange\'s operator for another one'),
  insufficient_scope: kind(403, 'the bearer token lacks the scope that this request needs'),
  invalid_cancel_signature: kind(403, 'the cancel is not signed by the order\'s trader for a time that is still to come'),
  invalid_request_signature: kind(403, 'the request is not signed by its trader for a time that is still to come'),
  not_order_owner: kind(403, 'only the order\'s trader can cancel or reduce it'),
  trader_suspended: kind(403, 'fills of the trader failed again because the trader lacked what they needed; send the order again after suspendedUntil', true),
  other_site: kind(403, 'only programs and pages of the machine itself may do this here, where no signature decides'),
  relay_target_refused: kind(403, 'the relayer does not send this'),
  not_found: kind(404, 'there is nothing at this path; see /openapi.json'),
  unknown_market: kind(404, 'no such market; see /api/v1/markets'),
  unknown_order: kind(404, 'no such order, or not in this market or on this side'),
  unknown_chain: kind(404, 'the exchange does not settle on this chain; see chains in /api/v1/config'),
  unknown_asset: kind(404, 'the exchange has no prices of this asset'),
  not_recorded_yet: kind(404, 'the history has not come so far yet', true),
  history_removed: kind(410, 'the read models do not keep what is so old; /api/v1/events has the whole history, and a stream from -1 on begins with it'),
  method_not_allowed: kind(405, 'this path does not take this method; see Allow'),
  market_closed: kind(409, 'the market takes no more orders'),
  duplicate_nonce: kind(409, 'another live order of this trader has this nonce; sign the order again with a fresh one'),
  nonce_cancelled: kind(409, 'the trader has cancelled this nonce and all lower ones on the chain; sign the order again with a higher nonce'),
  too_many_open_orders: kind(409, 'the trader has as many open orders as one trader may have; cancel some, or wait until some are filled or expire'),
  too_late: kind(409, 'the time that the request set for itself has passed, so it is not carried out any more'),
  not_filled: kind(409, 'the order does not match as a whole at once, so nothing has happened (FOK); send it again to try again'),
  would_match: kind(409, 'the order would match at once, so nothing has happened (postOnly); send it again to try again'),
  outdated_request: kind(409, 'a request with a later deadline has been carried out; sign again, with a deadline that is not earlier than that one\'s'),
  already_cancelled: kind(409, 'the order is cancelled: nothing is left to reduce'),
  not_reduced: kind(409, 'the order is not larger than this: its size can only become smaller'),
  already_filled: kind(409, 'the order is filled: nothing is left to cancel or to reduce'),
  relay_in_vain: kind(409, 'this request was sent and did not have the effect that was asked for; sign the message again, with another deadline'),
  relay_cover_needed: kind(409, 'open orders or unsettled fills need what this would take away; cancel the orders, or wait until the fills are settled'),
  relay_already_used: kind(409, 'the signature\'s nonce is used already; sign again with the present one'),
  body_too_large: kind(413, 'the body is larger than this endpoint takes'),
  unsupported_media_type: kind(415, 'send Content-Type: application/json, uncompressed, in UTF-8'),
  expectation_failed: kind(417, 'the only Expect that is understood is 100-continue; leave the header out'),
  upgrade_required: kind(426, 'this path speaks WebSocket (RFC 6455, version 13); connect with a client of it'),
  insufficient_balance: kind(422, 'the trader has less than this order, the other open orders and the unsettled fills need together'),
  insufficient_allowance: kind(422, 'the settlement contract may not move what the order needs; approve it'),
  relay_contract_wallet: kind(422, 'contract wallets are not supported: the contracts check signatures of keys only, so send the transaction yourself'),
  relay_would_revert: kind(422, 'the transaction would fail, so it is not sent'),
  relay_owner_paused: kind(429, 'a transaction for this owner reverted, whose account has code; wait as Retry-After says', true),
  relay_quota_used: kind(429, 'the quota of relayed gas is used up; wait as Retry-After says', true),
  too_many_streams: kind(429, 'this client address has as many streams open as one address may have; close some', true),
  rate_limited: kind(429, 'too many requests; wait as Retry-After says', true),
  request_timeout: kind(408, 'the request did not arrive in time', true),
  internal: kind(500, 'an unexpected error; it has been logged'),
  trading_halted: kind(503, 'no orders are taken for some time, as the operator has planned; cancels are. See plannedHalts in /api/v1/status', true),
  clock_untrusted: kind(503, 'the clock of the service may be wrong, so no order is taken until it is right; send it again as Retry-After says', true),
  disk_full: kind(503, 'there is no room for the request, which was not taken; send it again as Retry-After says', true),
  overloaded: kind(503, 'the exchange is busy and has not taken the request; send it again as Retry-After says', true),
  outcome_unknown: kind(503, 'the log has not confirmed the request, which may still be carried out; send it again: it is carried out once', true),
  not_caught_up: kind(503, 'the read model has not reached X-Min-Log-Position yet; ask again', true),
  chain_unavailable: kind(503, 'the chain is not there for this now; ask again', true),
  relay_unavailable: kind(503, 'the relayer cannot send at the moment; send the same request again: it becomes one transaction', true),
  unavailable: kind(503, 'the exchange cannot answer this now; ask again', true),
};

/** The text of the error's kind, and what is wrong with this request. */
export function clientText({ code, reason }: ClientError): string {
  return reason === '' ? errors[code].text : `${errors[code].text}: ${reason}`;
}
