/** Options of a lane that stops at a chosen step, as if its process had been killed there; its earlier effects remain. */
import type { HeldLane } from '../../command/lane/outbox.js';
import type { LaneOptions } from '../../command/lane/lane-options.js';
import type { LaneStack } from './lane-stack.js';

export const STEPS = ['before record', 'record', 'announced', 'broadcast', 'marked', 'before replacement', 'replacement', 'receipt', 'before over', 'over'] as const;
export type Step = typeof STEPS[number];

export function mortalLane(on: LaneStack, step: Step): { died: () => boolean; options: Partial<LaneOptions> } {
  let dead = false;
  const die = (): never => {
    dead = true;
    throw new Error('killed');
  };
  const alive = (): void => { if (dead) throw new Error('killed'); };
  const outbox = on.outbox();
  const rpc = on.rpc();
  return {
    died: () => dead,
    options: {
      outbox: {
        async hold(lane, options) {
          alive();
          return mortalOutbox(await outbox.hold(lane, options), { step, alive, die });
        },
      },
      rpc: {
        chainId: rpc.chainId,
        async request<T>(method: string, params: readonly unknown[]) {
          alive();
          const result = await rpc.request<T>(method, params);
          if (method === 'eth_getTransactionReceipt' && step === 'receipt') die();
          return result;
        },
      },
      async announce({ txHash }) {
        alive();
        on.announced.push(txHash);
        if (step === 'announced') die();
      },
    },
  };
}

interface Death { readonly step: Step; readonly alive: () => void; readonly die: () => never }

function mortalOutbox(held: HeldLane, { step, alive, die }: Death): HeldLane {
  return {
    ...held,
    async record(transactions) {
      alive();
      if (step === 'before record') die();
      await held.record(transactions);
      if (step === 'record') die();
    },
    async recordAttempt(transaction, attempt) {
      alive();
      if (step === 'before replacement') die();
      await held.recordAttempt(transaction, attempt);
      if (step === 'replacement') die();
    },
    async markBroadcast(hashes) {
      alive();
      if (step === 'broadcast') die();
      await held.markBroadcast(hashes);
      if (step === 'marked') die();
    },
    async markOver(endings, purposes) {
      alive();
      if (step === 'before over') die();
      await held.markOver(endings, purposes);
      if (step === 'over') die();
    },
    async publish(state) {
      alive();
      await held.publish(state);
    },
    async refuse(refusals) {
      alive();
      await held.refuse(refusals);
    },
  };
}
