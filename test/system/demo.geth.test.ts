/** `npm run demo URL` on go-ethereum: a service in a process of its own, on a chains file that names the node and the keys. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { id } from 'ethers';
import { bearerToken } from '../support/gasless-wallet.js';
import { gethChain, type GethChain } from '../support/geth.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { startService, type ServiceProcess } from '../support/service-process.js';

const QUICK = { PRICE_SOURCES: 'simulated', QUICK_ASSETS: 'BTC', QUICK_INTERVAL_S: '25' };

describe('the demonstration on go-ethereum', function () {
  this.timeout(240_000);
  let node: GethChain;
  let database: TestDatabase;
  let service: ServiceProcess;
  let directory: string;

  before(async () => {
    node = await gethChain({ chain: { exposureCheck: true }, disputeWindowS: 5n });
    await node.createMarket({ question: 'Will it rain?' });
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-geth-demo-'));
    await mkdir(join(directory, 'data'));
    database = await testDatabase();
    service = await startService({ CHAINS: await chainsFile(), DATABASE_URL: database.url, DATA_DIR: join(directory, 'data'), LOG_LEVEL: 'info', ...QUICK });
  });
  after(async () => {
    await service.stop();
    await database.drop();
    await node.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function chainsFile(): Promise<string> {
    const { domainName: settlementDomainName, ...chain } = node.chain;
    const quick = node.accounts[6]!;
    await node.send(node.operator, 'marketFactory', 'grantRole', [id('CREATOR_ROLE'), quick.address]);
    await node.send(node.operator, 'quickResolver', 'grantRole', [id('OPERATOR_ROLE'), quick.address]);
    const keys = { 'operator-key': node.accounts[9]!.privateKey, 'relayer-key': node.accounts[8]!.privateKey, 'quick-key': quick.privateKey };
    for (const [name, key] of Object.entries(keys)) await writeFile(join(directory, name), key);
    const path = join(directory, 'chains.json');
    await writeFile(path, JSON.stringify({ chains: [{
      ...chain, settlementDomainName, rpcUrls: [node.url], publicRpcUrl: node.url, operatorKey: { file: 'operator-key' }, relayerKey: { file: 'relayer-key' },
      relayerAddress: node.accounts[8]!.address, quickKey: { file: 'quick-key' }, quickAddress: quick.address, pollMs: 100, blocksOnDemand: true,
    }] }));
    return path;
  }

  it('holds from its first line to its last', async () => {
    const program = fileURLToPath(new URL('../../tools/demo.js', import.meta.url));
    const env = { TOKEN: await bearerToken(database.url), MARKET_KEY: node.operatorKey };
    const { stdout } = await promisify(execFile)(process.execPath, ['--enable-source-maps', program, service.url], { env });
    assert.match(stdout, /^The chain pays by the same two prices: transaction 0x/m);
    assert.match(stdout, /\nAll as expected\.\n$/);
  });
});
