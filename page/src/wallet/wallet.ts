/** Who trades on this page: a wallet of the browser, or one for play money; and what it is asked for. */
import { computed, effect, signal } from '@preact/signals';
import { eip1193Signer, type Signer, type TypedData } from '../../../client/src/signer.js';
import type { Hex } from '../../../client/src/vocabulary.js';
import { configuration, signer } from '../exchange.js';
import { announcedWallets, walletsToChoose, type AnnouncedWallet } from './announced-wallets.js';
import { forget, keep, onKeptElsewhere, readKept } from './browser-storage.js';
import { forgetPlayKey, keptPlayKey, makePlayKey, PLAY_KEY, playSigner, type PlayKey } from './play-wallet.js';

export type ConnectedWallet
  = { readonly kind: 'play'; readonly address: Hex; readonly key: PlayKey }
    | { readonly kind: 'browser'; readonly address: Hex; readonly wallet: AnnouncedWallet };

export const wallet = signal<ConnectedWallet | undefined>(undefined);

/** The chain that a browser's wallet is on; undefined where it has not said, and of a wallet for play money. */
export const walletChain = signal<number | undefined>(undefined);

/** What the page waits for a wallet to answer, in words; empty while it waits for nothing. */
export const waitsFor = signal('');

/** What a wallet has last refused, or why it cannot be used; empty when all is well. */
export const walletFault = signal('');

/** Why the browser will not have the wallet for play money after a reload; empty where it will. */
export const keepingFault = signal('');

/** The chain that a browser's wallet has to change to, where it is on none of the exchange's; undefined where it is right. */
export const wrongChain = computed<{ readonly chainId: number; readonly name: string } | undefined>(() => {
  const chains = configuration.value?.chains ?? [];
  const on = walletChain.value;
  return on === undefined || chains.some(({ chainId }) => chainId === on) ? undefined : chains[0];
});

const LAST = 'wallet';
const PLAY = 'play';

/** Counts what the user has asked for: an answer that comes after something else was asked for is not taken. */
let turn = 0;
let unfollow = (): void => undefined;
let giveUp = (): void => undefined;

/** Asks a browser's wallet for an account. */
export async function connectWallet(chosen: AnnouncedWallet): Promise<void> {
  const mine = begin(`${chosen.name} to give an account`);
  try {
    const accounts = await chosen.provider.request({ method: 'eth_requestAccounts' });
    if (mine !== turn) return;
    const address = addressIn(accounts);
    if (address === undefined) throw new Error(`${chosen.name} has given no account`);
    await use(chosen, address, mine);
  } catch (error) {
    if (mine === turn) walletFault.value = wordsOfWallet(error, chosen.name);
  } finally {
    if (mine === turn) waitsFor.value = '';
  }
}

/** Takes the kept wallet for play money, or makes one. */
export async function connectPlayWallet(): Promise<void> {
  const mine = begin('a new wallet');
  try {
    const { key, kept } = await makePlayKey();
    if (mine !== turn) return;
    keepingFault.value = kept.isKept ? '' : kept.why;
    usePlay(key);
  } catch (error) {
    if (mine === turn) walletFault.value = wordsOfWallet(error, 'The page');
  } finally {
    if (mine === turn) waitsFor.value = '';
  }
}

/** Goes on without a wallet. The key of one for play money stays where it is kept. */
export function disconnectWallet(): void {
  begin('');
  leave();
  forget(LAST);
}

/** Gives up waiting for a wallet; what it answers later is not taken, and what it signs later is not sent. */
export function stopWaiting(): void {
  begin('');
  giveUp();
}

/** Forgets the key of the wallet for play money, for ever. */
export function forgetPlayWallet(): void {
  disconnectWallet();
  forgetPlayKey();
}

/** Asks the browser's wallet to change to a chain. Throws Error in words. */
export async function switchChain(chainId: number): Promise<void> {
  const now = wallet.peek();
  if (now?.kind !== 'browser') return;
  const { provider, name } = now.wallet;
  try {
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: `0x${chainId.toString(16)}` }] });
    walletChain.value = chainIn(await provider.request({ method: 'eth_chainId' }));
  } catch (error) {
    throw new Error(`${wordsOfWallet(error, name)} It has to be on chain ${chainId}.`, { cause: error });
  }
}

function begin(what: string): number {
  waitsFor.value = what;
  walletFault.value = '';
  return ++turn;
}

async function use(chosen: AnnouncedWallet, address: Hex, mine: number): Promise<void> {
  const chain = chainIn(await chosen.provider.request({ method: 'eth_chainId' }).catch(() => undefined));
  if (mine !== turn) return;
  leave();
  walletChain.value = chain;
  unfollow = followWallet(chosen);
  show({ kind: 'browser', address, wallet: chosen });
  keep(LAST, chosen.id);
}

function usePlay(key: PlayKey): void {
  leave();
  show({ kind: 'play', address: key.address, key });
  keep(LAST, PLAY);
}

function leave(): void {
  unfollow();
  unfollow = () => undefined;
  walletChain.value = undefined;
  wallet.value = undefined;
  signer.value = undefined;
}

function show(connected: ConnectedWallet): void {
  wallet.value = connected;
  signer.value = connected.kind === 'play' ? playSigner(connected.key) : browserSigner(connected);
}

/** Signs on the chain of what is signed, and says in words why a wallet does not. */
function browserSigner({ address, wallet: { provider, name } }: ConnectedWallet & { kind: 'browser' }): Signer {
  const plain = eip1193Signer(provider, address);
  return {
    address,
    async signTypedData(typed: TypedData) {
      const { chainId } = typed.domain;
      if (walletChain.peek() !== undefined && walletChain.peek() !== chainId) await switchChain(chainId);
      waitsFor.value = `${name} to sign`;
      try {
        return await Promise.race([plain.signTypedData(typed), new Promise<never>((_resolve, reject) => {
          giveUp = () => { reject(new Error('given up before it was signed')); };
        })]);
      } catch (error) {
        throw new Error(wordsOfWallet(error, name), { cause: error });
      } finally {
        waitsFor.value = '';
      }
    },
  };
}

function followWallet({ provider, id }: AnnouncedWallet): () => void {
  const accounts = (told: unknown): void => {
    const now = wallet.peek();
    const address = addressIn(told);
    if (now?.kind !== 'browser' || now.wallet.id !== id) return;
    if (address === undefined) disconnectWallet();
    else if (address !== now.address) show({ ...now, address });
  };
  const chain = (told: unknown): void => { walletChain.value = chainIn(told); };
  provider.on?.('accountsChanged', accounts);
  provider.on?.('chainChanged', chain);
  return () => {
    provider.removeListener?.('accountsChanged', accounts);
    provider.removeListener?.('chainChanged', chain);
  };
}

function addressIn(accounts: unknown): Hex | undefined {
  const [first] = Array.isArray(accounts) ? accounts as unknown[] : [];
  return typeof first === 'string' && /^0x[0-9a-fA-F]{40}$/.test(first) ? first.toLowerCase() as Hex : undefined;
}

function chainIn(told: unknown): number | undefined {
  const chainId = typeof told === 'string' || typeof told === 'number' ? Number(told) : NaN;
  return Number.isSafeInteger(chainId) && chainId > 0 ? chainId : undefined;
}

/** The codes of EIP-1193 and EIP-1474 that a user can do something about; else the wallet's own words. */
export function wordsOfWallet(error: unknown, name: string): string {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (code === 4001) return `${name} has refused.`;
  if (code === 4100) return `${name} does not let this page use the account: connect it again.`;
  if (code === 4902) return `${name} does not know the chain: add it there first.`;
  if (code === -32002) return `${name} is asking already: look at its window.`;
  return typeof message === 'string' && message !== '' ? message : `${name} has failed: ${String(error)}`;
}

/** Whether the stack gives test money; undefined until that is known. */
export const hasTestMoney = signal<boolean | undefined>(undefined);

// A development stack shows its node to everybody, and has a path that gives test money; other deployments do not have
// it.
effect(() => {
  const found = configuration.value;
  if (found === undefined || hasTestMoney.peek() !== undefined) return;
  if (!found.chains.some(({ testnet, rpcUrl }) => testnet && rpcUrl !== null)) {
    hasTestMoney.value = false;
    return;
  }
  fetch('api/v1/dev/funds', { method: 'OPTIONS' }).then(({ ok }) => { hasTestMoney.value = ok; }, () => undefined);
});

// The wallet of the last visit comes back without a question: of a browser's wallet, if it still gives its account.
const last = readKept(LAST);
if (last !== undefined && last !== PLAY) {
  const stop = effect(() => {
    const found = walletsToChoose().find(({ id }) => id === last) ?? announcedWallets.value.find(({ id }) => id === last);
    if (found === undefined || wallet.peek() !== undefined || turn > 0) return;
    queueMicrotask(() => { stop(); });
    void comeBack(found);
  });
}
effect(() => {
  if (last !== PLAY || hasTestMoney.value !== true || turn > 0) return;
  const key = keptPlayKey();
  if (key !== undefined) usePlay(key);
});

async function comeBack(found: AnnouncedWallet): Promise<void> {
  const mine = turn;
  const address = addressIn(await found.provider.request({ method: 'eth_accounts' }).catch(() => undefined));
  if (address !== undefined && mine === turn) await use(found, address, mine);
}

// Another tab has forgotten the key, or has made another one.
onKeptElsewhere(PLAY_KEY, () => {
  const now = wallet.peek();
  if (now?.kind !== 'play') return;
  const key = keptPlayKey();
  if (key === undefined) disconnectWallet();
  else if (key.address !== now.address) usePlay(key);
});
