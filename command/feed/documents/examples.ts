/** An example of each message, for the documents. They are of one short history, in which Alice buys YES from Bob twice, and a fill fails. */
import type { PlaceOrder } from '../../../engine/records/commands.js';
import { encodeMessage, type EncodedMessage, type SequencedMessage } from '../messages.js';
import { encodeSigned } from '../signed-fills.js';
import type { MessageName, MessageType } from './schemas.js';

const chainId = 31_337;
const marketId = `0x${'4d'.repeat(32)}`;
const txHash = `0x${'7e'.repeat(32)}`;
const traders = { buyer: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', seller: '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc' };
const trade = { marketId, outcome: 0, price: 520_000, takerSide: 0, makerNumber: 1, ...traders } as const;
const first = { chainId, fill: 0, ...trade, size: '6000000', cost: '3120000', takerNumber: 2 } as const;
const second = { chainId, fill: 1, ...trade, size: '4000000', cost: '2080000', takerNumber: 3 } as const;

export const examples = {
  MarketOpened: {
    partition: 5, seq: 0, digest: '0xd648b3cf8d45247280d3616433757511c966fb70e17207349d859b522bc1bcaf',
    message: {
      type: 'MarketOpened', v: 1, position: 0, at: 1_790_000_000_000, chainId, marketId, contractAddress: '0x9fe46736679d2d9a65f0992f2272de9f3c7fa6e0',
      maker: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', expiration: 1_798_675_200, marketKind: 'standard',
    },
  },
  FillMatched: {
    partition: 5, seq: 1, digest: '0x27b88a874082456896f7078b7a32334e49ee32fe2947360db6382933fbbbea09',
    message: { type: 'FillMatched', v: 1, position: 2, at: 1_790_000_004_000, ...first },
  },
  FillSettled: {
    partition: 5, seq: 3, digest: '0x224396161cba605ed3bb85abcf22451687651d6d05c3443f4c457e336afdc64f',
    message: { type: 'FillSettled', v: 1, position: 5, at: 1_790_000_009_000, ...first, txHash },
  },
  FillFailed: {
    partition: 5, seq: 4, digest: '0xe2361d48a2991f552079a1ae784d75792ad3c3c718f03aab63d61caf308a2eb2',
    message: {
      type: 'FillFailed', v: 1, position: 6, at: 1_790_000_009_000, ...second, txHash, reason: 'buyer_insufficient_balance', culprit: 'buyer',
    },
  },
  ChainAdvanced: {
    partition: 0, seq: 0, digest: '0xd9b44f68066d88342211143e832a99ec424372731e405696b06901918499b91b',
    message: { type: 'ChainAdvanced', v: 1, position: 7, at: 1_790_000_010_000, chainId, block: 118, blockHash: `0x${'6b'.repeat(32)}` },
  },
} as const satisfies Record<MessageType, SequencedMessage>;

const order = { kind: 'PlaceOrder', v: 2, marketId, outcome: 0, price: 520_000, expiration: '1798675200', signature: `0x${'11'.repeat(32)}${'22'.repeat(32)}1b` } as const;

/** The orders of the first fill, by their numbers. */
export const exampleOrders: ReadonlyMap<number, PlaceOrder> = new Map([
  [1, { ...order, at: 1_790_000_002_000, orderHash: `0x${'b0'.repeat(32)}`, trader: traders.seller, side: 1, size: '10000000', nonce: '0' }],
  [2, { ...order, at: 1_790_000_004_000, orderHash: `0x${'a1'.repeat(32)}`, trader: traders.buyer, side: 0, size: '6000000', nonce: '0' }],
]);

/** The example as it is in its topic. */
export function encodedExample(name: MessageName): EncodedMessage & Pick<SequencedMessage, 'partition' | 'seq'> {
  const example: SequencedMessage = examples[name === 'FillMatched.v2' ? 'FillMatched' : name];
  const { partition, seq } = example;
  return { partition, seq, ...name === 'FillMatched.v2' ? encodeSigned(example, exampleOrders) : encodeMessage(example) };
}
