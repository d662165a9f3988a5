/** The commands of `npm run bench -- growth`: markets, nearly all of them over, and orders that rest in the open ones. */
import { hash } from 'node:crypto';
import type { Command } from '../../engine/records/commands.js';
import { newCommand } from '../support/commands.js';
import { T0 } from './engine.js';

/** Markets that take orders, where there are more; the rest are over. */
const OPEN_MARKETS = 1_000;
const TRADERS = 5_000;
/** In ticks: bids rest below it, asks above it. */
const MIDDLE = 500_000;
const PRICES = 100_000;
const SIZE = '1000000';

const word = (text: string): string => `0x${hash('sha256', text)}`;
const address = (n: number): string => `0x${(n + 1).toString(16).padStart(40, '0')}`;
const signature = `0x${'5a'.repeat(65)}`;
const marketOf = (n: number): string => word(`market ${n}`);

/** Opens this many markets, and resolves all but the first ones. */
export function* marketCommands(markets: number): Generator<Command> {
  const at = T0;
  for (let n = 0; n < markets; n++) {
    yield newCommand('OpenMarket', {
      at, marketId: marketOf(n), question: 'q', contractAddress: address(n), maker: address(0), expiration: 2_000_000_000, chainId: 31_337,
      tokens: { yes: word(`yes ${n}`), no: word(`no ${n}`) },
    });
    if (n >= OPEN_MARKETS) yield newCommand('ResolveMarket', { at, marketId: marketOf(n), winningOutcome: 0 });
  }
}

/** The order with this number, which rests: bids and asks in every open market, on many prices. */
export function restingOrder(n: number, markets: number): Command {
  const open = Math.min(markets, OPEN_MARKETS);
  const side = Math.floor(n / open) % 2 === 0 ? 0 : 1;
  const distance = 1 + (n * 7_919) % PRICES;
  return order(n, { market: n % open, trader: Math.floor(n / 3) % TRADERS, side, price: side === 0 ? MIDDLE - distance : MIDDLE + distance });
}

/** An ask in the same market as that order, which takes the best bid: of a trader without orders, since nobody trades with themselves. */
export function crossingOrder(n: number, markets: number): Command {
  return order(n, { market: n % Math.min(markets, OPEN_MARKETS), trader: TRADERS, side: 1, price: MIDDLE - PRICES });
}

/** Cancels the order with this number. */
export function cancelOf(n: number, markets: number): Command {
  return newCommand('CancelOrder', { at: T0, orderHash: orderHash(n), marketId: marketOf(n % Math.min(markets, OPEN_MARKETS)) });
}

interface Terms {
  readonly market: number;
  readonly trader: number;
  readonly side: 0 | 1;
  readonly price: number;
}

function order(n: number, { market, trader, side, price }: Terms): Command {
  return newCommand('PlaceOrder', {
    at: T0, orderHash: orderHash(n), marketId: marketOf(market), trader: address(trader), side, outcome: 0, price, size: SIZE, nonce: String(n),
    expiration: String(1_900_000_000 - (n * 7_919) % 1_000_000), signature,
  });
}

function orderHash(n: number): string {
  return word(`order ${n}`);
}
