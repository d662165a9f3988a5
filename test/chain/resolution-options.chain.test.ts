/** What can become of an unresolved market, as its chain tells: the bond, why the oracle takes no proposal, and from when it can be halved. */
import assert from 'node:assert/strict';
import { ChainUnavailable } from '../../command/chain/chain.js';
import { createChainReads, type ChainReads } from '../../command/chain/chain-reads.js';
import { createRpc } from '../../command/chain/rpc.js';
import { createResolutionOptionsReader, type UnresolvedMarket } from '../../command/chain/resolution-options.js';
import { deployedChain, type DeployedChain } from '../support/deployed-chain.js';
import { resolutionActs } from '../support/resolution-acts.js';
import { BOND } from '../support/market-contracts.js';

const DAY_S = 86_400;
const MINIMUM = 5_000_000n;

describe('chain: how an unresolved market can be resolved', () => {
  let node: DeployedChain;
  let acts: ReturnType<typeof resolutionActs>;
  let reads: ChainReads;
  let market: UnresolvedMarket;
  let clockMs = 0;

  before(async () => {
    node = await deployedChain();
    acts = resolutionActs(node);
    reads = createChainReads(node.chain, createRpc({ chainId: node.chain.chainId, urls: [node.url], now: () => 0, report: () => undefined }));
  });
  beforeEach(async () => {
    await node.reset();
    const { address: contractAddress, expiration } = await node.createMarket({ question: 'Locked?', bond: BOND });
    market = { contractAddress, kind: 'standard', expiration };
  });
  after(() => node.stop());

  const readerOf = (by: Pick<ChainReads, 'views' | 'simulate'>) => createResolutionOptionsReader({ chain: node.chain, reads: by, now: () => clockMs });
  const resolutionOptions = (of = market, by: Pick<ChainReads, 'views' | 'simulate'> = reads) => readerOf(by)(of);
  const oracleTakes = (minimum: bigint, { whitelisted = true } = {}) =>
    acts.transact(node.operator, acts.at('oracle'), 'setParameters', [minimum / 2n, whitelisted]);
  /** A chain whose resolvers are of an earlier version: they have no such constants. */
  const earlier = (): Pick<ChainReads, 'views' | 'simulate'> => ({
    ...reads,
    views: async (calls, block) => (await reads.views(calls, block)).map((value, i) => /_DELAY$/.test(calls[i]!.method) ? undefined : value),
  });
  const halvableFromS = () => market.expiration + 30 * DAY_S;

  it('are a proposal under the greater of its own bond and the oracle\'s minimum, and half to half a month after the expiration', async () => {
    assert.deepEqual(await resolutionOptions(), { proposal: { bond: BOND, refusal: undefined }, halvableFromS: halvableFromS() });
    await oracleTakes(3n * BOND);
    assert.deepEqual(await resolutionOptions(), { proposal: { bond: 3n * BOND, refusal: undefined }, halvableFromS: halvableFromS() });
    const bond = await reads.views([{ abi: 'oracleResolver', to: node.chain.contracts.oracleResolver, method: 'bondOf', args: [market.contractAddress] }], 'latest');
    assert.deepEqual(bond, [3n * BOND], 'as the resolver says');
  });

  it('of a quick one are prices, and half to half a day after its end', async () => {
    const quick = { contractAddress: market.contractAddress, kind: 'quick', expiration: 2_000_000_000 } as const;
    assert.deepEqual(await resolutionOptions(quick), { halvableFromS: 2_000_000_000 + DAY_S });
  });

  it('tell why nothing is taken: another currency, a blocked oracle, an oracle that is gone', async () => {
    const refusal = async () => (await resolutionOptions()).proposal?.refusal;
    const { collateral, oracle } = node.chain.contracts;
    await oracleTakes(MINIMUM, { whitelisted: false });
    assert.match(await refusal() ?? '', new RegExp(`^the oracle refuses assertions: UnsupportedCurrency\\(${collateral}\\)$`, 'i'));
    await oracleTakes(MINIMUM);
    await acts.transact(node.operator, acts.at('collateral'), 'blacklist', [oracle]);
    assert.match(await refusal() ?? '', new RegExp(`^the stablecoin refuses the oracle: AccountIsBlacklisted\\(${oracle}\\)$`, 'i'));
    await acts.transact(node.operator, acts.at('collateral'), 'unBlacklist', [oracle]);
    assert.equal(await refusal(), undefined);
    await node.rpc('anvil_setCode', [oracle, '0x5f5ffd']);
    assert.deepEqual(await resolutionOptions(), { proposal: { bond: BOND, refusal: 'the oracle does not answer' }, halvableFromS: halvableFromS() });
  });

  it('are fewer at resolvers of an earlier version: the bond is fixed, and nothing can be halved', async () => {
    assert.deepEqual(await resolutionOptions(market, earlier()), { proposal: { bond: BOND, refusal: undefined } });
    await oracleTakes(BOND + 2n);
    assert.deepEqual(await resolutionOptions(market, earlier()), {
      proposal: { bond: BOND, refusal: `the oracle's least bond is ${BOND + 2n}, and this market's is ${BOND} for good` },
    });
    assert.deepEqual(await resolutionOptions({ ...market, kind: 'quick' }, earlier()), {});
  });

  it('cost the chain a few requests in ten seconds, and one per market, whoever asks; what failed is not kept for longer', async () => {
    let requests = 0;
    let away = false;
    const counted = <Args extends readonly unknown[], T>(read: (...args: Args) => Promise<T>) => (...args: Args): Promise<T> => {
      requests += 1;
      return away ? Promise.reject(new ChainUnavailable(node.chain.chainId, 'away')) : read(...args);
    };
    const read = readerOf({ views: counted(reads.views), simulate: counted(reads.simulate) });
    await read(market);
    const { length: first } = Array.from({ length: requests });
    for (let i = 0; i < 50; i++) await read(market);
    assert.equal(requests, first);
    away = true;
    clockMs += 10_000;
    for (let i = 0; i < 5; i++) await assert.rejects(read(market), ChainUnavailable);
    assert.equal(requests, first + 1);
    away = false;
    clockMs += 10_000;
    await read(market);
    assert.equal(requests, first + 1 + first - 1, 'the market\'s own bond is known');
  });
});
