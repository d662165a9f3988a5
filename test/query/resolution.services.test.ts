/** A market's resolution in all its shapes. */
import assert from 'node:assert/strict';
import { ChainUnavailable, type Rpc } from '../../command/chain/chain.js';
import { getResolution, resolution } from '../../query/resolution.js';
import { createResolutionOptions } from '../../command/chain/resolution-options.js';
import { address, bytes32, readModels, type ReadModels } from '../support/read-models.js';
import { chainOf, madeUpContracts } from '../support/chain-settings.js';

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
    await models.advance(3);
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

  describe('while it has neither ended nor an assertion', () => {
    const unresolved = async (nowS = EXPIRATION) => (await resolution(models.db, { marketId, nowS })).unresolved;

    it('names the market, for the chain to tell what can become of it', async () => {
      await models.insert('markets', { number: 1, chain_id: 7, kind: 'quick', contract_address: address(9) });
      const market = { chainId: 7, contractAddress: address(9), kind: 'quick', expiration: EXPIRATION };
      assert.deepEqual([await unresolved(EXPIRATION - 1), await unresolved()], [undefined, market]);
      await models.insert('assertions', { position: 6, rejected: true });
      assert.deepEqual(await unresolved(), market);
      await models.insert('assertions', { position: 7 });
      assert.equal(await unresolved(), undefined);
      await models.run('delete from assertions');
      await models.run('update markets set resolved = true');
      assert.equal(await unresolved(), undefined);
    });

    it('is answered without the chain\'s part where the chain is away, silent, absurd or not configured', async () => {
      await models.insert('markets', { number: 1, chain_id: 7 });
      const chain = chainOf({ ...madeUpContracts('3'), deploymentBlock: 0 }, { chainId: 7 });
      const asked: string[] = [];
      const answered = async (chainId: number, request: (method: string) => Promise<unknown>) => {
        const clientRpc: Rpc = { chainId, request: <T>(method: string) => { asked.push(method); return request(method) as Promise<T>; } };
        const chains = new Map([[chainId, { chain, clientRpc }]]);
        const resolutionOptions = createResolutionOptions({ chains, monotonic: () => 0, chainWithinMs: 50 });
        const read = getResolution.serve({ db: models.db, now: () => EXPIRATION * 1_000, resolutionOptions });
        return (await read({ marketId }, { ip: '', signal: AbortSignal.timeout(60_000) })).body;
      };
      const away = () => Promise.reject(new ChainUnavailable(7, 'away'));
      const plain = `{"marketId":"${marketId}","expired":true,"resolved":false}`;
      assert.equal(await answered(7, away), plain);
      assert.equal(await answered(7, () => new Promise(() => undefined)), plain);
      assert.equal(await answered(7, () => Promise.resolve('0x1234')), plain);
      assert.equal(asked.length, 3);
      assert.equal(await answered(8, away), plain);
      assert.equal(asked.length, 3, 'another chain is not asked');
    });
  });
});
