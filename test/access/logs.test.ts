/** No bearer token is in a log line or in an answer: not from headers, paths, queries, bodies or unexpected errors. */
import assert from 'node:assert/strict';
import { Type } from '../../engine/records/schema-types.js';
import { tokenOf } from '../../service/access/token.js';
import { bearer } from '../../service/api/authority.js';
import { bytesOf, bind, defineEndpoint } from '../../service/api/endpoint.js';
import { requestObserver, createMetrics } from '../../service/status/metrics.js';
import { relayerErrors } from '../../service/api/relayer-errors.js';
import { createLogger } from '../../service/logger.js';
import { startShell } from '../support/shell.js';
import { once } from '../support/wire.js';

const TOKEN = tokenOf(Buffer.alloc(32, 5));

const failing = defineEndpoint({
  id: 'failing', role: 'api', method: 'POST', path: '/failing/{what}', tag: 'Service', summary: 'A test', description: 'A test.', parameters: {},
  body: bytesOf(Type.Unknown(), { limitBytes: 1_000, examples: { none: null } }), authority: bearer('relay'), errorShape: relayerErrors,
  answer: { description: 'Nothing.', schema: Type.Unknown(), examples: { none: null } }, errors: [], limit: 'none', consistent: false,
});

describe('access: logs', () => {
  function loggerTo(lines: string[]) {
    return createLogger({ logLevel: 'trace' }, { write: (line) => { lines.push(line); } });
  }

  it('of requests have no token, wherever the client or an error has put it', async () => {
    const lines: string[] = [];
    const app = {
      routes: [bind(failing, ({ body }) => { throw new Error(`cannot handle ${body.toString()}`); })], observer: requestObserver(createMetrics(), loggerTo(lines)),
    };
    const bot = { id: 1, name: 'bot', scopes: ['relay'] };
    const shell = await startShell({ app: { ...app, authenticate: (authorization) => { throw new Error(`cannot look up ${authorization.join()}`); } } });
    const other = await startShell({ app: { ...app, authenticate: () => Promise.resolve(bot) } });
    const headers = { Authorization: `Bearer ${TOKEN}` };
    const answers = [
      await once(shell.port, 'POST', `/failing/${TOKEN}?token=${TOKEN}`, { headers, body: TOKEN }),
      await once(shell.port, 'GET', `/nothing/${TOKEN}`, { headers }),
      await once(other.port, 'POST', '/failing/x', { headers, body: `{"token":"${TOKEN}"}` }),
    ];
    assert.deepEqual(answers.map(({ status }) => status), [500, 404, 500]);
    const text = lines.join('');
    assert.match(text, /cannot look up Bearer pex_\(secret\)/);
    assert.match(text, /POST \/failing\/pex_\(secret\)/);
    assert.match(text, /cannot handle .*pex_\(secret\)/);
    for (const each of [text, ...answers.map(({ body }) => body)]) assert.ok(!each.includes(TOKEN.slice(4, 20)), each);
    for (const line of lines) assert.equal(typeof JSON.parse(line), 'object', 'a line stays JSON');
    await shell.stop();
    await other.stop();
  });

  it('mask fields that are named for what they hold, and tokens in any other field', () => {
    const lines: string[] = [];
    const logger = loggerTo(lines);
    logger.info({ authorization: 'Bearer x', headers: { authorization: 'Bearer x' }, token: 'x', deep: { er: { still: [TOKEN] } } }, `took ${TOKEN}`);
    const { at, ...line } = JSON.parse(lines[0]!) as Record<string, unknown>;
    assert.equal(typeof at, 'string');
    assert.deepEqual(line, {
      level: 'info', authorization: '(secret)', headers: { authorization: '(secret)' }, token: '(secret)', deep: { er: { still: ['pex_(secret)'] } },
      msg: 'took pex_(secret)',
    });
  });
});
