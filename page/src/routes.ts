/** The addresses of the views: they are behind `#`, so that the service serves one document only. */
import { signal } from '@preact/signals';

export interface ViewProps {
  /** What the address names, such as a market's id; empty where it names nothing. */
  readonly id: string;
}

const VIEW_NAMES = ['markets', 'market', 'quick', 'portfolio', 'history', 'verify'] as const;

export type ViewName = (typeof VIEW_NAMES)[number];

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
  const view = VIEW_NAMES.find((each) => each === name);
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
