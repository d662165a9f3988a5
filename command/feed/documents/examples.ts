/**
 * An example of each message, for the documents: the messages of one short history, which the engine decides here, so
 * that digests and numbers are those of a real one.
 */
import { encodeCommand } from '../../../engine/run/new-record.js';
import type { Command, PlaceOrder } from '../../../engine/records/commands.js';
import { BUY, SELL, YES } from '../../../engine/records/fields.js';
import { createEngine } from '../../../engine/run/engine.js';
import { encodeMessage, type EncodedMessage, type SequencedMessage } from '../messages.js';
import { createSequencer, FEED_START } from '../sequence.js';
import { encodeSigned } from '../signed-fills.js';
import { MESSAGE_NAMES, type MessageName } from './schemas.js';

const bytes32 = (digits: string) => `0x${digits.repeat(32)}`;

const [chainId, marketId, txHash, at] = [31_337, bytes32('4d'), bytes32('7e'), 1_790_000_000_000];
const [alice, bob] = ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8', '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'];
const order = {
  marketId, outcome: YES, price: 520_000, expiration: '1798675200', signature: `${bytes32('11')}${'22'.repeat(32)}1b`, kind: 'PlaceOrder', v: 2,
} as const;

/** Bob offers ten shares, Alice buys six and then four; the chain settles the first fill and refuses the second. */
const COMMANDS: readonly Command[] = [
  {
    kind: 'OpenMarket', v: 3, at, marketId, question: 'Will total value locked in DeFi pass 200 billion dollars this year?', description: '',
    category: 'defi', contractAddress: '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0', maker: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
    expiration: 1_798_675_200, chainId, marketKind: 'standard', ifOver: 'close',
  },
  { ...order, at: at + 2_000, orderHash: bytes32('b0'), trader: bob, side: SELL, size: '10000000', nonce: '0' },
  { ...order, at: at + 4_000, orderHash: bytes32('a1'), trader: alice, side: BUY, size: '6000000', nonce: '0' },
  { ...order, at: at + 5_000, orderHash: bytes32('a2'), trader: alice, side: BUY, size: '4000000', nonce: '1' },
  { kind: 'SubmitSettlement', v: 1, at: at + 6_000, chainId, txHash, fills: [0, 1] },
  { kind: 'SettleFill', v: 1, at: at + 9_000, fill: 0, txHash, fact: { chainId, block: 118, logIndex: 4 } },
  {
    kind: 'FailFill', v: 2, countDefault: true, at: at + 9_000, fill: 1, txHash, reason: 'buyer_insufficient_balance', culprit: 'buyer',
    fact: { chainId, block: 118, logIndex: 5 },
  },
  { kind: 'AdvanceChain', v: 1, at: at + 10_000, chainId, block: 118, blockHash: bytes32('6b') },
];

/** All messages of the history, in its order. */
export function exampleMessages(): readonly SequencedMessage[] {
  const engine = createEngine();
  const sequencer = createSequencer(FEED_START);
  return COMMANDS.flatMap((command) => {
    const { position, outcome, digest } = engine.step(encodeCommand(command));
    return sequencer.take({ position, digest, ...outcome });
  });
}

/** A message as it is in its topic. */
export type EncodedExample = EncodedMessage & Pick<SequencedMessage, 'partition' | 'seq'>;

/** The first message of each kind as it is in its topic. */
export function encodedExamples(): Readonly<Record<MessageName, EncodedExample>> {
  const messages = exampleMessages();
  const orders = new Map(COMMANDS.flatMap((command, number): [number, PlaceOrder][] => command.kind === 'PlaceOrder' ? [[number, command]] : []));
  return Object.fromEntries(MESSAGE_NAMES.map((name) => {
    const type = name === 'FillMatchedV2' ? 'FillMatched' : name;
    const example = messages.find(({ message }) => message.type === type);
    if (example === undefined) throw new Error(`the history of the examples has no ${type}: let its commands cause one`);
    const { partition, seq } = example;
    return [name, { partition, seq, ...name === type ? encodeMessage(example) : encodeSigned(example, orders) }];
  })) as Record<MessageName, EncodedExample>;
}
