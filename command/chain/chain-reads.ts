/**
 * Reads of a chain for those who send: several views at one block in one call, logs, simulations, what gas costs and
 * who can pay for it.
 */
import { ChainUnavailable, RpcError, type Chain, type Rpc } from './chain.js';
import { decodeAggregate, decodeResult, encodeAggregate, encodeCall, reasonOfRevert, type ChainLog, type ContractCall } from './abi.js';

/** A block's number, or the newest or the next block. */
export type BlockTag = number | 'latest' | 'pending';

export interface ChainReads {
  /** The views' results in the order of the calls; undefined for a view that reverted. Throws ChainUnavailable. */
  views(calls: readonly ContractCall[], block: BlockTag): Promise<readonly unknown[]>;
  /** The code at an address as hex. Throws ChainUnavailable. */
  code(address: string): Promise<string>;
  /**
   * What a transaction would do in the next block: its return data, or why it would revert. Throws ChainUnavailable.
   */
  simulate(call: SimulatedCall): Promise<{ readonly returned: string } | { readonly reverted: string }>;
  /** Price of gas in the newest block and the balance of an address, in wei. Throws ChainUnavailable. */
  funds(address: string): Promise<Funds>;
  /** A transaction's logs; undefined when it has no receipt. Throws ChainUnavailable. */
  receiptLogs(txHash: string): Promise<readonly ChainLog[] | undefined>;
  /** The logs of a contract in a range of blocks, both inclusive. Throws ChainUnavailable. */
  logs(filter: LogFilter): Promise<readonly BlockLog[]>;
}

/** A log of a block. */
export interface BlockLog extends ChainLog {
  /** The block's number as hex. */
  readonly blockNumber: string;
  readonly transactionHash: string;
}

export interface Funds {
  readonly baseFeePerGas: bigint;
  readonly balance: bigint;
  /** The newest block's number. */
  readonly block: number;
}

export interface LackParams {
  readonly chainId: number;
  /** The address of the key that pays, and whose key it is, for the message. */
  readonly address: string;
  readonly whose: string;
  /** The most that the lane offers, in wei per unit of gas. */
  readonly maxFeePerGas: bigint;
  readonly gasLimit: bigint;
}

/**
 * What a key lacks for a transaction at present: cheaper gas, or more of the chain's coin; undefined when it lacks
 * nothing.
 */
export function lackOf(
  { baseFeePerGas, balance }: Funds, { chainId, address, whose, maxFeePerGas, gasLimit }: LackParams,
): string | undefined {
  if (baseFeePerGas > maxFeePerGas) return `gas costs ${baseFeePerGas} wei on chain ${chainId}, and ${whose} offers ${maxFeePerGas} at most`;
  return balance < gasLimit * priceOf({ baseFeePerGas }, maxFeePerGas) ? `${whose}'s key ${address} is short of gas on chain ${chainId}` : undefined;
}

/** What a unit of gas may cost within the next blocks, in wei. */
export function priceOf({ baseFeePerGas }: Pick<Funds, 'baseFeePerGas'>, maxFeePerGas: bigint): bigint {
  return 2n * baseFeePerGas < maxFeePerGas ? 2n * baseFeePerGas : maxFeePerGas;
}

/**
 * The time of the next block in seconds: contracts compare their windows with it, not with this machine's clock. Throws
 * ChainUnavailable.
 */
export async function timeOfNextBlock(reads: Pick<ChainReads, 'views'>, { chainId, contracts: { multicall } }: Pick<Chain, 'chainId' | 'contracts'>): Promise<number> {
  const [time] = await reads.views([{ abi: 'multicall', to: multicall, method: 'getCurrentBlockTimestamp', args: [] }], 'pending');
  if (typeof time !== 'bigint') throw new ChainUnavailable(chainId, 'the time of the next block cannot be read');
  return Number(time);
}

export interface LogFilter {
  readonly address: string;
  readonly topics: readonly (string | null)[];
  readonly from: number;
  readonly to: number;
}

export interface SimulatedCall {
  readonly from: string;
  readonly to: string;
  readonly data: string;
  readonly gasLimit: bigint;
  /**
   * In wei, what `from` must be able to pay. Without it, code that the call runs sees a price of 0, and may do
   * otherwise than in a transaction.
   */
  readonly gasPrice?: bigint;
}

export function createChainReads({ contracts }: Pick<Chain, 'contracts'>, nodes: Rpc): ChainReads {
  /** An error that a node answered, except a revert, means that the node cannot tell at the moment. */
  async function request<T>(method: string, params: readonly unknown[]): Promise<T> {
    try {
      return await nodes.request<T>(method, params);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      throw new ChainUnavailable(nodes.chainId, error.message, { cause: error });
    }
  }
  return {
    async views(calls, block) {
      if (calls.length === 0) return [];
      const data = encodeAggregate(calls.map((call) => ({ to: call.to, data: encodeCall(call) })));
      const answer = await request<string>('eth_call', [{ to: contracts.multicall, data }, tagOf(block)]);
      return decodeAggregate(answer)
        .map(({ success, returnData }, i) => success ? decoded(calls[i], returnData) : undefined);
    },
    code: (address) => request<string>('eth_getCode', [address, 'latest']),
    async simulate({ from, to, data, gasLimit, gasPrice }) {
      const price = gasPrice === undefined ? {} : { gasPrice: hex(gasPrice) };
      try {
        return { returned: await nodes.request<string>('eth_call', [{ from, to, data, gas: hex(gasLimit), ...price }, 'pending']) };
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        if (isRevert(error)) return { reverted: error.data === undefined ? textOf(error) : reasonOfRevert(error.data) };
        throw new ChainUnavailable(nodes.chainId, error.message, { cause: error });
      }
    },
    async funds(address) {
      const [block, balance] = await Promise.all([
        request<{ number: string; baseFeePerGas?: string }>('eth_getBlockByNumber', ['latest', false]), request<string>('eth_getBalance', [address, 'latest']),
      ]);
      return { baseFeePerGas: BigInt(block.baseFeePerGas ?? 0), balance: BigInt(balance), block: Number(block.number) };
    },
    async receiptLogs(txHash) {
      return (await request<{ logs: ChainLog[] } | null>('eth_getTransactionReceipt', [txHash]))?.logs;
    },
    logs: ({ address, topics, from, to }) => request<BlockLog[]>('eth_getLogs', [{ address, topics, fromBlock: hex(from), toBlock: hex(to) }]),
  };
}

/**
 * Whether the contract's code ended the call, by the error codes and texts of geth, erigon, nethermind, besu, reth and
 * anvil.
 */
function isRevert({ method, code, message, data }: RpcError): boolean {
  return code === 3 || code === -32_015 || data?.startsWith('0x') === true || EXECUTION.test(message.slice(method.length + 2));
}

const EXECUTION = /^(execution|revert|vm |evm |invalid (opcode|jump)|stack |out of gas|gas uint64 overflow|return data out of|write protection)/i;

function textOf({ method, message }: RpcError): string {
  return message.slice(method.length + 2);
}

function decoded(call: ContractCall | undefined, data: string): unknown {
  try {
    return call === undefined ? undefined : decodeResult(call, data);
  } catch {
    return undefined;
  }
}

function tagOf(block: BlockTag): string {
  return typeof block === 'number' ? hex(block) : block;
}

function hex(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}
