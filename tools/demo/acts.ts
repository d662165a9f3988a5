/** Acts of two wallets without gas in any market: they approve and permit, split, trade, and the fill settles. */
import type { Wallet } from 'ethers';
import type { ApiMarket } from './api.js';
import { MINTED, type GaslessScene } from './life-scene.js';
import { given, say, shown } from './progress.js';
import { BOUGHT, costAt, settledTrade, showAnchor, showBalances, showExposure, trade, type DemoTrade } from './trade.js';

/** What a wallet splits in a market. */
export interface Split {
  readonly name: string;
  readonly wallet: Wallet;
  readonly amount: number;
}

/** Everything that needs no market: the wallets permit what they are going to split, and the seller approves the settlement contract. */
export async function approve({ chain, side, relayer, seller }: Pick<GaslessScene, 'chain' | 'side' | 'relayer' | 'seller'>, splits: readonly Split[]): Promise<void> {
  const spender = given(chain.contracts['conditionalTokens'], 'the address of conditionalTokens');
  const permit = ({ name, wallet, amount }: Split) => relayer.perform(`the ${name} lets the conditional tokens take ${shown(amount)} USDC`, {
    action: 'usdc-permit', body: relayer.bodies.permit(wallet, { spender, value: BigInt(amount) }),
    isSo: async () => await side.allowance(wallet, spender) === BigInt(amount),
  });
  const approval = relayer.perform('the seller lets the settlement contract move shares', {
    action: 'ctf-approval', body: relayer.bodies.approval(seller), isSo: () => side.isApproved(seller),
  });
  // An owner's requests go one after the other where their nonces do; an approval and a permit have nonces of their own.
  await Promise.all([approval, ...splits.map(permit)]);
}

/** They split, each in one market. */
export async function split({ api, side, relayer }: Pick<GaslessScene, 'api' | 'side' | 'relayer'>, splits: readonly (Split & { readonly market: ApiMarket })[]): Promise<void> {
  await Promise.all(splits.map(({ name, wallet, market, amount }) => relayer.perform(`the ${name} has ${shown(amount)} YES and ${shown(amount)} NO`, {
    action: 'ctf-split', body: relayer.bodies.sets(wallet, 'ctf-split', { conditionId: market.id, amount: BigInt(amount) }),
    isSo: async () => {
      const { yesShares, noShares } = await side.balances(wallet, market);
      return yesShares === BigInt(amount) && noShares === BigInt(amount);
    },
  })));
  for (const { name, wallet, market, amount } of splits) {
    await showBalances({ api, market }, side, [{ name, wallet, yes: amount, no: amount, collateral: MINTED - amount }]);
  }
}

/** They trade, and the fill settles on the chain. `spent`: what the wallets have split before, of all markets. */
export async function tradeAndSettle(scene: GaslessScene, spent: { readonly seller: number; readonly buyer: number }): Promise<DemoTrade> {
  const { api, side, seller, buyer, price } = scene;
  const traded = await trade(scene, { seller: { wallet: seller }, buyer: { wallet: buyer, permit: await side.permit(buyer, MINTED) } });
  const { txHash } = await settledTrade(scene, buyer);
  const cost = costAt(price);
  await showBalances(scene, side, [
    { name: 'seller', wallet: seller, yes: spent.seller - BOUGHT, no: spent.seller, collateral: MINTED - spent.seller + cost },
    { name: 'buyer', wallet: buyer, yes: BOUGHT, no: 0, collateral: MINTED - spent.buyer - cost },
  ]);
  await showAnchor(api, side, { bid: traded.bid, txHash });
  return traded;
}

/** Where the service checks orders against balances: what it refuses. */
export async function exposure(scene: GaslessScene): Promise<void> {
  if (scene.chain.exposureCheck) await showExposure(scene, scene.buyer);
  else say('The exposure check is off (EXPOSURE_CHECK=true turns it on)');
}
