/** A settlement batch that any operator can send: one fill, which fails for its signatures, and an anchor of whatever history. */
import { Interface, type InterfaceAbi } from 'ethers';
import { settlement } from '../../contracts-abi/settlement.js';
import type { DeployedChain, DeployedMarket, Receipt } from './deployed-chain.js';

interface Account { readonly address: string }

const settling = new Interface(settlement.abi as InterfaceAbi);

/** An order as the settlement contract takes it: to buy 5 YES at 0.5. */
export function orderOf({ marketId }: DeployedMarket, { address: trader }: Account, nonce: bigint) {
  return {
    marketId, trader, side: 0n, outcome: 0n, price: 500_000n, size: 5n, nonce, expiration: 2n ** 40n, makerFeeRecipient: `0x${'0'.repeat(40)}`,
  };
}

export interface AnchoredBatch {
  readonly market: DeployedMarket;
  /** The fill's number. */
  readonly seq: bigint;
  readonly position: bigint;
  readonly digest: string;
  /** Whose key sends it; default: the operator. */
  readonly from?: Account;
}

/** Sends the batch; resolves with its transaction's hash. */
export async function sendAnchoredBatch(node: DeployedChain, batch: AnchoredBatch): Promise<string> {
  const { market, seq, position, digest, from = node.operator } = batch;
  const buy = orderOf(market, node.accounts[1]!, 1n);
  const sell = { ...orderOf(market, node.accounts[2]!, 1n), side: 1n };
  const fill = { seq, buyIndex: 0n, sellIndex: 1n, price: 500_000n, size: 5n };
  const data = settling.encodeFunctionData('settleBatch', [[buy, sell], ['0x', '0x'], [], [fill], position, digest]);
  // An estimate of the gas would find the least with which the transaction succeeds: enough to leave the fill undone.
  const request = { from: from.address, to: node.chain.contracts.settlement, data, gas: '0x4c4b40' };
  const { status, transactionHash } = await node.rpc('eth_sendTransactionSync', [request]) as Receipt;
  if (status !== '0x1') throw new Error(`the batch of ${from.address} reverted`);
  return transactionHash;
}
