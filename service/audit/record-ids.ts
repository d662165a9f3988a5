/** Ids of records that follow from their commands. Ids of clients' commands have a random part, and no digest covers an id. */
import { recordId } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isRecordId(id: string): boolean {
  return UUID.test(id);
}

/** The id that the writers of this kind of command give it; undefined where it cannot be computed from the command alone. */
export function idOf(command: Command): string | undefined {
  switch (command.kind) {
    case 'AdvanceChain': return recordId(`chain:${command.chainId}:${command.blockHash}:end`);
    case 'RecordPrice': return recordId(`RecordPrice:${command.asset}:${command.source}:${command.publishedAt}`);
    case 'SubmitSettlement': return recordId(`settlement:${command.chainId}:${command.txHash}`);
    case 'SubmitRelay': return recordId(`relay:${command.chainId}:${command.txHash}`);
    default: return undefined;
  }
}

/** The id of the record of a chain event in a block with this hash. */
export function factId({ chainId, logIndex }: { readonly chainId: number; readonly logIndex: number }, blockHash: string): string {
  return recordId(`chain:${chainId}:${blockHash}:${logIndex}`);
}
