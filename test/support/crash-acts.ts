/** What traders do on a chain by themselves while the service dies and comes back. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashChain } from './crash-chain.js';
import type { CrashTraders } from './crash-traders.js';

/** The most markets that are opened on the way. */
const MAX_QUESTIONS = 3;
/** Traders who do not cancel by nonce: one such cancel per trader, since a second one reverts while the first is pending. */
const KEPT_FLOORS = 8;

/** What acts until a signal aborts; it can be called again, and goes on where it was. */
export function crashActs({ chain, traders, random }: { chain: CrashChain; traders: CrashTraders; random: () => number }) {
  const { cancel, cancelBelow, openMarket, ...others } = chain.acts;
  const acts = Object.values(others);
  const floors = [...chain.traders];
  let questions = 0;
  return async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const [turn, recent] = [random() % 40, traders.recent()];
      if (turn === 0 && questions < MAX_QUESTIONS) await openMarket(`question ${questions++}`);
      else if (turn < 3 && floors.length > KEPT_FLOORS) await cancelBelow(traders.nonce(), floors.pop()!);
      else if (turn < 10 && recent !== undefined && recent.trader.means !== 'gasless') await cancel(recent.order, recent.trader.wallet);
      else await acts[random() % acts.length]!();
      await sleep(random() % 400);
    }
  };
}
