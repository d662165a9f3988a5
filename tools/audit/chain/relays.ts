/** Follows the requests to the relayer from their beginning to their end: what their chain is asked about it then. */
import type { Event } from '../../../engine/records/events.js';
import type { EngineView } from '../../../engine/run/view.js';
import type { RecordedRelay } from './ended-relays.js';

/** A request that has not ended. */
export interface OpenRelayRecord {
  readonly requestId: string;
  /** The first block that the history did not have yet when the request was taken. */
  readonly fromBlock: number;
  /** The transactions that the history says were sent for it. */
  readonly submitted: readonly string[];
}

export interface Relays {
  /** Takes the next event; the request, if it ends with it. */
  take(event: Event, position: number): { readonly chainId: number; readonly ended: RecordedRelay } | undefined;
  /** The open requests, for a checkpoint. */
  begun(): OpenRelayRecord[];
}

export function createRelays(view: Pick<EngineView, 'cursor'>, kept: readonly OpenRelayRecord[]): Relays {
  const open = new Map(kept.map((relay) => [relay.requestId, relay]));
  const nextBlock = (chainId: number) => view.cursor(chainId)?.nextBlock ?? 0;
  return {
    take(event, position) {
      if (event.type !== 'RelayRequested' && event.type !== 'RelaySubmitted' && event.type !== 'RelayEnded') return undefined;
      const { requestId, chainId, action, owner } = event;
      const { fromBlock, submitted } = open.get(requestId) ?? { fromBlock: nextBlock(chainId), submitted: [] };
      if (event.type !== 'RelayEnded') {
        const sent = event.type === 'RelaySubmitted' ? [...submitted.filter((hash) => hash !== event.txHash), event.txHash] : submitted;
        open.set(requestId, { requestId, fromBlock, submitted: sent });
        return undefined;
      }
      open.delete(requestId);
      const { txHash, results, claims } = event;
      const claimed = claims.map(({ marketId }) => marketId);
      return {
        chainId, ended: { kind: 'relay', position, requestId, action, owner, claimed, txHash, submitted, results, fromBlock, upTo: nextBlock(chainId) - 1 },
      };
    },
    begun: () => [...open.values()],
  };
}
