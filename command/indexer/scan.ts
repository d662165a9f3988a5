/** Reads a chain's final blocks, one range after the other, into the history, and stops when the chain contradicts the history. */
import type { ChainCursor, EngineView } from '../../engine/run/view.js';
import { checkAnchors } from './checks/anchors.js';
import { checkFills } from './checks/fills.js';
import { readBlock, readRange, type BlockName } from '../chain/block-range.js';
import { ChainUnavailable, RpcError, type Chain, type Rpc } from '../chain/chain.js';
import { eventFilter } from './chain-events.js';
import type { FactWriter } from './fact-writer.js';
import { factsOf, type Fact, type Facts, type FactsContext } from './facts.js';
import { ForeignChain } from './foreign-chain.js';
import { gatherContradicted, type Contradicted } from './checks/resolutions.js';
import type { Report } from '../../engine/report.js';

export interface ScanOptions extends Pick<FactsContext, 'isKnownToken' | 'isKnownMarket'> {
  readonly chain: Chain;
  readonly rpc: Rpc;
  readonly cursor: () => ChainCursor | undefined;
  /** What the engine has matched and decided. */
  readonly view: Pick<EngineView, 'unsettledFill' | 'quickMarket'>;
  /** Resolves when `view` includes every command that was in the log at the call. */
  readonly caughtUp: () => Promise<void>;
  readonly writer: FactWriter;
  /** The digest of the history at a position, once the history has reached it; undefined when the history never will. */
  readonly digestAt: (position: number) => Promise<string | undefined>;
  readonly now: () => number;
  readonly report: Report;
  /** The most blocks per request. */
  readonly rangeBlocks: number;
  /** After this many blocks without facts, the history records how far the chain has been read. */
  readonly advanceEvery: number;
  /** The same by time, in milliseconds. */
  readonly advanceEveryMs: number;
}

export interface Scan {
  /** The number of the next block to read. */
  next(): number;
  /** The present number of blocks per request. */
  rangeBlocks(): number;
  /** The quick markets that the chain has resolved otherwise than the engine, since the start: a text each. */
  contradicted(): readonly string[];
  /** Reads one range, up to block `final` at most. Throws ForeignChain for good; after any other error another try can succeed. */
  readOn(final: number): Promise<void>;
  /** Records how far the chain has been read, unless the history has it. False while no block after the recorded facts is final. */
  advance(): Promise<boolean>;
}

/** A contradiction is believed only after this many looks in a row, since the next look may reach another node. */
const CONTRADICTIONS_TO_BELIEVE = 3;

/** A range with more events is read again in smaller ranges, so that it does not block the process or fill its memory. */
const MAX_EVENTS = 2_000;

/** After a range was halved, each successful read enlarges it by this part of the maximum. */
const GROWTH = 1 / 16;

export function createScan(options: ScanOptions): Scan {
  const { chain, rpc, cursor, writer, now, report, advanceEvery, advanceEveryMs } = options;
  const filter = eventFilter(chain.contracts);
  const size = createRangeSize(options.rangeBlocks);
  let advancedAtMs = now();
  /** The last block read, while it is ahead of the history's cursor: blocks without facts are not recorded one by one. */
  let ahead: BlockName | undefined;
  let contradictions = 0;
  const contradicted = gatherContradicted(options);

  const next = (): number => Math.max(chain.startBlock, cursor()?.nextBlock ?? 0, (ahead?.number ?? -1) + 1);

  /** Whether the chain still has the last block that was read, and therefore all blocks before it. */
  async function isSameChain(): Promise<boolean> {
    const { nextBlock = 0, block, blockHash } = cursor() ?? {};
    if (ahead !== undefined && ahead.number >= nextBlock) {
      const found = await readBlock(rpc, ahead.number);
      if (found === undefined) throw new ChainUnavailable(chain.chainId, `the node does not have block ${ahead.number}, which was read before`);
      if (found.hash === ahead.hash) return true;
      report('warn', `chain ${chain.chainId}: block ${ahead.number} changed although it was final; nothing of it was recorded, and reading starts `
      + `again at block ${nextBlock}: if this happens again, raise the chain's confirmations`);
      ahead = undefined;
      return false;
    }
    if (block === undefined || blockHash === undefined) return true;
    const found = await readBlock(rpc, block);
    if (found?.hash === blockHash) {
      contradictions = 0;
      return true;
    }
    contradictions += 1;
    throw contradiction(chain, { recorded: { number: block, hash: blockHash }, found, times: contradictions });
  }

  return {
    next,
    rangeBlocks: size.blocks,
    contradicted: contradicted.texts,
    async readOn(final) {
      if (!await isSameChain()) return;
      const from = next();
      const to = Math.min(final, from + size.blocks() - 1);
      const { events, end } = await readRange(rpc, filter, { from, to, confirmations: chain.confirmations }).catch((error: unknown) => {
        // Nodes limit ranges and results with different error texts, or do not answer in time.
        if (error instanceof RpcError || error instanceof ChainUnavailable) size.halve(to - from + 1);
        throw error;
      });
      if (events.length > MAX_EVENTS && to > from) {
        size.halve(to - from + 1);
        return;
      }
      const facts = await checkedFacts(factsOf(events, { ...options, at: now() }), options, contradicted);
      const since = cursor()?.nextBlock ?? chain.startBlock;
      if (facts.length > 0 || to + 1 - since >= advanceEvery || now() - advancedAtMs >= advanceEveryMs) {
        await writer.write(facts, end);
        advancedAtMs = now();
      }
      ahead = end;
      size.grow();
    },
    async advance() {
      const { nextBlock, nextLog, block } = cursor() ?? {};
      if (ahead === undefined || ahead.number < (nextBlock ?? 0)) return block !== undefined && nextLog === 0;
      await writer.write([], ahead);
      advancedAtMs = now();
      return true;
    },
  };
}

/** What the history is to record of a range, once all that can contradict the history is compared with it. Throws ForeignChain. */
async function checkedFacts(
  { anchors, facts, resolutions, alerts }: Facts, options: ScanOptions, contradicted: Contradicted,
): Promise<readonly Fact[]> {
  const passedOver = await checkAnchors(anchors, options);
  await contradicted.look({ facts, resolutions });
  // Last, since fills are matched meanwhile.
  const checked = await checkFills(facts, options);
  for (const alert of alerts) options.report('alert', alert);
  return inChainOrder([...passedOver, ...checked]);
}

function inChainOrder(facts: readonly Fact[]): readonly Fact[] {
  return [...facts].sort(({ command: { fact: a } }, { command: { fact: b } }) => a.block - b.block || a.logIndex - b.logIndex);
}

/** The error for a block that differs from the recorded one; `times` is how often in a row it did. ForeignChain once that is certain. */
function contradiction(
  chain: Chain, { recorded: { number, hash }, found, times }: { recorded: BlockName; found: BlockName | undefined; times: number },
): Error {
  const differs = `block ${number} ${found === undefined ? 'does not exist' : `has hash ${found.hash}`}, where the history recorded ${hash}`;
  if (found === undefined || times < CONTRADICTIONS_TO_BELIEVE) return new ChainUnavailable(chain.chainId, differs);
  return new ForeignChain(chain, differs,
    'Either the node serves another chain with the same id: correct the RPC URLs and restart. Or the chain was reset or reorganised deeper than its '
    + `${chain.confirmations} confirmations: bring back the chain's state that the history belongs to, or begin a new history with its own contracts.`);
}

/** How many blocks to ask for: halved after an error, then slowly increased to the maximum. */
function createRangeSize(most: number) {
  let blocks = most;
  return {
    blocks: () => blocks,
    halve(asked: number): void { blocks = Math.max(1, asked >> 1); },
    grow(): void { blocks = Math.min(most, blocks + Math.max(1, Math.floor(most * GROWTH))); },
  };
}
