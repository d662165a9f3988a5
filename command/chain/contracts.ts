/** `GET /api/v1/contracts`: the contracts of each chain with the part of their ABIs that a wallet needs. */
import { createHash } from 'node:crypto';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { market } from '../../contracts-abi/market.js';
import { multicall3 } from '../../contracts-abi/multicall3.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import * as field from '../../engine/records/answer-fields.js';
import { Type } from '../../engine/records/schema-types.js';
import { defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { ofEveryProcess } from '../../service/api/of-every-process.js';
import type { Chain, Contracts } from './chain.js';

type Entry = Readonly<Record<string, unknown>> & { readonly type: string; readonly name?: string };
type NameOf<Abi extends readonly Entry[]> = Extract<Abi[number], { readonly type: 'function' }>['name'];

interface Described {
  readonly address: string | null;
  readonly abi: readonly Entry[];
}

/** The handler of `GET /api/v1/contracts`. The answer is the same as long as the process lives. */
export function contractsHandler(chains: readonly Pick<Chain, 'chainId' | 'testnet' | 'contracts'>[]): () => Reply {
  const shown = chains
    .map(({ chainId, testnet, contracts }) => ({ chainId, contracts: described(contracts, { testnet }) }));
  const body = JSON.stringify({ chains: shown });
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  return () => ({ body, etag });
}

/**
 * Every contract of `/api/v1/config` under the same name, and `market`, of which each market has one at its own
 * address.
 */
function described(
  contracts: Contracts, { testnet }: { readonly testnet: boolean },
): Readonly<Record<string, Described>> {
  const abis: Readonly<Record<keyof Contracts, readonly Entry[]>> = {
    settlement: SETTLEMENT, conditionalTokens: CONDITIONAL_TOKENS, collateral: testnet ? TEST_COLLATERAL : COLLATERAL,
    marketFactory: MARKET_FACTORY,
    oracle: ORACLE, oracleResolver: ORACLE_RESOLVER, quickResolver: QUICK_RESOLVER, multicall: MULTICALL,
  };
  const names = Object.keys(abis) as (keyof Contracts)[];
  return {
    ...Object.fromEntries(names.map((name) => [name, { address: contracts[name], abi: abis[name] }])),
    market: { address: null, abi: MARKET },
  };
}

/** What belongs to the administration of a contract: nothing that a wallet sees in a transaction of its own. */
const ADMINISTRATION = /^(Role|AccessControl|Ownable|OwnershipTransferred)/;

/** The named functions, and all events and errors but those of the administration: a wallet decodes what comes back. */
function forWallets<const Abi extends readonly Entry[]>(abi: Abi, functions: readonly NameOf<Abi>[]): readonly Entry[] {
  const wanted: readonly (string | undefined)[] = functions;
  return abi.filter(({ type, name = '' }) => type === 'function' ? wanted.includes(name) : type !== 'constructor' && !ADMINISTRATION.test(name));
}

const ERC20 = [
  'name', 'symbol', 'decimals', 'totalSupply', 'balanceOf', 'allowance', 'approve', 'transfer', 'transferFrom', 'permit', 'nonces', 'DOMAIN_SEPARATOR',
  'eip712Domain',
] as const;
const COLLATERAL = forWallets(testUsdc.abi, ERC20);
/** Anybody may mint the stablecoin of a test network. */
const TEST_COLLATERAL = forWallets(testUsdc.abi, [...ERC20, 'mint']);
const CONDITIONAL_TOKENS = forWallets(conditionalTokens.abi, [
  'balanceOf', 'balanceOfBatch', 'isApprovedForAll', 'setApprovalForAll', 'setApprovalForAllWithSig', 'splitPosition', 'splitPositionWithSig',
  'mergePositions', 'mergePositionsWithSig', 'redeemPositions', 'redeemPositionsWithSig', 'safeTransferFrom', 'safeBatchTransferFrom', 'nonces',
  'revokeNonce', 'revokeKeyedNonce', 'eip712Domain', 'getConditionId', 'getCollectionId', 'getPositionId', 'getOutcomeSlotCount', 'payoutNumerators', 'payoutDenominator',
]);
const SETTLEMENT = forWallets(settlement.abi, [
  'cancelOrders', 'scheduleCancelAll', 'cancelEffectiveAt', 'nonceFloor', 'filled', 'isSettled', 'hashOrder', 'CANCEL_DELAY',
  'MAX_NONCE_FLOOR', 'eip712Domain',
]);
const MARKET_FACTORY = forWallets(marketFactory.abi, ['marketOf', 'marketIdOf']);
const MARKET = forWallets(market.abi, [
  'marketId', 'question', 'description', 'category', 'expiration', 'maker', 'bond', 'kind', 'asset', 'startTime', 'questionId', 'resolver', 'resolved',
  'winningOutcome', 'collateral', 'tokens', 'yesId', 'noId',
]);
const ORACLE = forWallets(optimisticOracle.abi, [
  'disputeAssertion', 'settleAssertion', 'getAssertion', 'getAssertionResult', 'getMinimumBond', 'defaultLiveness', 'claimable',
  'claimPayment',
]);
const ORACLE_RESOLVER = forWallets(oracleResolver.abi, [
  'proposeWithSig', 'settleWithSig', 'proposalOf', 'bondOf', 'marketOfAssertion', 'nonces', 'nonceKey', 'revokeKeyedNonce', 'disputeWindow', 'ABANDON_DELAY', 'HALVE_DELAY',
  'eip712Domain',
]);
const QUICK_RESOLVER = forWallets(quickResolver.abi, ['MAX_PUBLISH_DELAY']);
const MULTICALL = forWallets(multicall3.abi, ['aggregate3', 'tryAggregate', 'getEthBalance', 'getBlockNumber', 'getCurrentBlockTimestamp']);

const Abi = Type.Array(Type.Object({ type: Type.String() }, { additionalProperties: true }), {
  description: 'Solidity\'s ABI of the functions that a wallet needs, and of the events and errors: ethers and viem take it as it is.',
});
const ChainContract = field.answer('ChainContract', {
  address: field.orNull(field.Address, 'Where the contract is; null for `market`, since each market has its own `contractAddress`.'), abi: Abi,
}, { description: 'A contract and how it is called.' });
const contract = (description: string) => ({ ...ChainContract, description });

const approve = {
  type: 'function', name: 'approve', stateMutability: 'nonpayable', outputs: [{ name: '', type: 'bool' }],
  inputs: [{ name: 'spender', type: 'address' }, { name: 'value', type: 'uint256' }],
};
const elsewhere = { address: example.contractAddress, abi: [] };

export const getContracts = defineEndpoint({
  ...ofEveryProcess, id: 'getContracts', path: '/api/v1/contracts', summary: 'Contracts of each chain, with ABIs',
  description: 'What a wallet needs to fund, approve, split, merge, redeem, cancel on the chain and take part in resolutions. Administration and the operator\'s '
    + 'functions are left out. `mint` of `collateral` is there on test networks. The answer changes only with the settings: with `If-None-Match` and its `ETag`, '
    + '304 without a body.',
  answer: {
    description: 'The contracts.',
    schema: field.answer('ChainsContracts', {
      chains: Type.Array(field.answer('ChainContracts', {
        chainId: field.ChainId,
        contracts: field.answer('ContractsByName', {
          settlement: contract('Settles fills, and cancels orders on the chain.'), conditionalTokens: contract('The shares (ERC-1155): split, merge, redeem, approve.'),
          collateral: contract('The stablecoin (ERC-20 with permit).'), marketFactory: contract('Finds the contract of a market.'),
          oracle: contract('Assertions and disputes.'), oracleResolver: contract('Proposes and settles resolutions.'),
          quickResolver: contract('Resolves quick markets.'), multicall: contract('Several calls as one.'), market: contract('One market.'),
        }),
      }), { description: 'Empty when orders settle nowhere.' }),
    }),
    examples: {
      development: {
        chains: [{
          chainId: 31_337, contracts: {
            settlement: elsewhere, conditionalTokens: elsewhere,
            collateral: { address: example.collateralAddress, abi: [approve] },
            marketFactory: elsewhere, oracle: elsewhere, oracleResolver: elsewhere, quickResolver: elsewhere,
            multicall: elsewhere,
            market: { address: null, abi: [] },
          },
        }],
      },
    },
    headers: { ETag: 'Changes when the answer does.' },
  },
  limit: 'reads',
}, ({ contracts }: { readonly contracts: () => Reply }) => contracts);
