/** Random commands of the relayer among those of chains and traders: requests that are repeated, submitted twice, and ended too early. */
import type { Command } from '../../engine/records/commands.js';
import type { Claim, RelayAction } from '../../engine/records/fields.js';
import { newCommand } from './commands.js';
import { createDice, marketId, traderAddress, txHash, type Dice, type Profile, type RandomCommands } from './random-commands.js';
import { createChainCommands } from './random-facts.js';

export const relayActions: readonly RelayAction[] = [
  'ctf-approval', 'usdc-permit', 'ctf-redemption', 'batch-ctf-redemption', 'propose-resolution', 'settle-market', 'ctf-split', 'ctf-merge',
];

/** The ids that requests have: so few that most are used again after they have ended. */
const REQUEST_IDS = 12;

/** The commands of createChainCommands, and one of the relayer after every fourth of them on average. Both draw from streams of their own. */
export function createRelayCommands(seed: number, profile: Profile): RandomCommands {
  const inner = createChainCommands(seed, profile);
  const dice = createDice(seed ^ 0x5e1a);
  let now = 0;
  return {
    next() {
      if (now > 0 && dice.once(5)) return relayCommand(dice, now);
      const command = inner.next();
      now = Math.max(now, command.at);
      return command;
    },
    learn: (outcome) => { inner.learn(outcome); },
  };
}

function relayCommand({ below, once }: Dice, now: number): Command {
  const head = { at: once(20) ? Math.max(0, now - below(5_000)) : now };
  const n = below(REQUEST_IDS);
  const named = { requestId: marketId(700_000 + n), chainId: once(10) ? 1 + below(3) : 1 + (n % 2) };
  switch (below(3)) {
    case 0: return newCommand('RequestRelay', {
      ...head, ...named, action: relayActions[below(relayActions.length)]!, owner: traderAddress(below(4)),
      claims: Array.from({ length: once(2) ? 0 : 1 + below(once(5) ? 20 : 2) }, (_, i) => claim(i, below, once)),
    });
    case 1: return newCommand('SubmitRelay', { ...head, ...named, txHash: txHash(below(1_000)) });
    default: return newCommand('EndRelay', {
      ...head, ...named, ...(once(4) ? {} : { txHash: txHash(below(1_000)) }),
      results: Array.from({ length: 1 + below(once(5) ? 20 : 2) }, () => (
        once(3) ? { succeeded: false, reason: once(2) ? 'Ünïcode “reason”' : 'reverted' } : { succeeded: !once(10) })),
    });
  }
}

/** The claim's keys come in the schema's order, or in another one. */
function claim(n: number, below: Dice['below'], once: Dice['once']): Claim {
  const payout = once(20) ? String(2n ** 256n - 1n) : String(below(6));
  const winningOutcome = once(2) ? 0 : 1;
  return once(2) ? { marketId: marketId(n), payout, winningOutcome } : { winningOutcome, payout, marketId: marketId(n) };
}
