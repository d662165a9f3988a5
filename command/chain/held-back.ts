/** A chain seen up to a block: what comes after it may still be lost, so nothing is concluded from it. */
import type { Rpc } from './chain.js';

/**
 * The nodes, with every block after `lastBlock()` out of sight of those who ask for the latest one. Transactions, receipts and counts are
 * told as they are: what a receipt's block means is a matter of the latest block.
 */
export function heldBack(rpc: Rpc, lastBlock: () => number): Rpc {
  return {
    chainId: rpc.chainId,
    async request<T>(method: string, params: readonly unknown[]): Promise<T> {
      if (method === 'eth_blockNumber') {
        const latest = await rpc.request<string>(method, params);
        return hexOf(Math.min(Number(latest), lastBlock())) as T;
      }
      if (method === 'eth_getBlockByNumber' && params[0] === 'latest') return rpc.request(method, [hexOf(lastBlock()), ...params.slice(1)]);
      return rpc.request(method, params);
    },
  };
}

function hexOf(number: number): string {
  return `0x${number.toString(16)}`;
}
