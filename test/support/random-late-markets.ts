/** Random quick markets that are recorded after their ends, among the commands about prices and everything else. */
import type { Command } from '../../engine/records/commands.js';
import { newCommand } from './commands.js';
import { createDice, marketId, traderAddress, txHash, type Profile, type RandomCommands } from './random-commands.js';
import { createPriceCommands } from './random-prices.js';

const ASSETS = ['BTC', 'ETH'] as const;
/** Markets start and end at multiples of this, so that many share a boundary. */
const GRID_S = 20;
/** How long ago they started, up to `GRID_S` less: before the boundaries of others were forgotten, after it, and around that moment. */
const AGES_S = [40, 60, 200, 2_592_000, 2_592_000, 2_592_040, 2_600_000] as const;

/** The commands of createPriceCommands, and now and then a late market, a price of its time, or its end. All draw from streams of their own. */
export function createLateCommands(seed: number, profile: Profile): RandomCommands {
  const inner = createPriceCommands(seed, profile);
  const { below, once, pick } = createDice(seed ^ 0x1a7e);
  const markets: { readonly id: string; readonly asset: string; readonly start: number }[] = [];
  let [now, opened] = [0, 0];

  function open(): Command {
    const n = opened++;
    const [asset, id] = [pick(ASSETS), marketId(850_000 + n)];
    const earlier = markets.length > 0 && once(2) ? pick(markets).start : (Math.floor(now / 1_000 / GRID_S) * GRID_S) - pick(AGES_S);
    markets.push({ id, asset, start: earlier });
    if (markets.length > 12) markets.shift();
    return newCommand('OpenMarket', {
      ifOver: once(5) ? 'reject' : 'close', at: now, marketId: id, question: 'Up?', contractAddress: traderAddress(9_500),
      maker: traderAddress(400), expiration: earlier + GRID_S * (once(10) ? 0 : 1 + below(2)), chainId: 1 + below(2), marketKind: 'quick',
      quick: { asset, startTime: earlier }, ...once(2) ? {} : { tokens: { yes: txHash(2_000_000 + 2 * n), no: txHash(2_000_001 + 2 * n) } },
    });
  }

  function price({ asset, start }: (typeof markets)[number]): Command {
    const publishedAt = (start + GRID_S * below(3)) * 1_000 + below(16_000);
    return newCommand('RecordPrice', { at: now, asset, source: 'late', rank: below(3), price: String(1 + below(3)), publishedAt });
  }

  function late(): Command {
    const market = markets.length === 0 || once(3) ? undefined : pick(markets);
    if (market === undefined) return open();
    if (once(2)) return newCommand('AdvanceClock', { at: now });
    if (once(2)) return price(market);
    const end = { at: now, marketId: market.id };
    return once(2) ? newCommand('HalveMarket', { ...end }) : newCommand('ResolveMarket', { ...end, winningOutcome: once(2) ? 0 : 1 });
  }

  return {
    next() {
      if (now > 0 && once(20)) return late();
      const command = inner.next();
      now = Math.max(now, command.at);
      return command;
    },
    learn: (outcome) => { inner.learn(outcome); },
  };
}
