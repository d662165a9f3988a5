/** The read models as far as the relayer asks them: how relayed requests have ended, by the outcomes that are recorded. They may be behind. */
import { decodeOutcome } from '../../../engine/records/codec.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { EndedRelay } from '../../../command/relayer/sender.js';
import type { MemoryStore } from '../../../engine/log/memory/memory-log.js';
import type { Strikes } from '../world/faults.js';
import type { VirtualTime } from '../world/time.js';

export interface RelayModel {
  /** Until then nothing is projected. Virtual time. */
  behindUntilMs: number;
  ended(requestId: string): EndedRelay | undefined;
  /** Resolves when every outcome up to the position is projected. Throws RequestError when that takes too long. */
  caughtUp(position: number): Promise<void>;
}

const [LOOK_MS, PATIENCE_MS] = [100, 5_000];

export function createRelayModel({ store, time, strikes }: { store: MemoryStore; time: VirtualTime; strikes: Strikes }): RelayModel {
  const requests = new Map<string, { txHash: string | undefined; failed: boolean }>();
  let projected = 0;

  function project(): void {
    const { outcomes } = store.records;
    if (time.now() < model.behindUntilMs) {
      if (projected < outcomes.length) strikes.struck('read models behind', `by ${outcomes.length - projected}`);
      return;
    }
    for (; projected < outcomes.length; projected++) {
      for (const event of decodeOutcome(outcomes[projected]?.data ?? new Uint8Array()).events) {
        if (event.type === 'RelayRequested') requests.set(event.requestId, { txHash: undefined, failed: false });
        if (event.type === 'RelaySubmitted') requests.set(event.requestId, { txHash: event.txHash, failed: false });
        if (event.type === 'RelayEnded') requests.set(event.requestId, { txHash: event.txHash ?? undefined, failed: event.results.some(({ succeeded }) => !succeeded) });
      }
    }
  }

  const model: RelayModel = {
    behindUntilMs: 0,
    ended(requestId) {
      project();
      const found = requests.get(requestId);
      return found?.txHash === undefined ? undefined : { txHash: found.txHash, succeeded: !found.failed };
    },
    async caughtUp(position) {
      for (const end = time.now() + PATIENCE_MS; ; await time.sleep(LOOK_MS)) {
        project();
        if (projected > position) return;
        if (time.now() >= end) throw new RequestError('relay_unavailable', 'the read models are behind');
      }
    },
  };
  return model;
}
