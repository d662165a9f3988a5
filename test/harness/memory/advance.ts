/** Requests to look at a chain now, between roles that share this object: the port that is a channel of Postgres in production. */
import type { RolePorts } from '../ports.js';

export function memoryAdvance(): Pick<RolePorts, 'askToAdvance' | 'onAskedToAdvance'> {
  const listeners: ((chainId: number) => void)[] = [];
  return {
    askToAdvance(chainId) { for (const listener of listeners) listener(chainId); },
    onAskedToAdvance(listener) { listeners.push(listener); },
  };
}
