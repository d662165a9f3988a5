/** `POST /api/v1/dev/funds`: test money for any wallet. Served by a stack with a development chain of its own, and nowhere else. */
import { bodyFields, bodySchema, parseBody } from '../command/orders/request-body.js';
import { fieldError } from '../command/orders/order-request.js';
import * as field from '../engine/records/answer-fields.js';
import { RequestError } from '../engine/records/errors.js';
import { AnyCaseAddress } from '../engine/records/fields.js';
import { ADDRESS, isAddress } from '../engine/records/hex.js';
import { named } from '../engine/records/named-schema.js';
import { Type } from '../engine/records/schema-types.js';
import { anybody } from '../service/api/authority.js';
import { bytesOf, defineEndpoint, MAX_BODY_BYTES, serve, type Route } from '../service/api/endpoint.js';
import type { ClientErrorCode } from '../service/api/errors.js';
import * as example from '../service/api/examples.js';
import { problems } from '../service/api/problems.js';
import { ruledField } from '../service/api/request-fields.js';
import { GIFT, type GiveTestMoney } from './chain/faucet.js';

export const FUNDS_PATH = '/api/v1/dev/funds';

/** Most requests for one wallet, and of one client address, in a window: each may make a block. */
const MOST = { wallet: 5, client: 60 } as const;
const WINDOW_S = 60;

export interface TestMoneyPorts {
  readonly chainId: number;
  readonly give: GiveTestMoney;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** The route of the endpoint, over a development chain. */
export function fundsRoutes(parts: TestMoneyPorts): readonly Route[] {
  return serve([giveFunds], { funds: { ...parts, count: createCounter(parts.now) } });
}

/** The amounts for a reader. */
export const GIFT_TEXT = `${GIFT.collateral / 1_000_000n} test USDC and ${GIFT.native / 10n ** 18n} ether`;

const fields = {
  address: ruledField({ ...AnyCaseAddress, description: 'The wallet.' }, `is ${ADDRESS.meaning}`,
    (value) => isAddress(value) ? value.toLowerCase() : undefined, 'invalid_address'),
  chainId: bodyFields.chainId,
};

type Count = (kind: keyof typeof MOST, key: string) => void;

export const giveFunds = defineEndpoint({
  id: 'giveFunds', role: 'every', method: 'POST', path: FUNDS_PATH, tag: 'Service', summary: 'Test money for a wallet',
  description: `Fills the wallet up to ${GIFT_TEXT}, which pays for its approvals, on the chain of this development stack. The answer comes when the money `
    + 'is there, with what the wallet has then. A repeat gives nothing more as long as the wallet has that much. '
    + `At most ${MOST.wallet} requests for one wallet, and ${MOST.client} of one client address, in ${WINDOW_S} s. `
    + 'No other deployment has this path.',
  parameters: {},
  body: bytesOf(named('FundsRequest', bodySchema(fields)), {
    limitBytes: MAX_BODY_BYTES, examples: { 'a wallet': { address: example.alice } },
  }),
  authority: anybody, errorShape: problems,
  answer: {
    description: 'What the wallet has.',
    schema: field.answer('Funds', {
      address: field.Address, chainId: field.ChainId,
      collateral: field.amount('The wallet\'s test USDC'),
      native: Type.String({ pattern: '^(0|[1-9][0-9]*)$', description: 'The wallet\'s ether in wei, as a decimal string.' }),
      status: field.oneOf(['confirmed', 'pending'], 'pending: the transaction is sent, and the chain says when it is mined.'),
      txHash: Type.String({
        pattern: '^(0x[0-9a-f]{64})?$', description: 'The transaction that has brought the USDC; empty when the wallet had enough.',
      }),
    }),
    examples: { filled: {
      address: example.alice, chainId: 31_337, collateral: Number(GIFT.collateral), native: String(GIFT.native), status: 'confirmed',
      txHash: example.txHash,
    } },
  },
  errors: [
    'invalid_json', 'invalid_request', 'invalid_address', 'invalid_chain_id', 'unknown_chain', 'rate_limited', 'chain_unavailable', 'unavailable',
  ],
  limit: 'none', consistent: false,
}, ({ funds: { chainId, give, count } }: { readonly funds: TestMoneyPorts & { readonly count: Count } }) => async ({ body }, { ip }) => {
  const { address, chainId: asked = chainId } = parseBody(body, fields);
  if (asked !== chainId) throw fieldError('unknown_chain', '/chainId', `is not ${chainId}, the chain of this stack`);
  count('client', ip);
  count('wallet', address);
  const { collateral, native, status, txHash } = await give(address);
  return {
    body: `{"address":"${address}","chainId":${chainId},"collateral":${collateral},"native":"${native}","status":"${status}","txHash":"${txHash}"}`,
  };
});

/** Counts requests in windows of one length for all. Throws RequestError `rate_limited` beyond the limits. */
function createCounter(now: () => number): Count {
  let endMs = now();
  const counts = new Map<string, number>();
  return (kind, key) => {
    if (now() >= endMs) {
      endMs = now() + WINDOW_S * 1_000;
      counts.clear();
    }
    const name = `${kind} ${key}`;
    const counted = (counts.get(name) ?? 0) + 1;
    if (counted > MOST[kind]) {
      const retryAfterS = Math.max(1, Math.ceil((endMs - now()) / 1_000));
      const whose = kind === 'wallet' ? 'for one wallet' : 'of one client address';
      throw new RequestError<ClientErrorCode>('rate_limited', `at most ${MOST[kind]} requests ${whose} in ${WINDOW_S} s`, [], { retryAfterS });
    }
    counts.set(name, counted);
  };
}
