/** Which processes a request belongs to, from the table alone: for a proxy in front of the roles. */
import { allEndpoints, pages } from './endpoints.js';
import type { Endpoint, Role } from './endpoint.js';

/**
 * The role of the processes that answer a request. `target` is a path, with or without a query. HEAD goes where GET goes. What no
 * endpoint takes goes where the path's other methods are served, else to any process (`every`): each refuses it alike.
 */
export function roleOf(method: string, target: string): Role {
  const path = target.split('?', 1)[0]!;
  const here = paths.filter(({ pattern }) => pattern.test(path)).map(({ endpoint }) => endpoint);
  const wanted = method === 'HEAD' ? 'GET' : method;
  const endpoint = here.find((each) => each.method === wanted) ?? here[0];
  if (endpoint !== undefined) return endpoint.role;
  const page = Object.keys(pages).find((root) => path === root || path.startsWith(`${root}/`));
  return page === undefined ? 'every' : pages[page]!;
}

/** Whether a path is one of the endpoint's. */
export function patternOf({ path }: Pick<Endpoint, 'path'>): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

const paths = allEndpoints.map((endpoint) => ({ endpoint, pattern: patternOf(endpoint) }));
