/** Puts the contracts on a chain: checks, records, sends, waits for the confirmations, checks again, and writes the chains file. */
import { getAddress, id, Wallet } from 'ethers';
import type { Chain, Contracts, Rpc } from '../../command/chain/chain.js';
import type { FeeLimits } from '../../command/lane/fees.js';
import { bondOfMarkets, bondText, oracleBonds, type Call, type OracleBonds } from './oracle.js';
import { variablesFor, writeOutputs, type OtherKeys, type Variable } from './outputs.js';
import { ACCESS, planDeployment, SETTLEMENT_DOMAIN_NAME, type DeployPlan, type RoleGrant, type DeployStep, type DeployTerms } from './plan.js';
import { checkBefore } from './preflight.js';
import { isBegun, openRecord, refuseAnother, type DeploymentIdentity, type DeploymentRecord } from './record.js';
import { sendSteps, type DeployerWallet, type Mined } from './send.js';
import { termsOf, type RequestedTerms } from './terms.js';
import { checkAfter, type OpenHandOver } from './verify.js';

export interface Deploying {
  /** The chain's nodes: `createRpc` of command/chain/rpc.ts, for example. */
  readonly rpc: Rpc;
  /** A key that nothing else signs with until the deployment has ended. */
  readonly wallet: DeployerWallet;
  readonly requested: RequestedTerms;
  /** The chain's name in the chains file. */
  readonly name: string;
  /** Blocks on top of the last transaction's that end the wait, also in the chains file. */
  readonly confirmations: number;
  /** Where the record and the results are. The same directory again goes on. */
  readonly directory: string;
  readonly limits: FeeLimits;
  /** Time between two looks at the chain. */
  readonly pollMs: number;
  readonly say: (line: string) => void;
}

/** A transaction of the deployer's. */
export interface PlannedTransaction extends DeployStep {
  readonly nonce: number;
}

/** What a deployment sends, whether it was sent or not. */
export interface Planned {
  readonly chainId: number;
  readonly deployer: string;
  readonly admin: string;
  readonly contracts: Contracts;
  /** Who is given what. */
  readonly roles: readonly RoleGrant[];
  readonly transactions: readonly PlannedTransaction[];
}

export interface Deployment extends Omit<Planned, 'chainId' | 'contracts'> {
  readonly chain: Chain;
  readonly transactions: readonly (PlannedTransaction & Mined)[];
  /** Empty: the administrator has accepted everything. */
  readonly handOvers: readonly (OpenHandOver & Call)[];
  readonly oracle: OracleBonds & { readonly isOwn: boolean };
  /** The bond that markets are to be created with, in base units. */
  readonly bond: string;
  readonly chainsFile: string;
  /** The environment variables that the chains file names, and what each holds. */
  readonly variables: readonly Variable[];
  readonly verification: string;
}

/** The data of the call by which an administrator accepts a contract. */
export const ACCEPT_HAND_OVER = ACCESS.encodeFunctionData('acceptDefaultAdminTransfer');

/** An address with its checksum. */
export function checksummed(address: string): string {
  return getAddress(address);
}

/** Signs with a private key. */
export function walletOf(privateKey: string): DeployerWallet {
  return new Wallet(privateKey);
}

/** Signs nothing: enough for a plan. */
export function addressOnly(address: string): DeployerWallet {
  return { address, signTransaction: () => Promise.reject(new Error('a plan is not signed')) };
}

/** What `deploy` would send, after the same checks. Nothing is sent, and nothing is written. */
export async function planOnly(deploying: Deploying): Promise<Planned> {
  const { directory, rpc: { chainId } } = deploying;
  const record = isBegun(directory) ? await openRecord(directory) : undefined;
  try {
    const { plan: { contracts, roles, steps }, terms, begun: { deployer }, firstNonce } = await prepare(deploying, record?.read());
    return { chainId, deployer, admin: terms.admin, contracts, roles, transactions: transactionsOf(steps, firstNonce) };
  } finally {
    record?.close();
  }
}

/**
 * Deploys, or goes on with a deployment that was begun in the directory; a finished one is checked again. Throws CannotDeploy with what is
 * wrong, and ChainUnavailable when no node answers: the same call goes on then.
 */
export async function deploy(deploying: Deploying): Promise<Deployment> {
  const { rpc, requested, directory } = deploying;
  const record = await openRecord(directory);
  try {
    const earlier = record.read();
    const { plan, terms, begun, firstNonce, digest } = await prepare(deploying, earlier);
    const { deployer } = begun;
    if (earlier === undefined) await record.write({ version: 1, ...begun, firstNonce, plan: digest, attempts: {} });
    const mined = await sendSteps({ ...deploying, record }, plan.steps);
    const chain = chainOf(deploying, plan, Math.min(...mined.map(({ block }) => block)));
    const handOvers = await checkAfter({ rpc, chain, deployer, plan, terms });
    const files = await writeOutputs({ directory, chain, plan, keys: keysOf(requested) });
    const bonds = await oracleBonds(rpc, plan.contracts.oracle, plan.contracts.collateral);
    return {
      chain, deployer, admin: terms.admin, roles: plan.roles,
      transactions: transactionsOf(plan.steps, firstNonce).map((each, i) => ({ ...each, ...mined[i] as Mined })),
      handOvers: handOvers.map((each) => ({ ...each, to: each.address, data: ACCEPT_HAND_OVER })),
      oracle: { isOwn: terms.oracle === undefined, ...bonds }, bond: String(bondOfMarkets(bonds, terms.bond)),
      ...files, variables: variablesFor(chain.chainId, { ...keysOf(requested), operator: terms.operator }),
    };
  } finally {
    record.close();
  }
}

interface Prepared {
  readonly plan: DeployPlan;
  readonly terms: DeployTerms;
  readonly begun: DeploymentIdentity;
  readonly firstNonce: number;
  /** Of all steps. */
  readonly digest: string;
}

/** The plan, when nothing is in its way: of a new deployment everything is checked, of one that was begun that it is the same one. */
async function prepare({ rpc, wallet, requested, limits, say }: Deploying, earlier: DeploymentRecord | undefined): Promise<Prepared> {
  const deployer = getAddress(wallet.address);
  const { chainId } = rpc;
  const terms = termsOf(requested, { chainId, deployer });
  const { hash: genesis } = await rpc.request<{ hash: string }>('eth_getBlockByNumber', ['0x0', false]);
  const begun: DeploymentIdentity = { chainId, genesis, deployer, terms: textsOf(requested, terms) };
  const firstNonce = earlier?.firstNonce ?? Number(await rpc.request<string>('eth_getTransactionCount', [deployer, 'latest']));
  const plan = planDeployment(deployer, firstNonce, terms);
  const digest = id(JSON.stringify(plan.steps));
  if (earlier === undefined) await checkBefore({ rpc, deployer, terms, plan, limits, say });
  else refuseAnother(earlier, { ...begun, plan: digest });
  return { plan, terms, begun, firstNonce, digest };
}

function transactionsOf(steps: readonly DeployStep[], firstNonce: number): readonly PlannedTransaction[] {
  return steps.map((step, i) => ({ nonce: firstNonce + i, ...step }));
}

/** Whose addresses are named: a role that the deployer takes by default gives the exchange no key of its own. */
export function keysOf({ relayer, quickOperator }: Pick<RequestedTerms, 'relayer' | 'quickOperator'>): OtherKeys {
  return { relayer, quick: quickOperator };
}

function chainOf({ rpc: { chainId }, name, requested: { testnet }, confirmations }: Deploying, { contracts }: DeployPlan, startBlock: number): Chain {
  const addresses = Object.fromEntries(Object.entries(contracts).map(([key, address]: [string, string]) => [key, address.toLowerCase()]));
  return {
    chainId, name, testnet, confirmations, startBlock, contracts: addresses as unknown as Contracts, domainName: SETTLEMENT_DOMAIN_NAME,
    exposureCheck: true,
  };
}

/** The options that the contracts depend on, by the options' names. The bond is one of them at our own oracle alone. */
function textsOf({ testnet, collateral, oracle, bond }: RequestedTerms, terms: DeployTerms): Record<string, string> {
  const { operator, creator, quickOperator, admin, disputeWindowS, adminDelayS } = terms;
  return {
    'testnet': String(testnet), 'collateral': collateral ?? 'test', 'oracle': oracle ?? 'our own', operator, creator, admin,
    'quick-operator': quickOperator, 'dispute-window': `${disputeWindowS} s`, 'admin-delay': `${adminDelayS} s`,
    ...oracle === undefined && bond !== undefined ? { bond: bondText(bond) } : {},
  };
}
