/** The proxy's configuration sends each request to the role that serves it, and answers as the exchange does when nobody is there. */
import assert from 'node:assert/strict';
import { errors, RequestError, type ErrorCode } from '../../engine/records/errors.js';
import { streamPrices } from '../../service/api/endpoints/prices.js';
import { getMetrics } from '../../service/api/endpoints/service.js';
import { allEndpoints } from '../../service/api/endpoints.js';
import { roleOf } from '../../service/api/role-of.js';
import { textOf } from '../support/deploy-files.js';

const routes = textOf('deploy/proxy/routes.conf');
const server = textOf('deploy/proxy/server.conf');

describe('deploy: the proxy', () => {
  it('sends every endpoint\'s requests to a process of its role, whatever the method and the query', () => {
    for (const { path } of allEndpoints) {
      const target = path.replaceAll(/\{\w+\}/g, '0xA1b2');
      for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
        for (const asked of [target, `${target}?a=/api/v1/orders/b&c=d`]) assert.equal(mapped('exchange_role', `${method} ${asked}`), wanted(method, asked), `${method} ${asked}`);
      }
    }
  });

  it('sends what nobody serves to a process that refuses it', () => {
    for (const target of ['/', '/docs', '/docs/', '/api/v1/ordersx', '/api/v1/positions', '/favicon.ico', '/api/v1/users/a/b/nonces']) {
      for (const method of ['GET', 'POST']) assert.equal(mapped('exchange_role', `${method} ${target}`), wanted(method, target), `${method} ${target}`);
    }
  });

  it('answers as the exchange does when no process answers', () => {
    assert.match(server, /default_type "";\n\s+add_header Content-Type \$exchange_away_type always;/);
    for (const { method, path, errorShape: shape } of allEndpoints) {
      const { status, body } = shape.answer(new RequestError(method === 'GET' ? 'unavailable' : 'outcome_unknown'));
      assert.deepEqual(JSON.parse(awayBody(method, path)), JSON.parse(body), path);
      assert.equal(mapped('exchange_away_type', path), shape.contentType, path);
      assert.equal(status, Number(/return (\d+) \$exchange_away;/.exec(server)?.[1]));
    }
  });

  it('tries another process when one is starting, also with a command', () => {
    assert.match(server, /^ {2}proxy_next_upstream error timeout http_503 non_idempotent;$/m);
  });

  it('passes prices on as they come, and keeps the metrics to the operator', () => {
    const stream = new RegExp(/location ~ (\S+) \{\s+proxy_buffering off;/.exec(server)?.[1] ?? 'none');
    const unbuffered = allEndpoints.filter(({ path }) => stream.test(path.replaceAll(/\{\w+\}/g, 'BTC')));
    assert.deepEqual(unbuffered, [streamPrices]);
    assert.match(server, new RegExp(`location = ${getMetrics.path} \\{\\s+return 404;`));
  });

  it('lets a client not choose its own address', () => {
    assert.match(server, /proxy_set_header X-Forwarded-For \$remote_addr;/);
  });
});

function wanted(method: string, target: string): string {
  const role = roleOf(method, target);
  return role === 'every' ? 'query' : role;
}

/** What the `map` of a variable gives for a value. The first pattern that matches counts, as in nginx. */
function mapped(variable: string, value: string): string {
  const [, body = ''] = new RegExp(`map [^{]*\\$${variable} \\{\\n(.*?)\\n\\}`, 's').exec(routes) ?? [];
  const rows = [...body.matchAll(/^ {2}("[^"]*"|\S+)\s+(.*);$/gm)].map(([, key = '', result = '']) => [unquoted(key), unquoted(result)] as const);
  const row = rows.find(([key]) => key === value) ?? rows.find(([key]) => key.startsWith('~') && new RegExp(key.slice(1)).test(value)) ?? rows.find(([key]) => key === 'default');
  assert.ok(row !== undefined, `nothing for ${value} in the map of ${variable}`);
  return row[1];
}

function awayBody(method: string, path: string): string {
  const code = mapped('exchange_away_code', method) as ErrorCode;
  assert.ok(code in errors);
  return mapped('exchange_away', path).replaceAll('$exchange_away_code', code).replaceAll('$exchange_away_text', mapped('exchange_away_text', code));
}

function unquoted(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}
