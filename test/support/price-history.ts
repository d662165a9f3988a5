/** What a service records that has prices of two assets and their quick markets, and nothing else: most of its records are prices. */
import { encodeCommand } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import { newCommand } from './commands.js';
import { marketId, traderAddress, txHash } from './random-commands.js';

const ASSETS = ['BTC', 'ETH'] as const;
const START_S = 1_700_000_100;
const INTERVAL_S = 900;
const CHAIN = 31_337;

/** The recorded commands of so many seconds, in order: per second a price of each asset, per interval a market's opening, closing and end. */
export function* priceHistory(seconds: number): Generator<Buffer> {
  for (let second = 0; second < seconds; second++) {
    const time = START_S + second;
    for (const [n, asset] of ASSETS.entries()) {
      const price = String(6_140_000_000_000 + 1_000_003 * ((second * 7_919 + n) % 1_000));
      yield encodeCommand(newCommand('RecordPrice', {
        at: time * 1_000 + 350 + n, asset, source: 'pyth', rank: 0, price, publishedAt: time * 1_000,
      }));
    }
    if (second % INTERVAL_S === 0) for (const command of atBoundary(second / INTERVAL_S, time)) yield encodeCommand(command);
  }
}

/** The running markets close and are resolved; those after the next ones are made. */
function* atBoundary(interval: number, time: number): Generator<Command> {
  const at = time * 1_000 + 900;
  const factAt = (logIndex: number) => ({ fact: { chainId: CHAIN, block: interval, logIndex } });
  // The second one finds nothing more to do.
  for (let i = 0; i < 2; i++) yield newCommand('AdvanceClock', { at });
  for (const [n, asset] of ASSETS.entries()) {
    const id = (of: number) => marketId(2 * of + n);
    if (interval > 1) yield newCommand('ResolveMarket', { at, marketId: id(interval - 2), winningOutcome: 0, ...factAt(2 * n) });
    yield newCommand('OpenMarket', {
      at, marketId: id(interval), question: `${asset} up or down?`, contractAddress: traderAddress(interval), maker: traderAddress(0),
      expiration: time + 2 * INTERVAL_S, chainId: CHAIN, marketKind: 'quick',
      tokens: { yes: txHash(4 * interval + 2 * n), no: txHash(4 * interval + 2 * n + 1) }, quick: { asset, startTime: time + INTERVAL_S },
      ...factAt(2 * n + 1),
    });
  }
}
