/** The endings of all relayed requests of a real exchange, for the audit's comparison with the real chain. */
import { equal, ok } from 'node:assert/strict';
import { createRpc } from '../../command/chain/rpc.js';
import { createEngine } from '../../engine/run/engine.js';
import { viewOf } from '../../engine/run/view.js';
import { createChainReader } from '../../tools/audit/chain/chain-reader.js';
import { wrongEnding, type RecordedRelay } from '../../tools/audit/chain/ended-relays.js';
import { createRelays } from '../../tools/audit/chain/relays.js';
import { splitLine } from '../../tools/audit/records/record-check.js';
import { openService } from '../../tools/audit/source/service-source.js';
import type { ContractsChain } from './deployed-chain.js';
import type { ExchangeStack } from '../harness/exchange.js';

export interface AuditedEndings {
  readonly ended: readonly RecordedRelay[];
  /** What the audit finds about an ending; undefined when the chain agrees. */
  find(ended: RecordedRelay): Promise<string | undefined>;
}

export async function endingsOf(exchange: ExchangeStack, node: ContractsChain): Promise<AuditedEndings> {
  const engine = createEngine();
  const view = viewOf(engine);
  const relays = createRelays(view, []);
  const ended: RecordedRelay[] = [];
  const source = await openService({ url: exchange.url });
  for await (const lines of source.lines(0, source.length)) {
    for (const line of lines) {
      const { position, outcome } = engine.step(splitLine(line, view.position).bytes);
      for (const event of outcome.events) {
        const over = relays.take(event, position);
        if (over !== undefined) ended.push(over.ended);
      }
    }
  }
  const rpc = createRpc({ chainId: node.chain.chainId, urls: [node.url], now: () => performance.now(), report: () => undefined });
  const reads = {
    ...createChainReader({ chain: node.chain, rpc }),
    tokensOf: (marketId: string) => view.market(marketId)?.tokens,
  };
  return { ended, find: async (each) => (await wrongEnding(node.chain, each, reads))?.what };
}

/** The same ending with the opposite said of one of its results. */
export function flipped(ended: RecordedRelay, at: number): RecordedRelay {
  const opposite = ({ succeeded }: { readonly succeeded: boolean }) => ({ succeeded: !succeeded, reason: succeeded ? 'the transaction reverted' : null });
  return { ...ended, results: ended.results.map((result, i) => i === at ? opposite(result) : result) };
}

/** The audit must find nothing in what the exchange has recorded, and each result that says the opposite. Gives how many endings there are. */
export async function assertEndingsAreAudited(exchange: ExchangeStack, node: ContractsChain): Promise<number> {
  const { ended, find } = await endingsOf(exchange, node);
  for (const each of ended) {
    equal(await find(each), undefined);
    for (const at of each.results.keys()) {
      ok(await find(flipped(each, at)) !== undefined, `nothing was found when ${JSON.stringify(each)} says the opposite of result ${at}`);
    }
  }
  return ended.length;
}
