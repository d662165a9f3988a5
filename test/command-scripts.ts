/** Short command histories made of small integers, so that fast-check can shrink a failing one to its core. */
import fc from 'fast-check';
import type { Command } from '../engine/commands.js';
import { culprits, failureReasons, marketId, START_MS, traderAddress, txHash } from './random-commands.js';

interface Step {
  readonly kind: Command['kind'];
  /** Index into `waitsMs`. */
  readonly wait: number;
  /** Index of the order, fill or market that the step is about. */
  readonly about: number;
  readonly trader: number;
  readonly side: 0 | 1;
  readonly price: number;
  readonly size: number;
  readonly ttl: number;
  readonly flag: number;
}

/** Around the edges of what orders of 60 s and the markets live. */
const waitsMs = [0, 0, 0, 0, 1, 999, -500, 20_000, 39_999, 40_000, 60_000, 300_000];
const sizes = ['1', '2', '3', '1000000', '18446744073709551615', '0'];

const step = fc.record<Step>({
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constant<Command['kind']>('PlaceOrder') }, { weight: 3, arbitrary: fc.constant<Command['kind']>('FailFill') },
    { weight: 2, arbitrary: fc.constantFrom<Command['kind'][]>('CancelOrder', 'SettleFill', 'AdvanceClock', 'OpenMarket') },
  ),
  wait: fc.nat(waitsMs.length - 1), about: fc.nat(7), trader: fc.nat(2), side: fc.constantFrom(0, 1), price: fc.nat(3),
  size: fc.nat(sizes.length - 1), ttl: fc.nat(3), flag: fc.nat(11),
});

/** Histories of up to 60 commands, the first two of which open markets. */
export const commandScripts: fc.Arbitrary<Command[]> = fc.array(step, { maxLength: 60, size: 'max' }).map(commandsOf);

function commandsOf(steps: readonly Step[]): Command[] {
  const commands: Command[] = [open(0, START_MS, 240), open(1, START_MS, 100_000)];
  let at = START_MS;
  for (const one of steps) {
    at += waitsMs[one.wait]!;
    commands.push(commandOf(one, at, commands));
  }
  return commands;
}

function open(n: number, at: number, secondsAhead: number): Command {
  return {
    kind: 'OpenMarket', v: 1, at, marketId: marketId(n), question: 'Will it?', description: '', category: 'general', contractAddress: traderAddress(500 + n),
    maker: traderAddress(400), expiration: Math.floor(at / 1_000) + secondsAhead, chainId: 1 + (n % 2), marketKind: 'standard',
  };
}

function commandOf(one: Step, at: number, before: readonly Command[]): Command {
  const { kind, about, trader, side, price, size, ttl, flag } = one;
  const placed = before.filter((command) => command.kind === 'PlaceOrder');
  const earlier = placed.length === 0 ? undefined : placed[placed.length - 1 - (about % placed.length)];
  switch (kind) {
    case 'OpenMarket': return open(about, at, 30 * flag);
    case 'AdvanceClock': return { kind, v: 1, at };
    case 'SettleFill': return { kind, v: 1, at, fill: about, txHash: txHash(about) };
    case 'FailFill': return { kind, v: 1, at, fill: about, txHash: txHash(about), reason: failureReasons[flag]!, culprit: culprits[trader]! };
    case 'CancelOrder': return {
      kind, v: 1, at, orderHash: earlier?.orderHash ?? txHash(0),
      marketId: flag === 0 ? marketId(9) : earlier?.marketId ?? marketId(0),
      ...(flag === 1 ? { side } : {}), ...(flag < 4 ? { trader: traderAddress(trader) } : {}),
    };
    case 'PlaceOrder': return flag === 0 && earlier !== undefined
      ? { ...earlier, at }
      : {
          kind, v: 1, at, orderHash: txHash(before.length), marketId: marketId(about === 7 ? 1 : 0),
          trader: traderAddress(trader), side, outcome: flag === 11 ? 1 : 0, price: 499_999 + price, size: sizes[size]!,
          nonce: String(flag === 1 ? ttl : 1_000 + before.length), expiration: String(Math.floor(at / 1_000) + 59 + ttl),
          signature: `0x${'0'.repeat(130)}`,
        };
  }
}
