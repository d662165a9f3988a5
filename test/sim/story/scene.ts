/** What events act upon, and the dice that say what of it. */
import { createRandom } from '../../support/random-commands.js';
import type { createRelayClients } from '../relays/clients.js';
import type { Exchange } from '../world/exchange.js';
import type { WorldParts } from '../world/parts.js';
import type { createClients } from './clients.js';
import type { SignedOrder } from './traders.js';

export interface Scene {
  readonly parts: WorldParts;
  readonly exchange: Exchange;
  readonly clients: ReturnType<typeof createClients>;
  readonly relays: ReturnType<typeof createRelayClients>;
  readonly orders: SignedOrder[];
  stalledUntilMs: number;
}

export interface Dice {
  below(n: number): number;
  pick<T>(list: readonly T[]): T;
  ms(least: number, most: number): number;
}

export function diceOf(seed: number): Dice {
  const random = createRandom(seed);
  return {
    below: (n) => random() % n,
    pick: <T>(list: readonly T[]) => list[random() % list.length] as T,
    ms: (least, most) => least + (most - least) * (random() / 0x1_0000_0000),
  };
}

export type Act = (scene: Scene, dice: Dice, seed: number) => void;

export const later = ({ parts }: Pick<Scene, 'parts'>, ms: number): number => parts.time.now() + ms;
