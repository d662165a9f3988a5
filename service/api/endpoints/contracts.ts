/** The endpoint of the contracts: where they are and how a wallet calls them. */
import { Type } from '../../../engine/records/schema-types.js';
import { problems } from '../../http/problems.js';
import * as field from '../answer-fields.js';
import { anybody } from '../authority.js';
import { defineEndpoint } from '../endpoint.js';
import * as example from '../examples.js';

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
  id: 'getContracts', role: 'every', method: 'GET', path: '/api/v1/contracts', tag: 'Service', summary: 'Contracts of each chain, with ABIs',
  description: 'What a wallet needs to fund, approve, split, merge, redeem, cancel on the chain and take part in resolutions. Administration and the operator\'s '
    + 'functions are left out. `mint` of `collateral` is there on test networks. The answer changes only with the settings: with `If-None-Match` and its `ETag`, '
    + '304 without a body.',
  parameters: {}, authority: anybody, errorShape: problems,
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
            settlement: elsewhere, conditionalTokens: elsewhere, collateral: { address: example.collateralAddress, abi: [approve] },
            marketFactory: elsewhere, oracle: elsewhere, oracleResolver: elsewhere, quickResolver: elsewhere, multicall: elsewhere,
            market: { address: null, abi: [] },
          },
        }],
      },
    },
    headers: { ETag: 'Changes when the answer does.' },
  },
  errors: [], limit: 'reads', consistent: false,
});
