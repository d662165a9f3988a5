/** The relayer's endpoints: one per action that users sign and the service sends, and the nonces that they sign with. */
import { Type, type TSchema } from '../../../engine/records/schema-types.js';
import { bodies, type RelayAction } from '../../../command/relayer/bodies.js';
import { schemaOf } from '../../../command/relayer/body-fields.js';
import type { Relay } from '../../../command/relayer/relayer.js';
import type { ClientErrorCode } from '../errors.js';
import * as kind from '../../../query/parameters.js';
import { requireScope } from '../../access/scopes.js';
import { MAX_BODY_BYTES } from '../../http/body.js';
import { problems } from '../../http/problems.js';
import { relayerErrors } from '../../http/relayer-errors.js';
import * as field from '../answer-fields.js';
import { anybody, bearer, type TokenAuthority } from '../authority.js';
import { bytesOf, type Body } from '../body.js';
import { bind, defineEndpoint, type AnswerEntry, type Endpoint, type Handle, type Route } from '../endpoint.js';
import * as example from '../examples.js';
import { inQuery } from '../parameter.js';
import * as parameter from '../parameters.js';

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
  return { ...schema, dependentRequired: Object.fromEntries(names.map((name) => [name, names.filter((other) => other !== name)])) };
}

/** An endpoint whose requests carry a bearer token and a signed body. */
type RelayEndpoint = Endpoint & { readonly authority: TokenAuthority; readonly body: Body<Buffer> };

function relayEndpoint(action: RelayAction, { id, summary, description }: { id: string; summary: string; description: string }): RelayEndpoint {
  const isBatch = action === 'batch-ctf-redemption';
  return {
    id, summary, role: 'relayer', method: 'POST', path: `/api/v1/relayer/${action}`, tag: 'Relayer', parameters: {},
    description: `${description} ${isBatch ? '' : ONE_TRANSACTION}`.trim(),
    body: bytesOf(action === 'propose-resolution' ? withBondPermit(schemaOf(bodies[action])) : schemaOf(bodies[action]), { limitBytes: isBatch ? MAX_BATCH_BYTES : MAX_BODY_BYTES, examples: { request: examples[action] } }),
    authority: bearer(`relay:${action}`), errorShape: relayerErrors, answer: isBatch ? relayedBatch : relayed, errors: ERRORS, limit: 'orders', consistent: false,
  };
}

const signedAs = (name: string) => `Signed as \`${name}\` of signedActions in /api/v1/config says.`;

/** By action. */
export const relayEndpoints: Readonly<Record<RelayAction, RelayEndpoint>> = {
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

const Nonce = Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$', description: 'The next nonce, in decimal digits.' });

export const getUserNonces = defineEndpoint({
  id: 'getUserNonces', role: 'relayer', method: 'GET', path: '/api/v1/users/{address}/nonces', tag: 'Relayer',
  summary: 'The nonces that a user signs next', description: 'Read from the chain. What each is for stands in signedActions of /api/v1/config. Nonces of '
    + 'markets are packed (key * 2^64 + counter), as they are signed. Lists the 100 newest markets, or the one that is named.',
  parameters: {
    user: parameter.userInPath, chainId: parameter.chainId,
    marketId: inQuery('market', kind.optional(kind.marketId), { description: 'Only this market.', example: example.marketId }),
  },
  authority: anybody, errorShape: problems,
  answer: {
    description: 'The nonces.',
    schema: field.answer('UserNonces', {
      address: field.Address, chainId: field.ChainId,
      owner: { ...Nonce, description: 'Of approvals, splits and merges.' }, token: { ...Nonce, description: 'Of ERC-2612 permits.' },
      markets: Type.Array(field.answer('MarketNonces', {
        marketId: field.Bytes32, contractAddress: field.Address,
        bond: Type.String({ description: 'What a proposal signs as `bond`, in units of 1e-6, in decimal digits: the bond of the proposal that is there, '
          + 'else the greater of the market\'s own bond and the oracle\'s minimum at present.' }),
        condition: { ...Nonce, description: 'Of redemptions.' }, market: { ...Nonce, description: 'Of proposals and settlements.' },
      })),
    }),
    examples: {
      'one market': {
        address: example.alice, chainId: 31_337, owner: '2', token: '1',
        markets: [{
          marketId: example.marketId, contractAddress: example.contractAddress, bond: '10000000',
          condition: '34909474936944979506930092012594866316285105204929593068756992',
          market: '34909474936944979506930092012594866316285105204929593068756993',
        }],
      },
    },
  },
  errors: ['unknown_chain', 'unknown_market', 'chain_unavailable'], limit: 'reads', consistent: false,
});

export type GetUserNonces = Handle<typeof getUserNonces>;

/** The routes of role `relayer`. */
export function relayerRoutes({ relay, getUserNonces: nonces }: { readonly relay: Relay; readonly getUserNonces: GetUserNonces }): Route[] {
  const entries = Object.entries(relayEndpoints) as [RelayAction, RelayEndpoint][];
  const routes = entries.map(([action, endpoint]) => bind(endpoint, async ({ body: bytes }, { token }) => {
    const { txHash, status } = await relay({ action, bytes, token: String(token.id), authorise: () => { requireScope(token, `relay:${action}`); } });
    const body = action === 'batch-ctf-redemption'
      ? { success: true, txHash, status: status === 'pending' ? 'pending' : 'confirmed' }
      : { success: true, tx_hash: txHash };
    return { body: JSON.stringify(body) };
  }));
  return [...routes, bind(getUserNonces, nonces)];
}
