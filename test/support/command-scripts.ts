/** Short command histories made of small integers, so that fast-check can shrink a failing one to its core. */
import fc from 'fast-check';
import type { Command, PlaceOrder } from '../../engine/records/commands.js';
import { ALL_MARKETS, type ChainFact } from '../../engine/records/fields.js';
import { newCommand } from './commands.js';
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
  /** Index into `facts`. */
  readonly told: number;
  /** Index into `terms`. */
  readonly terms: number;
}

/** Around the edges of what orders of 60 s and the markets live. */
const waitsMs = [0, 0, 0, 0, 1, 999, -500, 20_000, 39_999, 40_000, 60_000, 300_000];
const sizes = ['1', '2', '3', '1000000', '18446744073709551615', '0'];

/** Mostly none. */
const terms: readonly Partial<PlaceOrder>[] = [
  {}, {}, {}, {}, {}, {}, { timeInForce: 'FOK' }, { timeInForce: 'FAK' }, { postOnly: true }, { selfTrade: 'cancel_newer' }, { notAfter: START_MS + 40_000 },
  { timeInForce: 'FOK', selfTrade: 'cancel_newer' }, { timeInForce: 'FAK', postOnly: true }, { postOnly: true, selfTrade: 'cancel_newer' },
];

/** Mostly none; two chains' first logs, in no order. */
const facts: readonly { readonly fact?: ChainFact }[] = [
  ...Array.from({ length: 48 }, () => ({})),
  ...[1, 2].flatMap((chainId) => [0, 1].flatMap((block) => [0, 1, 2].map((logIndex) => ({ fact: { chainId, block, logIndex } })))),
];
const orderKinds: Command['kind'][] = ['CancelOrder', 'SettleFill', 'AdvanceClock', 'OpenMarket'];
const chainKinds = [
  'AdvanceChain', 'CancelOrdersBelow', 'SubmitSettlement', 'RecordTransfer', 'RecordRedemption', 'RecordProposal', 'RecordDispute',
  'RecordRejection', 'ResolveMarket', 'HalveMarket', 'SyncPosition', 'PassOverAnchor',
] as const satisfies readonly Command['kind'][];
type ChainKind = (typeof chainKinds)[number];
const controlKinds = ['CancelOrders', 'CancelAll', 'CancelAfter', 'ReduceOrder'] as const satisfies readonly Command['kind'][];
type ControlKind = (typeof controlKinds)[number];
const relayKinds = ['RequestRelay', 'SubmitRelay', 'EndRelay'] as const satisfies readonly Command['kind'][];
type RelayKind = (typeof relayKinds)[number];

const step = fc.record<Step>({
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constant<Command['kind']>('PlaceOrder') }, { weight: 3, arbitrary: fc.constant<Command['kind']>('FailFill') },
    { weight: 2, arbitrary: fc.constantFrom(...orderKinds) }, { weight: 3, arbitrary: fc.constantFrom(...chainKinds) },
    { weight: 2, arbitrary: fc.constantFrom(...relayKinds) }, { weight: 4, arbitrary: fc.constantFrom(...controlKinds) }, { weight: 3, arbitrary: fc.constant<Command['kind']>('RecordPrice') },
  ),
  wait: fc.nat(waitsMs.length - 1), about: fc.nat(7), trader: fc.nat(2), side: fc.constantFrom(0, 1), price: fc.nat(3),
  size: fc.nat(sizes.length - 1), ttl: fc.nat(3), flag: fc.nat(11), told: fc.nat(facts.length - 1), terms: fc.nat(terms.length - 1),
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

function open(n: number, at: number, secondsAhead: number) {
  return newCommand('OpenMarket', {
    at, marketId: marketId(n), contractAddress: traderAddress(500 + n), maker: traderAddress(400),
    expiration: Math.floor(at / 1_000) + secondsAhead, chainId: 1 + (n % 2), tokens: { yes: token(n, 0), no: token(n, 1) },
  });
}

/** Starts some seconds before or after, and lasts 19, 20 or 40 s; a market that is over is taken or not. */
function openQuick({ about, price, flag, ttl }: Step, at: number): Command {
  const startTime = Math.floor(at / 10_000) * 10 + 10 * (flag - 7);
  return {
    ...open(about + 10, at, 0), expiration: startTime + [19, 20, 20, 40][price]!, marketKind: 'quick',
    quick: { asset: ttl === 0 ? 'ETH' : 'BTC', startTime },
  };
}

function token(market: number, outcome: number): string {
  return txHash(1_000 + 2 * market + outcome);
}

function commandOf(one: Step, at: number, before: readonly Command[]): Command {
  const { kind, about, trader, side, price, size, ttl, flag, told } = one;
  const fact = facts[told]!;
  const asked = terms[one.terms]!;
  const placed = before.filter((command) => command.kind === 'PlaceOrder');
  const earlier = placed.length === 0 ? undefined : placed[placed.length - 1 - (about % placed.length)];
  switch (kind) {
    case 'OpenMarket': return flag > 5 ? openQuick(one, at) : { ...open(about, at, 30 * flag), ...(flag === 5 ? { tokens: { yes: token(about, 0), no: token(0, 1) } } : {}), ...fact };
    case 'AdvanceClock': return newCommand(kind, { at });
    case 'SettleFill': return newCommand(kind, { at, fill: about, txHash: txHash(about), ...fact });
    case 'FailFill': return newCommand(kind, {
      at, fill: about, txHash: txHash(about), reason: failureReasons[flag]!, culprit: culprits[trader]!, countDefault: side === 0, ...fact,
    });
    case 'CancelOrder': return newCommand(kind, {
      at, orderHash: earlier?.orderHash ?? txHash(0), marketId: flag === 0 ? marketId(9) : earlier?.marketId ?? marketId(0),
      ...(flag === 1 ? { side } : {}), ...(flag < 4 ? { trader: traderAddress(trader) } : {}), ...fact,
    });
    case 'PlaceOrder': return flag === 0 && earlier !== undefined
      ? { ...earlier, at, ...asked }
      : newCommand(kind, {
          at, orderHash: txHash(before.length), marketId: marketId(about === 7 ? 1 : 0), trader: traderAddress(trader), side,
          outcome: flag === 11 ? 1 : 0, price: 499_999 + price, size: sizes[size]!, nonce: String(flag === 1 ? ttl : 1_000 + before.length),
          expiration: String(Math.floor(at / 1_000) + 59 + ttl), signature: `0x${'0'.repeat(130)}`, ...asked,
        });
    case 'RecordPrice': return newCommand(kind, {
      at, asset: 'BTC', source: `source${side}`, rank: side, price: String(1 + price), publishedAt: at + [-20_000, -5_000, 0, 1_001][ttl]!,
    });
    case 'CancelOrders': case 'CancelAll': case 'CancelAfter': case 'ReduceOrder': return controlCommandOf(one, kind, { at, placed });
    case 'RequestRelay': case 'SubmitRelay': case 'EndRelay': return relayCommandOf(one, kind, at);
    default: return chainCommandOf(one, kind, at);
  }
}

/** Deadlines are few and near, so that some have passed, and some are met again. */
function controlCommandOf(
  { about, trader, side, price, size, flag, ttl }: Step, kind: ControlKind, { at, placed }: { at: number; placed: readonly PlaceOrder[] },
): Command {
  const deadline = flag < 3 ? {} : { deadline: String(Math.floor(at / 20_000) * 20 + 20 * ttl) };
  const head = { at, ...deadline };
  const from = { ...head, chainId: flag === 11 ? 2 : 1, trader: traderAddress(trader) };
  const hashes = placed.map(({ orderHash }) => orderHash).reverse();
  switch (kind) {
    case 'CancelOrders': return newCommand(kind, { ...from, orderHashes: [...hashes.slice(about, about + 3), hashes[price] ?? txHash(0)] });
    case 'CancelAll': return newCommand(kind, { ...from, marketId: side === 0 ? ALL_MARKETS : marketId(about === 7 ? 9 : about % 2) });
    case 'CancelAfter': return newCommand(kind, { ...from, seconds: [0, 1, 20, 40][price] ?? 0 });
    case 'ReduceOrder': return newCommand(kind, {
      ...head, orderHash: hashes[about] ?? txHash(0), size: sizes[size] ?? '1', ...side === 0 ? {} : { trader: traderAddress(trader) },
    });
  }
}

/** Three requests, so that most are met again. */
function relayCommandOf({ about, trader, side, price, flag }: Step, kind: RelayKind, at: number): Command {
  const head = { at, requestId: txHash(about % 3), chainId: flag === 0 ? 3 : 1 };
  switch (kind) {
    case 'RequestRelay': return newCommand(kind, {
      ...head, action: price === 0 ? 'ctf-split' : 'batch-ctf-redemption', owner: traderAddress(trader),
      claims: Array.from({ length: price }, (_, n) => ({ marketId: marketId(n), payout: String(flag), winningOutcome: side })),
    });
    case 'SubmitRelay': return newCommand(kind, { ...head, txHash: txHash(flag) });
    case 'EndRelay': return newCommand(kind, {
      ...head, ...(price === 0 ? {} : { txHash: txHash(flag) }),
      results: side === 0 ? [{ succeeded: true }] : [{ succeeded: false, reason: 'x' }],
    });
  }
}

/** Orders have nonces below 4 and from 1,000 on: floors lie there too. */
function chainCommandOf(one: Step, kind: ChainKind, at: number): Command {
  const { about, trader, side, price, size, flag, told } = one;
  const head = { at };
  const market = { marketId: marketId(about % 3) };
  const chainId = 1 + side;
  const user = traderAddress(trader);
  const fact = facts[told]!;
  switch (kind) {
    case 'AdvanceChain': return newCommand(kind, { ...head, chainId, block: price, blockHash: txHash(about) });
    case 'CancelOrdersBelow':
      return newCommand(kind, { ...head, chainId, trader: user, belowNonce: String(flag < 6 ? flag : 1_000 + 5 * (flag - 6)), ...fact });
    case 'SubmitSettlement': return newCommand(kind, { ...head, chainId, txHash: txHash(about), fills: flag < 6 ? [about] : [about, price] });
    case 'RecordTransfer': {
      const items = [{ token: token(about % 3, side), amount: String(price) }, { token: token(about % 2, 1 - side), amount: String(flag) }];
      return newCommand(kind, {
        ...head, chainId, from: user, to: traderAddress(price), txHash: txHash(about), items: items.slice(flag % 2), ...fact,
      });
    }
    case 'RecordRedemption': return newCommand(kind, { ...head, ...market, user, payout: String(flag), txHash: txHash(about), ...fact });
    case 'RecordProposal': return newCommand(kind, {
      ...head, ...market, assertionId: txHash(about), proposer: user, outcome: side, bond: String(flag), assertionTime: 1,
      expirationTime: 2, ...fact,
    });
    case 'RecordDispute': return newCommand(kind, { ...head, ...market, assertionId: txHash(about), disputer: user, ...fact });
    case 'RecordRejection': return newCommand(kind, { ...head, ...market, assertionId: txHash(about), ...fact });
    case 'ResolveMarket': return newCommand(kind, { ...head, ...market, winningOutcome: side, ...fact });
    case 'HalveMarket': return newCommand(kind, { ...head, marketId: marketId(about + 10 * side), ...fact });
    case 'PassOverAnchor': return newCommand(kind, {
      ...head, chainId, txHash: txHash(about), position: sizes[size]!, digest: txHash(price), ...fact,
    });
    case 'SyncPosition': return newCommand(kind, { ...head, ...market, user, yesShares: String(price), noShares: String(flag), block: price });
  }
}
