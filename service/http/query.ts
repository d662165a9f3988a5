/** Parses the query of a request. */
import { RequestError } from '../../engine/records/errors.js';

/** Throws RequestError when a parameter is given twice: the intended value would be a guess. */
export function parseQuery(query: string): Record<string, string> {
  const values = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(query)) {
    if (name in values) throw new RequestError('invalid_request', `${name}: given once`, [{ field: `/${name}`, message: 'given once' }]);
    values[name] = value;
  }
  return values;
}
