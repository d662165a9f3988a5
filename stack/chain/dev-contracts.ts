/** Sets up a fresh development chain: the contracts, the exchange's keys, and wallets with test money. */
import { Contract, HDNodeWallet, JsonRpcProvider, Mnemonic, parseEther, type InterfaceAbi } from 'ethers';
import type { Contracts } from '../../command/chain/chain.js';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { multicall3 } from '../../contracts-abi/multicall3.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { TEST_MNEMONIC } from './anvil.js';
import { deployContracts } from './deploy-contracts.js';
import { digestOf } from './dev-chain-state.js';

/** Test USDC of each account, in units of 1e-6. */
export const STARTING_USDC = 1_000_000_000_000n;

const ACCOUNTS = 10;
const STARTING_ETHER = parseEther('2000');

/** The accounts of the test mnemonic that have ether and test USDC. Their keys are publicly known. */
export function developmentAccounts(): HDNodeWallet[] {
  const parent = wallets(0);
  return Array.from({ length: ACCOUNTS }, (_, i) => parent.deriveChild(i));
}

/** The first account of the test mnemonic, which deploys the contracts, stays administrator, and is the oracle's owner. */
export function deployerWallet(): HDNodeWallet {
  return wallets(0).deriveChild(0);
}

/** Signs settlement transactions. Not one of the accounts that developers use in their wallets: their transactions would use its nonces. */
export function operatorWallet(): HDNodeWallet {
  return wallets(1).deriveChild(0);
}

/** Creates markets. */
export function creatorWallet(): HDNodeWallet {
  return wallets(1).deriveChild(1);
}

/** Signs relayed transactions. */
export function relayerWallet(): HDNodeWallet {
  return wallets(1).deriveChild(2);
}

/** Creates and resolves quick markets. */
export function quickWallet(): HDNodeWallet {
  return wallets(1).deriveChild(3);
}

/** The parent of an account's wallets by BIP 44, below Ethereum's coin: most of a wallet's derivation. */
function wallets(account: number): HDNodeWallet {
  return HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(TEST_MNEMONIC), `m/44'/60'/${account}'/0`);
}

/** Digest of the compiled contracts that this program deploys, including the contracts that those deploy. */
export function artifactsDigest(): string {
  return digestOf(...[conditionalTokens, marketFactory, multicall3, optimisticOracle, settlement, testUsdc].map(({ bytecode }) => bytecode));
}

/** Deploys the contracts with the first account, which stays administrator, and funds the wallets. The chain must be fresh. */
export async function makeDevContracts(
  url: string, { chainId, disputeWindowS }: { readonly chainId: number; readonly disputeWindowS: number },
): Promise<{ contracts: Contracts; deploymentBlock: number }> {
  const provider = new JsonRpcProvider(url, chainId, { staticNetwork: true, cacheTimeout: -1, polling: true, pollingInterval: 20 });
  try {
    const accounts = developmentAccounts();
    const signer = deployerWallet().connect(provider);
    const [operator, creator, quickOperator] = [operatorWallet().address, creatorWallet().address, quickWallet().address];
    const { deploymentBlock, ...addresses } = await deployContracts({
      signer, operator, creator, quickOperator, disputeWindowS: BigInt(disputeWindowS),
    });
    const usdc = new Contract(addresses.collateral, testUsdc.abi as InterfaceAbi, signer).getFunction('mint');
    let nonce = await signer.getNonce('latest');
    const sent = [];
    const keys = [operator, creator, quickOperator, relayerWallet().address];
    for (const to of keys) sent.push(await signer.sendTransaction({ to, value: STARTING_ETHER, nonce: nonce++ }));
    for (const { address } of accounts) sent.push(await usdc.send(address, STARTING_USDC, { nonce: nonce++ }));
    await Promise.all(sent.map((transaction) => transaction.wait()));
    const contracts = Object.fromEntries(Object.entries(addresses).map(([name, address]) => [name, address.toLowerCase()])) as unknown as Contracts;
    return { contracts, deploymentBlock };
  } finally {
    provider.destroy();
  }
}
