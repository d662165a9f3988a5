/**
 * The request bodies of the relayer's endpoints, field for field, and their parsing: from bytes to a request whose form
 * is right.
 */
import { RequestError } from '../../engine/records/errors.js';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import { Outcome } from '../../engine/records/answer-fields.js';
import { ChainIdInput, type RelayAction } from '../../engine/records/fields.js';
import { FieldFault } from '../../service/api/request-fields.js';
import {
  address, bytes32, decimal, decimals, flag, integer, objects, optional, parseFields, recoveryId, signatureWord,
  type Parsed,
} from './body-fields.js';

/** The most redemptions in one request. */
export const MAX_REDEMPTIONS = 20;

const chainId = integer(1, Number.MAX_SAFE_INTEGER, ChainIdInput);
const owner = address('Who has signed, and whose tokens are meant.');
const collateralToken = address('The stablecoin contract.');
const conditionId = bytes32('The condition: the market\'s id.');
const marketAddress = address('The market\'s contract.');

const signature = {
  deadline: decimal('Unix seconds until which the signature counts.'), v: recoveryId,
  r: signatureWord('32 bytes as hex, 66 characters.'), s: signatureWord('32 bytes as hex, 66 characters.'),
};

const redemption = {
  collateralToken, parentCollectionId: bytes32('Zero: positions do not nest.'), conditionId,
  indexSets: decimals('The outcomes whose shares are redeemed: "1" is YES, "2" is NO.'), ...signature,
};

const wholeSets = { chainId, owner, collateralToken, conditionId, amount: decimal('Complete sets, 6 decimals.'), ...signature };

/** By the endpoints' names. */
export const bodies = {
  'ctf-approval': {
    chainId, owner, operator: address('The settlement contract.'), approved: flag('True approves, false revokes.'), ...signature,
  },
  'usdc-permit': {
    chainId, owner, spender: address('The settlement contract, the conditional tokens or the oracle resolver.'),
    value: decimal('Amount; 2^256-1 means unlimited.'), ...signature,
  },
  'ctf-redemption': { chainId, owner, ...redemption, marketAddress: optional(marketAddress) },
  'batch-ctf-redemption': {
    chainId, owner, redemptions: objects('Redemption', { marketAddress, ...redemption }, `At most ${MAX_REDEMPTIONS}, each signed as for ctf-redemption.`),
  },
  'propose-resolution': {
    chainId, marketAddress, proposer: address('Who has signed and posts the bond.'), outcome: flag('True is YES, false NO.'), ...signature,
    bondPermitDeadline: optional(decimal('Of the bond\'s permit. The four bond fields are given together; required on a mainnet.')),
    bondV: optional(signature.v), bondR: optional(signature.r), bondS: optional(signature.s),
  },
  'settle-market': {
    chainId, marketAddress, settler: address('Who has signed.'), ...signature, winningOutcome: integer(0, 1, Outcome),
  },
  'ctf-split': wholeSets,
  'ctf-merge': wholeSets,
} as const satisfies Readonly<Record<RelayAction, object>>;

export const RELAY_ACTIONS = Object.keys(bodies) as readonly RelayAction[];

/** A request whose form is right: every field of the right type, lower-case hex, v of 27 or 28. */
export type RelayRequest = { [A in RelayAction]: {
  readonly action: A;
  readonly body: Parsed<typeof bodies[A]>;
} }[RelayAction];
export type RequestOf<A extends RelayAction> = Extract<RelayRequest, { action: A }>;
export type Redemption = Parsed<typeof redemption> & { readonly marketAddress?: string | undefined };
export type SignatureFields = Parsed<typeof signature>;

/**
 * The request in a body's bytes. Throws RequestError for the first fault: of the body, then of an address, then of a
 * signature.
 */
export function parseRelayRequest(action: RelayAction, bytes: Buffer): RelayRequest {
  const body = parseFields(bodies[action], objectIn(bytes));
  if (body instanceof FieldFault) throw new RequestError(body.code);
  const request = { action, body } as RelayRequest;
  if (request.action === 'batch-ctf-redemption' && request.body.redemptions.length > MAX_REDEMPTIONS) {
    throw new RequestError('body_too_large', `at most ${MAX_REDEMPTIONS} redemptions`);
  }
  if (request.action === 'propose-resolution' && someBondFieldIsMissing(request)) throw new RequestError('relay_invalid_body');
  return request;
}

/** The bond's permit of a proposal; undefined when it has none. */
export function bondPermitOf({ body: { bondPermitDeadline, bondV, bondR, bondS } }: RequestOf<'propose-resolution'>): SignatureFields | undefined {
  if (bondPermitDeadline === undefined || bondV === undefined || bondR === undefined || bondS === undefined) {
    return undefined;
  }
  return { deadline: bondPermitDeadline, v: bondV, r: bondR, s: bondS };
}

/** Whose request it is: who has signed. */
export function ownerOf(request: RelayRequest): string {
  switch (request.action) {
    case 'propose-resolution': return request.body.proposer;
    case 'settle-market': return request.body.settler;
    default: return request.body.owner;
  }
}

function someBondFieldIsMissing(request: RequestOf<'propose-resolution'>): boolean {
  const { bondPermitDeadline, bondV, bondR, bondS } = request.body;
  return [bondPermitDeadline, bondV, bondR, bondS].some((field) => field !== undefined)
    && bondPermitOf(request) === undefined;
}

function objectIn(bytes: Buffer): unknown {
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (error instanceof RequestError) return undefined;
    throw error;
  }
}
