/** Reads a chain's final blocks one range after the other into the history, and refuses to go on with a chain that is another one. */
import type { ChainCursor } from '../../engine/run/view.js';
import { readBlock, readRange, type BlockName } from './block-range.js';
import { ChainUnavailable, RpcError, type Chain, type Rpc } from '../chain/chain.js';
import { logFilter } from './chain-events.js';
import type { FactWriter } from './fact-writer.js';
import { factsOf, type Anchor, type FactsContext } from './facts.js';
import type { Report } from '../chain/report.js';

export interface ScanOptions extends Pick<FactsContext, 'isKnownToken' | 'isKnownMarket'> {
  readonly chain: Chain;
  readonly rpc: Rpc;
  readonly cursor: () => ChainCursor | undefined;
  readonly writer: FactWriter;
  /** The digest of the history at a position, once the history has got there; undefined where it never will. */
  readonly digestAt: (position: number) => Promise<string | undefined>;
  readonly now: () => number;
  readonly report: Report;
  /** The most blocks that are asked for at once. */
  readonly rangeBlocks: number;
  /** Blocks without facts, and milliseconds of them, after which the history is told how far the chain has been read. */
  readonly advanceEvery: number;
  readonly advanceEveryMs: number;
}

export interface Scan {
  /** The block that is to be read next. */
  next(): number;
  /** How many blocks are asked for at present. */
  rangeBlocks(): number;
  /** Reads a range that ends at `final` or before. Throws ForeignChain; other errors are for another try. */
  readOn(final: number): Promise<void>;
  /** Tells the history how far the chain has been read, unless it knows. False while no block after the recorded facts is final. */
  advance(): Promise<boolean>;
}

/** The chain contradicts the history. Nothing that was recorded is ever rewritten, so nothing more can be recorded. */
export class ForeignChain extends Error {
  constructor({ chainId }: Chain, what: string, remedy: string) {
    super(`chain ${chainId} contradicts the history: ${what}. Nothing was rewritten, and nothing more of this chain is recorded. ${remedy}`);
    this.name = 'ForeignChain';
  }
}

/** Another node may be asked next: a contradiction must come up this often in a row before it is believed. */
const CONTRADICTIONS_TO_BELIEVE = 3;

/** More logs are asked for again in smaller ranges, so that no range holds up the process or fills its memory. */
const MAX_LOGS = 2_000;

/** A range that was cut in half for an error grows back by this part of the most blocks with every range that is read. */
const GROWTH = 1 / 16;

export function createScan(options: ScanOptions): Scan {
  const { chain, rpc, cursor, writer, now, report, advanceEvery, advanceEveryMs } = options;
  const filter = logFilter(chain.contracts);
  const size = createRangeSize(options.rangeBlocks);
  let advancedAtMs = now();
  /** The last block read, as long as it is ahead of the history's: blocks without facts are not recorded one by one. */
  let ahead: BlockName | undefined;
  let contradictions = 0;

  const next = (): number => Math.max(chain.startBlock, cursor()?.nextBlock ?? 0, (ahead?.number ?? -1) + 1);

  /** Whether the chain still has the block that was read last, and so all blocks before it. */
  async function isSameChain(): Promise<boolean> {
    const { nextBlock = 0, block, blockHash } = cursor() ?? {};
    if (ahead !== undefined && ahead.number >= nextBlock) {
      const found = await readBlock(rpc, ahead.number);
      if (found === undefined) throw new ChainUnavailable(chain.chainId, `the node does not have block ${ahead.number}, which was read before`);
      if (found.hash === ahead.hash) return true;
      report('trouble', `chain ${chain.chainId}: block ${ahead.number} changed although it was final; nothing was recorded of it, reading starts again`
      + ` at block ${nextBlock}: if this happens again, raise the chain's confirmations`);
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
    async readOn(final) {
      if (!await isSameChain()) return;
      const from = next();
      const to = Math.min(final, from + size.blocks() - 1);
      const { logs, end } = await readRange(rpc, filter, { from, to }).catch((error: unknown) => {
        // Nodes limit ranges and results in words of their own, or by giving no answer in time.
        if (error instanceof RpcError || error instanceof ChainUnavailable) size.halve(to - from + 1);
        throw error;
      });
      if (logs.length > MAX_LOGS && to > from) {
        size.halve(to - from + 1);
        return;
      }
      const { facts, anchors, alarms } = factsOf(logs, { ...options, at: now() });
      for (const anchor of anchors) await checkAnchor(options, anchor);
      for (const alarm of alarms) report('alarm', alarm);
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

async function checkAnchor({ chain, digestAt }: ScanOptions, { position, digest, txHash }: Anchor): Promise<void> {
  const known = position <= BigInt(Number.MAX_SAFE_INTEGER) ? await digestAt(Number(position)) : undefined;
  if (known === digest) return;
  throw new ForeignChain(chain, `transaction ${txHash} anchors digest ${digest} at position ${position}, where the history has ${known ?? 'nothing'}`,
    'The contracts have settled for another history: give this one contracts of its own (a new chain state, or other addresses), or restore the history '
    + 'that belongs to them.');
}

/** What to make of a block that is not the recorded one, found so many times in a row. */
function contradiction(
  chain: Chain, { recorded: { number, hash }, found, times }: { recorded: BlockName; found: BlockName | undefined; times: number },
): Error {
  const differs = `block ${number} ${found === undefined ? 'is not there' : `has hash ${found.hash}`}, where the history recorded ${hash}`;
  if (found === undefined || times < CONTRADICTIONS_TO_BELIEVE) return new ChainUnavailable(chain.chainId, differs);
  return new ForeignChain(chain, differs,
    `Either the node serves another chain of that id: correct the RPC URLs and restart. Or the chain was reset or reorganised deeper than its `
    + `${chain.confirmations} confirmations: bring back the chain's state that the history belongs to, or begin a new history on contracts of its own.`);
}

/** How many blocks to ask for: half after an error, then slowly more again. */
function createRangeSize(most: number) {
  let blocks = most;
  return {
    blocks: () => blocks,
    halve(asked: number): void { blocks = Math.max(1, asked >> 1); },
    grow(): void { blocks = Math.min(most, blocks + Math.max(1, Math.floor(most * GROWTH))); },
  };
}
