/** The demonstration's resolution: the markets expire, an outcome of each is proposed under a bond, nobody disputes it, and it is settled. */
import type { Wallet } from 'ethers';
import type { Api, ApiConfig, ApiMarket, ApiPlacedOrder } from './api.js';
import { BOND, type LifeScene } from './life-scene.js';
import { countdown, expect, given, say, shown, step, timeOf, until } from './progress.js';
import { refusal } from './trade.js';

interface Resolution {
  readonly expired: boolean;
  readonly resolved: boolean;
  readonly winningOutcome?: number;
  readonly assertion?: { readonly proposer: string; readonly proposedOutcome: boolean; readonly bondAmount: string; readonly expirationTime: number };
}

/** Waits until trading has ended: then the rest of the ask is cancelled, and orders are refused. */
export async function expire(scene: LifeScene, ask: ApiPlacedOrder): Promise<void> {
  const { api, config, market, other, seller, price } = scene;
  step(`The markets expire at ${timeOf(market.expiration)}, and trading ends`);
  await countdown('until the markets expire', market.expiration - await serviceTime(api));
  for (const each of [market, other]) await resolutionWith(api, each, 'it has expired', ({ expired }) => expired);
  const cancelled = await until('the rest of the ask is cancelled', async () => {
    const { status, cancelReason } = await api.get<{ readonly status: string; readonly cancelReason?: string }>(`/api/v1/orders/${ask.orderHash}`);
    return status === 'open' ? undefined : `${status} ${String(cancelReason)}`;
  });
  expect('the rest of the ask is cancelled because its market is closed', cancelled, 'cancelled market_closed');
  const { status } = await refusal('market_closed', api.place(config, { wallet: seller, marketId: market.id, side: 1, price, size: BOND }));
  say(`The rest of the ask is cancelled, and another order is refused: ${status} market_closed`);
}

/** Each wallet proposes the outcome of one market, with a permit for the bond. Returns when the later dispute window ends, Unix seconds. */
export async function propose(scene: LifeScene): Promise<number> {
  const { market, other, seller, buyer } = scene;
  step(`The seller proposes YES, the buyer NO for the other market, each with a bond of ${shown(BOND)} USDC and its permit`);
  const ends = await Promise.all([
    proposeOne(scene, { name: 'seller', wallet: seller, market, outcome: true }),
    proposeOne(scene, { name: 'buyer', wallet: buyer, market: other, outcome: false }),
  ]);
  const end = Math.max(...ends);
  say(`The proposals can be disputed until ${timeOf(end)}`);
  return end;
}

interface Proposal {
  readonly name: string;
  readonly wallet: Wallet;
  readonly market: ApiMarket;
  readonly outcome: boolean;
}

async function proposeOne({ api, relayer, side }: LifeScene, { name, wallet, market, outcome }: Proposal): Promise<number> {
  const collateral = async () => (await side.balances(wallet, market)).collateral;
  const before = await collateral();
  await relayer.perform(`the ${name} has proposed ${outcome ? 'YES' : 'NO'} and posted the bond`, {
    action: 'propose-resolution',
    body: relayer.bodies.proposal(wallet, { market: market.contractAddress, marketId: market.id, outcome, bond: BigInt(BOND) }),
    isSo: async () => await collateral() === before - BigInt(BOND),
  });
  const assertion = given((await resolutionWith(api, market, 'an outcome is proposed', (told) => told.assertion !== undefined)).assertion, 'the proposal');
  expect('the exchange names the proposer', assertion.proposer, wallet.address.toLowerCase());
  expect('the exchange names the proposed outcome', assertion.proposedOutcome, outcome);
  expect('the exchange names the bond', assertion.bondAmount, String(BOND));
  return assertion.expirationTime;
}

/** Waits until the dispute windows have ended; then each wallet settles the market of which the other one has proposed the outcome. */
export async function settle(scene: LifeScene, endOfWindow: number): Promise<void> {
  const { api, market, other, seller, buyer } = scene;
  step('Nobody disputes the proposals');
  await countdown('until the dispute windows end', endOfWindow - await serviceTime(api));
  step('Each wallet settles the market of the other one\'s proposal, and the bonds come back');
  await Promise.all([
    settleOne(scene, { settler: buyer, proposer: seller, market, winner: 0 }),
    settleOne(scene, { settler: seller, proposer: buyer, market: other, winner: 1 }),
  ]);
}

interface Settlement {
  readonly settler: Wallet;
  readonly proposer: Wallet;
  readonly market: ApiMarket;
  readonly winner: 0 | 1;
}

async function settleOne({ api, relayer, side }: LifeScene, { settler, proposer, market, winner }: Settlement): Promise<void> {
  const before = (await side.balances(proposer, market)).collateral;
  await relayer.perform(`${winner === 0 ? 'YES' : 'NO'} has won, and the proposer has the bond again`, {
    action: 'settle-market',
    body: relayer.bodies.settlement(settler, { market: market.contractAddress, marketId: market.id, winningOutcome: winner }),
    isSo: async () => {
      const payouts = await side.payouts(market);
      return payouts[winner] > 0n && payouts[1 - winner] === 0n && (await side.balances(proposer, market)).collateral === before + BigInt(BOND);
    },
  });
  const { winningOutcome } = await resolutionWith(api, market, 'it is resolved', ({ resolved }) => resolved);
  expect('the exchange names the winner', winningOutcome, winner);
}

/** The exchange's own time, Unix seconds. */
async function serviceTime(api: Api): Promise<number> {
  return (await api.get<ApiConfig>('/api/v1/config')).serverTime;
}

function resolutionWith(api: Api, { id }: ApiMarket, what: string, isSo: (resolution: Resolution) => boolean): Promise<Resolution> {
  return until(`the exchange says of market ${id} that ${what}`, async () => {
    const resolution = await api.get<Resolution>(`/api/v1/resolution/${id}`);
    return isSo(resolution) ? resolution : undefined;
  });
}
