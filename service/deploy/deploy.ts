/** Puts the contracts on a chain: checks, records, sends, waits for the confirmations, checks again, and writes the chains file. */
import { getAddress, id, Wallet } from 'ethers';
import type { Chain, Contracts, Rpc } from '../../command/chain/chain.js';
import type { FeeLimits } from '../../command/lane/fees.js';
import { writeOutputs, type OtherKeys } from './outputs.js';
import { ACCESS, planDeployment, SETTLEMENT_DOMAIN_NAME, type Plan, type Role, type Terms } from './plan.js';
import { checkBefore } from './preflight.js';
import { openRecord, refuseAnother, type Begun } from './record.js';
import { sendSteps, type DeployerWallet } from './send.js';
import { termsOf, type Asked } from './terms.js';
import { checkAfter, type OpenHandOver } from './verify.js';

export interface Deploying {
  /** The chain's nodes: `createRpc` of command/chain/rpc.ts, for example. */
  readonly rpc: Rpc;
  /** A key that nothing else signs with until the deployment has ended. */
  readonly wallet: DeployerWallet;
  readonly asked: Asked;
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

export interface Deployment {
  readonly chain: Chain;
  readonly deployer: string;
  readonly admin: string;
  /** Who was given what. */
  readonly roles: readonly Role[];
  /** Empty: the administrator has accepted everything. */
  readonly handOvers: readonly OpenHandOver[];
  readonly chainsFile: string;
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

/**
 * Deploys, or goes on with a deployment that was begun in the directory; a finished one is checked again. Throws CannotDeploy with what is
 * wrong, and ChainUnavailable when no node answers: the same call goes on then.
 */
export async function deploy(deploying: Deploying): Promise<Deployment> {
  const { rpc, wallet, asked, directory, limits, say } = deploying;
  const deployer = getAddress(wallet.address);
  const { chainId } = rpc;
  const terms = termsOf(asked, { chainId, deployer });
  const { hash: genesis } = await rpc.request<{ hash: string }>('eth_getBlockByNumber', ['0x0', false]);
  const begun: Begun = { chainId, genesis, deployer, terms: textsOf(asked, terms) };
  const record = await openRecord(directory);
  try {
    const earlier = record.read();
    const firstNonce = earlier?.firstNonce ?? Number(await rpc.request<string>('eth_getTransactionCount', [deployer, 'latest']));
    const plan = planDeployment(deployer, firstNonce, terms);
    const digest = id(JSON.stringify(plan.steps));
    if (earlier === undefined) {
      await checkBefore({ rpc, deployer, terms, plan, limits, say });
      await record.write({ version: 1, ...begun, firstNonce, plan: digest, attempts: {} });
    } else refuseAnother(earlier, { ...begun, plan: digest });
    const mined = await sendSteps({ ...deploying, record }, plan.steps);
    const chain = chainOf(deploying, plan, Math.min(...mined.map(({ block }) => block)));
    const handOvers = await checkAfter({ rpc, chain, deployer, plan, terms });
    const files = await writeOutputs({ directory, chain, plan, keys: keysOf(asked) });
    return { chain, deployer, admin: terms.admin, roles: plan.roles, handOvers, ...files };
  } finally {
    record.close();
  }
}

/** Whose addresses are named: a role that the deployer takes by default gives the exchange no key of its own. */
export function keysOf({ relayer, quickOperator }: Pick<Asked, 'relayer' | 'quickOperator'>): OtherKeys {
  return { relayer, quick: quickOperator };
}

function chainOf({ rpc: { chainId }, name, asked: { testnet }, confirmations }: Deploying, { contracts }: Plan, startBlock: number): Chain {
  const addresses = Object.fromEntries(Object.entries(contracts).map(([key, address]: [string, string]) => [key, address.toLowerCase()]));
  return {
    chainId, name, testnet, confirmations, startBlock, contracts: addresses as unknown as Contracts, domainName: SETTLEMENT_DOMAIN_NAME,
    exposureCheck: true,
  };
}

/** The options that the contracts depend on, by the options' names. */
function textsOf({ testnet, collateral, oracle }: Asked, terms: Terms): Record<string, string> {
  const { operator, creator, quickOperator, admin, disputeWindowS, adminDelayS } = terms;
  return {
    'testnet': String(testnet), 'collateral': collateral ?? 'test', 'oracle': oracle ?? 'our own', operator, creator, admin,
    'quick-operator': quickOperator, 'dispute-window': `${disputeWindowS} s`, 'admin-delay': `${adminDelayS} s`,
  };
}
