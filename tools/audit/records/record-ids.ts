/** What the ids of records must be. No digest covers an id, so a record's command tells, as far as it can. */
import { isChecked, recordId, withCheck } from '../../../engine/run/new-record.js';
import type { Command } from '../../../engine/records/commands.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isRecordId(id: string): boolean {
  return UUID.test(id);
}

/**
 * The id that a record of this command must have: where its writer has put a part of its own into it, the one with that part and the right check.
 * Undefined for what a chain reported, which takes the hash of the block.
 */
export function dueId(command: Command, id: string): string | undefined {
  if ('fact' in command && command.fact !== undefined) return undefined;
  switch (command.kind) {
    case 'OpenMarket': return recordId(`market:${command.marketId}`);
    case 'AdvanceChain': return recordId(`chain:${command.chainId}:${command.blockHash}:end`);
    case 'RecordPrice': return recordId(`RecordPrice:${command.asset}:${command.source}:${command.publishedAt}`);
    case 'SubmitSettlement': return recordId(`settlement:${command.chainId}:${command.txHash}`);
    case 'SubmitRelay': return recordId(`relay:${command.chainId}:${command.txHash}`);
    case 'PlaceOrder':
    case 'CancelOrder':
    case 'CancelOrders':
    case 'CancelAll':
    case 'CancelAfter':
    case 'ReduceOrder':
    case 'SyncPosition':
    case 'AdvanceClock':
    case 'RequestRelay':
    case 'EndRelay': return isChecked(id) ? id : withCheck(id);
    default: return undefined;
  }
}

/** The id of the record of a chain event in a block with this hash. */
export function factId({ chainId, logIndex }: { readonly chainId: number; readonly logIndex: number }, blockHash: string): string {
  return recordId(`chain:${chainId}:${blockHash}:${logIndex}`);
}
