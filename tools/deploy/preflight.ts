/** What is checked before anything is sent: the stablecoin, the oracle, the deployer's nonces and coin, and the price of gas. */
import { Interface, ZeroAddress, formatEther, formatUnits } from 'ethers';
import { RpcError, type Rpc } from '../../command/chain/chain.js';
import { freshFees, type FeeLimits } from '../../command/lane/fees.js';
import { collateralProblems } from '../../command/chain/chain-check.js';
import { oracleProblems } from './oracle.js';
import type { DeployPlan, DeployTerms } from './plan.js';
import { feeMarket, gasOf } from './send.js';
import { CannotDeploy } from './terms.js';

export interface Preflight {
  readonly rpc: Rpc;
  readonly deployer: string;
  readonly terms: DeployTerms;
  readonly plan: DeployPlan;
  readonly limits: FeeLimits;
  readonly say: (line: string) => void;
}

/** Gas of a call to a contract that is not there yet, and cannot be estimated: a role or a hand-over. */
const CALL_GAS = 80_000n;
/** How many blocks are searched for holders of the stablecoin, and how many holders are tried. */
const SEARCHED_BLOCKS = 200;
const TRIED_HOLDERS = 3;

const TOKEN = new Interface(['event Transfer(address indexed from, address indexed to, uint256 value)']);

/** Throws CannotDeploy with everything that is wrong; nothing was sent then. */
export async function checkBefore(preflight: Preflight): Promise<void> {
  const { rpc, deployer, plan, say, terms: { collateral, oracle, disputeWindowS, bond } } = preflight;
  const problems: string[] = [];
  if (collateral !== undefined) {
    const holders = await holdersOf(preflight, collateral);
    problems.push(...(await collateralProblems(rpc, collateral, holders)).map((each) => `--collateral: ${each}`));
  }
  if (oracle !== undefined) {
    problems.push(...await oracleProblems({ rpc, deployer, oracle, collateral: plan.contracts.collateral, disputeWindowS, bond, say }));
  }
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
