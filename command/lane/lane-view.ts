/** What a chain shows of a sender's lane, and what its nodes say to a broadcast. */
import { RpcError, type Rpc } from '../chain/chain.js';
import { wantedReceipts, type BroadcastAnswer, type Flight, type Receipt, type View } from './lane.js';

interface Block { readonly number: string; readonly baseFeePerGas?: string; readonly gasLimit: string }
interface NodeReceipt { readonly transactionHash: string; readonly blockNumber: string; readonly status: string }

export interface LaneView extends View {
  /** No transaction can use more gas than a block has. */
  readonly blockGasLimit: bigint;
}

/**
 * Looks at the chain: at receipts after the head, so that what they show is at least as deep as it seems. Throws what Rpc throws, and an
 * error for a chain without EIP-1559.
 */
export async function lookAt(
  rpc: Rpc, { address, flights, confirmations }: { address: string; flights: readonly Flight[]; confirmations: number },
): Promise<LaneView> {
  const [block, used, tip] = await Promise.all([
    rpc.request<Block>('eth_getBlockByNumber', ['latest', false]), rpc.request<string>('eth_getTransactionCount', [address, 'latest']), priorityFee(rpc),
  ]);
  if (block.baseFeePerGas === undefined) throw new Error(`chain ${rpc.chainId} has no base fee: only chains with EIP-1559 are supported`);
  const head = Number(block.number);
  const count = Number(used);
  if (!Number.isSafeInteger(head) || !Number.isSafeInteger(count)) throw new Error(`chain ${rpc.chainId}: a block or nonce is no number`);
  const found = await Promise.all(wantedReceipts(flights, { head, count }, confirmations)
    .map((txHash) => rpc.request<NodeReceipt | null>('eth_getTransactionReceipt', [txHash])));
  const receipts = new Map<string, Receipt>();
  for (const receipt of found) {
    if (receipt === null) continue;
    const { transactionHash: txHash, blockNumber, status } = receipt;
    receipts.set(txHash, { txHash, block: Number(blockNumber), succeeded: BigInt(status) === 1n });
  }
  return { head, count, receipts, baseFeePerGas: BigInt(block.baseFeePerGas), priorityFeePerGas: tip, blockGasLimit: BigInt(block.gasLimit) };
}

/** The node's suggestion; 0 where it has none, which the sender's least priority fee then replaces. */
async function priorityFee(rpc: Rpc): Promise<bigint> {
  try {
    return BigInt(await rpc.request<string>('eth_maxPriorityFeePerGas', []));
  } catch (error) {
    if (error instanceof RpcError) return 0n;
    throw error;
  }
}

/** Gives a node the signed bytes. `detail` is the node's text. Throws ChainUnavailable: a node may have taken it all the same. */
export async function broadcast(rpc: Rpc, raw: string): Promise<{ readonly answer: BroadcastAnswer; readonly detail: string }> {
  try {
    await rpc.request('eth_sendRawTransaction', [raw]);
    return { answer: 'taken', detail: '' };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { answer: meaningOf(error.message), detail: error.message };
  }
}

/** The texts of geth, erigon, nethermind, besu, reth and anvil; codes are not used alike. The first that fits counts. */
const MEANINGS: readonly (readonly [RegExp, BroadcastAnswer])[] = [
  [/already known|known transaction|already imported|already_?exists|already in (the )?(mem)?pool|AlreadyKnown|same hash was already/i, 'taken'],
  [/nonce (is )?(too low|below|too old)|OldNonce|invalid nonce.*too low|nonce has already been used/i, 'nonce too low'],
  [/underpriced|fee(cap)? (is )?too low|FeeTooLow|ReplacementNotAllowed|less than block base fee|gas price (is )?(too low|below)|price below/i, 'underpriced'],
  [/insufficient (funds|balance)|InsufficientFunds|exceeds (account )?balance|balance (is )?too low/i, 'unfunded'],
];

/** Exported for tests. */
export function meaningOf(message: string): BroadcastAnswer {
  return MEANINGS.find(([text]) => text.test(message))?.[1] ?? 'refused';
}
