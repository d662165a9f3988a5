/** What is checked before anything is sent: the stablecoin, the oracle, the deployer's nonces and coin, and the price of gas. */
import { AbiCoder, Interface, ZeroAddress, ZeroHash, formatEther, formatUnits, toUtf8Bytes, type InterfaceAbi } from 'ethers';
import { RpcError, type Rpc } from '../../command/chain/chain.js';
import { freshFees, type FeeLimits } from '../../command/lane/fees.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { collateralProblems } from '../chains/chain-check.js';
import type { Plan, Terms } from './plan.js';
import { feeMarket, gasOf } from './send.js';
import { CannotDeploy } from './terms.js';

export interface Preflight {
  readonly rpc: Rpc;
  readonly deployer: string;
  readonly terms: Terms;
  readonly plan: Plan;
  readonly limits: FeeLimits;
  readonly say: (line: string) => void;
}

/** Gas of a call to a contract that is not there yet, and cannot be estimated: a role or a hand-over. */
const CALL_GAS = 80_000n;
/** How many blocks are searched for holders of the stablecoin, and how many holders are tried. */
const SEARCHED_BLOCKS = 200;
const TRIED_HOLDERS = 3;

const ORACLE = new Interface(optimisticOracle.abi as InterfaceAbi);
const TOKEN = new Interface(['event Transfer(address indexed from, address indexed to, uint256 value)']);

/** Throws CannotDeploy with everything that is wrong; nothing was sent then. */
export async function checkBefore(preflight: Preflight): Promise<void> {
  const { rpc, terms: { collateral, oracle } } = preflight;
  const problems: string[] = [];
  if (collateral !== undefined) {
    const holders = await holdersOf(preflight, collateral);
    problems.push(...(await collateralProblems(rpc, collateral, holders)).map((each) => `--collateral: ${each}`));
  }
  if (oracle !== undefined) problems.push(...(await oracleProblems(preflight, oracle)).map((each) => `--oracle: ${each}`));
  problems.push(...await deployerProblems(preflight));
  if (problems.length > 0) throw new CannotDeploy(problems, 'nothing was sent');
}

/** The deployer, and some who got the stablecoin lately. */
async function holdersOf({ rpc, deployer }: Preflight, token: string): Promise<readonly string[]> {
  const latest = Number(await rpc.request<string>('eth_blockNumber', []));
  const fromBlock = `0x${Math.max(0, latest - SEARCHED_BLOCKS).toString(16)}`;
  const topics = TOKEN.encodeFilterTopics('Transfer', []);
  // Nodes limit such searches as they like: then only the deployer is tried.
  const transfers = await rpc.request<readonly { topics: readonly string[] }[]>('eth_getLogs', [{ address: token, topics, fromBlock, toBlock: 'latest' }])
    .catch((error: unknown) => {
      if (error instanceof RpcError) return [];
      throw error;
    });
  const receivers = transfers.flatMap(({ topics: [, , to] }) => to === undefined ? [] : [`0x${to.slice(-40)}`]).filter((to) => to !== ZeroAddress);
  return [...new Set([deployer.toLowerCase(), ...receivers.reverse()])].slice(0, 1 + TRIED_HOLDERS);
}

/** What is missing of UMA's Optimistic Oracle V3, and of what the resolver will ask of it. */
async function oracleProblems({ rpc, deployer, plan, terms: { disputeWindowS } }: Preflight, oracle: string): Promise<string[]> {
  if (await rpc.request<string>('eth_getCode', [oracle, 'latest']) === '0x') return [`there is no contract at ${oracle}`];
  const problems: string[] = [];
  const ask = async (method: string, ...args: readonly unknown[]): Promise<{ readonly data?: string; readonly refusal?: string }> => {
    try {
      const data = await rpc.request<string>('eth_call', [{ from: deployer, to: oracle, data: ORACLE.encodeFunctionData(method, args) }, 'latest']);
      return { data };
    } catch (error) {
      if (error instanceof RpcError) return { refusal: error.data ?? '' };
      throw error;
    }
  };
  const view = async (method: string, ...args: readonly unknown[]): Promise<unknown> => {
    const { data } = await ask(method, ...args);
    try {
      return ORACLE.decodeFunctionResult(method, data ?? '0x')[0] as unknown;
    } catch {
      problems.push(`the contract at ${oracle} has no ${method}() of UMA's Optimistic Oracle V3`);
      return undefined;
    }
  };
  const { collateral } = plan.contracts;
  const identifier = await view('defaultIdentifier');
  const bond = await view('getMinimumBond', collateral);
  await view('getAssertion', ZeroHash);
  // These refuse an assertion that is not there, with a reason; a function that is not there has none.
  for (const method of ['settleAssertion', 'settleAndGetAssertionResult', 'disputeAssertion']) {
    const { refusal = '' } = await ask(method, ZeroHash, ...method === 'disputeAssertion' ? [deployer] : []);
    if (reasonIn(refusal) === undefined) problems.push(`the contract at ${oracle} has no ${method}() of UMA's Optimistic Oracle V3`);
  }
  if (problems.length > 0) return problems;
  // As the resolver will assert, but without the bond: the oracle looks at currency, identifier and bond before it takes the bond.
  const claim = toUtf8Bytes('The outcome is YES');
  const { refusal = '' } = await ask('assertTruth', claim, deployer, ZeroAddress, ZeroAddress, disputeWindowS, collateral, bond, identifier, ZeroHash);
  const reason = reasonIn(refusal);
  return reason !== undefined && /unsupported|too ?low/i.test(reason) ? [`it refuses assertions with a bond in the collateral ${collateral}: ${reason}`] : [];
}

/** The text of a revert, or the name of its typed error; undefined for an empty one. */
function reasonIn(data: string): string | undefined {
  if (data.length <= 2) return undefined;
  if (data.startsWith('0x08c379a0')) return String(AbiCoder.defaultAbiCoder().decode(['string'], `0x${data.slice(10)}`)[0]);
  return ORACLE.parseError(data)?.name ?? data;
}

async function deployerProblems({ rpc, deployer, plan, limits, say }: Preflight): Promise<string[]> {
  const problems: string[] = [];
  const [pending, latest] = await Promise.all(['pending', 'latest'].map((tag) => rpc.request<string>('eth_getTransactionCount', [deployer, tag])));
  if (pending !== latest) problems.push(`the deployer ${deployer} has transactions that are not mined yet: wait for them, and send nothing else with that key`);
  const market = await feeMarket(rpc);
  if (market.baseFeePerGas > limits.maxFeePerGas) {
    problems.push(`gas costs ${formatUnits(market.baseFeePerGas, 'gwei')} gwei now, above the limit of ${formatUnits(limits.maxFeePerGas, 'gwei')} gwei: wait, or raise --max-fee-gwei`);
  }
  let gas = 0n;
  for (const step of plan.steps) gas += step.to === null ? await gasOf(rpc, deployer, step) : CALL_GAS;
  // The base fee may double on the way, as the fees that are offered allow for.
  const needed = gas * freshFees(market, limits).maxFeePerGas;
  const balance = BigInt(await rpc.request<string>('eth_getBalance', [deployer, 'latest']));
  say(`about ${gas} gas in ${plan.steps.length} transactions, at most ${formatEther(needed)} of the chain's coin; ${deployer} has ${formatEther(balance)}`);
  if (balance < needed) {
    problems.push(`the deployer ${deployer} has ${formatEther(balance)} of the chain's coin, and about ${formatEther(needed)} are needed: send it the difference`);
  }
  return problems;
}
