/** Options of a sender that does nothing more from a step on, as if its process had been killed there; what was done stays done. */
import type { HeldLane } from '../../command/lane/outbox.js';
import type { SenderOptions } from '../../command/lane/sender.js';
import type { SenderStack } from './sender-stack.js';

export const STEPS = ['before record', 'record', 'signed', 'broadcast', 'marked', 'replacement', 'receipt', 'over'] as const;
export type Step = typeof STEPS[number];

export function mortalSender(on: SenderStack, step: Step): { died: () => boolean; options: Partial<SenderOptions> } {
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
      store: {
        async hold(lane, options) {
          alive();
          return mortalLane(await outbox.hold(lane, options), { step, alive, die, dieSilently: () => { dead = true; } });
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
      async signed({ txHash }) {
        alive();
        on.told.signed.push(txHash);
        if (step === 'signed') die();
      },
      async over({ nonce, request: { note } }, { kind }) {
        alive();
        on.told.over.push([nonce, kind, note]);
      },
    },
  };
}

interface Death { readonly step: Step; readonly alive: () => void; readonly die: () => never; readonly dieSilently: () => void }

function mortalLane(held: HeldLane, { step, alive, die, dieSilently }: Death): HeldLane {
  return {
    ...held,
    async record(transactions) {
      alive();
      if (step === 'before record') die();
      await held.record(transactions);
      // The answer still reaches the callers; the next step does not happen.
      if (step === 'record') dieSilently();
    },
    async recordAttempt(nonce, attempt) {
      alive();
      await held.recordAttempt(nonce, attempt);
      if (step === 'replacement') die();
    },
    async markBroadcast(hashes) {
      alive();
      if (step === 'broadcast') die();
      await held.markBroadcast(hashes);
      if (step === 'marked') die();
    },
    async markOver(endings) {
      alive();
      if (step === 'over') die();
      await held.markOver(endings);
    },
  };
}
