/** What traders ask the relayer for, and what goes wrong there. */
import { useNonce } from '../chain/token-contract.js';
import { MARKETS, TRADERS, type Trader } from '../story/traders.js';
import { later, type Act, type Dice, type Scene } from '../story/scene.js';
import { START_MS } from '../world/time.js';
import type { SendPlan } from './clients.js';
import { signRelay, type SignedRelay, type RelayIntent } from './messages.js';

export const relayActs = {
  'relay'(scene, dice, seed) {
    const { chain, strikes } = scene.parts;
    const trader = dice.pick(TRADERS);
    const asking = { times: dice.below(3) === 0 ? 2 : 1, againAfterMs: dice.below(3) === 0 ? dice.ms(1_000, 15_000) : undefined };
    const request = relay(scene, trader, { intent: newIntent(trader, scene, dice), seed, asking, odd: dice.below(16) });
    const meanwhile = dice.below(12);
    if (meanwhile <= 1) {
      strikes.struck('relayed message brought by a stranger', request.id.slice(0, 10));
      scene.parts.time.after(dice.ms(1, 4_000), () => { chain.bring(request.call); });
    } else if (meanwhile === 2) {
      strikes.struck('relayed message revoked', request.id.slice(0, 10));
      chain.act((state) => {
        useNonce(state, request.call);
        return [];
      });
    }
  },
  'read models behind': (scene, dice) => { scene.parts.readModels.behindUntilMs = later(scene, dice.ms(2_000, 12_000)); },
} satisfies Readonly<Record<string, Act>>;

interface Relaying {
  readonly intent: RelayIntent;
  readonly seed: number;
  readonly asking: SendPlan;
  /** Some numbers make the message too old, nearly so, or too early. */
  readonly odd?: number;
}

/** Signs a message with the nonce that is due now, and asks for it. */
export function relay({ parts, relays }: Scene, trader: Trader, { intent, seed, asking, odd = 3 }: Relaying): SignedRelay {
  const { chain, time, tools: { messages } } = parts;
  const nowS = Math.floor((START_MS + time.now()) / 1_000);
  const request = signRelay(trader, intent, {
    state: chain.head.state, messages, deadline: BigInt(nowS + ([-5, 8][odd] ?? 600)), ...odd === 2 ? { later: 3n } : {},
  });
  relays.relay(request, seed, asking);
  return request;
}

function newIntent({ address }: Trader, { parts: { chain } }: Scene, dice: Dice): RelayIntent {
  const { quick, resolved, approved, shares } = chain.head.state;
  const markets = [...MARKETS.values(), ...quick.values()];
  const paid = markets.filter(({ marketId, tokens }) => resolved.has(marketId) && tokens.some((token) => (shares.get(`${address} ${token}`) ?? 0n) > 0n));
  const kind = dice.below(10);
  if (kind <= 3 && paid.length > 0) return { action: 'ctf-redemption', marketId: dice.pick(paid).marketId };
  if (kind === 4) return { action: 'ctf-approval', approved: !approved.has(address) };
  // No two amounts are the same.
  const amount = BigInt(1_000_000 * (1 + dice.below(dice.below(8) === 0 ? 900 : 30)) + dice.below(1_000_000));
  return { action: kind <= 7 ? 'ctf-split' : 'ctf-merge', marketId: dice.pick(markets).marketId, amount };
}
