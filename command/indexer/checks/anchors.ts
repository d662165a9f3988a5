/**
 * Compares what the chain anchors of a history with this history, and passes over the anchors that the operators have
 * named.
 */
import type { ChainCursor } from '../../../engine/run/view.js';
import type { Chain, Rpc } from '../../chain/chain.js';
import type { Report } from '../../../engine/report.js';
import type { Anchor, Fact } from '../facts.js';
import { ForeignChain, othersText, senderOf } from '../foreign-chain.js';

export interface AnchorCheck {
  readonly chain: Chain;
  readonly rpc: Rpc;
  readonly cursor: () => ChainCursor | undefined;
  /**
   * The digest of the history at a position, once the history has reached it; undefined when the history never will.
   */
  readonly digestAt: (position: number) => Promise<string | undefined>;
  readonly now: () => number;
  readonly report: Report;
}

/**
 * An anchor that differs from the history; `known` is the history's own digest at the position, undefined when there is
 * none.
 */
interface FalseAnchor extends Anchor {
  readonly known: string | undefined;
}

/**
 * The facts that record the anchors which were passed over: those that differ from the history, in transactions that
 * the chain's settings name. Throws ForeignChain when another anchor differs. Anchors before the history's cursor were
 * checked when they were recorded.
 */
export async function checkAnchors(anchors: readonly Anchor[], check: AnchorCheck): Promise<readonly Fact[]> {
  const { chain, cursor, digestAt } = check;
  const { nextBlock, nextLog } = cursor() ?? { nextBlock: 0, nextLog: 0 };
  const differing: FalseAnchor[] = [];
  for (const anchor of anchors) {
    if (anchor.block < nextBlock || (anchor.block === nextBlock && anchor.logIndex < nextLog)) continue;
    const known = anchor.position <= BigInt(Number.MAX_SAFE_INTEGER)
      ? await digestAt(Number(anchor.position))
      : undefined;
    if (known !== anchor.digest) differing.push({ ...anchor, known });
  }
  const named = new Set(chain.passOverAnchors);
  const [first, ...others] = differing.filter(({ txHash }) => !named.has(txHash));
  if (first !== undefined) throw await contradiction(first, others, check);
  return differing.map((anchor) => passedOver(anchor, check));
}

function passedOver(anchor: FalseAnchor, { chain: { chainId }, now, report }: AnchorCheck): Fact {
  const { position, digest, txHash, block, blockHash, logIndex, known } = anchor;
  report('warn', `chain ${chainId}: passes over the anchor of transaction ${txHash}, as the chain's settings say: digest ${digest} at position `
  + `${position}, where the history has ${known ?? 'nothing'}; the history records it as AnchorPassedOver`);
  return {
    command: { kind: 'PassOverAnchor', v: 1, at: now(), chainId, txHash, position: String(position), digest, fact: { chainId, block, logIndex } }, blockHash,
  };
}

async function contradiction(
  anchor: FalseAnchor, others: readonly FalseAnchor[], { chain, rpc }: AnchorCheck,
): Promise<ForeignChain> {
  const { position, digest, txHash, block, known } = anchor;
  return new ForeignChain(chain, `transaction ${txHash} of ${await senderOf(txHash, rpc)} in block ${block} anchors digest ${digest} at position ${position}, `
    + `where the history has ${known ?? 'nothing'}`,
  'Look at the sender. If it is an operator of yours, the contracts have settled for another history: give this history its own contracts (a new chain '
  + 'state, or other addresses), or restore the history that belongs to these contracts. If it is not, or if its key has leaked, the anchor is false: '
  + 'take the operator role from the sender, then name the transaction in `passOverAnchors` of this chain in the chains file and restart; '
  + `what the transaction settled is recorded all the same.${othersText(txHash, others)}`);
}
