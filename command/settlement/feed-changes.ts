/**
 * What a batch of the fill feed changes: which fills come and which end, how far each chain and each partition has got,
 * and the watermark. No input or output.
 */
import { BUY } from '../../engine/records/fields.js';
import { PARTITIONS, type FillMatchedMessage } from '../feed/messages.js';
import { partitionsAfter, type FeedBatch, type PartitionPosition } from '../feed/sequence.js';

/** The last block of a chain of which a partition has had all messages. */
export interface Barrier {
  readonly block: number;
  readonly blockHash: string;
}

/** The number of a fill, on its chain. */
export interface FillKey {
  readonly chainId: number;
  readonly fill: number;
}

/** What settlement needs of a fill. */
export interface FillToSettle extends FillKey {
  /** In ticks of 1e-6. */
  readonly price: number;
  /** In 1e-6 shares. */
  readonly size: bigint;
  /** The orders' numbers: the log positions of their PlaceOrder commands. */
  readonly buyNumber: number;
  readonly sellNumber: number;
}

/** How much of the feed is in the tables, apart from the fills themselves. */
export interface FeedProgress {
  readonly partitions: readonly PartitionPosition[];
  /** Fill numbers are dense over all markets and chains. All below this one have come, whichever partition is slow. */
  readonly watermark: number;
  /**
   * The fills from the watermark on that have come, and whether they have ended as well. While a partition is slow
   * there are very many, so a batch changes them in place.
   */
  readonly ahead: Map<number, FillKey & { readonly ended: boolean }>;
  /** By chain id, then by partition. */
  readonly barriers: ReadonlyMap<number, readonly (Barrier | undefined)[]>;
  /** The place of the newest message; undefined before the first. */
  readonly newest: { readonly position: number; readonly digest: string } | undefined;
}

/** What is written in one statement. */
export interface FeedChanges {
  readonly after: Omit<FeedProgress, 'ahead'>;
  /** What comes to those ahead, or changes there. */
  readonly ahead: FeedProgress['ahead'];
  readonly moved: readonly (PartitionPosition & { readonly partition: number; readonly expected: number })[];
  readonly opened: readonly { readonly marketId: string; readonly chainId: number }[];
  /** `ended`: it has ended in the same batch, and stays because the watermark has not passed it. */
  readonly matched: readonly (FillToSettle & { readonly ended: boolean })[];
  /** Fills of earlier batches that have ended before the watermark has passed them. */
  readonly ended: readonly FillKey[];
  /** Fills of earlier batches that have ended and are below the watermark. */
  readonly dropped: readonly FillKey[];
  readonly advanced: readonly (Barrier & { readonly chainId: number; readonly partition: number })[];
}

/** Changes nothing that it is given. Throws an error when the batch is not what follows in each partition. */
export function changesOf(before: FeedProgress, batch: FeedBatch): FeedChanges {
  const partitions = partitionsAfter(before.partitions, batch);
  const came = new Map<number, FillToSettle>();
  const ended = new Map<number, FillKey>();
  const opened: { marketId: string; chainId: number }[] = [];
  const barriers = new Map([...before.barriers].map(([chainId, each]) => [chainId, [...each]]));
  const advanced = new Map<string, FeedChanges['advanced'][number]>();
  let { newest } = before;
  for (const { partition, message, digest } of batch.messages) {
    const { position, chainId } = message;
    if (newest === undefined || position >= newest.position) newest = { position, digest };
    switch (message.type) {
      case 'MarketOpened': opened.push({ marketId: message.marketId, chainId }); break;
      case 'FillMatched': came.set(message.fill, matchedFill(message)); break;
      case 'FillSettled':
      case 'FillFailed': ended.set(message.fill, { chainId, fill: message.fill }); break;
      case 'ChainAdvanced': {
        const { block, blockHash } = message;
        if (!barriers.has(chainId)) barriers.set(chainId, new Array<Barrier | undefined>(PARTITIONS).fill(undefined));
        barriers.get(chainId)?.splice(partition, 1, { block, blockHash });
        advanced.set(`${chainId}:${partition}`, { chainId, partition, block, blockHash });
      }
    }
  }
  const { watermark, ahead, over } = passOn(before, { came, ended });
  const isAhead = ({ fill }: FillKey): boolean => fill >= watermark;
  const earlier = [...ended.values()].filter(({ fill }) => !came.has(fill));
  return {
    after: { partitions, watermark, barriers, newest }, ahead,
    moved: partitions.flatMap((at, partition) => {
      const expected = before.partitions[partition]?.nextSeq ?? 0;
      return at === before.partitions[partition] ? [] : [{ ...at, partition, expected }];
    }),
    opened, matched: [...came.values()].map((each) => ({ ...each, ended: ended.has(each.fill) }))
      .filter((each) => !each.ended || isAhead(each)),
    ended: earlier.filter(isAhead), dropped: [...earlier.filter((each) => !isAhead(each)), ...over],
    advanced: [...advanced.values()],
  };
}

/** The progress after the changes. Reuses `before`; the caller must drop it. */
export function progressAfter({ ahead, ...before }: FeedProgress, { after, ...changes }: FeedChanges): FeedProgress {
  for (let fill = before.watermark; fill < after.watermark; fill++) ahead.delete(fill);
  for (const [fill, each] of changes.ahead) ahead.set(fill, each);
  return { ...after, ahead };
}

/**
 * Moves the watermark over all fills that have come without a gap; `over` are those of them that had ended in an
 * earlier batch.
 */
function passOn(
  before: FeedProgress,
  { came, ended }: { came: ReadonlyMap<number, FillToSettle>; ended: ReadonlyMap<number, FillKey> },
) {
  const ahead: FeedProgress['ahead'] = new Map([...came].map(([fill, { chainId }]) => [fill, { chainId, fill, ended: false }]));
  for (const [fill, key] of ended) if (came.has(fill) || before.ahead.has(fill)) ahead.set(fill, { ...key, ended: true });
  const over: FillKey[] = [];
  let { watermark } = before;
  for (; ahead.has(watermark) || before.ahead.has(watermark); watermark++) {
    const earlier = before.ahead.get(watermark);
    if (earlier?.ended === true) over.push(earlier);
    ahead.delete(watermark);
  }
  return { watermark, ahead, over };
}

/** The last block of which every partition has had all messages; undefined while one has had none. */
export function leastBarrier(barriers: readonly (Barrier | undefined)[] | undefined): Barrier | undefined {
  return barriers?.reduce((least, each) => (
    least === undefined || each === undefined ? undefined : each.block < least.block ? each : least));
}

function matchedFill({
  fill, chainId, price, size, takerSide, makerNumber, takerNumber,
}: FillMatchedMessage): FillToSettle {
  const [buyNumber, sellNumber] = takerSide === BUY ? [takerNumber, makerNumber] : [makerNumber, takerNumber];
  return { fill, chainId, price, size: BigInt(size), buyNumber, sellNumber };
}
