/** What is checked when everything is mined: code, references and domains as at the service's start, and who has which role. */
import { id, ZeroAddress } from 'ethers';
import type { Chain, Rpc } from '../../command/chain/chain.js';
import { checkContracts, ContractMismatch } from '../../command/chain/chain-check.js';
import { ACCESS, type PlacedContract, type DeployPlan, type DeployTerms } from './plan.js';
import { CannotDeploy } from './terms.js';

/** A contract whose administration its new administrator has not accepted yet. */
export interface OpenHandOver extends PlacedContract {
  /** Unix seconds after which it can be accepted. */
  readonly acceptableAfter: number;
}

interface Verifying {
  readonly rpc: Rpc;
  readonly chain: Chain;
  readonly deployer: string;
  readonly plan: DeployPlan;
  readonly terms: DeployTerms;
}

/** The hand-overs that are open. Throws CannotDeploy with everything that is not as planned. */
export async function checkAfter(verifying: Verifying): Promise<readonly OpenHandOver[]> {
  const problems: string[] = [];
  await checkContracts(verifying).catch((error: unknown) => {
    if (!(error instanceof ContractMismatch)) throw error;
    problems.push(...error.problems);
  });
  problems.push(...await codeProblems(verifying));
  const handOvers: OpenHandOver[] = [];
  if (problems.length === 0) {
    problems.push(...await roleProblems(verifying), ...await windowProblems(verifying));
    for (const placed of verifying.plan.administered) {
      const { problem, open } = await handOverOf(verifying, placed);
      if (problem !== undefined) problems.push(problem);
      if (open !== undefined) handOvers.push(open);
    }
  }
  if (problems.length > 0) throw new CannotDeploy(problems, 'everything was sent, but this is not what was planned');
  return handOvers;
}

async function codeProblems({ rpc, plan }: Verifying): Promise<string[]> {
  const problems: string[] = [];
  for (const { contract, address, bytecode } of plan.deployed) {
    const code = await rpc.request<string>('eth_getCode', [address, 'latest']);
    if (!isCodeOf(code, bytecode)) problems.push(`${contract}: the code at ${address} is not what the sources compile to`);
  }
  return problems;
}

/**
 * Whether a contract's code is within the byte code that deploys it. Immutable values differ: the compiler leaves 32 zero bytes for each, and
 * the constructor fills them in.
 */
export function isCodeOf(code: string, bytecode: string): boolean {
  const [there, whole] = [Buffer.from(code.slice(2), 'hex'), Buffer.from(bytecode.slice(2), 'hex')];
  if (there.length === 0) return false;
  const start = there.subarray(0, Math.min(8, there.length));
  for (let at = whole.indexOf(start); at >= 0; at = whole.indexOf(start, at + 1)) {
    if (at + there.length <= whole.length && equalsButImmutables(there, whole.subarray(at, at + there.length))) return true;
  }
  return false;
}

const PUSH32 = 0x7f;

function equalsButImmutables(there: Buffer, compiled: Buffer): boolean {
  for (let i = 0; i < there.length; i++) {
    if (there[i] === compiled[i]) {
      // An immutable may begin with zero bytes, as an address does: all its 32 bytes are passed over together.
      if (compiled[i] !== PUSH32 || !isEmptyWord(compiled, i + 1)) continue;
      i += 32;
    } else return false;
  }
  return true;
}

function isEmptyWord(bytes: Buffer, from: number): boolean {
  return from + 32 <= bytes.length && bytes.subarray(from, from + 32).every((byte) => byte === 0);
}

async function roleProblems(verifying: Verifying): Promise<string[]> {
  const problems: string[] = [];
  const { deployer, plan, terms: { admin } } = verifying;
  for (const { contract, address, role, holder } of plan.roles) {
    const has = async (account: string) => (await read(verifying, address, 'hasRole', id(role), account))[0] === true;
    if (!await has(holder)) problems.push(`${contract}: ${holder} does not have ${role}`);
    const isDeployers = plan.roles.some((each) => each.address === address && each.role === role && each.holder === deployer);
    if (!isDeployers && await has(deployer)) problems.push(`${contract}: the deployer ${deployer} has ${role}`);
  }
  for (const { contract, address } of plan.owned) {
    const [owner] = await read(verifying, address, 'owner') as [string];
    if (owner !== admin) problems.push(`${contract}: its owner is ${owner}, not ${admin}`);
  }
  return problems;
}

async function windowProblems(verifying: Verifying): Promise<string[]> {
  const { plan: { contracts }, terms: { disputeWindowS } } = verifying;
  const [found] = await read(verifying, contracts.oracleResolver, 'disputeWindow') as [bigint];
  return found === disputeWindowS ? [] : [`OracleResolver: its dispute window is ${found} s, not ${disputeWindowS} s`];
}

async function handOverOf(
  verifying: Verifying, { contract, address }: PlacedContract,
): Promise<{ readonly problem?: string; readonly open?: OpenHandOver }> {
  const { deployer, terms: { admin, adminDelayS } } = verifying;
  const [defaultAdmin] = await read(verifying, address, 'defaultAdmin') as [string];
  const [next, schedule] = await read(verifying, address, 'pendingDefaultAdmin') as [string, bigint];
  const [delay] = await read(verifying, address, 'defaultAdminDelay') as [bigint];
  if (delay !== adminDelayS) return { problem: `${contract}: the delay of a hand-over is ${delay} s, not ${adminDelayS} s` };
  if (defaultAdmin === admin && next === ZeroAddress) return {};
  if (defaultAdmin === deployer && next === admin) return { open: { contract, address, acceptableAfter: Number(schedule) } };
  const followed = next === ZeroAddress ? '' : `, to be followed by ${next}`;
  return { problem: `${contract}: its administrator is ${defaultAdmin}${followed}; expected ${admin}, or ${deployer} to be followed by ${admin}` };
}

async function read({ rpc }: Verifying, to: string, method: string, ...args: readonly unknown[]): Promise<readonly unknown[]> {
  const data = await rpc.request<string>('eth_call', [{ to, data: ACCESS.encodeFunctionData(method, args) }, 'latest']);
  return ACCESS.decodeFunctionResult(method, data).toArray() as unknown[];
}
