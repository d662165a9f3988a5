/** What an account has and allows on a chain, read anew after everything that may have changed it. */
import { signal, type ReadonlySignal } from '@preact/signals';
import type { Account } from '../../../client/src/answers.js';
import type { Client } from '../../../client/src/client.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { exchange, readerFrom } from '../exchange.js';
import { follow } from '../live.js';

export interface LiveAccount {
  readonly account: ReadonlySignal<Account | undefined>;
  readonly error: ReadonlySignal<unknown>;
  /** Reads anew, every two seconds for a minute: what the relayer has sent shows once a block has it. */
  expectChange(): void;
  close(): void;
}

const TOGETHER_MS = 200;
const LOOK_EVERY_MS = 2_000;
const LOOK_FOR_MS = 60_000;

/** `changed` is called after each read, with the reader: it includes what the read does. */
export function followAccount(user: Hex, chainId: number, changed: (reader: Client) => void = () => undefined): LiveAccount {
  const account = signal<Account | undefined>(undefined);
  const error = signal<unknown>(undefined);
  let due: ReturnType<typeof setTimeout> | undefined;
  let looks: ReturnType<typeof setInterval> | undefined;
  let turn = 0;

  async function read(reader: Client): Promise<void> {
    const mine = ++turn;
    try {
      const found = await reader.read.account({ user, chainId });
      if (mine !== turn) return;
      [account.value, error.value] = [found, undefined];
    } catch (problem) {
      if (mine !== turn) return;
      error.value = problem;
    }
    changed(reader);
  }

  const readSoon = (position: number): void => {
    clearTimeout(due);
    due = setTimeout(() => { void read(readerFrom(position)); }, TOGETHER_MS);
  };
  const unfollow = follow({
    channels: [`orders:${user}`], begins: (reader) => { void read(reader); }, take: ({ position }) => { readSoon(position); },
  });
  void read(exchange.peek());
  return {
    account, error,
    expectChange() {
      clearInterval(looks);
      const end = Date.now() + LOOK_FOR_MS;
      looks = setInterval(() => {
        if (Date.now() >= end) clearInterval(looks);
        void read(exchange.peek());
      }, LOOK_EVERY_MS);
    },
    close() {
      unfollow();
      clearTimeout(due);
      clearInterval(looks);
      turn += 1;
    },
  };
}
