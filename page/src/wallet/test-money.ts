/** What a development stack gives: test money, and the relayer's token. */
import { effect, signal } from '@preact/signals';
import { exchange, relayToken } from '../exchange.js';
import { hasTestMoney } from './wallet.js';

/** What the stack last answered to a wish for test money: `undefined` before the first one. */
export const funding = signal<{ readonly status: 'asked' | 'given' } | { readonly status: 'refused'; readonly error: unknown } | undefined>(undefined);

/** Fills the wallet that is connected up with test money. */
export async function askForTestMoney(chainId: number): Promise<void> {
  funding.value = { status: 'asked' };
  try {
    await exchange.peek().funds({ chainId });
    funding.value = { status: 'given' };
  } catch (error) {
    funding.value = { status: 'refused', error };
  }
}

/** The stack gives its token to its own page alone; where it does not, somebody can still type one. */
async function askForToken(): Promise<void> {
  const response = await fetch('api/v1/dev/token', { method: 'POST' });
  const { token } = await response.json() as { readonly token?: string };
  if (response.ok && typeof token === 'string' && relayToken.peek() === undefined) relayToken.value = token;
}

effect(() => {
  if (hasTestMoney.value === true) askForToken().catch(() => undefined);
});
