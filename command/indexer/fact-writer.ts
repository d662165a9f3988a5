/**
 * Appends facts to the history as commands, in the chain's order. Sends each batch only once the previous one is
 * durable.
 */
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import { MalformedRecord, type CommandOutcome } from '../../engine/records/codec.js';
import { fittingRecords } from '../../engine/log/appender.js';
import { RecordTooLarge, type NewRecord } from '../../engine/log/log.js';
import type { ChainCursor } from '../../engine/run/view.js';
import type { BlockName } from '../chain/block-range.js';
import { reportRejections, type WrittenFact } from './fact-rejections.js';
import type { Fact, FactCommand } from './facts.js';
import type { Report } from '../../engine/report.js';

export interface FactWriterOptions {
  readonly chainId: number;
  /** How far the engine has recorded the chain. */
  readonly cursor: () => ChainCursor | undefined;
  /**
   * Appends all records to the commands, in this order and at consecutive positions, or none of them. Resolves with the
   * position of the first once they are durable. A group commit that splits them is not enough: if only the second part
   * were written, the engine would take the facts of the first part as known.
   */
  readonly append: (records: readonly NewRecord[]) => Promise<number>;
  /** Resolves when the engine has decided the command at a position; `id` is that of the command's record. */
  readonly outcomeOf: (position: number, id: string) => Promise<CommandOutcome>;
  readonly now: () => number;
  readonly report: Report;
}

export interface FactWriter {
  /**
   * Resolves when the engine has recorded the facts and knows that it has all facts up to the block `end`. Leaves out
   * facts that the engine already has, and reports those that it rejects. Rejects as `append` and `outcomeOf` do; the
   * caller then writes the same facts again, and the engine recognises the repeated ones.
   */
  write(facts: readonly Fact[], end: BlockName): Promise<void>;
}

/** The engine has decided an AdvanceChain, but its cursor has not moved. Writing more would only fill the log. */
export class CursorStands extends Error {
  constructor(chainId: number, end: BlockName) {
    super(`chain ${chainId}: the engine's cursor is not past block ${end.number} although the block's AdvanceChain was decided; `
      + 'this is a defect of the program: nothing more of this chain is recorded; keep the log for the developers');
    this.name = 'CursorStands';
  }
}

/** A record with the fact's command; the record at the end of a range has none. */
interface FactRecord extends NewRecord {
  readonly command?: FactCommand;
}

export function createFactWriter({ chainId, cursor, append, outcomeOf, now, report }: FactWriterOptions): FactWriter {
  /** The last batch, written from position `first` on, while its outcomes are not known. */
  let undecided: { readonly first: number; readonly batch: readonly FactRecord[] } | undefined;

  async function decided(): Promise<void> {
    if (undecided === undefined) return;
    const { first, batch } = undecided;
    const written: WrittenFact[] = [];
    // The last one first: then the others are known, too.
    for (const [i, { id, command }] of [...batch.entries()].reverse()) {
      const outcome = await outcomeOf(first + i, id);
      if (command !== undefined) written.unshift({ command, events: outcome.events });
    }
    undecided = undefined;
    reportRejections(chainId, written, report);
  }

  function recordOf({ command, blockHash }: Fact): FactRecord[] {
    const { block, logIndex } = command.fact;
    try {
      return [{ id: recordId(`chain:${chainId}:${blockHash}:${logIndex}`), data: encodeCommand(command), command }];
    } catch (error) {
      if (!(error instanceof MalformedRecord || error instanceof RecordTooLarge)) throw error;
      report('alert', `chain ${chainId}, block ${block}, event ${logIndex}: ${error.message}; the event was not recorded: check the chain's contracts`);
      return [];
    }
  }

  return {
    async write(facts, end) {
      // A failed earlier call may have written a batch: wait for its outcomes, so that its facts count as known.
      await decided();
      const { nextBlock, nextLog } = cursor() ?? { nextBlock: 0, nextLog: 0 };
      const isNew = ({ command: { fact } }: Fact) => (
        fact.block > nextBlock || (fact.block === nextBlock && fact.logIndex >= nextLog));
      const advance: FactRecord = {
        id: recordId(`chain:${chainId}:${end.hash}:end`),
        data: encodeCommand({ kind: 'AdvanceChain', v: 1, at: now(), chainId, block: end.number, blockHash: end.hash }),
      };
      for (const batch of batchesOf([...facts.filter(isNew).flatMap(recordOf), advance])) {
        undecided = { first: await append(batch.map(({ id, data }) => ({ id, data }))), batch };
        await decided();
      }
      if ((cursor()?.nextBlock ?? 0) <= end.number) throw new CursorStands(chainId, end);
    },
  };
}

function* batchesOf(records: readonly FactRecord[]): Generator<FactRecord[]> {
  for (let rest = records; rest.length > 0;) {
    const count = fittingRecords(rest);
    yield rest.slice(0, count);
    rest = rest.slice(count);
  }
}
