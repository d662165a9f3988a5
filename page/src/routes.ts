/** The addresses of the views: they are behind `#`, so that the service serves one document only. */
import type { ComponentType } from 'preact';
import { signal } from '@preact/signals';

export interface ViewProps {
  /** What the address names, such as a market's id; empty where it names nothing. */
  readonly id: string;
}

/** Each view is a script of its own, loaded when it is first looked at. */
export const VIEWS = {
  markets: async () => (await import('./markets/markets.js')).Markets,
  market: async () => (await import('./market/market.js')).MarketView,
  quick: async () => (await import('./quick/quick.js')).QuickMarkets,
  portfolio: async () => (await import('./portfolio/portfolio.js')).Portfolio,
  history: async () => (await import('./history/history.js')).HistoryView,
  verify: async () => (await import('./verify/verify.js')).Verify,
} satisfies Readonly<Record<string, () => Promise<ComponentType<ViewProps>>>>;

export type ViewName = keyof typeof VIEWS;

export interface ShownView {
  readonly view: ViewName;
  readonly id: string;
  /** What stands behind `?`. */
  readonly query: URLSearchParams;
}

/** The route of an address such as `#/markets/0x4d4d…`; the list of markets where it names nothing. */
export function routeOf(hash: string): ShownView {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', id = ''] = path.split('/');
  const query = new URLSearchParams(search);
  if (name === 'markets' && id !== '') return { view: 'market', id: id.toLowerCase(), query };
  const view = Object.keys(VIEWS).find((each) => each === name) as ViewName | undefined;
  return { view: view === undefined || view === 'market' ? 'markets' : view, id, query };
}

export const route = signal(routeOf(location.hash));

addEventListener('hashchange', () => {
  route.value = routeOf(location.hash);
  scrollTo(0, 0);
});

/** Puts `query` behind the address of the view that is shown, without a new entry in the browser's history. */
export function replaceQuery(query: Readonly<Record<string, string>>): void {
  const [path = '#/'] = (location.hash || '#/').split('?');
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  history.replaceState(null, '', given.size === 0 ? path : `${path}?${given.toString()}`);
}
