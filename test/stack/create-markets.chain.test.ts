/** The catalogue's markets come to be on a chain, each once: over restarts, crashes on the way, and others who were first. */
import assert from 'node:assert/strict';
import { ChainUnavailable, type Rpc } from '../../command/chain/chain.js';
import { createRpc } from '../../command/chain/rpc.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { Interface, type InterfaceAbi } from 'ethers';
import { readCatalogue, type CatalogueMarket } from '../../command/indexer/catalogue.js';
import { createMissingMarkets, marketIdOf } from '../../stack/chain/create-markets.js';
import { deployedChain, type DeployedChain } from '../support/deployed-chain.js';

const FACTORY = new Interface(marketFactory.abi as InterfaceAbi);
const NOW_MS = Date.UTC(2040, 0, 1);

describe('service: the catalogue on a chain', () => {
  let deployed: DeployedChain;
  let rpc: Rpc;
  let catalogue: readonly CatalogueMarket[];

  before(async () => {
    deployed = await deployedChain();
    catalogue = await readCatalogue('');
    rpc = createRpc({ chainId: deployed.chain.chainId, urls: [deployed.url], now: () => 0, report: () => undefined });
  });

  afterEach(() => deployed.reset());
  after(() => deployed.stop());

  const createAll = (parts: { catalogue?: readonly CatalogueMarket[]; rpc?: Rpc } = {}) =>
    createMissingMarkets({ catalogue, chain: deployed.chain, rpc, key: deployed.operatorKey, now: () => NOW_MS, ...parts });

  async function created(): Promise<Record<string, unknown>[]> {
    const logs = await rpc.request<{ topics: string[]; data: string }[]>('eth_getLogs', [{
      address: deployed.chain.contracts.marketFactory, fromBlock: '0x0', toBlock: 'latest', topics: [FACTORY.getEvent('MarketCreated')!.topicHash],
    }]);
    return logs.map((log) => FACTORY.parseLog(log)!.args.toObject());
  }

  it('has each market as the catalogue says it, made by the key\'s account', async () => {
    const ids = await createAll();
    const events = await created();
    assert.deepEqual(events.map(({ marketId, maker, expiration, kind, category, bond, question, description }) =>
      ({ marketId, maker, expiration, kind, category, bond, question, description })), catalogue.map((market, i) => ({
      marketId: ids[i], maker: deployed.operator.address, expiration: BigInt(NOW_MS / 1_000 + market.expiresInDays * 86_400), kind: 0n,
      category: BigInt(['defi', 'protocol', 'stablecoin', 'general'].indexOf(market.category)), bond: 10_000_000n, question: market.question,
      description: market.description,
    })));
    assert.deepEqual(ids, catalogue.map(({ slug }) => marketIdOf(deployed.chain, slug)));
  });

  it('has each market once, though they are created again, later, or by others too', async () => {
    const all = catalogue.map(({ slug }) => marketIdOf(deployed.chain, slug));
    assert.deepEqual(await createAll({ catalogue: catalogue.slice(1, 2) }), all.slice(1, 2));
    assert.deepEqual(await createAll(), all);
    assert.deepEqual(await createAll(), all);
    assert.equal((await created()).length, catalogue.length);
  });

  it('is finished by the next start when the process died after any of its requests', async () => {
    let sent = 0;
    for (let dieAfter = 1; ; dieAfter++) {
      let requests = 0;
      const dying: Rpc = {
        chainId: rpc.chainId,
        async request<T>(method: string, params: readonly unknown[]): Promise<T> {
          const answer = await rpc.request<T>(method, params);
          if (method === 'eth_sendRawTransaction') sent += 1;
          if (++requests === dieAfter) throw new ChainUnavailable(rpc.chainId, 'dead');
          return answer;
        },
      };
      const first = catalogue.slice(0, 2);
      const died = await createAll({ catalogue: first, rpc: dying }).then(() => false, () => true);
      await createAll({ catalogue: first });
      assert.equal((await created()).length, 2, `died after ${dieAfter} requests`);
      await deployed.reset();
      if (!died) break;
    }
    assert.ok(sent > 2);
  });

  it('says which market the factory refuses, and why', async () => {
    const [market] = catalogue;
    await assert.rejects(createAll({ catalogue: [{ ...market!, question: 'é'.repeat(501) }] }),
      new RegExp(`^Error: the market factory refuses the catalogue's market ${market!.slug}: QuestionLength\\(1002, 1000\\)$`));
    const nobody = `0x${'11'.repeat(32)}`;
    await assert.rejects(createMissingMarkets({ catalogue, chain: deployed.chain, rpc, key: nobody, now: () => NOW_MS }),
      /: AccessControlUnauthorizedAccount\(0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A, 0x/);
    assert.deepEqual(await created(), []);
  });
});
