/** Reads the state of a lane's key from the chain, and broadcasts its transactions. */
import { quantityOf } from '../../engine/records/hex.js';
import { ChainUnavailable, onOneNode, RpcError, type Rpc } from '../chain/chain.js';
import { dueReceipts, type BroadcastAnswer, type OpenTransaction, type Proof, type Receipt, type View } from './open-transactions.js';

/** A chain's nodes behind one interface, or, with `each`, one by one. */
export interface LaneRpc extends Rpc {
  /** The results of all nodes that give one, in that time if one is given; absent when there is only one node. */
  each?<T>(method: string, params: readonly unknown[], withinMs?: number): Promise<readonly T[]>;
}

interface Block { readonly number: string; readonly baseFeePerGas?: string; readonly gasLimit: string }
interface NodeReceipt { readonly transactionHash: string; readonly blockNumber: string; readonly status: string }

export interface LaneView extends View {
  /** No transaction can use more gas than a block has. */
  readonly blockGasLimit: bigint;
}

export interface Looking {
  readonly address: string;
  readonly openTransactions: readonly OpenTransaction[];
  readonly confirmations: number;
  /** Whether this transaction count must be proved before anything is concluded from it. */
  readonly isDoubtful: (count: number) => boolean;
}

/**
 * Looks at the chain. Throws what Rpc throws, and an error for a chain without EIP-1559. The proof of a doubtful count
 * is asked of all nodes, so it is not bound to the node that showed the rest.
 */
export async function lookAt(
  rpc: LaneRpc, { address, openTransactions, confirmations, isDoubtful }: Looking,
): Promise<LaneView> {
  const [seen, priorityFeePerGas] = await Promise.all([
    onOneNode(rpc, (node) => lookAtNode(node, { address, openTransactions, confirmations })), tipOfNodes(rpc),
  ]);
  const { head, count } = seen;
  const proof = isDoubtful(count) ? await prove(rpc, { address, block: Math.max(0, head - confirmations) }) : undefined;
  return { ...seen, priorityFeePerGas, proof };
}

/** Receipts are read after the latest block and from the same node, so their depth is never overestimated. */
async function lookAtNode(node: Rpc, { address, openTransactions, confirmations }: Omit<Looking, 'isDoubtful'>) {
  const [block, used] = await Promise.all([
    node.request<Block>('eth_getBlockByNumber', ['latest', false]), node.request<string>('eth_getTransactionCount', [address, 'latest']),
  ]);
  const { chainId } = node;
  if (block.baseFeePerGas === undefined) throw new Error(`chain ${chainId} has no base fee: only chains with EIP-1559 are supported`);
  const head = Number(block.number);
  const count = Number(used);
  if (!Number.isSafeInteger(head) || !Number.isSafeInteger(count)) throw new Error(`chain ${chainId}: a block or nonce is not a number`);
  const found = await Promise.all(dueReceipts(openTransactions, { head, count }, confirmations)
    .map((txHash) => node.request<NodeReceipt | null>('eth_getTransactionReceipt', [txHash])));
  const receipts = new Map<string, Receipt>();
  for (const receipt of found) {
    if (receipt === null) continue;
    const { transactionHash: txHash, blockNumber, status } = receipt;
    receipts.set(txHash, { txHash, block: Number(blockNumber), succeeded: BigInt(status) === 1n });
  }
  return { head, count, receipts, baseFeePerGas: BigInt(block.baseFeePerGas), blockGasLimit: BigInt(block.gasLimit) };
}

/**
 * Asks for the count at the final block and at each node. A pruned node may not have that block's state: then
 * `finalCount` is undefined.
 */
async function prove(rpc: LaneRpc, { address, block }: { address: string; block: number }): Promise<Proof> {
  const [final, each] = await Promise.all([
    rpc.request<string>('eth_getTransactionCount', [address, `0x${block.toString(16)}`]).catch((error: unknown) => {
      if (error instanceof RpcError || error instanceof ChainUnavailable) return undefined;
      throw error;
    }),
    rpc.each?.<string>('eth_getTransactionCount', [address, 'latest']) ?? [],
  ]);
  return { finalCount: final === undefined ? undefined : Number(final), nodeCounts: each.map(Number) };
}

/** A node that has not told its tip by then is left out. */
const TIP_MS = 1_000;

/**
 * The median of what the nodes suggest, the lower one of two: a single node that lies cannot make transactions dear.
 */
async function tipOfNodes(rpc: LaneRpc): Promise<bigint> {
  const told = await rpc.each?.<unknown>('eth_maxPriorityFeePerGas', [], TIP_MS) ?? [];
  const tips = told.flatMap((tip) => quantityOf(tip) ?? []).sort((a, b) => a - b);
  const median = tips[Math.floor((tips.length - 1) / 2)];
  return median === undefined ? priorityFee(rpc) : BigInt(median);
}

/** The node's suggested priority fee; 0 when it has none: the lane's minimum then applies. */
export async function priorityFee(rpc: Rpc): Promise<bigint> {
  try {
    return BigInt(await rpc.request<string>('eth_maxPriorityFeePerGas', []));
  } catch (error) {
    if (error instanceof RpcError) return 0n;
    throw error;
  }
}

/**
 * Sends the signed bytes to a node. `detail` is the node's text. Throws ChainUnavailable; a node may have accepted them
 * all the same.
 */
export async function broadcast(rpc: Rpc, raw: string): Promise<{
  readonly answer: BroadcastAnswer;
  readonly detail: string;
}> {
  try {
    await rpc.request('eth_sendRawTransaction', [raw]);
    return { answer: 'accepted', detail: '' };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return { answer: meaningOf(error.message), detail: error.message };
  }
}

/**
 * Error texts of geth, erigon, nethermind, besu, reth and anvil, since nodes use codes differently. The first match
 * counts.
 */
const MEANINGS: readonly (readonly [RegExp, BroadcastAnswer])[] = [
  [/already known|known transaction|already imported|already_?exists|already in (the )?(mem)?pool|AlreadyKnown|same hash was already/i, 'accepted'],
  [/nonce (is )?(too low|below|too old)|OldNonce|invalid nonce.*too low|nonce has already been used/i, 'nonce too low'],
  [/underpriced|fee(cap)? (is )?too low|FeeTooLow|ReplacementNotAllowed|less than block base fee|gas price (is )?(too low|below)|price below/i, 'underpriced'],
  [/insufficient (funds|balance)|InsufficientFunds|exceeds (account )?balance|balance (is )?too low/i, 'unfunded'],
];

/** What a node's error text means for a broadcast. */
export function meaningOf(message: string): BroadcastAnswer {
  return MEANINGS.find(([text]) => text.test(message))?.[1] ?? 'refused';
}
