/** What a deployment sends, in order: the contracts with their constructor arguments, the roles, and the hand-over to the administrator. */
import { Interface, getCreateAddress, id, type InterfaceAbi } from 'ethers';
import type { Contracts } from '../../command/chain/chain.js';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { market } from '../../contracts-abi/market.js';
import { multicall3 } from '../../contracts-abi/multicall3.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';

/** Who gets what, and what is there already. */
export interface DeployTerms {
  /** The stablecoin; absent: a TestUSDC is deployed. */
  readonly collateral?: string;
  /** The optimistic oracle; absent: our own is deployed, whose owner arbitrates. */
  readonly oracle?: string;
  /** Addresses that get roles: to settle fills, to create markets, to create quick markets and resolve them. */
  readonly operator: string;
  readonly creator: string;
  readonly quickOperator: string;
  /** Administers the contracts in the end, and owns what else is deployed. */
  readonly admin: string;
  /** Seconds in which a proposed resolution can be disputed. */
  readonly disputeWindowS: bigint;
  /** Seconds between the two steps in which an administrator hands over. */
  readonly adminDelayS: bigint;
  /** The bond of markets that was asked for, in units of 1e-6 of the collateral. Our own oracle is deployed with it as the least bond. */
  readonly bond?: bigint;
}

/** A transaction; `to` is null for one that creates a contract. */
export interface DeployStep {
  readonly what: string;
  readonly to: string | null;
  readonly data: string;
}

interface Artifact {
  readonly abi: unknown;
  readonly bytecode: string;
}

export interface PlacedContract {
  /** Its name in contracts-abi/solidity/. */
  readonly contract: string;
  readonly address: string;
}

export interface PlannedContract extends PlacedContract {
  /** The contract whose constructor creates it; absent: a transaction of the deployer's does. */
  readonly creator?: string;
  /** The byte code that has the contract's within it. */
  readonly bytecode: string;
  /** ABI-encoded. */
  readonly constructorArguments: string;
}

export interface RoleGrant extends PlacedContract {
  readonly role: string;
  readonly holder: string;
}

export interface DeployPlan {
  /** Addresses with their checksums. */
  readonly contracts: Contracts;
  /** Everything that is deployed, in order. */
  readonly deployed: readonly PlannedContract[];
  /** One transaction per nonce, from the first nonce on. */
  readonly steps: readonly DeployStep[];
  readonly roles: readonly RoleGrant[];
  /** The contracts that have an administrator (AccessControlDefaultAdminRules). */
  readonly administered: readonly PlacedContract[];
  /** Those of our own that have an owner instead (Ownable). */
  readonly owned: readonly PlacedContract[];
}

/** The name in the signing domain of the settlement contract. */
export const SETTLEMENT_DOMAIN_NAME = 'Prediction Exchange Settlement';

/** The least bond that our own oracle takes, where none was asked for: 5 of the stablecoin. */
const LEAST_BOND = 5_000_000n;

/**
 * The whole deployment. Addresses follow from the deployer and its nonces, so a fresh account gives the same addresses on every chain, and
 * nothing has to be read from the chain. The deployer administers the contracts until `admin` accepts.
 */
export function planDeployment(deployer: string, firstNonce: number, terms: DeployTerms): DeployPlan {
  const { disputeWindowS, adminDelayS, admin, bond = LEAST_BOND } = terms;
  const { steps, deployed, deploy, created } = listing(deployer, firstNonce);

  // The order determines the addresses: add new contracts at the end.
  const collateral = terms.collateral ?? deploy('TestUSDC', testUsdc);
  const tokens = deploy('ConditionalTokens', conditionalTokens, deployer, adminDelayS);
  const settling = deploy('Settlement', settlement, tokens, collateral, deployer, adminDelayS);
  // Half of a loser's bond is the fee.
  const oracle = terms.oracle ?? deploy('OptimisticOracle', optimisticOracle, collateral, disputeWindowS, bond / 2n, admin);
  const factory = deploy('MarketFactory', marketFactory, tokens, collateral, oracle, disputeWindowS, deployer, adminDelayS);
  const multicall = deploy('Multicall3', multicall3);
  // The factory's constructor creates these, in this order.
  const bytecode = marketFactory.bytecode;
  const by = { contract: 'MarketFactory', address: factory, bytecode };
  created(by, 1, 'Market', market, tokens, collateral);
  const resolver = created(by, 2, 'OracleResolver', oracleResolver, factory, tokens, collateral, oracle, disputeWindowS, deployer, adminDelayS);
  const quick = created(by, 3, 'QuickResolver', quickResolver, factory, tokens, deployer, adminDelayS);

  const roles: RoleGrant[] = [
    { contract: 'ConditionalTokens', address: tokens, role: 'SETTLEMENT_ROLE', holder: settling },
    { contract: 'Settlement', address: settling, role: 'OPERATOR_ROLE', holder: terms.operator },
    { contract: 'MarketFactory', address: factory, role: 'CREATOR_ROLE', holder: terms.creator },
    { contract: 'QuickResolver', address: quick, role: 'OPERATOR_ROLE', holder: terms.quickOperator },
    ...terms.quickOperator === terms.creator ? [] : [{ contract: 'MarketFactory', address: factory, role: 'CREATOR_ROLE', holder: terms.quickOperator }],
  ];
  const administered = [
    { contract: 'ConditionalTokens', address: tokens }, { contract: 'Settlement', address: settling },
    { contract: 'MarketFactory', address: factory }, { contract: 'OracleResolver', address: resolver },
    { contract: 'QuickResolver', address: quick },
  ];
  for (const { contract, address, role, holder } of roles) {
    steps.push({ what: `grant ${role} of ${contract} to ${holder}`, to: address, data: ACCESS.encodeFunctionData('grantRole', [id(role), holder]) });
  }
  if (admin.toLowerCase() !== deployer.toLowerCase()) {
    if (terms.collateral === undefined) steps.push({ what: `give TestUSDC to ${admin}`, to: collateral, data: encode(testUsdc, 'transferOwnership', admin) });
    const begin = ACCESS.encodeFunctionData('beginDefaultAdminTransfer', [admin]);
    for (const { contract, address } of administered) steps.push({ what: `begin to hand ${contract} over to ${admin}`, to: address, data: begin });
  }
  const contracts = {
    settlement: settling, conditionalTokens: tokens, collateral, marketFactory: factory, oracle, oracleResolver: resolver,
    quickResolver: quick, multicall,
  };
  const owned = deployed.filter(({ contract }) => contract === 'TestUSDC' || contract === 'OptimisticOracle');
  return { contracts, deployed, steps, roles, administered, owned };
}

/** Every administered contract has the functions of AccessControlDefaultAdminRules; this one has the dispute window, too. */
export const ACCESS = new Interface(oracleResolver.abi as InterfaceAbi);

function listing(deployer: string, firstNonce: number) {
  const steps: DeployStep[] = [];
  const deployed: PlannedContract[] = [];
  return {
    steps, deployed,
    /** A contract by a transaction; returns its address. */
    deploy(contract: string, { abi, bytecode }: Artifact, ...args: readonly unknown[]): string {
      const constructorArguments = new Interface(abi as InterfaceAbi).encodeDeploy(args);
      const address = getCreateAddress({ from: deployer, nonce: firstNonce + steps.length });
      steps.push({ what: `deploy ${contract}`, to: null, data: bytecode + constructorArguments.slice(2) });
      deployed.push({ contract, address, bytecode, constructorArguments });
      return address;
    },
    /** A contract by another one's constructor; returns its address. */
    created(
      creator: PlacedContract & { readonly bytecode: string }, nonce: number, contract: string, { abi }: Artifact,
      ...args: readonly unknown[]
    ): string {
      const address = getCreateAddress({ from: creator.address, nonce });
      const constructorArguments = new Interface(abi as InterfaceAbi).encodeDeploy(args);
      deployed.push({ contract, creator: creator.contract, address, bytecode: creator.bytecode, constructorArguments });
      return address;
    },
  };
}

function encode({ abi }: Artifact, method: string, ...args: readonly unknown[]): string {
  return new Interface(abi as InterfaceAbi).encodeFunctionData(method, args);
}
