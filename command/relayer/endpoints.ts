/** The relayer's endpoints: one per action that users sign and the service sends. */
import { getUserNonces } from './user-nonces.js';
import { Type, type TSchema } from '../../engine/records/schema-types.js';
import * as field from '../../engine/records/answer-fields.js';
import type { RelayAction } from '../../engine/records/fields.js';
import { bearer } from '../../service/api/authority.js';
import { bytesOf, MAX_BODY_BYTES, defineEndpoint, type AnswerEntry } from '../../service/api/endpoint.js';
import type { ClientErrorCode } from '../../service/api/errors.js';
import * as example from '../../service/api/examples.js';
import { relayerErrors } from '../../service/api/relayer-errors.js';
import { requireScope } from '../../service/api/scopes.js';
import { bodies } from './bodies.js';
import { schemaOf } from './body-fields.js';
import type { Relay } from './relayer.js';

/** A batch of redemptions is larger than other bodies. */
const MAX_BATCH_BYTES = 256 * 1024;

const ERRORS: readonly ClientErrorCode[] = [
  'relay_invalid_body', 'relay_invalid_address', 'relay_invalid_signature', 'relay_unknown_chain', 'relay_wrong_signer', 'relay_deadline_too_far',
  'relay_bond_permit_required', 'relay_target_refused', 'relay_already_used', 'relay_contract_wallet', 'relay_would_revert', 'relay_quota_used',
  'relay_unavailable', 'clock_untrusted', 'disk_full',
];

const ONE_TRANSACTION = 'The same request again, also many times at once or after a restart, is answered with its one transaction. `tx_hash` is empty when '
  + 'the state is as asked already, so that nothing needs to be sent.';

const relayed: AnswerEntry = {
  description: 'The transaction is signed and on its way, or the state is as asked already.',
  schema: field.answer('Relayed', {
    success: Type.Literal(true), tx_hash: { ...field.TxHash, description: 'Hash of the transaction; empty when nothing needed to be sent.' },
  }),
  examples: { sent: { success: true, tx_hash: example.txHash } },
};

const relayedBatch: AnswerEntry = {
  description: 'The transaction with all redemptions is signed and on its way.',
  schema: field.answer('RelayedBatch', {
    success: Type.Literal(true), txHash: { ...field.TxHash, description: 'Hash of the transaction.' },
    status: field.oneOf(['pending', 'confirmed'], 'Whether the transaction is final and the history has it.'),
  }),
  examples: { sent: { success: true, txHash: example.txHash, status: 'pending' } },
};

const word = (byte: string) => `0x${byte.repeat(32)}`;
const deadline = String(example.placedAt + 3_600);
const signature = { deadline, v: 27, r: word('11'), s: word('22') };
const redemption = {
  collateralToken: example.collateralAddress, parentCollectionId: word('00'), conditionId: example.marketId, indexSets: ['1', '2'], ...signature,
  marketAddress: example.contractAddress,
};
const owned = { chainId: 31_337, owner: example.alice };
const sets = { ...owned, collateralToken: example.collateralAddress, conditionId: example.marketId, amount: '25000000', ...signature };
const examples: Readonly<Record<RelayAction, object>> = {
  'ctf-approval': { ...owned, operator: example.settlementAddress, approved: true, ...signature },
  'usdc-permit': { ...owned, spender: example.settlementAddress, value: '1000000000', ...signature },
  'ctf-redemption': { ...owned, ...redemption },
  'batch-ctf-redemption': { ...owned, redemptions: [redemption] },
  'propose-resolution': { chainId: 31_337, marketAddress: example.contractAddress, proposer: example.alice, outcome: true, ...signature },
  'settle-market': { chainId: 31_337, marketAddress: example.contractAddress, settler: example.alice, ...signature, winningOutcome: 0 },
  'ctf-split': sets,
  'ctf-merge': sets,
};

/** The four fields of the bond's permit are given together. */
function withBondPermit(schema: TSchema): TSchema {
  const names = ['bondPermitDeadline', 'bondV', 'bondR', 'bondS'];
  return {
    ...schema,
    dependentRequired: Object.fromEntries(names.map((name) => [name, names.filter((other) => other !== name)])),
  };
}

function relayEndpoint(
  action: RelayAction, { id, summary, description }: { id: string; summary: string; description: string },
) {
  const isBatch = action === 'batch-ctf-redemption';
  const schema = action === 'propose-resolution' ? withBondPermit(schemaOf(bodies[action])) : schemaOf(bodies[action]);
  const scope = `relay:${action}` as const;
  return defineEndpoint({
    id, summary, role: 'relayer', method: 'POST', path: `/api/v1/relayer/${action}`, tag: 'Relayer', parameters: {},
    description: `${description} ${isBatch ? '' : ONE_TRANSACTION}`.trim(),
    body: bytesOf(schema, {
      limitBytes: isBatch ? MAX_BATCH_BYTES : MAX_BODY_BYTES, examples: { request: examples[action] },
    }),
    authority: bearer(scope), errorShape: relayerErrors, answer: isBatch ? relayedBatch : relayed, errors: ERRORS,
    limit: 'orders', consistent: false,
  }, ({ relay }: { readonly relay: Relay }) => async ({ body: bytes }, { token }) => {
    const authorise = () => { requireScope(token, scope); };
    const { txHash, status } = await relay({ action, bytes, token: String(token.id), authorise });
    const reply = isBatch
      ? { success: true, txHash, status: status === 'pending' ? 'pending' : 'confirmed' }
      : { success: true, tx_hash: txHash };
    return { body: JSON.stringify(reply) };
  });
}

const signedAs = (name: string) => `Signed as \`${name}\` of signedActions in /api/v1/config says.`;

/** By action. */
export const relayEndpoints: Readonly<Record<RelayAction, ReturnType<typeof relayEndpoint>>> = {
  'ctf-approval': relayEndpoint('ctf-approval', {
    id: 'relayApproval', summary: 'Approve the settlement contract for conditional tokens, or revoke that', description: signedAs('ctf-approval'),
  }),
  'usdc-permit': relayEndpoint('usdc-permit', {
    id: 'relayPermit', summary: 'Let a contract of the exchange spend stablecoin', description: `${signedAs('usdc-permit')} An ERC-2612 permit.`,
  }),
  'ctf-redemption': relayEndpoint('ctf-redemption', {
    id: 'relayRedemption', summary: 'Redeem shares of a resolved market', description: `${signedAs('ctf-redemption')} All shares of the outcomes are redeemed.`,
  }),
  'batch-ctf-redemption': relayEndpoint('batch-ctf-redemption', {
    id: 'relayBatchRedemption', summary: 'Redeem shares of several resolved markets in one transaction',
    description: 'Each item is signed as `ctf-redemption`; the second item of one condition with the nonce after the first one\'s. An item that fails on the '
      + 'chain does not stop the others: it is listed by /api/v1/failed-claims.',
  }),
  'propose-resolution': relayEndpoint('propose-resolution', {
    id: 'relayProposal', summary: 'Propose the outcome of an expired market',
    description: `${signedAs('propose-resolution')} The proposer posts the bond, by an allowance or by the bond's permit, which is required on a mainnet. `
      + 'What `bond` is at present, `/users/{address}/nonces` tells: it rises with the oracle\'s minimum.',
  }),
  'settle-market': relayEndpoint('settle-market', {
    id: 'relaySettlement', summary: 'Settle a market whose dispute window has passed', description: signedAs('settle-market'),
  }),
  'ctf-split': relayEndpoint('ctf-split', {
    id: 'relaySplit', summary: 'Turn stablecoin into complete sets of shares', description: signedAs('ctf-split'),
  }),
  'ctf-merge': relayEndpoint('ctf-merge', {
    id: 'relayMerge', summary: 'Turn complete sets of shares into stablecoin', description: signedAs('ctf-merge'),
  }),
};

/** All that the role serves. */
export const relayerEndpoints = [...Object.values(relayEndpoints), getUserNonces] as const;
