/** What an audit asks a chain's nodes, again and again where they fail. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChainLog, ContractCall } from '../../../command/chain/abi.js';
import { ChainUnavailable, RpcError, type Chain, type Rpc } from '../../../command/chain/chain.js';
import { createChainReads, type ChainReads } from '../../../command/chain/chain-reads.js';
import { InconsistentAnswer, readBlock, readLatest, readRange, type BlockName, type RawChainEvent } from '../../../command/chain/block-range.js';
import { eventFilter } from '../../../command/indexer/chain-events.js';
import { CannotAudit, Differs, type Difference } from '../difference.js';
import type { RelayReads } from './ended-relays.js';
import type { BalanceReads } from './synced-positions.js';

export interface ChainReader extends BalanceReads, Omit<RelayReads, 'tokensOf'> {
  /** The events of as many blocks from `from` on as a node gives at once, `to` at most. */
  range(from: number, to: number): Promise<{ readonly events: readonly RawChainEvent[]; readonly end: BlockName }>;
  /** Throws Differs when the chain does not have the block for certain; InconsistentAnswer would come from a node that is behind. */
  contradiction(block: BlockName, position: number): Promise<void>;
}

export interface ReaderOptions {
  readonly chain: Chain;
  readonly rpc: Rpc;
  /** The most blocks per request. */
  readonly rangeBlocks?: number;
  /** How long a node may fail. Default 60 s. */
  readonly patienceMs?: number | undefined;
}

const RANGE_BLOCKS = 2_000;
const CONTRADICTIONS_TO_BELIEVE = 3;

/** Asks for as many blocks at once as a node gives. */
function createPieces({ chain, rangeBlocks = RANGE_BLOCKS, patienceMs }: ReaderOptions) {
  let size = rangeBlocks;
  return async function piece<T>(from: number, to: number, read: (until: number) => Promise<T>) {
    return await patiently(chain, patienceMs, async (): Promise<{ readonly found: T; readonly until: number }> => {
      const until = Math.min(to, from + size - 1);
      try {
        const found = await read(until);
        size = Math.min(rangeBlocks, size + Math.max(1, rangeBlocks >> 4));
        return { found, until };
      } catch (error) {
        // Nodes limit ranges and results with different error texts, or do not answer in time.
        if (!(error instanceof InconsistentAnswer)) size = Math.max(1, (until - from + 1) >> 1);
        throw error;
      }
    });
  };
}

/** All methods throw CannotAudit when the nodes fail for too long. */
export function createChainReader(options: ReaderOptions): ChainReader {
  const { chain, rpc, patienceMs } = options;
  const filter = eventFilter(chain.contracts);
  const reads = createChainReads(chain, rpc);
  const piece = createPieces(options);
  const markets = new Map<string, string | undefined>();
  const ask = <T>(work: () => Promise<T>): Promise<T> => patiently(chain, patienceMs, work);
  const { confirmations } = chain;
  const range = async (from: number, to: number) => (
    (await piece(from, to, (until) => readRange(rpc, filter, { from, to: until, confirmations }))).found);
  const state = <T>(question: (from: Pick<ChainReads, 'views' | 'logs'>) => Promise<T>) => ask(() => unlessForgotten(() => question(reads)));

  return {
    range, state,
    balances: (calls, block) => state((from) => from.views(calls, block)),
    async* events(to) {
      for (let from = chain.startBlock; from <= to;) {
        const { events, end } = await range(from, to);
        yield events;
        from = end.number + 1;
      }
    },
    async contradiction({ number, hash }, position) {
      for (let look = 1; look <= CONTRADICTIONS_TO_BELIEVE; look++) {
        const found = await ask(() => readBlock(rpc, number));
        if (found?.hash === hash) return;
        if (look < CONTRADICTIONS_TO_BELIEVE) await sleep(500);
        else throw new Differs(otherBlock(chain, { number, hash }, found?.hash, position));
      }
    },
    async mined(hash) {
      const [transaction, receipt] = await ask(() => Promise.all([
        rpc.request<{ to: string | null; input: string } | null>('eth_getTransactionByHash', [hash]),
        rpc.request<{ blockNumber: string; status: string; logs: ChainLog[] } | null>('eth_getTransactionReceipt', [hash]),
      ]));
      if (transaction === null || receipt === null) return undefined;
      const { blockNumber, status, logs } = receipt;
      return { hash, block: Number(blockNumber), succeeded: Number(status) === 1, logs, to: transaction.to?.toLowerCase() ?? '', input: transaction.input };
    },
    async* traces({ address, topics, matches }, { from: first, to }) {
      const end = Math.min(to, await ask(() => readLatest(rpc)));
      for (let from = first; from <= end;) {
        const { found, until } = await piece(from, end, (upTo) => reads.logs({ address, topics, from, to: upTo }));
        yield* found.filter(matches);
        from = until + 1;
      }
    },
    async marketIdOf(address) {
      if (!markets.has(address)) {
        const call: ContractCall = { abi: 'market', to: address, method: 'marketId', args: [] };
        const [marketId] = await ask(() => reads.views([call], 'latest'));
        markets.set(address, marketId as string | undefined);
      }
      return markets.get(address);
    },
  };
}

/** The last final block of a chain at present. Throws CannotAudit. */
export async function finalBlock({ chain, rpc, patienceMs }: Pick<ReaderOptions, 'chain' | 'rpc' | 'patienceMs'>): Promise<number> {
  return await patiently(chain, patienceMs, async () => await readLatest(rpc) - chain.confirmations);
}

/** Undefined where a node answers with an error: it does not have the state of so old a block any more. */
async function unlessForgotten<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ChainUnavailable && error.cause instanceof RpcError) return undefined;
    throw error;
  }
}

function otherBlock({ chainId, confirmations }: Chain, { number, hash }: BlockName, found: string | undefined, position: number): Difference {
  return {
    check: 'chainFacts', place: { position, chainId, block: number }, expected: found ?? null, found: hash,
    what: `block ${number} of chain ${chainId} ${found === undefined ? 'does not exist' : `has hash ${found}`}, where the history recorded ${hash} at position ${position}`,
    means: `The history was made from another chain, or the chain was reorganised deeper than its ${confirmations} confirmations, or the node serves another chain.`,
  };
}

async function patiently<T>({ chainId }: Chain, patienceMs = 60_000, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  for (let pause = 100; ; pause = Math.min(2 * pause, 5_000)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RpcError || error instanceof ChainUnavailable || error instanceof InconsistentAnswer)) throw error;
      if (performance.now() - began + pause > patienceMs) throw new CannotAudit(`chain ${chainId} cannot be read: ${error.message}`, { cause: error });
      await sleep(pause);
    }
  }
}
