/** `POST /positions/{marketId}/sync` at the shell: every way to name market and user, and every one that is refused. */
import assert from 'node:assert/strict';
import type { SyncPositionHandler } from '../../command/orders/sync-position.js';
import { RequestError } from '../../engine/records/errors.js';
import type { ClientErrorCode } from '../../service/api/errors.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once } from '../support/wire.js';

const MARKET = `0x${'4d'.repeat(32)}`;
const CONTRACT = `0x${'c0'.repeat(20)}`;
const USER = `0x${'Ab'.repeat(20)}`;
const OTHER = `0x${'cd'.repeat(20)}`;
const PATH = `/api/v1/positions/${MARKET}/sync`;

/** Knows one contract, and answers with whom it was asked for. */
const syncPosition: SyncPositionHandler = ({ market, user }) => {
  if ('contractAddress' in market && market.contractAddress !== CONTRACT) return Promise.reject(new RequestError('unknown_market'));
  const marketId = 'marketId' in market ? market.marketId : MARKET;
  const position = { yesShares: 1n, noShares: 0n, totalInvested: 2n ** 64n };
  return Promise.resolve({ success: true, position, message: `${marketId} ${user}`, logPosition: 3 });
};

describe('service: a position\'s sync', () => {
  let shell: RunningShell;
  before(async () => { shell = await startShell({ handlers: { syncPosition } }); });
  after(() => shell.stop());

  const answer = `{"success":true,"position":{"yesShares":1,"noShares":0,"totalInvested":18446744073709551616},"message":"${MARKET} ${USER.toLowerCase()}"}`;
  const body = JSON.stringify({ userAddress: USER });
  for (const [how, path, options] of [
    ['the user in the body', PATH, { body }],
    ['the user in the query, without a body', `${PATH}?userAddress=${USER}`, {}],
    ['the user in the query, with an empty object', `${PATH}?userAddress=${USER}`, { body: '{}' }],
    ['the user in both', `${PATH}?userAddress=${USER.toLowerCase()}`, { body }],
    ['the market by its contract', `/api/v1/positions/${CONTRACT}/sync`, { body }],
    ['an empty body of another type', `${PATH}?userAddress=${USER}`, { headers: { 'Content-Type': 'text/plain', 'Content-Length': '0' } }],
  ] as const) {
    it(`takes ${how}, and answers with exact integers and the log position`, async () => {
      const reply = await once(shell.port, 'POST', path, options);
      assert.deepEqual([reply.status, reply.body, reply.headers['x-log-position']], [200, answer, '3']);
    });
  }

  const refused: [what: string, status: number, code: ClientErrorCode, path: string, asked: { body?: string; headers?: Record<string, string> }][] = [
    ['no user', 400, 'invalid_request', PATH, {}],
    ['no user in an object', 400, 'invalid_request', PATH, { body: '{}' }],
    ['a user that is no address', 400, 'invalid_address', PATH, { body: '{"userAddress":"bob"}' }],
    ['a user that is no text', 400, 'invalid_request', PATH, { body: '{"userAddress":7}' }],
    ['two users', 400, 'invalid_request', `${PATH}?userAddress=${OTHER}`, { body }],
    ['a misspelt field', 400, 'invalid_request', `${PATH}?userAddress=${USER}`, { body: '{"user":1}' }],
    ['no JSON', 400, 'invalid_json', PATH, { body: '{' }],
    ['an array', 400, 'invalid_json', PATH, { body: '[]' }],
    ['a market that is neither id nor address', 400, 'invalid_address', '/api/v1/positions/rain/sync', { body }],
    ['an id that is no hex', 400, 'invalid_market_id', `/api/v1/positions/0x${'zz'.repeat(32)}/sync`, { body }],
    ['a contract that is unknown', 404, 'unknown_market', `/api/v1/positions/${OTHER}/sync`, { body }],
    ['a body of another type', 415, 'unsupported_media_type', PATH, { body, headers: { 'Content-Type': 'text/plain' } }],
    ['a body too large', 413, 'body_too_large', PATH, { body: 'x'.repeat(65_537) }],
  ];
  for (const [what, status, code, path, options] of refused) {
    it(`refuses ${what}: ${code}`, async () => {
      const reply = await once(shell.port, 'POST', path, options);
      assert.deepEqual([reply.status, (JSON.parse(reply.body) as { code: string }).code], [status, code]);
    });
  }

  it('passes on that the chain cannot be reached', async () => {
    const own = await startShell({ handlers: { syncPosition: () => Promise.reject(new RequestError('chain_unavailable')) } });
    const reply = await once(own.port, 'POST', PATH, { body });
    assert.deepEqual([reply.status, (JSON.parse(reply.body) as { code: string }).code, reply.headers['retry-after']], [503, 'chain_unavailable', '1']);
    await own.stop();
  });
});
