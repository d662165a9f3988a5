/** What the relayer sends for the wallet on this page: allowances, splits, merges; each says what it has sent. */
import type { Relayed } from '../../../client/src/relay.js';
import type { MarketReference } from '../../../client/src/session.js';
import { exchange } from '../exchange.js';
import { shortened } from '../figures.js';

/** In words: the chain has it as soon as a block has the transaction. */
export function sentInWords(what: string, { txHash }: Relayed): string {
  return txHash === undefined ? `${what}: it is so already.` : `${what}: sent as ${shortened(txHash)}. It counts once a block has it.`;
}

/** Lets the settlement contract take stablecoin, which buys need. */
export async function letExchangeTakeMoney(chainId: number): Promise<string> {
  return sentInWords('Allowance of stablecoin', await exchange.peek().relay.permit({ chainId }));
}

/** Lets the settlement contract move shares, which sells need. */
export async function letExchangeMoveShares(chainId: number): Promise<string> {
  return sentInWords('Approval of shares', await exchange.peek().relay.approve({ chainId }));
}

/** Turns stablecoin into as many YES and NO shares: an allowance for exactly that much first, by a signature of its own. */
export async function split(market: MarketReference & object, amount: bigint): Promise<string> {
  const { address: user, read, relay } = exchange.peek();
  const { chainId } = market;
  const before = await read.nonces({ user, chainId });
  const { txHash } = await relay.permit({ chainId, spender: 'conditionalTokens', value: amount });
  if (txHash !== undefined) {
    await until(async () => (await read.nonces({ user, chainId })).token !== before.token, `no block has the allowance ${txHash} yet: try again`);
  }
  return sentInWords('Split', await relay.split(market, amount));
}

/** Turns as many YES and NO shares into stablecoin. */
export async function merge(market: MarketReference & object, amount: bigint): Promise<string> {
  return sentInWords('Merge', await exchange.peek().relay.merge(market, amount));
}

const MINED_WITHIN_MS = 60_000;
const PAUSE_MS = 500;

async function until(isSo: () => Promise<boolean>, late: string): Promise<void> {
  const end = Date.now() + MINED_WITHIN_MS;
  while (!await isSo()) {
    if (Date.now() >= end) throw new Error(late);
    await new Promise((resolve) => { setTimeout(resolve, PAUSE_MS); });
  }
}
