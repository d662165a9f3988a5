/** Deploys the project's contracts on a development chain, in a fixed order, and grants their roles. */
import { Contract, ContractFactory, type InterfaceAbi, type Signer } from 'ethers';
import { conditionalTokens } from '../../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../../contracts-abi/market-factory.js';
import { multicall3 } from '../../../contracts-abi/multicall3.js';
import { optimisticOracle } from '../../../contracts-abi/optimistic-oracle.js';
import { quickResolver } from '../../../contracts-abi/quick-resolver.js';
import { settlement } from '../../../contracts-abi/settlement.js';
import { testUsdc } from '../../../contracts-abi/test-usdc.js';

/** Addresses with their checksums. */
export interface DeployedContracts {
  readonly collateral: string;
  readonly conditionalTokens: string;
  readonly settlement: string;
  readonly oracle: string;
  readonly marketFactory: string;
  readonly oracleResolver: string;
  readonly quickResolver: string;
  readonly multicall: string;
  /** The block of the first deployment; earlier blocks have nothing of the project. */
  readonly deploymentBlock: number;
}

export interface DeployOptions {
  /** Pays for all transactions and becomes the administrator. Must have a provider. */
  readonly signer: Signer;
  /** Addresses that get one role each; the signer's address by default. */
  readonly operator?: string;
  readonly creator?: string;
  readonly quickOperator?: string;
  /** Seconds in which a proposed resolution can be disputed: 7,200 by default; shorter on development chains only. */
  readonly disputeWindowS?: bigint;
  /** Seconds between the two steps in which an administrator hands over; none by default, as suits a development chain. */
  readonly adminDelayS?: bigint;
  /** The oracle's fee of an arbitration, in units of 1e-6 of the collateral; the least bond is twice that. */
  readonly oracleFee?: bigint;
}

interface Artifact {
  readonly abi: InterfaceAbi;
  readonly bytecode: string;
}

const DISPUTE_WINDOW_S = 7_200n;
const ORACLE_FEE = 2_500_000n;

/**
 * Deploys the contracts. The signer's address and nonces determine their addresses, so a fresh account gives the same addresses on every
 * chain. Rejects when a transaction fails; nothing is undone then, so start again with a fresh chain.
 */
export async function deployContracts(options: DeployOptions): Promise<DeployedContracts> {
  const { signer, disputeWindowS = DISPUTE_WINDOW_S, adminDelayS = 0n, oracleFee = ORACLE_FEE } = options;
  const admin = await signer.getAddress();
  let nonce = await signer.getNonce('latest');
  let deploymentBlock = Infinity;

  const deploy = async ({ abi, bytecode }: Artifact, args: readonly unknown[] = []): Promise<string> => {
    const contract = await new ContractFactory(abi, bytecode, signer).deploy(...args, { nonce: nonce++ });
    const receipt = await contract.deploymentTransaction()?.wait();
    if (receipt === undefined || receipt === null) throw new Error('a deployment has no receipt');
    deploymentBlock = Math.min(deploymentBlock, receipt.blockNumber);
    return await contract.getAddress();
  };
  const grant = async (address: string, { abi }: Artifact, role: string, to: string): Promise<void> => {
    const contract = new Contract(address, abi, signer);
    const sent = await contract.getFunction('grantRole')(await contract.getFunction(role)(), to, { nonce: nonce++ }) as { wait(): Promise<unknown> };
    await sent.wait();
  };
  const read = async (address: string, { abi }: Artifact, view: string): Promise<string> =>
    String(await new Contract(address, abi, signer).getFunction(view)());

  // The order determines the addresses: add new contracts at the end.
  const collateral = await deploy(testUsdc);
  const tokens = await deploy(conditionalTokens, [admin, adminDelayS]);
  const settling = await deploy(settlement, [tokens, collateral, admin, adminDelayS]);
  const oracle = await deploy(optimisticOracle, [collateral, disputeWindowS, oracleFee, admin]);
  const factory = await deploy(marketFactory, [tokens, collateral, oracle, disputeWindowS, admin, adminDelayS]);
  const multicall = await deploy(multicall3);
  const quick = await read(factory, marketFactory, 'quickResolver');

  await grant(tokens, conditionalTokens, 'SETTLEMENT_ROLE', settling);
  await grant(settling, settlement, 'OPERATOR_ROLE', options.operator ?? admin);
  await grant(factory, marketFactory, 'CREATOR_ROLE', options.creator ?? admin);
  await grant(quick, quickResolver, 'OPERATOR_ROLE', options.quickOperator ?? admin);

  return {
    collateral, conditionalTokens: tokens, settlement: settling, oracle, marketFactory: factory,
    oracleResolver: await read(factory, marketFactory, 'oracleResolver'), quickResolver: quick, multicall, deploymentBlock,
  };
}
