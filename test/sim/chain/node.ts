/** A node of the simulated chain behind JSON-RPC over HTTP: it may lag, lie, lose what it is asked, or be away. */
import { multicall3 } from '../../../contracts-abi/multicall3.js';
import type { InterfaceAbi } from 'ethers';
import type { Fetch } from '../../../command/chain/http-answer.js';
import type { Strikes, NodeWeather, Weather } from '../world/weather.js';
import type { SimProcess } from '../world/process.js';
import type { VirtualTime } from '../world/time.js';
import { BLOCK_GAS_LIMIT, type SimBlock, type SimChain } from './chain.js';
import { abi, CHAIN, type SimMarket } from './contracts.js';
import { readCall } from './calls.js';
import { QuickInterface } from './quick-interface.js';
import { viewQuick } from './quick-contracts.js';
import { viewOracle } from './oracle-contract.js';
import { viewTokens } from './token-contract.js';

export interface NodesParts {
  readonly time: VirtualTime;
  readonly chain: SimChain;
  readonly markets: ReadonlyMap<string, SimMarket>;
  readonly weather: Weather;
  readonly strikes: Strikes;
  /** Called with every transaction that reaches a node. */
  readonly broadcast: (raw: string) => void;
}

export const NODE_URLS = ['http://node-0.example/', 'http://node-1.example/'] as const;

const multicall = new QuickInterface(multicall3.abi as InterfaceAbi);
const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

/** The answer of a node that has an error to tell. */
class NodeError extends Error {
  constructor(readonly code: number, message: string) { super(message); }
}

/** A `fetch` for one process, which reaches only the simulated nodes. */
export function fetchFor(process: SimProcess, parts: NodesParts): Fetch {
  const { time, weather, strikes } = parts;
  return async (target, init) => {
    const index = NODE_URLS.indexOf(target as typeof NODE_URLS[number]);
    const node = weather.nodes[index];
    if (node === undefined) throw new Error(`no such node: ${target}`);
    const { id, method, params } = JSON.parse(init.body) as { id: number; method: string; params: readonly unknown[] };
    const silent = untilAborted(init.signal);
    const answer = process.request(() => {
      if (time.now() < node.awayUntilMs) {
        strikes.struck('node away', `${index}`);
        if (time.once(2)) throw new Error('ECONNREFUSED');
        return silent;
      }
      if (node.losesRequests > 0) {
        node.losesRequests -= 1;
        strikes.struck('node request lost', method);
        return silent;
      }
      const body = answerOf({ node, parts, asked: { id, method, params } });
      if (node.losesReplies > 0) {
        node.losesReplies -= 1;
        strikes.struck('node reply lost', method);
        return silent;
      }
      return body;
    });
    const text = await Promise.race([answer, silent]);
    return { status: 200, body: [Buffer.from(text)] };
  };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => { reject(new Error('aborted')); };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  aborted.catch(() => undefined);
  return aborted;
}

interface RpcRequest { readonly id: number; readonly method: string; readonly params: readonly unknown[] }

function answerOf({ node, parts, asked: { id, method, params } }: { node: NodeWeather; parts: NodesParts; asked: RpcRequest }): string {
  try {
    const result = resultOf(viewOf(node, parts), { node, parts, method, params });
    return JSON.stringify({ jsonrpc: '2.0', id, result });
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return JSON.stringify({ jsonrpc: '2.0', id, error: { code: error.code, message: error.message } });
  }
}

/** The branch that the node shows, as far as it has it. */
function viewOf(node: NodeWeather, { time, chain, strikes }: NodesParts): readonly SimBlock[] {
  if (time.now() < node.staleUntilMs && chain.left !== undefined) {
    strikes.struck('node on a stale branch');
    return chain.left;
  }
  if (time.now() < node.lagUntilMs && node.lagBlocks > 0) {
    strikes.struck('node lags');
    return chain.blocks.slice(0, Math.max(1, chain.blocks.length - node.lagBlocks));
  }
  return chain.blocks;
}

interface Call { readonly node: NodeWeather; readonly parts: NodesParts; readonly method: string; readonly params: readonly unknown[] }

function resultOf(blocks: readonly SimBlock[], { node, parts, method, params }: Call): unknown {
  const head = blocks.at(-1) as SimBlock;
  const { time, strikes } = parts;
  switch (method) {
    case 'eth_chainId': return hex(CHAIN.chainId);
    case 'eth_blockNumber': return hex(head.number);
    case 'eth_maxPriorityFeePerGas': return hex(1_000_000n);
    case 'eth_getBlockByNumber': {
      const block = params[0] === 'latest' ? head : blocks[Number(params[0])];
      if (block === undefined) return null;
      const { number, hash, baseFeePerGas } = block;
      return { number: hex(number), hash, baseFeePerGas: hex(baseFeePerGas), gasLimit: hex(BLOCK_GAS_LIMIT) };
    }
    case 'eth_getTransactionCount': {
      const block = params[1] === 'latest' ? head : blocks[Number(params[1])];
      if (block === undefined) throw new NodeError(-32_000, 'header not found');
      const count = block.counts.get(params[0] as string) ?? 0;
      const lies = time.now() < node.countsUntilMs && node.countsBy !== 0 && params[1] === 'latest';
      if (lies) strikes.struck('node counts wrongly', `by ${node.countsBy}`);
      return hex(Math.max(0, count + (lies ? node.countsBy : 0)));
    }
    case 'eth_getTransactionReceipt': {
      const found = blocks.findLast(({ receipts }) => receipts.has(params[0] as string))?.receipts.get(params[0] as string);
      if (found !== undefined && time.now() < node.hidesReceiptsUntilMs) {
        strikes.struck('node hides receipts');
        return null;
      }
      return found === undefined ? null : { transactionHash: found.transactionHash, blockNumber: hex(found.blockNumber), status: found.succeeded ? '0x1' : '0x0' };
    }
    case 'eth_getLogs': return logsOf(blocks, params[0] as LogsParams);
    case 'eth_getTransactionByHash': return { from: `0x${'0'.repeat(40)}` };
    case 'eth_sendRawTransaction': return sent(params[0] as string, node, parts);
    case 'eth_getBalance': return hex(10n ** 24n);
    case 'eth_getCode': return '0x';
    case 'eth_call': return called(params[0] as CallParams, blockOf(blocks, params[1] as string), parts);
    default: throw new NodeError(-32_601, `the method ${method} does not exist`);
  }
}

function sent(raw: string, node: NodeWeather, { chain, strikes, broadcast }: NodesParts): string {
  broadcast(raw);
  if (node.swallowsBroadcasts > 0) {
    node.swallowsBroadcasts -= 1;
    strikes.struck('broadcast swallowed');
    return chain.decode(raw).hash;
  }
  const { answer, transaction } = chain.send(raw);
  if (answer !== 'taken') throw new NodeError(-32_000, answer);
  return transaction.hash;
}

function blockOf(blocks: readonly SimBlock[], tag: string): SimBlock {
  const block = tag === 'latest' || tag === 'pending' ? blocks.at(-1) : blocks[Number(tag)];
  if (block === undefined) throw new NodeError(-32_000, 'header not found');
  return block;
}

interface LogsParams {
  readonly address: string | readonly string[];
  readonly topics: readonly (string | readonly string[] | null)[];
  readonly fromBlock: string;
  readonly toBlock: string;
}

function logsOf(blocks: readonly SimBlock[], { address, topics, fromBlock, toBlock }: LogsParams): unknown[] {
  if (Number(toBlock) >= blocks.length) throw new NodeError(-32_000, 'block range extends beyond current head block');
  return blocks.slice(Number(fromBlock), Number(toBlock) + 1).flatMap(({ number, hash, logs }) => logs
    .filter((log) => address.includes(log.address) && topics.every((topic, i) => topic === null || topic.includes(log.topics[i] ?? '')))
    .map(({ address: at, topics, data, logIndex, txHash }) => ({
      address: at, topics, data, blockNumber: hex(number), blockHash: hash, logIndex: hex(logIndex), transactionHash: txHash, removed: false,
    })));
}

interface CallParams { readonly to: string; readonly data: string }

/** Views of the contracts, several at once; or what a transaction would do. */
function called({ to, data }: CallParams, block: SimBlock, { chain, markets }: NodesParts): string {
  const { contracts } = CHAIN;
  if (to !== contracts.multicall) {
    const call = readCall(to, data);
    if (call === undefined) throw new NodeError(-32_000, `no such call: ${data.slice(0, 10)}`);
    const reverted = chain.simulate(call, block);
    if (reverted !== undefined) throw new NodeError(3, `execution reverted: ${reverted}`);
    return '0x';
  }
  const [calls] = multicall.decodeFunctionData('aggregate3', data).toArray() as [readonly { readonly target: string; readonly callData: string }[]];
  return multicall.encodeFunctionResult('aggregate3', [calls.map(({ target, callData }) => {
    const returnData = viewed(target.toLowerCase(), callData, block, { chain, markets });
    if (returnData === undefined) throw new NodeError(3, 'execution reverted');
    return { success: true, returnData };
  })]);
}

function viewed(
  target: string, data: string, { state, timestamp }: SimBlock, { chain, markets }: Pick<NodesParts, 'chain' | 'markets'>,
): string | undefined {
  const { contracts } = CHAIN;
  if (target === contracts.multicall) {
    const call = multicall.parseTransaction({ data });
    return call?.name === 'getCurrentBlockTimestamp' ? multicall.encodeFunctionResult(call.name, [chain.timeAfter(timestamp)]) : undefined;
  }
  if (target !== contracts.settlement) {
    const isMarket = (marketId: string): boolean => markets.has(marketId) || state.quick.has(marketId);
    return viewQuick(target, data, { state, isMarket }) ?? viewTokens(target, data, { state, markets }) ?? viewOracle(target, data, state);
  }
  const call = abi.settlement.parseTransaction({ data });
  return call?.name === 'isSettled' ? abi.settlement.encodeFunctionResult('isSettled', [state.settled.has(Number(call.args[0]))]) : undefined;
}
