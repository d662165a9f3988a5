/**
 * What a batch of the fill feed changes: which fills come and which end, how far each chain and each partition has got, and the watermark.
 * No input or output.
 */
import type { UnsettledFill } from '../../../engine/run/unsettled-fills.js';
import { BUY } from '../../../engine/records/fields.js';
import { PARTITIONS, type FillMatched } from '../../feed/messages.js';
import { partitionsAfter, type FeedBatch, type PartitionPosition } from '../../feed/sequence.js';

/** The last block of a chain of which a partition has had all messages. */
export interface Barrier {
  readonly block: number;
  readonly blockHash: string;
}

/** How much of the feed has come, apart from the fills themselves. */
export interface Taken {
  readonly partitions: readonly PartitionPosition[];
  /** Fill numbers are dense over all markets and chains. All below this one have come, whichever partition is slow. */
  readonly watermark: number;
  /**
   * The fills from the watermark on that have come; undefined for one that has ended as well. While a partition is slow there are very many,
   * so a batch changes them in place.
   */
  readonly ahead: Map<number, UnsettledFill | undefined>;
  /** By chain id, then by partition. */
  readonly barriers: ReadonlyMap<number, readonly (Barrier | undefined)[]>;
  /** The place of the newest message; undefined before the first. */
  readonly newest: { readonly position: number; readonly digest: string } | undefined;
}

export interface MatchedFill {
  readonly fill: UnsettledFill;
  /** It has ended in the same batch, and stays because the watermark has not passed it. */
  readonly ended: boolean;
}

/** What is written in one transaction. */
export interface Changes {
  readonly after: Omit<Taken, 'ahead'>;
  /** What comes to those ahead, or changes there. */
  readonly ahead: ReadonlyMap<number, UnsettledFill | undefined>;
  readonly moved: readonly (PartitionPosition & { readonly partition: number; readonly expected: number })[];
  readonly opened: readonly { readonly marketId: string; readonly chainId: number }[];
  readonly matched: readonly MatchedFill[];
  /** Fills of earlier batches that have ended before the watermark has passed them. */
  readonly ended: readonly number[];
  /** Fills of earlier batches that have ended and are below the watermark. */
  readonly dropped: readonly number[];
  readonly advanced: readonly (Barrier & { readonly chainId: number; readonly partition: number })[];
  /** The unsettled fills that the watermark has passed, in the order of their numbers. */
  readonly passed: readonly UnsettledFill[];
}

/** Changes nothing that it is given. Throws an error when the batch is not what follows in each partition. */
export function changesOf(before: Taken, batch: FeedBatch): Changes {
  const partitions = partitionsAfter(before.partitions, batch);
  const came = new Map<number, UnsettledFill>();
  const ended = new Set<number>();
  const opened: { marketId: string; chainId: number }[] = [];
  const barriers = new Map([...before.barriers].map(([chainId, each]) => [chainId, [...each]]));
  const advanced = new Map<string, Changes['advanced'][number]>();
  let { newest } = before;
  for (const { partition, message, digest } of batch.messages) {
    const { position } = message;
    if (newest === undefined || position >= newest.position) newest = { position, digest };
    switch (message.type) {
      case 'MarketOpened': opened.push({ marketId: message.marketId, chainId: message.chainId }); break;
      case 'FillMatched': came.set(message.fill, unsettledFillOf(message)); break;
      case 'FillSettled':
      case 'FillFailed': ended.add(message.fill); break;
      case 'ChainAdvanced': {
        const { chainId, block, blockHash } = message;
        if (!barriers.has(chainId)) barriers.set(chainId, new Array<Barrier | undefined>(PARTITIONS).fill(undefined));
        barriers.get(chainId)?.splice(partition, 1, { block, blockHash });
        advanced.set(`${chainId}:${partition}`, { chainId, partition, block, blockHash });
      }
    }
  }
  const { watermark, ahead, passed, over } = passOn(before, { came, ended });
  const isAhead = (fill: number): boolean => fill >= watermark;
  const earlier = [...ended].filter((fill) => !came.has(fill));
  return {
    after: { partitions, watermark, barriers, newest }, ahead,
    moved: partitions.flatMap((at, partition) => {
      const expected = before.partitions[partition]?.nextSeq ?? 0;
      return at === before.partitions[partition] ? [] : [{ ...at, partition, expected }];
    }),
    opened, matched: [...came].flatMap(([fill, each]) => !ended.has(fill) || isAhead(fill) ? [{ fill: each, ended: ended.has(fill) }] : []),
    ended: earlier.filter(isAhead), dropped: [...earlier.filter((fill) => !isAhead(fill)), ...over], advanced: [...advanced.values()], passed,
  };
}

/** What has come after the changes to `before`, which is not to be used any more. */
export function takenAfter({ ahead, ...before }: Taken, { after, ...changes }: Changes): Taken {
  for (let fill = before.watermark; fill < after.watermark; fill++) ahead.delete(fill);
  for (const [fill, each] of changes.ahead) ahead.set(fill, each);
  return { ...after, ahead };
}

/** Moves the watermark over all fills that have come without a gap; `over` are those of them that had ended in an earlier batch. */
function passOn(before: Taken, { came, ended }: { came: ReadonlyMap<number, UnsettledFill>; ended: ReadonlySet<number> }) {
  const ahead = new Map<number, UnsettledFill | undefined>(came);
  for (const fill of ended) if (came.has(fill) || before.ahead.has(fill)) ahead.set(fill, undefined);
  const passed: UnsettledFill[] = [];
  const over: number[] = [];
  let { watermark } = before;
  for (; ahead.has(watermark) || before.ahead.has(watermark); watermark++) {
    const fill = (ahead.has(watermark) ? ahead : before.ahead).get(watermark);
    if (fill !== undefined) passed.push(fill);
    else if (before.ahead.has(watermark) && before.ahead.get(watermark) === undefined) over.push(watermark);
    ahead.delete(watermark);
  }
  return { watermark, ahead, passed, over };
}

/** The last block of which every partition has had all messages; undefined while one has had none. */
export function leastBarrier(barriers: readonly (Barrier | undefined)[] | undefined): Barrier | undefined {
  return barriers?.reduce((least, each) => least === undefined || each === undefined ? undefined : each.block < least.block ? each : least);
}

function unsettledFillOf(matched: FillMatched): UnsettledFill {
  const { fill, marketId, chainId, outcome, price, size, cost, takerSide, makerNumber, takerNumber, buyer, seller } = matched;
  const [buyNumber, sellNumber] = takerSide === BUY ? [takerNumber, makerNumber] : [makerNumber, takerNumber];
  return { fill, marketId, chainId, outcome, price, size: BigInt(size), cost: BigInt(cost), buyNumber, sellNumber, buyer, seller };
}
