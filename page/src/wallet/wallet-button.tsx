/** The wallet in the header: connects one, shows whose it is, and what it is asked for. */
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { configuration, relayToken } from '../exchange.js';
import { shortened, wordsOf } from '../figures.js';
import { route } from '../routes.js';
import { walletsToChoose } from './announced-wallets.js';
import { keptPlayKey, type PlayKey } from './play-wallet.js';
import { askForTestMoney, funding } from './test-money.js';
import {
  connectPlayWallet, connectWallet, disconnectWallet, forgetPlayWallet, hasTestMoney, keepingFault, stopWaiting,
  switchChain, waitsFor, wallet, walletFault, wrongChain, type ConnectedWallet,
} from './wallet.js';

export function WalletButton() {
  const isOpen = useSignal(false);
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const outside = ({ target }: Event): void => { if (!place.current?.contains(target as Node)) isOpen.value = false; };
    document.addEventListener('pointerdown', outside);
    return () => { document.removeEventListener('pointerdown', outside); };
  }, [isOpen]);
  // The panel lies over what another view shows.
  const shown = route.value;
  useEffect(() => { isOpen.value = false; }, [shown]);
  const now = wallet.value;
  const needsLook = walletFault.value !== '' || wrongChain.value !== undefined;
  return (
    <div
      class="wallet" ref={place} onKeyDown={({ key }) => {
        if (key !== 'Escape' || !isOpen.peek()) return;
        isOpen.value = false;
        button.current?.focus();
      }}
    >
      <button
        ref={button} type="button" class={now === undefined ? 'primary' : ''} aria-expanded={isOpen.value} aria-controls="wallet-panel"
        onClick={() => { isOpen.value = !isOpen.peek(); }}
      >
        {now === undefined ? 'Connect wallet' : <Whose now={now} />}{needsLook ? ' !' : ''}
      </button>
      <div id="wallet-panel" class="panel wallet-panel stack" hidden={!isOpen.value}>
        {now === undefined ? <Choice /> : <Connected now={now} />}
        <Told />
      </div>
    </div>
  );
}

function Whose({ now }: { readonly now: ConnectedWallet }) {
  return <>{now.kind === 'play' ? 'Play money ' : ''}<span class="mono">{shortened(now.address)}</span></>;
}

/** What waits and what has failed: read out as it comes. */
function Told() {
  const wrong = wrongChain.value;
  return (
    <div role="status" aria-live="polite" class="stack">
      {waitsFor.value !== '' && (
        <p class="notice">Waiting for {waitsFor.value}… <button type="button" class="plain" onClick={stopWaiting}>Give up</button></p>
      )}
      {walletFault.value !== '' && <p class="refusal">{walletFault.value}</p>}
      {wrong !== undefined && (
        <p class="notice">
          The wallet is on another chain than the exchange.{' '}
          <button
            type="button" class="plain"
            onClick={() => { switchChain(wrong.chainId).catch((error: unknown) => { walletFault.value = wordsOf(error); }); }}
          >Change to {wrong.name}
          </button>
        </p>
      )}
      {keepingFault.value !== '' && (
        <p class="notice">This browser does not keep the wallet ({keepingFault.value}): it is gone once the page is closed. Export its key to keep it.</p>
      )}
    </div>
  );
}

function Choice() {
  const found = walletsToChoose();
  return (
    <>
      <h2>Connect a wallet</h2>
      {found.map((each) => (
        <button key={each.id} type="button" class="row" onClick={() => { void connectWallet(each); }}>
          {each.icon !== undefined && <img src={each.icon} alt="" width={20} height={20} />}{each.name}
        </button>
      ))}
      {found.length === 0 && <p class="hint">This browser has no wallet that announces itself.</p>}
      {hasTestMoney.value === true && (
        <>
          <button type="button" onClick={() => { void connectPlayWallet().then(fund); }}>
            {keptPlayKey() === undefined ? 'Create a play-money wallet' : 'Use the play-money wallet'}
          </button>
          <p class="hint">Play money: its key is kept in this browser, and its money is worth nothing. This is a development stack.</p>
        </>
      )}
    </>
  );
}

/** The development chain, which is the only one that gives test money. */
const testChainId = (): number | undefined => configuration.peek()?.chains.find(({ testnet, rpcUrl }) => testnet && rpcUrl !== null)?.chainId;

async function fund(): Promise<void> {
  const chainId = testChainId();
  if (wallet.peek() !== undefined && chainId !== undefined) await askForTestMoney(chainId);
}

function Connected({ now }: { readonly now: ConnectedWallet }) {
  return (
    <>
      <h2>{now.kind === 'play' ? 'Play-money wallet' : now.wallet.name}</h2>
      <p class="mono">{now.address}</p>
      <p><a href="#/portfolio">Portfolio</a></p>
      {hasTestMoney.value === true && <TestMoney />}
      {now.kind === 'play' && <PlayKeyParts privateKey={now.key.privateKey} />}
      <Token />
      <button type="button" onClick={disconnectWallet}>Disconnect</button>
    </>
  );
}

function TestMoney() {
  const told = funding.value;
  return (
    <div class="stack">
      <button type="button" disabled={told?.status === 'asked'} onClick={() => { void fund(); }}>Get test money</button>
      <div role="status" aria-live="polite">
        {told?.status === 'asked' && <p class="hint">Asking for test money…</p>}
        {told?.status === 'given' && <p class="success">The wallet has test money.</p>}
        {told?.status === 'refused' && <p class="refusal">{wordsOf(told.error)}</p>}
      </div>
    </div>
  );
}

function PlayKeyParts({ privateKey }: Pick<PlayKey, 'privateKey'>) {
  const [isShown, isSure] = [useSignal(false), useSignal(false)];
  return (
    <div class="stack">
      <p class="notice">Play money. The key is in this browser, where any script of this address could read it: never send anything of value here.</p>
      <button type="button" aria-expanded={isShown.value} onClick={() => { isShown.value = !isShown.peek(); }}>
        {isShown.value ? 'Hide the key' : 'Export the key'}
      </button>
      {isShown.value && (
        <div class="field">
          <label for="play-key">Private key of the play-money wallet</label>
          <input id="play-key" class="mono" readOnly value={privateKey} onFocus={({ currentTarget }) => { currentTarget.select(); }} />
        </div>
      )}
      {isSure.value
        ? (
            <div class="row">
              <span>Without the key, what the wallet has is lost.</span>
              <button type="button" class="sell" onClick={forgetPlayWallet}>Forget it</button>
              <button type="button" onClick={() => { isSure.value = false; }}>Keep it</button>
            </div>
          )
        : <button type="button" onClick={() => { isSure.value = true; }}>Forget this wallet</button>}
    </div>
  );
}

/** The relayer sends without gas for whoever has a token of it. */
function Token() {
  const typed = useSignal('');
  if (relayToken.value !== undefined) {
    return (
      <p class="hint">
        The relayer sends for this page, without gas.{' '}
        <button type="button" class="plain" onClick={() => { relayToken.value = undefined; }}>Forget its token</button>
      </p>
    );
  }
  return (
    <form
      class="stack" onSubmit={(event) => {
        event.preventDefault();
        const token = typed.peek().trim();
        if (token !== '') relayToken.value = token;
        typed.value = '';
      }}
    >
      <div class="field">
        <label for="relay-token">Token of the relayer, which the exchange's operator issues</label>
        <input
          id="relay-token" type="password" autoComplete="off" value={typed.value}
          onInput={({ currentTarget }) => { typed.value = currentTarget.value; }}
        />
      </div>
      <button type="submit" disabled={typed.value.trim() === ''}>Use it until the page is closed</button>
    </form>
  );
}
