/** The wallets that the browser's extensions announce (EIP-6963), and the one that puts itself at `window.ethereum`. */
import { signal } from '@preact/signals';
import type { Eip1193Provider } from '../../../client/src/signer.js';

/** A provider that also tells of changes. */
export interface WalletProvider extends Eip1193Provider {
  on?(event: string, hear: (value: unknown) => void): unknown;
  removeListener?(event: string, hear: (value: unknown) => void): unknown;
}

export interface AnnouncedWallet {
  /** `rdns` of the wallet, such as `io.metamask`: the same in each visit. */
  readonly id: string;
  readonly name: string;
  readonly icon: string | undefined;
  readonly provider: WalletProvider;
}

export const announcedWallets = signal<readonly AnnouncedWallet[]>([]);

/** Icons are data addresses by the standard; anything else would be loaded from elsewhere. */
const ICON = /^data:image\/(?:png|webp|svg\+xml|jpeg|gif)[;,]/;
const LONGEST = 60;

function hear(event: Event): void {
  const { detail } = event as CustomEvent<unknown>;
  const found = walletIn(detail);
  if (found === undefined) return;
  const others = announcedWallets.peek().filter(({ provider, id }) => provider !== found.provider && id !== found.id);
  announcedWallets.value = [...others, found].sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Whatever is announced by whichever extension: undefined where it is no wallet. */
function walletIn(detail: unknown): AnnouncedWallet | undefined {
  const { info, provider } = (detail ?? {}) as { info?: Readonly<Record<string, unknown>>; provider?: WalletProvider };
  if (typeof provider?.request !== 'function') return undefined;
  const { rdns, uuid, name, icon } = info ?? {};
  const id = [rdns, uuid].find((each) => typeof each === 'string' && each !== '') as string | undefined;
  if (id === undefined) return undefined;
  return {
    id, provider, name: typeof name === 'string' && name !== '' ? name.slice(0, LONGEST) : id,
    icon: typeof icon === 'string' && ICON.test(icon) ? icon : undefined,
  };
}

addEventListener('eip6963:announceProvider', hear);
dispatchEvent(new Event('eip6963:requestProvider'));

/** Announced wallets, or else the one of `window.ethereum`, which may have come later than this script. */
export function walletsToChoose(): readonly AnnouncedWallet[] {
  const announced = announcedWallets.value;
  const { ethereum } = globalThis as { ethereum?: WalletProvider };
  if (announced.length > 0 || typeof ethereum?.request !== 'function') return announced;
  return [{ id: 'window.ethereum', name: 'The browser\'s wallet', icon: undefined, provider: ethereum }];
}
