/** Resolutions that traders propose: mostly nobody settles them, and the keeper has to. */
import { arbitrate, dispute, propose, settleFirst } from '../chain/oracle-contract.js';
import { relay } from './relay-acts.js';
import { MARKETS, TRADERS } from '../story/traders.js';
import type { Act } from '../story/scene.js';

export const proposeActs = {
  'propose'(scene, dice, seed) {
    const { chain, time, strikes } = scene.parts;
    const market = [...MARKETS.values()][1];
    if (market === undefined) return;
    const windowS = 2 + dice.below(4);
    chain.act(propose(market, { outcome: dice.pick([0, 1] as const), windowS, proposer: dice.pick(TRADERS).address }));
    // Perhaps too early: then it is refused.
    const redeemer = dice.pick(TRADERS);
    time.after(dice.ms(12_000, 26_000), () => {
      relay(scene, redeemer, { intent: { action: 'ctf-redemption', marketId: market.marketId }, seed, asking: { times: 1, againAfterMs: undefined } });
    });
    const course = dice.below(4);
    if (course === 0) {
      strikes.struck('proposal disputed');
      time.after(dice.ms(500, 2_000), () => { chain.act(dispute(market, dice.pick(TRADERS).address)); });
      const truthful = dice.below(2) === 0;
      time.after(dice.ms(6_000, 20_000), () => { chain.act(arbitrate(market, truthful)); });
    } else if (course === 1) {
      strikes.struck('proposal settled by somebody else');
      time.after(dice.ms(windowS * 1_000, windowS * 1_000 + 6_000), () => { chain.act(settleFirst(market)); });
    }
  },
} satisfies Readonly<Record<string, Act>>;
