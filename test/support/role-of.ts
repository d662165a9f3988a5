/** Which role's processes serve a request, by the table of endpoints: what a proxy in front of the roles has to know. */
import { allEndpoints, pages } from '../../service/endpoints.js';
import type { Endpoint, EndpointRole } from '../../service/api/endpoint.js';

/**
 * The role of the processes that answer a request. `target` is a path, with or without a query. HEAD is served like GET. When no endpoint
 * has the path and the method, the role of the path's other methods counts; for an unknown path, every process gives the same refusal.
 */
export function roleOf(method: string, target: string): EndpointRole {
  const endpoint = endpointAt(method, target);
  if (endpoint !== undefined) return endpoint.role;
  const [path = ''] = target.split('?', 1);
  const [, role = 'every'] = Object.entries(pages).find(([root]) => path === root || path.startsWith(`${root}/`)) ?? [];
  return role;
}

/** The endpoint of a request; of another method if the path has none for this one. Undefined for an unknown path. */
export function endpointAt(method: string, target: string): Endpoint | undefined {
  const [path = ''] = target.split('?', 1);
  const here = paths.filter(({ pattern }) => pattern.test(path)).map(({ endpoint }) => endpoint);
  const wanted = method === 'HEAD' ? 'GET' : method;
  return here.find((each) => each.method === wanted) ?? here[0];
}

/** A pattern that matches the paths of an endpoint. */
export function patternOf({ path }: Pick<Endpoint, 'path'>): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

const paths = allEndpoints.map((endpoint) => ({ endpoint, pattern: patternOf(endpoint) }));
