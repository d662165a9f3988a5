/** A fill feed that a test speaks: it gives what the test says, from wherever it is followed. */
import { createBell } from '../../engine/waiting.js';
import type { FillFeed } from '../../command/feed/fill-feed.js';
import type { FeedMessage, SequencedMessage } from '../../command/feed/messages.js';
import { PARTITIONS, partitionOf } from '../../command/feed/messages.js';
import type { FeedBatch, FeedPosition } from '../../command/feed/sequence.js';
import { address, bytes32 } from './scenario.js';

export interface SpokenFeed extends FillFeed {
  /** Gives these messages as one batch to all followers that have not had them. */
  say(messages: readonly SequencedMessage[], reached?: number): void;
  /** The positions from which it was followed. */
  readonly followed: FeedPosition[];
}

/** Each follower gets the batches that were said, without what it has had. */
export function spokenFeed(): SpokenFeed {
  const batches: FeedBatch[] = [];
  const bell = createBell();
  const followed: FeedPosition[] = [];
  return {
    followed,
    say(messages, reached) {
      batches.push({ messages, ...reached === undefined ? {} : { reached } });
      bell.ring();
    },
    async* follow(from, signal) {
      followed.push({ partitions: from.partitions, markets: new Map(from.markets) });
      for (let next = 0; !signal.aborted;) {
        const batch = batches[next];
        if (batch === undefined) {
          await bell.wait(signal, 3_600_000);
          continue;
        }
        next += 1;
        yield { ...batch, messages: batch.messages.filter(({ partition, seq }) => seq >= (from.partitions[partition]?.nextSeq ?? 0)) };
      }
    },
  };
}

/** Numbers messages in the order in which a history has them, one outcome each. */
export function createHistory() {
  const nextSeqs = new Array<number>(PARTITIONS).fill(0);
  let [position, nextFill] = [0, 0];
  const place = (partition: number, message: FeedMessage): SequencedMessage => {
    const seq = nextSeqs[partition] ?? 0;
    nextSeqs[partition] = seq + 1;
    return { partition, seq, message, digest: digestAt(message.position) };
  };
  const head = () => ({ v: 1, position: position++, at: 1_700_000_000_000 }) as const;
  const fields = (fill: number, market: Market) => ({
    fill, ...market, outcome: fill % 2 as 0 | 1, price: 500_000, size: '18446744073709551615', cost: '9223372036854775808', takerSide: fill % 2 as 0 | 1,
    makerNumber: 2 * fill, takerNumber: 2 * fill + 1, buyer: address('b'), seller: address('s'),
  });
  return {
    length: () => position,
    opened: ({ marketId, chainId }: Market) => place(partitionOf(marketId), {
      type: 'MarketOpened', ...head(), marketId, chainId, contractAddress: address('c'), maker: address('m'), expiration: 1_800_000_000, marketKind: 'standard',
    }),
    matched: (market: Market) => place(partitionOf(market.marketId), { type: 'FillMatched', ...head(), ...fields(nextFill++, market) }),
    settled: (fill: number, market: Market) => (
      place(partitionOf(market.marketId), { type: 'FillSettled', ...head(), ...fields(fill, market), txHash: bytes32('tx') })),
    failed: (fill: number, market: Market) => place(partitionOf(market.marketId), {
      type: 'FillFailed', ...head(), ...fields(fill, market), txHash: bytes32('tx'), reason: 'unknown', culprit: 'both',
    }),
    /** The barrier in every partition. */
    advanced(chainId: number, block: number) {
      const message = { type: 'ChainAdvanced', ...head(), chainId, block, blockHash: bytes32(`block ${block}`) } as const;
      return Array.from({ length: PARTITIONS }, (_, partition) => place(partition, message));
    },
  };
}

export interface Market {
  readonly marketId: string;
  readonly chainId: number;
}

/** A market whose messages are in this partition. */
export function marketIn(partition: number, chainId = 1): Market {
  return { marketId: `${bytes32(`market on ${chainId}`).slice(0, -1)}${partition}`, chainId };
}

export function digestAt(position: number): string {
  return `0x${position.toString(16).padStart(64, '0')}`;
}
