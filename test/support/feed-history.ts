/** Histories for tests of the fill feed and of reads: random ones with fills and chains' facts, ones that a test speaks, and digests as recorded. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { FillFeed } from '../../command/feed/fill-feed.js';
import { PARTITIONS, partitionOf, type FeedMessage, type SequencedMessage } from '../../command/feed/messages.js';
import type { PlacedOutcome, FeedBatch, FeedPosition } from '../../command/feed/sequence.js';
import type { NewRecord, Log, LogRecord, Stream } from '../../engine/log/log.js';
import { encodeCommand, encodeOutcome, recordId } from '../../engine/run/new-record.js';
import type { Event } from '../../engine/records/events.js';
import { createEngine } from '../../engine/run/engine.js';
import { createBell } from '../../engine/waiting.js';
import { newCommand } from './commands.js';
import { crowd, type RandomCommands } from './random-commands.js';
import { createChainCommands } from './random-facts.js';
import { address, bytes32 } from './scenario.js';

export interface FeedHistory {
  readonly outcomes: readonly PlacedOutcome[];
  /** Of the outcomes, in the same order. */
  readonly records: readonly NewRecord[];
  /** Of the commands, in the same order. */
  readonly commands: readonly NewRecord[];
}

/** The first `length` outcomes; by default of traders in few markets on several chains. */
export function feedHistory(seed: number, length: number, source?: RandomCommands): FeedHistory {
  if (source !== undefined) return createSource(source)(length);
  let first = known.get(seed);
  if (first === undefined) known.set(seed, first = createSource(createChainCommands(seed, { ...crowd, markets: 9 })));
  return first(length);
}

/** Of this process's tests: a scene per test begins with the same history. */
const known = new Map<number, (length: number) => FeedHistory>();

/** Gives the first outcomes, of which no more are made than were asked for. */
function createSource(source: RandomCommands): (length: number) => FeedHistory {
  const engine = createEngine();
  const outcomes: PlacedOutcome[] = [];
  const records: NewRecord[] = [];
  const commands: NewRecord[] = [];
  return (length) => {
    while (outcomes.length < length) {
      const data = encodeCommand(source.next());
      const { position, outcome, text, digest } = engine.step(data);
      source.learn(outcome);
      commands.push({ id: recordId(`command:${position}:test`), data });
      outcomes.push({ position, digest, ...outcome });
      records.push({ id: recordId(`outcome:${position}:test`), data: encodeOutcome(text, digest) });
    }
    return { outcomes: outcomes.slice(0, length), records: records.slice(0, length), commands: commands.slice(0, length) };
  };
}

interface SpokenFeed extends FillFeed {
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

interface Market {
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

export interface RecordedHistory extends Log {
  readonly records: Record<Stream, LogRecord[]>;
  readonly digests: readonly string[];
}

/** A log with so many outcomes, and as many commands or more; `padding` makes each outcome so much longer. */
export function recordedHistory(outcomes: number, commands = outcomes, padding = 0): RecordedHistory {
  const records: Record<Stream, LogRecord[]> = { commands: [], outcomes: [] };
  const digests: string[] = [];
  let digest = Buffer.alloc(32);
  for (let position = 0; position < commands; position++) {
    const command = encodeCommand(newCommand('AdvanceClock', { at: 1_000 + position }));
    records.commands.push({ position, id: recordId(String(position)), data: command });
    if (position >= outcomes) continue;
    const rejected: Event = { type: 'CommandRejected', v: 1, code: 'unknown_order', subject: `é ","digest" ${position}${' '.repeat(padding)}` };
    const text = JSON.stringify({ at: 1_000 + position, events: [rejected] });
    const length = Buffer.alloc(4);
    length.writeUInt32BE(command.length);
    digest = createHash('sha256').update(digest).update(length).update(command).update(text).digest();
    const recorded = `0x${digest.toString('hex')}`;
    digests.push(recorded);
    records.outcomes.push({ position, id: recordId(`outcome ${position}`), data: encodeOutcome(text, recorded) });
  }
  return {
    records, digests,
    length: (stream) => Promise.resolve(records[stream].length),
    read: (stream, from, limit) => Promise.resolve(records[stream].slice(from, from + limit)),
    append: () => assert.fail('a read appends nothing'),
    follow: () => assert.fail('a page needs no follower'),
    close: () => Promise.resolve(),
  };
}
