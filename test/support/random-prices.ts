/** Random prices and quick markets among the commands of traders, chains and the relayer: late, repeated, from better and worse sources. */
import type { Command } from '../../engine/records/commands.js';
import { newCommand } from './commands.js';
import { createDice, marketId, traderAddress, type Profile, type RandomCommands } from './random-commands.js';
import { createRelayCommands } from './random-relays.js';

/** Nobody publishes prices of the last one. */
const ASSETS = ['BTC', 'ETH', 'XYZ'] as const;
const SOURCES = ['pyth', 'coinbase', 'binance'] as const;
/** Markets start and end at multiples of this, so that they share their boundaries. */
const GRID_S = 20;
/** The latest quick markets, which may be halved or resolved. */
const KEPT = 12;

/** The commands of createRelayCommands, and one about prices after every second of them on average. Both draw from streams of their own. */
export function createPriceCommands(seed: number, profile: Profile): RandomCommands {
  const inner = createRelayCommands(seed, profile);
  const { below, once } = createDice(seed ^ 0x9e1c);
  let [now, opened] = [0, 0];

  function price(): Command {
    const publishedAt = Math.max(0, now + (once(12) ? below(4_000) : -below(once(3) ? 45_000 : 4_000)));
    const rank = below(3);
    const price = String(once(30) ? 2n ** 63n - 1n : 1 + below(3));
    return newCommand('RecordPrice', { at: now, asset: ASSETS[below(2)]!, source: SOURCES[rank]!, rank, price, publishedAt });
  }

  function open(): Command {
    const start = (Math.floor(now / 1_000 / GRID_S) + below(3) - 1) * GRID_S;
    const n = opened++;
    return newCommand('OpenMarket', {
      // All of them, in this order: the digests of earlier histories are known.
      ifOver: 'close', at: now, marketId: marketId(800_000 + n), question: 'Up?', description: '', category: 'general',
      contractAddress: traderAddress(9_000 + n), maker: traderAddress(400), expiration: start + GRID_S * below(once(20) ? 6_000 : 4),
      chainId: 1 + below(2), marketKind: 'quick', quick: { asset: ASSETS[below(3)]!, startTime: start },
    });
  }

  function end(): Command {
    const market = { at: now, marketId: marketId(800_000 + Math.max(0, opened - 1 - below(KEPT))) };
    return once(2) ? newCommand('HalveMarket', { ...market }) : newCommand('ResolveMarket', { ...market, winningOutcome: once(2) ? 0 : 1 });
  }

  return {
    next() {
      if (now > 0 && once(3)) return once(12) ? open() : once(12) ? end() : once(12) ? newCommand('AdvanceClock', { at: now }) : price();
      const command = inner.next();
      now = Math.max(now, command.at);
      return command;
    },
    learn: (outcome) => { inner.learn(outcome); },
  };
}
