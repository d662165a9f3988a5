/** The proxy's configuration sends each request to the role that serves it, refuses as the exchange does, limits its clients, and compresses. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import { errors, type ClientErrorCode } from '../../service/api/errors.js';
import { parseConfig } from '../../service/config.js';
import { COMMON_HEADERS } from '../../service/http/security.js';
import type { Endpoint } from '../../service/api/endpoint.js';
import type { ErrorShape } from '../../service/api/error-shape.js';
import { streamPrices } from '../../query/price-stream.js';
import { getStream } from '../../query/streams/get-stream.js';
import { openWebSocket } from '../../query/streams/open-web-socket.js';
import { getMetrics } from '../../service/endpoints/health.js';
import { allEndpoints } from '../../service/endpoints.js';
import { roleOf } from '../support/role-of.js';
import { textOf } from '../support/deploy-files.js';

const routes = textOf('deploy/proxy/routes.conf');
const server = textOf('deploy/proxy/server.conf');
const refusal = textOf('deploy/proxy/refusal.conf');

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

  it('refuses as the exchange does: when no process answers, a client asks for too much at a time, or a body is too large', () => {
    assert.match(refusal, /default_type "";\nadd_header Content-Type \$exchange_error_type always;/);
    for (const [, name = '', value = ''] of refusal.matchAll(/^add_header ([\w-]+) (.+) always;$/gm)) {
      if (name === 'Content-Type') continue;
      const own = COMMON_HEADERS[COMMON_HEADERS.indexOf(name) + 1] ?? '';
      assert.ok(name === 'Access-Control-Expose-Headers' ? own.split(', ').includes(value) : own === value, name);
    }
    for (const endpoint of allEndpoints) {
      const { method, path } = endpoint;
      const target = path.replaceAll(/\{\w+\}/g, 'BTC');
      const isStream = ([streamPrices, getStream, openWebSocket] as readonly Endpoint[]).includes(endpoint);
      const refused: Record<string, ClientErrorCode> = {
        away: method === 'GET' ? 'unavailable' : 'outcome_unknown', busy: isStream ? 'too_many_streams' : 'rate_limited', too_large: 'body_too_large',
      };
      for (const [location, code] of Object.entries(refused)) checkRefusal(location, { method, target, code, shape: endpoint.errorShape });
    }
  });

  it('limits the requests and the streams of a client, each on its own, as the exchange limits its streams', () => {
    const { maxPriceStreamsPerAddress } = parseConfig({ HOST: '0.0.0.0', TRUST_PROXY: '1' });
    const perClient = [...server.matchAll(/location [^{]+ \{\n {4}limit_conn exchange_streams (\d+);/g)].map(([, count]) => Number(count));
    assert.deepEqual(perClient, [maxPriceStreamsPerAddress, maxPriceStreamsPerAddress]);
    assert.match(server, /^ {2}limit_conn exchange_requests \d+;\n {2}limit_conn_status 429;$/m);
    for (const zone of ['exchange_requests', 'exchange_streams']) assert.match(routes, new RegExp(`^limit_conn_zone \\$exchange_client zone=${zone}:`, 'm'));
  });

  it('takes every body that an endpoint takes', () => {
    const [, megabytes] = /client_max_body_size (\d+)m;/.exec(server) ?? [];
    for (const { body, path } of allEndpoints) assert.ok((body?.limitBytes ?? 0) <= Number(megabytes) * 1_024 * 1_024, path);
  });

  it('compresses every answer but the prices as they come', () => {
    const types = /gzip_types ([^;]+);/.exec(server)?.[1]?.split(' ') ?? [];
    const answered = allEndpoints.flatMap(({ answer: { contentType = 'application/json', alternatives = {} }, errorShape }) => (
      [contentType, ...Object.keys(alternatives), errorShape.contentType]));
    assert.deepEqual([...new Set(answered)].filter((type) => !types.includes(type)), [streamPrices.answer.contentType]);
    assert.match(server, /^ {2}gzip on;\n {2}gzip_proxied any;\n {2}gzip_vary on;$/m);
  });

  it('tries another process when one is starting, also with a command', () => {
    assert.match(server, /^ {2}proxy_next_upstream error timeout http_503 non_idempotent;$/m);
  });

  it('passes streams on as they come, and keeps the metrics to the operator', () => {
    const stream = new RegExp(/location ~ (\S+) \{[^}]+\bproxy_buffering off;/.exec(server)?.[1] ?? 'none');
    const unbuffered = allEndpoints.filter(({ path }) => stream.test(path.replaceAll(/\{\w+\}/g, 'BTC')));
    assert.deepEqual(unbuffered, [streamPrices, getStream]);
    assert.match(server, new RegExp(`location = ${getMetrics.path} \\{\\s+return 404;`));
  });

  it('passes the upgrade of a WebSocket on, and of nothing else', () => {
    const [, location = ''] = new RegExp(`location = ${openWebSocket.path} \\{([^}]+)\\}`).exec(server) ?? [];
    assert.match(location, /proxy_set_header Upgrade \$http_upgrade;\s+proxy_set_header Connection \$exchange_connection;/);
    assert.deepEqual(['websocket', 'WebSocket', 'h2c', ''].map((asked) => mapped('exchange_connection', asked)), ['upgrade', 'upgrade', '', '']);
    // A location that sets one header takes none of the server's own.
    for (const [line] of server.matchAll(/^ {2}proxy_set_header (?!Connection).+;$/gm)) assert.ok(location.includes(line.trim()), line);
  });

  it('lets a client not choose its own address', () => {
    assert.match(server, /^ {2}proxy_set_header X-Forwarded-For \$remote_addr;$/m);
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
  const row = rows.find(([key]) => key === value) ?? rows.find(([key]) => key.startsWith('~') && patternOf(key).test(value)) ?? rows.find(([key]) => key === 'default');
  assert.ok(row !== undefined, `nothing for ${value} in the map of ${variable}`);
  return row[1];
}

interface Refused {
  readonly method: string;
  readonly target: string;
  readonly code: ClientErrorCode;
  readonly shape: ErrorShape;
}

/** Holds what a location of the proxy answers to what the exchange answers to the same error. */
function checkRefusal(location: string, { method, target, code, shape }: Refused): void {
  const what = `@${location} ${method} ${target}`;
  const [, body = ''] = new RegExp(`location @${location} \\{\\n([^}]*)\\}`).exec(server) ?? [];
  const set = (name: string): string => new RegExp(`set \\$${name} (\\S+);`).exec(body)?.[1] ?? '';
  const named = set('exchange_code');
  const told = named === '$exchange_away_code' ? mapped('exchange_away_code', method) : named === '$exchange_busy_code' ? mapped('exchange_busy_code', target) : named;
  assert.equal(told, code, what);
  assert.ok(told in errors);
  const expected = shape.answer(new RequestError(code));
  const sent = mapped('exchange_error', target).replaceAll('$exchange_code', told)
    .replaceAll('$exchange_text', mapped('exchange_text', told)).replaceAll('$exchange_status', set('exchange_status'));
  assert.deepEqual(JSON.parse(sent), JSON.parse(expected.body), what);
  assert.equal(mapped('exchange_error_type', target), shape.contentType, what);
  assert.match(body, new RegExp(`include /etc/nginx/exchange/refusal.conf;[^]*return ${expected.status} \\$exchange_error;`), what);
  const [, errorPage] = new RegExp(`error_page ([\\d ]+) = @${location};`).exec(server) ?? [];
  assert.ok(errorPage !== undefined, what);
}

/** `~*` takes letters of any case. */
function patternOf(key: string): RegExp {
  return key.startsWith('~*') ? new RegExp(key.slice(2), 'i') : new RegExp(key.slice(1));
}

function unquoted(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}
