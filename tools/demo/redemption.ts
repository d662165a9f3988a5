/** The demonstration's end: shares are redeemed, singly and in a batch, and what everybody has adds up to the collateral that was minted. */
import type { Wallet } from 'ethers';
import type { ApiMarket } from './api.js';
import { BOND, MINTED, SPLIT, type GaslessScene, type LifeScene } from './life-scene.js';
import { expect, given, say, shown, step, until } from './progress.js';
import { BOUGHT, costAt, positionWith } from './trade.js';

export interface Redeemed {
  readonly name: string;
  readonly wallet: Wallet;
  readonly market: ApiMarket;
  /** Before the redemption. */
  readonly yes: number;
  readonly no: number;
  /** What the position has cost. */
  readonly invested: number;
  readonly payout: number;
  readonly winner: 0 | 1;
}

/** The positions at the end, each with what it pays. A set costs 1, its halves 0.50 each. */
function redemptionsOf({ market, other, seller, buyer, price }: LifeScene): readonly [seller: Redeemed, ...buyer: Redeemed[]] {
  const left = SPLIT.seller - BOUGHT;
  return [
    { name: 'seller', wallet: seller, market, yes: left, no: SPLIT.seller, invested: SPLIT.seller - BOUGHT / 2, payout: left, winner: 0 },
    { name: 'buyer', wallet: buyer, market, yes: BOUGHT, no: 0, invested: costAt(price), payout: BOUGHT, winner: 0 },
    { name: 'buyer', wallet: buyer, market: other, yes: SPLIT.buyer, no: SPLIT.buyer, invested: SPLIT.buyer, payout: SPLIT.buyer, winner: 1 },
  ];
}

/** The seller redeems the shares of one market, the buyer those of both in one batch. */
export async function redeem(scene: LifeScene): Promise<void> {
  const { chain, relayer, buyer } = scene;
  const all = redemptionsOf(scene);
  const [single, ...batch] = all;
  step('The seller redeems the shares of one market, the buyer those of both in one batch');
  await showInvested(scene, all);
  const item = async (wallet: Wallet, { id, contractAddress }: ApiMarket) => (
    { ...await relayer.bodies.redemptionItem(wallet, { conditionId: id }), marketAddress: contractAddress });
  const redemptions = Promise.all(batch.map(({ market }) => item(buyer, market)));
  await Promise.all([
    redeemOne(scene, single),
    relayer.perform(`the buyer is paid ${batch.map(({ payout }) => shown(payout)).join(' + ')} USDC`, {
      action: 'batch-ctf-redemption',
      body: redemptions.then((items) => ({ chainId: chain.chainId, owner: buyer.address, redemptions: items })),
      isSo: await paid(scene, batch),
    }),
  ]);
  await showPayouts(scene, all);
  await noClaims(scene);
}

/** The exchange knows what the positions have cost. */
export async function showInvested({ api }: Pick<GaslessScene, 'api'>, positions: readonly Redeemed[]): Promise<void> {
  for (const { name, wallet, market, yes, no, invested } of positions) {
    const { totalInvested } = await positionWith({ api, market }, wallet, { yes, no });
    expect(`the exchange names what the ${name} has invested`, totalInvested, invested);
  }
}

/** A wallet redeems its shares of one market. */
export async function redeemOne(scene: GaslessScene, redeemed: Redeemed): Promise<void> {
  const { relayer } = scene;
  const { name, wallet, market: { id, contractAddress }, payout } = redeemed;
  await relayer.perform(`the ${name} is paid ${shown(payout)} USDC`, {
    action: 'ctf-redemption',
    body: relayer.bodies.redemption(wallet, { conditionId: id }).then((body) => ({ ...body, marketAddress: contractAddress })),
    isSo: await paid(scene, [redeemed]),
  });
}

/** Whether a wallet has no shares any more and has been paid for them, by what it has now. */
async function paid({ side }: GaslessScene, redeemed: readonly Redeemed[]): Promise<() => Promise<boolean>> {
  const { wallet, market: first } = given(redeemed[0], 'a redemption');
  const before = (await side.balances(wallet, first)).collateral;
  const due = BigInt(sum(redeemed.map(({ payout }) => payout)));
  return async () => {
    const balances = await Promise.all(redeemed.map(({ market }) => side.balances(wallet, market)));
    return balances.every(({ yesShares, noShares, collateral }) => yesShares === 0n && noShares === 0n && collateral === before + due);
  };
}

interface Payout { readonly marketId: string; readonly payout: number; readonly winningOutcome: number | null; readonly txHash: string }

/** Shows each payout and profit as the exchange has them, and that the profits are what the wallets have won. The seller's is the first. */
export async function showPayouts({ api, chain, price, side, market: traded }: GaslessScene, redeemed: readonly Redeemed[]): Promise<void> {
  say('Payouts and profits');
  const profits = new Map<Wallet, number>();
  for (const { name, wallet, market, invested, payout, winner } of redeemed) {
    const told = await until(`the exchange has the payout of market ${market.id} to the ${name}`, async () => {
      const { settlements } = await api.get<{ settlements: readonly Payout[] }>(`/api/v1/users/${wallet.address}/activity?chain_id=${chain.chainId}`);
      return settlements.find(({ marketId }) => marketId === market.id);
    });
    expect(`the exchange names the payout to the ${name}`, told.payout, payout);
    expect('the payout names the winner', told.winningOutcome, winner);
    await positionWith({ api, market }, wallet, { yes: 0, no: 0 });
    const profit = payout - invested;
    profits.set(wallet, (profits.get(wallet) ?? 0) + profit);
    say(`  ${name.padEnd(6)}  invested ${shown(invested)}, paid ${shown(payout)}: profit ${shown(profit)}  ${market.question}`);
  }
  const [{ wallet: seller }] = redeemed as readonly [Redeemed];
  // The seller has also sold shares, which had cost half of their sets.
  const sale = costAt(price) - BOUGHT / 2;
  profits.set(seller, (profits.get(seller) ?? 0) + sale);
  say(`  seller  sold ${shown(BOUGHT)} YES that had cost ${shown(BOUGHT / 2)} for ${shown(costAt(price))}: profit ${shown(sale)}`);
  for (const [wallet, profit] of profits) {
    expect(`the wallet ${wallet.address} has won its profits`, (await side.balances(wallet, traded)).collateral, BigInt(MINTED + profit));
  }
}

/** No redemption of the wallets is pending, and none has failed. */
export async function noClaims({ api, seller, buyer }: GaslessScene): Promise<void> {
  const own = [seller, buyer].map(({ address }) => address.toLowerCase());
  const countOf = async (state: 'pending' | 'failed') => {
    const answer = await api.get<Readonly<Record<string, readonly { readonly userAddress: string }[]>>>(`/api/v1/${state}-claims`);
    return given(answer[`${state}Claims`], `the list of ${state} claims`).filter(({ userAddress }) => own.includes(userAddress)).length;
  };
  await until('no claim of the wallets is pending', async () => await countOf('pending') === 0 || undefined);
  expect('no claim of the wallets has failed', await countOf('failed'), 0);
  say('No claim is pending, and none has failed');
}

/** What the wallets do not have: collateral in markets where sets of shares are left, and bonds at the oracle. */
export interface Elsewhere {
  readonly markets: readonly ApiMarket[];
  readonly bonds: number;
}

/** Wallets, markets and oracle have what was minted, and the wallets have never had gas. */
export async function addUp({ side, chain, market, seller, buyer }: GaslessScene, { markets, bonds }: Elsewhere): Promise<void> {
  step('Everything adds up');
  const wallets = [['seller', seller], ['buyer', buyer]] as const;
  let inWallets = 0;
  for (const [name, wallet] of wallets) {
    const has = Number((await side.balances(wallet, market)).collateral);
    say(`  ${name.padEnd(6)}  ${shown(has)} USDC`);
    inWallets += has;
  }
  let inMarkets = 0;
  for (const each of markets) {
    const balances = await Promise.all(wallets.map(([, wallet]) => side.balances(wallet, each)));
    const [yes, no] = [sum(balances.map(({ yesShares }) => Number(yesShares))), sum(balances.map(({ noShares }) => Number(noShares)))];
    expect('there are as many shares of YES as of NO', yes, no);
    inMarkets += yes;
  }
  const minted = wallets.length * MINTED;
  say(`  ${shown(inWallets)} USDC in the wallets + ${shown(inMarkets)} in the markets + ${shown(bonds * BOND)} at the oracle = ${shown(minted)} minted`);
  expect('wallets, markets and oracle have the collateral that was minted', inWallets + inMarkets + bonds * BOND, minted);
  for (const [name, wallet] of wallets) {
    const { ether, transactions } = await side.gas(wallet);
    expect(`the ${name} has no ether`, ether, 0n);
    expect(`the ${name} has sent no transaction`, transactions, 0);
  }
  say(`  Both wallets have 0 ether and have sent 0 transactions: ${chain.relayer?.address ?? 'the relayer'} has paid`);
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
