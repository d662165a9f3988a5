/** What is answered without Express is answered with it in the same way, header by header: the same request with an empty query goes through it. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import { createLimiters } from '../../service/http/limits.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { Wire, type WireAnswer, type WireRequest } from '../support/wire.js';

const ORDERS = '/api/v1/orders';
const RELAYED = '/api/v1/relayer/ctf-approval';

const REQUESTS: Readonly<Record<string, readonly [path: string, request: WireRequest]>> = {
  'an order': [ORDERS, { body: '{"order":1}' }],
  'an order in an unusual type': [ORDERS, { body: '{}', headers: { 'Content-Type': 'application/json; charset="UTF-8"' } }],
  'no body': [ORDERS, {}],
  'a body that is not JSON by its type': [ORDERS, { body: '{}', headers: { 'Content-Type': 'text/plain' } }],
  'a body that is too long': [ORDERS, { body: 'x'.repeat(70_000) }],
  'a compressed body': [ORDERS, { body: '{}', headers: { 'Content-Encoding': 'gzip' } }],
  'an expectation': [ORDERS, { body: '{}', headers: { Expect: 'a miracle' } }],
  'a refused order': [ORDERS, { body: '"refused"' }],
  'an order that meets a fault of ours': [ORDERS, { body: '"broken"' }],
  'a relayed action without a token': [RELAYED, { body: '{}' }],
};

describe('service: requests without a router', () => {
  let shell: RunningShell;
  before(async () => {
    const placeOrder = ({ body }: { body: Buffer }): Promise<{ body: string; headers: Record<string, string>; position: number }> => {
      if (body.toString() === '"refused"') return Promise.reject(new RequestError('overloaded', 'later', [], { retryAfterS: 7 }));
      if (body.toString() === '"broken"') throw new TypeError('a fault');
      return Promise.resolve({ body: JSON.stringify({ 'bytes': body.length, '€': 1 }), headers: { 'Idempotent-Replayed': 'true' }, position: 12 });
    };
    shell = await startShell({ handlers: { placeOrder }, app: { limiters: createLimiters({ windowS: 60, orders: 1_000, reads: 0 }) } });
  });
  after(() => shell.stop());

  for (const [name, [path, request]] of Object.entries(REQUESTS)) {
    it(`answers ${name} as Express does`, async () => {
      const observed = shell.answered.length;
      const [direct, routed] = [await ask(shell.port, path, request), await ask(shell.port, `${path}?`, request)];
      assert.deepEqual(comparable(direct), comparable(routed));
      const [first, second, ...more] = shell.answered.slice(observed);
      assert.deepEqual([first, more], [second, []]);
    });
  }

  it('does not call Express for them', async () => {
    const stacks: string[] = [];
    const own = await startShell({ handlers: { placeOrder: () => { stacks.push(new Error('here').stack ?? ''); return { body: '{}' }; } } });
    for (const path of [ORDERS, `${ORDERS}?`]) await ask(own.port, path, { body: '{}' });
    await own.stop();
    assert.deepEqual(stacks.map((stack) => stack.includes('node_modules/router')), [false, true]);
  });

  it('finds the client behind trusted proxies', async () => {
    const keys: string[] = [];
    for (const trustProxy of [0, 1, 2]) {
      const own = await startShell({
        handlers: { placeOrder: (_params, { ip }) => { keys.push(ip); return { body: '{}' }; } }, app: { trustProxy },
      });
      for (const forwarded of ['198.51.100.1', '198.51.100.1, 198.51.100.2', ' , 198.51.100.1,198.51.100.2 , 198.51.100.3', '']) {
        await ask(own.port, ORDERS, { body: '{}', headers: { 'X-Forwarded-For': forwarded } });
      }
      await own.stop();
    }
    const [self, one, two, three] = ['127.0.0.1', '198.51.100.1', '198.51.100.2', '198.51.100.3'];
    assert.deepEqual(keys, [self, self, self, self, one, two, three, self, one, one, two, self]);
  });
});

async function ask(port: number, path: string, request: WireRequest): Promise<WireAnswer> {
  const wire = await Wire.connect(port);
  const answer = await wire.request('POST', path, request).answer();
  wire.close();
  return answer;
}

/** Without what differs between any two answers. */
function comparable({ status, headers: { date, ratelimit, ...headers }, body }: WireAnswer) {
  assert.ok(date);
  return {
    status, headers: { ...headers, ratelimit: ratelimit?.replace(/r=\d+; t=\d+/, '') }, body: body.replace(/failure-\d+/, 'an id'),
  };
}
