/** The whole engine without I/O: recorded commands in, events, texts and digests out; and what it leaves on the heap. */
import { decodeCommand, outcomeText } from '../../engine/records/codec.js';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import { DigestChain } from '../../engine/run/digest-chain.js';
import { createEngine } from '../../engine/run/engine.js';
import type { Engine, Step } from '../../engine/run/stepping.js';
import { newCommand } from '../support/commands.js';
import type { BenchLine } from './line.js';
import { createHash } from 'node:crypto';

export const T0 = 1_700_000_000_000;
const COMMANDS = 300_000;
/** For the share of the outcomes' texts and digests: their outcomes are all kept. */
const SHARE_COMMANDS = 50_000;
const FLAT_COMMANDS = 1_000_000;

const bytes32 = (n: number, tag: string): string => `0x${tag}${n.toString(16).padStart(62, '0')}`;
const address = (n: number): string => `0x${(n + 1).toString(16).padStart(40, '0')}`;
const signature = `0x${'5a'.repeat(65)}`;
const MARKETS = 16;

/** The recorded commands that open the markets which `mix` trades in. */
export function marketCommands(): Buffer[] {
  return Array.from({ length: MARKETS }, (_, i) => encodeCommand(newCommand('OpenMarket', {
    at: T0, marketId: bytes32(i, 'aa'), question: 'q', contractAddress: address(1_000 + i), maker: address(0), expiration: 2_000_000_000,
    chainId: 31_337,
  })));
}

function tradingEngine(): Engine {
  const engine = createEngine();
  for (const data of marketCommands()) engine.step(data);
  return engine;
}

function order(n: number, at: number, side: 0 | 1, price: number, size: string): Command {
  return newCommand('PlaceOrder', {
    at, orderHash: `0x${createHash('sha256').update(String(n)).digest('hex')}`, marketId: bytes32(n % MARKETS, 'aa'),
    trader: address((n * 7 + side) % 500), side, outcome: 0, price, size, nonce: String(n), expiration: String(Math.floor(at / 1_000) + 90),
    signature,
  });
}

/** A seeded mix like the book's: 50 % adds, 30 % crossing orders, 20 % cancels of resting ones; as recorded bytes. */
export function* mixed(count: number): Generator<Buffer> {
  let seed = 7;
  const random = (): number => { seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0; return seed / 2 ** 32; };
  const recent: { hash: string; market: string }[] = [];
  for (let n = 0; n < count; n++) {
    const at = T0 + n;
    const dice = random();
    if (dice < 0.2 && recent.length > 100) {
      const { hash, market } = recent.splice(Math.floor(random() * recent.length), 1)[0]!;
      yield encodeCommand(newCommand('CancelOrder', { at, orderHash: hash, marketId: market }));
      continue;
    }
    const side = random() < 0.5 ? 0 : 1;
    const crossing = dice < 0.5;
    const offset = Math.floor(random() * 200) + 1;
    const price = 500_000 + (side === 0 ? -offset : offset) * (crossing ? -1 : 1);
    const command = order(n, at, side, price, String(1_000_000 + Math.floor(random() * 1e9)));
    if (!crossing && command.kind === 'PlaceOrder') recent.push({ hash: command.orderHash, market: command.marketId });
    if (recent.length > 5_000) recent.shift();
    yield encodeCommand(command);
  }
}

export const mix = (count: number): Buffer[] => [...mixed(count)];

/** Pairs that fill each other entirely and settle at once: after them nothing rests. */
function* passing(count: number, fillOf: () => number): Generator<Buffer> {
  for (let n = 0; n < count; n += 4) {
    const at = T0 + n;
    yield encodeCommand(order(n, at, 0, 500_000, '1000000'));
    yield encodeCommand({ ...order(n, at, 1, 500_000, '1000000'), orderHash: bytes32(n, 'bb'), trader: address(999), nonce: String(n) } as Command);
    yield encodeCommand(newCommand('SettleFill', { at, fill: fillOf(), txHash: bytes32(n, 'cc') }));
    yield encodeCommand(newCommand('AdvanceClock', { at }));
  }
}

export function engineBench(): Promise<BenchLine[]> {
  mixRun(mix(50_000));
  const shares = sharesOf(mix(SHARE_COMMANDS));
  const data = mix(COMMANDS);
  const fromBytes = best(() => mixRun(data));
  const commands = data.map((bytes) => decodeCommand(bytes));
  const decoded = best(() => mixRun(data, commands));
  return Promise.resolve([
    { name: 'engine without I/O, commands in to events and digests out', figure: decoded, unit: 'commands/s', target: { atLeast: 300_000 } },
    { name: 'the same from recorded bytes, as a replay has it', figure: fromBytes, unit: 'commands/s', target: { atLeast: 180_000 } },
    { name: 'the outcomes\' texts and digests, of the time of a step from bytes', figure: shares.textsAndDigests, unit: '%', target: {} },
    { name: 'the digests alone, of texts that are there', figure: shares.digests, unit: '%', target: {} },
    { name: `heap growth over ${FLAT_COMMANDS} commands that leave nothing resting`, figure: flat(), unit: 'MB', target: { atMost: 8 } },
  ]);
}

/** The best of a few runs: what else the machine does only ever slows one down. */
function best(run: () => number): number {
  return Math.max(...Array.from({ length: 4 }, run));
}

function mixRun(data: readonly Buffer[], commands: readonly Command[] = []): number {
  const engine = tradingEngine();
  const start = process.hrtime.bigint();
  for (let i = 0; i < data.length; i++) engine.step(data[i]!, commands[i]);
  return Math.round(data.length / (Number(process.hrtime.bigint() - start) / 1e9));
}

/** What the outcomes' texts and digests cost, in percent of whole steps: the least of a few turns each. */
function sharesOf(data: readonly Buffer[]): { readonly textsAndDigests: number; readonly digests: number } {
  const whole: number[] = [];
  const textsAndDigests: number[] = [];
  const digests: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    const engine = tradingEngine();
    const steps = new Array<Step>(data.length);
    whole.push(seconds(() => { data.forEach((bytes, i) => { steps[i] = engine.step(bytes); }); }));
    const chain = new DigestChain();
    textsAndDigests.push(seconds(() => { steps.forEach(({ outcome }, i) => chain.next(data[i]!, outcomeText(outcome))); }));
    digests.push(seconds(() => { steps.forEach(({ text }, i) => chain.next(data[i]!, text)); }));
  }
  const share = (times: readonly number[]): number => Math.round(100 * Math.min(...times) / Math.min(...whole));
  return { textsAndDigests: share(textsAndDigests), digests: share(digests) };
}

function seconds(work: () => void): number {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e9;
}

function flat(): number {
  const engine = tradingEngine();
  const used = (): number => { globalThis.gc?.(); const { heapUsed, arrayBuffers } = process.memoryUsage(); return heapUsed + arrayBuffers; };
  let before = 0;
  let n = 0;
  for (const command of passing(FLAT_COMMANDS + 400_000, () => engine.state.nextFill - 1)) {
    if (n++ === 400_000) before = used();
    engine.step(command);
  }
  return Math.round((used() - before) / 1e5) / 10;
}
