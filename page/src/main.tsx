/** The page: a header with the ways through it, and below it the view that the address names. */
import { render, type ComponentType } from 'preact';
import { signal, useSignalEffect } from '@preact/signals';
import { ConnectionState } from './connection-state.js';
// The stream is there on every view, also on those that follow nothing: the header says whether it is.
import './live.js';
import { route, type ViewName, type ViewProps } from './routes.js';
import { ThemeSwitch } from './theme.js';
import { VIEWS } from './views.js';
import { WalletButton } from './wallet/wallet-button.js';

const NAVIGATION: readonly (readonly [view: ViewName, address: string, title: string])[] = [
  ['markets', '#/', 'Markets'], ['quick', '#/quick', 'Quick markets'], ['portfolio', '#/portfolio', 'Portfolio'],
  ['history', '#/history', 'History'], ['verify', '#/verify', 'Verify'],
];

/** The views whose script is here, and what happened to the others. */
const loaded = signal<ReadonlyMap<ViewName, ComponentType<ViewProps> | Error>>(new Map());

function Page() {
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the content</a>
      <header class="header">
        <a class="brand" href="#/">Prediction exchange</a>
        <nav aria-label="Views">
          <ul>{NAVIGATION.map(([view, address, title]) => <Way key={view} {...{ view, address, title }} />)}</ul>
        </nav>
        <div class="header-end">
          <ConnectionState />
          <ThemeSwitch />
          <WalletButton />
        </div>
      </header>
      <main id="main" tabIndex={-1}><View /></main>
      <footer class="footer">
        <a href="docs">API</a>
        <a href="openapi.json">OpenAPI</a>
        <a href="asyncapi.json">AsyncAPI</a>
        <span>
          Charts by <a href="https://www.tradingview.com/" rel="noreferrer">TradingView</a> Lightweight Charts
        </span>
      </footer>
    </>
  );
}

function Way({ view, address, title }: { view: ViewName; address: string; title: string }) {
  const current = route.value.view;
  const isHere = current === view || (view === 'markets' && current === 'market');
  return <li><a href={address} aria-current={isHere ? 'page' : undefined}>{title}</a></li>;
}

function View() {
  useSignalEffect(() => { load(route.value.view); });
  const { view, id } = route.value;
  const found = loaded.value.get(view);
  if (found === undefined) return <p class="hint" role="status">Loading…</p>;
  if (found instanceof Error) {
    return (
      <p class="refusal" role="alert">
        This part of the page could not be loaded: {found.message}. <a href="">Try again</a>
      </p>
    );
  }
  const Found = found;
  return <Found key={`${view} ${id}`} id={id} />;
}

function load(view: ViewName): void {
  if (loaded.peek().get(view) !== undefined) return;
  const put = (found: ComponentType<ViewProps> | Error): void => {
    loaded.value = new Map(loaded.peek()).set(view, found);
  };
  VIEWS[view]().then(put, (error: unknown) => { put(error instanceof Error ? error : new Error(String(error))); });
}

/** The address is the view's, so the link moves the focus instead of the address. */
function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}

const place = document.querySelector('#page');
if (place !== null) render(<Page />, place);
