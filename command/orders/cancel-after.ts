/**
 * `POST /api/v1/orders/cancel-after`: a dead man's switch. A trader's orders on a chain are cancelled unless the trader
 * asks again in time.
 */
import type { CancelAfter } from '../../engine/records/commands.js';
import * as field from '../../engine/records/answer-fields.js';
import { requestSignature } from '../../service/api/authority.js';
import { bytesOf, MAX_BODY_BYTES, defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { problems } from '../../service/api/problems.js';
import { rejectionError } from './order-ports.js';
import type { SignedRequestHandler } from './cancel-orders.js';
import { bodyFields, bodySchema, parseBody } from './request-body.js';
import { chainOf, checkRequest, inTurn, type SignedRequestParts } from './signed-request.js';
import { createUnderway } from './command-writer.js';

const { trader, seconds, deadline, signature, chainId } = bodyFields;
const fields = { trader, seconds, deadline, signature, chainId };

export function createCancelAfter(parts: SignedRequestParts): SignedRequestHandler {
  const underway = createUnderway();
  return async (body, signal) => {
    const at = parts.now();
    const { chainId: named, ...asked } = parseBody(body, fields);
    const chain = chainOf(parts, named);
    const { trader: owner, seconds: wait } = asked;
    const signed = checkRequest(parts, { ...asked, chainId: chain, at, fields: { kind: 'CancelAfter', trader: owner, seconds: wait } });
    const command: CancelAfter = { kind: 'CancelAfter', v: 1, at, chainId: chain, trader: owner, seconds: wait, ...signed };
    const request = `${chain} ${owner} ${wait} ${asked.deadline ?? ''}`;
    return inTurn(underway, { request, trader: owner, signal }, () => set(parts, command, signal));
  };
}

/** A switch that is armed is armed anew by each request; only one that is not armed needs no record to stay so. */
async function set(parts: SignedRequestParts, command: CancelAfter, signal: AbortSignal | undefined): Promise<Reply> {
  const { view } = parts;
  await parts.caughtUp();
  const present = view.switchOf(command);
  const isDone = present !== undefined && present.firesAt === undefined
    && (command.deadline ?? present.deadline) === present.deadline;
  if (command.seconds === 0 && isDone) return { body: bodyOf(command, null), position: view.position - 1 };
  const { position, outcome } = await parts.submit(command, signal);
  const [event] = outcome.events;
  switch (event?.type) {
    case 'CancelAfterArmed': return { body: bodyOf(command, event.firesAt), position };
    case 'CancelAfterDisarmed': return { body: bodyOf(command, null), position };
    case 'CommandRejected': throw rejectionError(event, { atMs: outcome.at });
    default: throw new Error(`position ${position}: a CancelAfter's outcome began with ${event?.type ?? 'nothing'}`);
  }
}

function bodyOf({ trader: owner, chainId: chain }: CancelAfter, cancelAt: number | null): string {
  return JSON.stringify({ status: cancelAt === null ? 'disarmed' : 'armed', trader: owner, chainId: chain, cancelAt });
}

export const cancelAfter = defineEndpoint({
  id: 'cancelAfter', role: 'api', method: 'POST', path: '/api/v1/orders/cancel-after', tag: 'Orders', summary: 'Cancel all orders unless asked again in time',
  description: 'A dead man\'s switch: when so many seconds have passed in the history, all of the trader\'s open orders on the chain are cancelled, unless '
    + 'the request comes again before, which puts it off; 0 disarms. The signature is over CancelAfter(address trader,uint32 seconds,uint64 deadline) in '
    + 'the chain\'s orderDomain. The same signed request may be sent again until its deadline; one with an earlier deadline than that of a request that '
    + 'took effect is refused with outdated_request.',
  parameters: {},
  body: bytesOf(bodySchema(fields), {
    limitBytes: MAX_BODY_BYTES,
    examples: {
      'half a minute': { trader: example.alice, seconds: 30, deadline: String(example.expiration), signature: example.signature },
      'disarm': { trader: example.alice, seconds: 0, deadline: String(example.expiration), signature: example.signature },
    },
  }),
  authority: requestSignature('CancelAfter'), errorShape: problems,
  answer: {
    description: 'The switch is as asked.',
    schema: field.answer('Switch', {
      status: field.oneOf(['armed', 'disarmed'], 'Whether the orders are going to be cancelled.'), trader: field.Address, chainId: field.ChainId,
      cancelAt: field.orNull(field.integer('Milliseconds since the Unix epoch.'), 'When the orders are cancelled, in milliseconds since the Unix epoch; null if disarmed.'),
    }),
    examples: {
      armed: { status: 'armed', trader: example.alice, chainId: 31_337, cancelAt: example.placedAt * 1_000 + 30_000 },
      disarmed: { status: 'disarmed', trader: example.alice, chainId: 31_337, cancelAt: null },
    },
    headers: { 'X-Log-Position': 'Log position of the request, or, where it was disarmed already, one at which the answer is true.' },
  },
  errors: [
    'invalid_json', 'invalid_request', 'invalid_address', 'invalid_chain_id', 'unknown_chain', 'signature_required', 'invalid_request_signature',
    'too_late', 'outdated_request', 'other_site', 'clock_untrusted', 'disk_full', 'overloaded', 'outcome_unknown', 'unavailable',
  ],
  limit: 'orders', consistent: false,
}, ({ cancelAfter: ask }: { readonly cancelAfter: SignedRequestHandler }) => ({ body }, { signal }) => ask(body, signal));
