/** Brings facts into the history: as commands in the chain's order, and no later one before an earlier one is certain to be there. */
import { encodeCommand, MalformedRecord, recordId, type CommandOutcome } from '../../engine/records/codec.js';
import { fittingRecords } from '../../engine/log/append-size.js';
import { RecordTooLarge, type NewRecord } from '../../engine/log/log.js';
import type { ChainCursor } from '../../engine/run/view.js';
import type { BlockName } from './block-range.js';
import { reportRejections, type WrittenFact } from './fact-rejections.js';
import type { Fact, FactCommand } from './facts.js';
import type { Report } from '../chain/report.js';

export interface FactWriterOptions {
  readonly chainId: number;
  /** How far the engine has recorded the chain. */
  readonly cursor: () => ChainCursor | undefined;
  /**
   * Appends all records to the commands, in this order and side by side or not at all; resolves with the first one's position once
   * they are durable. A group commit that splits them would not do: were the first part lost and the second not, the engine
   * would take the first for known.
   */
  readonly append: (records: readonly NewRecord[]) => Promise<number>;
  /** Resolves when the engine has decided the command at a position. */
  readonly outcomeOf: (position: number) => Promise<CommandOutcome>;
  readonly now: () => number;
  readonly report: Report;
}

export interface FactWriter {
  /**
   * Resolves when the engine has taken the facts and knows that `end` is the last block whose facts it has. Facts that it had already
   * are left out, and what it refuses is reported. Rejects as append and outcomeOf do; then the same facts are to be written again,
   * which the engine notices.
   */
  write(facts: readonly Fact[], end: BlockName): Promise<void>;
}

/** The engine has decided an AdvanceChain and not moved. Writing on would only fill the log. */
export class CursorStands extends Error {
  constructor(chainId: number, end: BlockName) {
    super(`chain ${chainId}: the engine does not take block ${end.number} for recorded although its command has been decided; `
      + 'this is a defect of the program: nothing more of this chain is recorded, keep the log for its developers');
    this.name = 'CursorStands';
  }
}

/** A record with the fact's command; without one it is a range's end. */
interface FactRecord extends NewRecord {
  readonly command?: FactCommand;
}

export function createFactWriter({ chainId, cursor, append, outcomeOf, now, report }: FactWriterOptions): FactWriter {
  /** What was written last, from that position on, and whose outcomes have not been heard of. */
  let undecided: { readonly first: number; readonly batch: readonly FactRecord[] } | undefined;

  async function decided(): Promise<void> {
    if (undecided === undefined) return;
    const { first, batch } = undecided;
    // The last one's first: the others are there by then.
    await outcomeOf(first + batch.length - 1);
    const written: WrittenFact[] = [];
    for (const [i, { command }] of batch.entries()) {
      if (command !== undefined) written.push({ command, events: (await outcomeOf(first + i)).events });
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
      report('alarm', `chain ${chainId}, block ${block}, log ${logIndex}: ${error.message}; it was left out: check the chain's contracts`);
      return [];
    }
  }

  return {
    async write(facts, end) {
      // What an earlier, failed call has written is not written again.
      await decided();
      const { nextBlock, nextLog } = cursor() ?? { nextBlock: 0, nextLog: 0 };
      const isNew = ({ command: { fact } }: Fact) => fact.block > nextBlock || (fact.block === nextBlock && fact.logIndex >= nextLog);
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
