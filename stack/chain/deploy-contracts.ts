/** Deploys the project's contracts on a development chain, and grants their roles. */
import type { Signer } from 'ethers';
import type { Contracts } from '../../command/chain/chain.js';
import { DISPUTE_WINDOW_S } from '../../command/chain/chain-check.js';
import { planDeployment, type DeployTerms } from '../../tools/deploy/plan.js';

/** Addresses with their checksums. */
export interface DeployedContracts extends Contracts {
  /** The block of the first deployment; earlier blocks have nothing of the project. */
  readonly deploymentBlock: number;
}

/** Roles are the signer's by default, as is the administration; there is no delay of the hand-over by default, as suits a development chain. */
export interface DeployOptions extends Partial<Pick<DeployTerms, 'operator' | 'creator' | 'quickOperator' | 'disputeWindowS' | 'adminDelayS' | 'bond'>> {
  /** Pays for all transactions and becomes the administrator. Must have a provider. */
  readonly signer: Signer;
}

/** Deploys the contracts. Rejects when a transaction fails; nothing is undone then, so start again with a fresh chain. */
export async function deployContracts({ signer, ...terms }: DeployOptions): Promise<DeployedContracts> {
  const admin = await signer.getAddress();
  const firstNonce = await signer.getNonce('latest');
  const defaults = { operator: admin, creator: admin, quickOperator: admin, disputeWindowS: DISPUTE_WINDOW_S, adminDelayS: 0n };
  const { contracts, steps } = planDeployment(admin, firstNonce, { ...defaults, ...terms, admin });
  let deploymentBlock = Infinity;
  for (const [i, { what, to, data }] of steps.entries()) {
    const receipt = await (await signer.sendTransaction({ to, data, nonce: firstNonce + i })).wait();
    if (receipt === null) throw new Error(`${what}: the transaction has no receipt`);
    deploymentBlock = Math.min(deploymentBlock, receipt.blockNumber);
  }
  return { ...contracts, deploymentBlock };
}
