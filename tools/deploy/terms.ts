/** The terms that a deployment may be given, and their defaults. */
import { DISPUTE_WINDOW_S } from '../../command/chain/chain-check.js';
import { knownChain } from './known-chains.js';
import type { DeployTerms } from './plan.js';

/** As the options give it. Addresses have their checksums. */
export interface RequestedTerms {
  readonly testnet: boolean;
  /** `test`: a TestUSDC. */
  readonly collateral?: string;
  readonly oracle?: string;
  readonly operator?: string;
  readonly creator?: string;
  readonly quickOperator?: string;
  readonly relayer?: string;
  readonly admin?: string;
  readonly disputeWindowS?: number;
  readonly adminDelayS?: number;
  /** Of the markets, in units of 1e-6 of the stablecoin. */
  readonly bond?: bigint;
}

/** Three days: long enough that somebody notices a hand-over that nobody wanted. */
const ADMIN_DELAY_S = 259_200;

const ROLES = ['operator', 'creator', 'quickOperator', 'admin'] as const;
const OPTION_OF = { operator: '--operator', creator: '--creator', quickOperator: '--quick-operator', admin: '--admin', relayer: '--relayer' } as const;

/** It cannot be done. The message lists every reason, and the hint says what to do. */
export class CannotDeploy extends Error {
  constructor(problems: readonly string[], hint?: string) {
    super([...problems, ...hint === undefined ? [] : [`(${hint})`]].join('\n'));
    this.name = 'CannotDeploy';
  }
}

/** The terms of the plan. Throws CannotDeploy with everything that the chain's kind does not allow. */
export function termsOf(requested: RequestedTerms, { chainId, deployer }: { readonly chainId: number; readonly deployer: string }): DeployTerms {
  const { testnet, collateral, disputeWindowS = Number(DISPUTE_WINDOW_S), adminDelayS = testnet ? 0 : ADMIN_DELAY_S } = requested;
  const problems = testnet ? testnetProblems(chainId) : [...problemsWithValue(requested, deployer), ...windowProblems(disputeWindowS)];
  problems.push(...sharedKeyProblems(requested, requested.operator ?? deployer));
  if (problems.length > 0) throw new CannotDeploy(problems);
  return {
    operator: requested.operator ?? deployer, creator: requested.creator ?? deployer, quickOperator: requested.quickOperator ?? deployer,
    admin: requested.admin ?? deployer,
    disputeWindowS: BigInt(disputeWindowS), adminDelayS: BigInt(adminDelayS),
    ...collateral === undefined || collateral === 'test' ? {} : { collateral }, ...requested.oracle === undefined ? {} : { oracle: requested.oracle },
    ...requested.bond === undefined ? {} : { bond: requested.bond },
  };
}

/** The exchange signs with up to three keys, and each one's nonces are a lane's alone: its chains file names no key twice. */
function sharedKeyProblems({ relayer, quickOperator }: RequestedTerms, operator: string): string[] {
  const problems: string[] = [];
  const own = 'needs a key of its own, whose nonces nothing else uses';
  if (relayer === operator) problems.push(`--relayer: is the operator too: the relayer ${own}`);
  if (quickOperator === operator) problems.push(`--quick-operator: is the operator too: the quick operator ${own}`);
  if (quickOperator !== undefined && quickOperator === relayer) problems.push(`--quick-operator: is the relayer too: the quick operator ${own}`);
  return problems;
}

function testnetProblems(chainId: number): string[] {
  const { name, testnet = true } = knownChain(chainId) ?? {};
  return testnet ? [] : [`--testnet: chain ${chainId} (${name}) is not a test network`];
}

function windowProblems(disputeWindowS: number): string[] {
  const wanted = Number(DISPUTE_WINDOW_S);
  return disputeWindowS === wanted ? [] : [`--dispute-window: is ${wanted} s on every chain that is not a testnet, not ${disputeWindowS} s`];
}

function problemsWithValue(requested: RequestedTerms, deployer: string): string[] {
  const problems: string[] = [];
  if (requested.collateral === undefined) {
    problems.push('--collateral: give the address of the chain\'s stablecoin; TestUSDC, which anybody can mint, is deployed by --testnet, or by --collateral test');
  }
  for (const role of ROLES) {
    if (requested[role] === undefined) problems.push(`${OPTION_OF[role]}: give an address; only on a testnet the deployer takes every role that nobody is named for`);
    else if (requested[role] === deployer) problems.push(`${OPTION_OF[role]}: is the deployer, which is to keep no role: give another address`);
  }
  const { admin } = requested;
  for (const role of ['operator', 'creator', 'quickOperator', 'relayer'] as const) {
    if (admin !== undefined && requested[role] === admin) {
      problems.push(`${OPTION_OF[role]}: is the administrator too, whose key is to be offline: give another address`);
    }
  }
  return problems;
}
