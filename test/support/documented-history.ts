/** The short history whose messages the documents of the fill feed show: Alice buys YES from Bob twice, and the chain refuses the second fill. */
import { encodeCommand } from '../../engine/records/codec.js';
import type { Command, PlaceOrder } from '../../engine/records/commands.js';
import { BUY, SELL, YES } from '../../engine/records/fields.js';
import { createEngine } from '../../engine/run/engine.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import type { SequencedMessage } from '../../command/feed/messages.js';
import { alice, bob, contractAddress, expiration, maker, marketId, placedAt, question, signature, txHash } from '../../service/api/examples.js';

const chainId = 31_337;
const market = { marketId, question, description: '', category: 'defi', contractAddress, maker, expiration, chainId, marketKind: 'standard', ifOver: 'close' } as const;
const order = { marketId, outcome: YES, price: 520_000, expiration: String(expiration), signature, kind: 'PlaceOrder', v: 1 } as const;
const hash = (digits: string) => `0x${digits.repeat(32)}`;

const COMMANDS: readonly Command[] = [
  { kind: 'OpenMarket', v: 3, at: placedAt * 1_000, ...market },
  { ...order, at: placedAt * 1_000 + 2_000, orderHash: hash('b0'), trader: bob, side: SELL, size: '10000000', nonce: '0' },
  { ...order, at: placedAt * 1_000 + 4_000, orderHash: hash('a1'), trader: alice, side: BUY, size: '6000000', nonce: '0' },
  { ...order, at: placedAt * 1_000 + 5_000, orderHash: hash('a2'), trader: alice, side: BUY, size: '4000000', nonce: '1' },
  { kind: 'SubmitSettlement', v: 1, at: placedAt * 1_000 + 6_000, chainId, txHash, fills: [0, 1] },
  { kind: 'SettleFill', v: 1, at: placedAt * 1_000 + 9_000, fill: 0, txHash, fact: { chainId, block: 118, logIndex: 4 } },
  {
    kind: 'FailFill', v: 2, countDefault: true, at: placedAt * 1_000 + 9_000, fill: 1, txHash, reason: 'buyer_insufficient_balance', culprit: 'buyer',
    fact: { chainId, block: 118, logIndex: 5 },
  },
  { kind: 'AdvanceChain', v: 1, at: placedAt * 1_000 + 10_000, chainId, block: 118, blockHash: hash('6b') },
];

/** All messages of the history. */
export function documentedMessages(): SequencedMessage[] {
  const engine = createEngine();
  const sequencer = createSequencer(FEED_START);
  return COMMANDS.flatMap((command) => {
    const { position, outcome, digest } = engine.step(encodeCommand(command));
    return sequencer.take({ position, digest, ...outcome });
  });
}

/** Its orders, each with its number. */
export function documentedOrders(): readonly (readonly [number, PlaceOrder])[] {
  return COMMANDS.flatMap((command, number) => command.kind === 'PlaceOrder' ? [[number, command] as const] : []);
}
