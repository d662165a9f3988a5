/** A market's resolution in all its shapes. */
import assert from 'node:assert/strict';
import { resolution } from '../../query/resolution.js';
import { address, bytes32, readModels, type ReadModels } from '../support/read-models.js';

const marketId = bytes32(1);
const EXPIRATION = 2_000_000_000;

describe('query: resolution', () => {
  let models: ReadModels;
  before(async () => { models = await readModels(); });
  beforeEach(() => models.clear());
  after(() => models.close());

  const read = async (nowS: number) => JSON.parse((await resolution(models.db, { marketId, nowS })).body) as unknown;
  const assertion = {
    id: bytes32(7), proposer: address(5), proposedOutcome: true, bondAmount: '500000000', assertionTime: 1_700_000_000, expirationTime: 1_700_007_200,
    settled: false, settlementResolution: false, disputed: false,
  };

  it('has three fields before anything was asserted, expired from the very second on', async () => {
    await models.insert('markets', { number: 1 });
    await models.advance(5);
    await models.advance(3, 'resolutions');
    assert.deepEqual(await resolution(models.db, { marketId, nowS: EXPIRATION - 1 }), {
      body: `{"marketId":"${marketId}","expired":false,"resolved":false}`, position: 2,
    });
    assert.deepEqual(await read(EXPIRATION), { marketId, expired: true, resolved: false });
  });

  it('is expired once the engine has closed it, also by a clock that is behind the engine\'s', async () => {
    await models.insert('markets', { number: 1, closed: true });
    assert.deepEqual(await read(EXPIRATION - 10), { marketId, expired: true, resolved: false });
  });

  it('has the assertion while one stands, with a bond of any size', async () => {
    await models.insert('markets', { number: 1 });
    await models.insert('assertions', { position: 7, bond: String(2n ** 256n - 1n) }, { position: 8, market_id: bytes32(2) });
    const standing = { ...assertion, bondAmount: String(2n ** 256n - 1n) };
    assert.deepEqual(await read(EXPIRATION), { marketId, expired: true, resolved: false, assertion: standing });
    await models.run('update assertions set disputer = proposer, outcome = 1');
    assert.deepEqual(await read(EXPIRATION), {
      marketId, expired: true, resolved: false, assertion: { ...standing, proposedOutcome: false, disputed: true },
    });
  });

  it('has none once it is rejected, and the next one when that comes', async () => {
    await models.insert('markets', { number: 1 });
    await models.insert('assertions', { position: 6, rejected: true, disputer: address(1) });
    assert.deepEqual(await read(EXPIRATION), { marketId, expired: true, resolved: false });
    await models.insert('assertions', { position: 7 });
    assert.deepEqual(await read(EXPIRATION), { marketId, expired: true, resolved: false, assertion });
  });

  it('has the winner once it is resolved, and whether the assertion held', async () => {
    await models.insert('markets', { number: 1, closed: true, resolved: true, winning_outcome: 0 });
    const resolved = { marketId, expired: true, resolved: true };
    assert.deepEqual(await read(0), { ...resolved, winningOutcome: 0 });
    await models.insert('assertions', { position: 7 });
    assert.deepEqual(await read(0), { ...resolved, winningOutcome: 0, assertion: { ...assertion, settled: true, settlementResolution: true } });
    await models.run('update markets set winning_outcome = 1');
    assert.deepEqual(await read(0), { ...resolved, winningOutcome: 1, assertion: { ...assertion, settled: true, settlementResolution: false } });
  });

  it('has no winner when the chain pays half to half', async () => {
    await models.insert('markets', { number: 1, closed: true, resolved: true });
    assert.deepEqual(await read(0), { marketId, expired: true, resolved: true, halved: true });
  });

  it('answers unknown_market for none', async () => {
    await assert.rejects(resolution(models.db, { marketId, nowS: 0 }), { name: 'RequestError', code: 'unknown_market' });
  });
});
