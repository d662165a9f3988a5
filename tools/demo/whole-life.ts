/** The demonstration on a chain with a relayer: two wallets without gas go through the whole life of two markets. */
import { creatorWallet } from '../../stack/chain/dev-contracts.js';
import { createMarket } from '../market/chain.js';
import { keyFrom } from '../market/key.js';
import { approve, exposure, split, tradeAndSettle } from './acts.js';
import type { Api, ApiChain, ApiConfig, ApiMarket } from './api.js';
import { BOND, MINTED, SPLIT, type LifeScene } from './life-scene.js';
import { given, say, shown, step, until } from './progress.js';
import { addUp, redeem } from './redemption.js';
import { relayerOf } from './relayer.js';
import { expire, propose, settle } from './resolution.js';
import type { DemoToken } from './token.js';
import type { ChainSide } from './wallets.js';

export interface LifeParts {
  readonly api: Api;
  readonly config: ApiConfig;
  readonly chain: ApiChain;
  readonly side: ChainSide;
  readonly token: DemoToken;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const PRICE = 620_000;
/** A longer dispute window is not waited for. */
const LONGEST_WINDOW_S = 120;
const LIFETIME_S = 86_400;
/** How long the markets are open: long enough for the trade, by how long the first requests took here. */
const OPEN_AT_LEAST_S = 25;
const OPEN_BY_FIRST_REQUESTS = 6;

export async function wholeLife(parts: LifeParts): Promise<void> {
  const { api, config, chain, side, token } = parts;
  const windowS = await side.disputeWindowS();
  const waits = windowS <= LONGEST_WINDOW_S;
  say(waits
    ? 'Two wallets without gas go through the whole life of two markets'
    : `Two wallets without gas go through the life of two markets, up to a proposed outcome: it can be disputed for ${windowS} s`);
  step(`Two fresh wallets have ${shown(MINTED)} test USDC each and no ether on chain ${chain.chainId}`);
  const wallet = () => side.wallet({ collateral: MINTED, sends: false });
  const [seller, buyer] = [await wallet(), await wallet()];
  say(`  seller ${seller.address}\n  buyer  ${buyer.address}`);
  const relayer = relayerOf({ api, chain, token, deadline: BigInt(config.serverTime + LIFETIME_S) });
  const startedMs = performance.now();
  step('They approve and permit, by signatures that the relayer sends');
  const splits = [{ name: 'seller', wallet: seller, amount: SPLIT.seller }, { name: 'buyer', wallet: buyer, amount: SPLIT.buyer }] as const;
  await approve({ chain, side, relayer, seller }, splits);
  const openS = Math.max(OPEN_AT_LEAST_S, Math.ceil((performance.now() - startedMs) / 1_000 * OPEN_BY_FIRST_REQUESTS));
  const [market, other] = await ownMarkets(parts, openS);
  const scene: LifeScene = { api, config, chain, side, relayer, seller, buyer, market, other, price: PRICE };
  step('They split USDC into shares of YES and NO');
  await split(scene, [{ ...splits[0], market }, { ...splits[1], market: other }]);
  step('They trade, and the fill settles on the chain');
  await exposure(scene);
  const { ask } = await tradeAndSettle(scene, SPLIT);
  await expire(scene, ask);
  const endOfWindow = await propose(scene);
  if (!waits) {
    await addUp(scene, { markets: [market, other], bonds: 2 });
    return say(`\nThe demonstration does not wait ${windowS} s for the end of the dispute windows: it stops here, and nothing is settled or redeemed.\n`
      + 'The rest is shown on a new stack with DEV_DISPUTE_WINDOW_S=10, and by npm run demo while no service runs at the default address.');
  }
  await settle(scene, endOfWindow);
  await redeem(scene);
  await addUp(scene, { markets: [market, other], bonds: 0 });
}

/** Creates the two markets, and waits until the exchange lists them. */
async function ownMarkets({ api, chain, environment }: LifeParts, openS: number): Promise<readonly [ApiMarket, ApiMarket]> {
  step(`Two markets are created, which expire in ${openS} s`);
  const { chainId, contracts } = chain;
  const key = await keyFrom({ environment, chain, development: () => Promise.resolve(creatorWallet().privateKey) });
  const rpcUrl = given(chain.rpcUrl, 'the chain\'s rpcUrl');
  const expiration = (await api.get<ApiConfig>('/api/v1/config')).serverTime + openS;
  const created = async (question: string): Promise<ApiMarket> => {
    const terms = { question, description: 'A market of npm run demo.', category: 'general', expiration, bond: BigInt(BOND) } as const;
    const { id } = await createMarket({ chainId, rpcUrl, contracts }, key, terms);
    const market = await until(`the exchange lists market ${id}`, async () => (
      (await api.get<{ markets: readonly ApiMarket[] }>('/api/v1/markets')).markets.find((each) => each.id === id)));
    say(`  ${id}  ${market.question}`);
    return market;
  };
  return [await created('Will it rain in the demonstration?'), await created('Will the sun shine in the demonstration?')];
}
