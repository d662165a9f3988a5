/**
 * Reads what a trader has on a chain, and how much of it the settlement contract may move, in one call at one block.
 */
import { Interface } from 'ethers/abi';
import { LRUCache } from 'lru-cache';
import { ChainUnavailable, RpcError, type Chain, type Rpc } from './chain.js';

/** Amounts in units of 1e-6. */
export interface Holdings {
  /** Collateral that the trader has. */
  readonly collateral: bigint;
  /** Collateral that the settlement contract may take. */
  readonly allowance: bigint;
  /** The nonce that the trader's next ERC-2612 permit must have. */
  readonly permitNonce: bigint;
  /** Whether the settlement contract may take the trader's shares. */
  readonly approved: boolean;
  /** Shares of each token of the question, in the same order. */
  readonly shares: readonly bigint[];
}

const multicall = new Interface([
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) view returns ((bool success, bytes returnData)[])',
]);
const collateral = new Interface([
  'function balanceOf(address) view returns (uint256)', 'function allowance(address, address) view returns (uint256)',
  'function nonces(address) view returns (uint256)',
]);
const tokens = new Interface([
  'function balanceOf(address, uint256) view returns (uint256)', 'function isApprovedForAll(address, address) view returns (bool)',
]);

export interface HoldingsQuestion {
  readonly trader: string;
  /** ERC-1155 ids. */
  readonly tokens: readonly bigint[];
  /** The block at whose end the balances are read. */
  readonly block: number;
}

/** Reads that may wait for their turn; further ones are refused. */
const MAX_WAITING = 1_000;
/** Answers that are kept; the least recently used are dropped first. */
const MAX_KEPT = 10_000;

/**
 * Reads holdings for clients, at most `maxAtOnce` at a time, so that the chain's own workers keep their share of the
 * nodes. Holdings at a block never change, so an answer is kept until a question names another block; a failed read is
 * not kept. Throws ChainUnavailable.
 */
export function createHoldingsReader(
  { chain, rpc, maxAtOnce = 8, maxKept = MAX_KEPT }: { chain: Pick<Chain, 'chainId' | 'contracts'>; rpc: Rpc; maxAtOnce?: number; maxKept?: number },
): (question: HoldingsQuestion) => Promise<Holdings> {
  const known = new LRUCache<string, Promise<Holdings>>({ max: maxKept });
  const waiting: (() => void)[] = [];
  let running = 0;
  let knownAt = -1;

  async function inTurn(question: HoldingsQuestion): Promise<Holdings> {
    if (waiting.length >= MAX_WAITING) throw new ChainUnavailable(chain.chainId, 'too many balances are being read');
    if (running >= maxAtOnce) await new Promise<void>((resolve) => { waiting.push(resolve); });
    else running++;
    try {
      return await readHoldings(chain, rpc, question);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }

  return (question) => {
    if (question.block !== knownAt) known.clear();
    knownAt = question.block;
    const key = [question.trader, ...question.tokens].join();
    let answer = known.get(key);
    if (answer === undefined) {
      answer = inTurn(question);
      known.set(key, answer);
      answer.catch(() => { if (known.get(key) === answer) known.delete(key); });
    }
    return answer;
  };
}

/**
 * The holdings at the question's block. Throws ChainUnavailable, also when the node does not have the block's state.
 */
export async function readHoldings(chain: Pick<Chain, 'chainId' | 'contracts'>, rpc: Rpc, question: HoldingsQuestion): Promise<Holdings> {
  const { trader } = question;
  const { contracts } = chain;
  const calls = [
    [contracts.collateral, collateral.encodeFunctionData('balanceOf', [trader])],
    [contracts.collateral, collateral.encodeFunctionData('allowance', [trader, contracts.settlement])],
    [contracts.collateral, collateral.encodeFunctionData('nonces', [trader])],
    [contracts.conditionalTokens, tokens.encodeFunctionData('isApprovedForAll', [trader, contracts.settlement])],
    ...question.tokens.map((token) => [contracts.conditionalTokens, tokens.encodeFunctionData('balanceOf(address,uint256)', [trader, token])]),
  ].map(([target, callData]) => ({ target, allowFailure: false, callData }));
  const data = multicall.encodeFunctionData('aggregate3', [calls]);
  const [results] = multicall.decodeFunctionResult('aggregate3', await call(chain, rpc, { to: contracts.multicall, data, block: question.block }));
  const [
    balance, allowance, permitNonce, approved, ...shares
  ] = (results as Results).map(({ returnData }) => BigInt(returnData)) as Amounts;
  return { collateral: balance, allowance, permitNonce, approved: approved === 1n, shares };
}

/** One result per call, in the order of the calls: the multicall contract promises as much. */
type Results = readonly { readonly returnData: string }[];
type Amounts = [balance: bigint, allowance: bigint, permitNonce: bigint, approved: bigint, ...shares: bigint[]];

async function call(
  chain: Pick<Chain, 'chainId'>, rpc: Rpc, { to, data, block }: { to: string; data: string; block: number },
): Promise<string> {
  try {
    return await rpc.request<string>('eth_call', [{ to, data }, `0x${block.toString(16)}`]);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new ChainUnavailable(chain.chainId, `the balances at block ${block} cannot be read: ${error.message}`, { cause: error });
  }
}
