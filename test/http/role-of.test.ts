/** Which process gets a request: every endpoint, every page, and every other path. */
import assert from 'node:assert/strict';
import { allEndpoints, pages } from '../../service/endpoints.js';
import { roleOf } from '../support/role-of.js';
import type { EndpointRole } from '../../service/api/endpoint.js';

const HASH = `0x${'a1'.repeat(32)}`;

describe('service: the role that serves a request', () => {
  it('is that of the endpoint, for every endpoint', () => {
    for (const { method, path, role } of allEndpoints) assert.equal(roleOf(method, path.replaceAll(/\{\w+\}/g, HASH)), role, `${method} ${path}`);
  });

  it('is `api` for orders, `relayer` for what users sign, `every` for what a process says of itself, `query` for the rest', () => {
    const of = (role: EndpointRole) => allEndpoints.filter((each) => each.role === role).map(({ id }) => id).sort();
    assert.deepEqual(of('api'), [
      'cancelAfter', 'cancelAll', 'cancelOrder', 'cancelOrders', 'checkOrder', 'getAccount', 'getOrder', 'getStatus', 'placeOrder', 'placeOrders',
      'reduceOrder', 'syncPosition',
    ]);
    assert.deepEqual(of('every'), ['getAsyncapi', 'getConfig', 'getContracts', 'getLiveness', 'getMetrics', 'getOpenapi', 'getReadiness']);
    assert.deepEqual(of('relayer'), [
      'getUserNonces', 'relayApproval', 'relayBatchRedemption', 'relayMerge', 'relayPermit', 'relayProposal', 'relayRedemption', 'relaySettlement', 'relaySplit',
    ]);
    assert.equal(of('query').length, allEndpoints.length - 28);
    assert.ok(allEndpoints.every(({ role, method }) => role !== 'query' || method === 'GET'));
  });

  const cases: [method: string, target: string, role: EndpointRole, why: string][] = [
    ['GET', '/api/v1/orders?trader=0x1', 'query', 'the query does not count'],
    ['HEAD', '/api/v1/orders', 'query', 'as GET'],
    ['POST', '/api/v1/orders', 'api', 'the same path, another method'],
    ['GET', `/api/v1/orders/${HASH}`, 'api', 'the look-up of an order'],
    ['DELETE', `/api/v1/orders/${HASH}`, 'api', 'the same path, another method'],
    ['OPTIONS', '/api/v1/positions/rain/sync', 'api', 'a preflight goes where the path is'],
    ['PUT', '/api/v1/markets', 'query', 'refused where the path is'],
    ['DELETE', '/api/v1/orders/', 'every', 'an empty parameter makes another path'],
    ['GET', '/api/v1/orders/a/b', 'every', 'a parameter is one segment'],
    ['GET', `/api/v1/orders/a%2Fb`, 'api', 'an encoded slash is a part of the segment'],
    ['GET', '/API/v1/orders', 'every', 'case counts'],
    ['GET', '/openapiXjson', 'every', 'a dot is a dot'],
    ['GET', '/docs', 'query', 'a page'], ['GET', '/docs/swagger-ui.css', 'query', 'what a page loads'], ['GET', '/docsx', 'every', 'another path'],
    ['GET', '/', 'query', 'the page'], ['GET', '/assets/index.js', 'query', 'what the page loads'], ['GET', '', 'every', 'nothing is there'],
  ];
  for (const [method, target, role, why] of cases) {
    it(`is ${role} for ${method} ${target}: ${why}`, () => { assert.equal(roleOf(method, target), role); });
  }

  it('has no page below an endpoint, nor an endpoint below a page', () => {
    for (const page of Object.keys(pages)) assert.ok(allEndpoints.every(({ path }) => path !== page && !path.startsWith(`${page}/`)), page);
  });
});
