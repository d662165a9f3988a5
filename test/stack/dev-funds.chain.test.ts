/** Test money on a development chain: a wallet is filled up and not beyond, what is refused, and who has the path at all. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Contract, Wallet, id, parseEther, type InterfaceAbi } from 'ethers';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Chain } from '../../command/chain/chain.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { parseConfig } from '../../service/config.js';
import { allEndpoints } from '../../service/endpoints.js';
import { createLogger } from '../../service/logger.js';
import { openapiDocument } from '../../service/api/openapi.js';
import { namedResources } from '../../service/resources.js';
import { createFaucet } from '../../stack/chain/faucet.js';
import { FUNDS_PATH, fundsRoutes, giveFunds } from '../../stack/dev-funds.js';
import { stackResources } from '../../stack/resources.js';
import { chainWithContracts, type TestChain } from '../support/chain.js';
import { chainOf, madeUpContracts } from '../support/chain-settings.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once } from '../support/wire.js';

const GIFT = { collateral: 10_000_000_000, native: String(parseEther('1')) };
const EMPTY = { status: 'confirmed', txHash: '' };

interface Answer { readonly status: number; readonly retryAfter: string | undefined; readonly body: Record<string, unknown> }

describe('test money', function () {
  this.timeout(60_000);
  let chain: TestChain;
  let dev: Chain;
  let usdc: Contract;
  let shell: RunningShell;
  let nowMs: number;
  let wallets = 0;

  before(async () => {
    const { chain: started, deployed } = await chainWithContracts();
    chain = started;
    dev = chainOf(deployed, { chainId: 31_337 });
    usdc = new Contract(dev.contracts.collateral, testUsdc.abi as InterfaceAbi, chain.provider);
  });
  beforeEach(async () => {
    nowMs = 1_000;
    shell = await withFunds();
  });
  afterEach(() => shell.stop());
  after(() => chain.stop());

  const withFunds = (rpcUrl = chain.url) => startShell({ app: {
    routes: [...fundsRoutes({ chainId: dev.chainId, give: createFaucet({ chain: dev, rpcUrl }), now: () => nowMs })],
  } });
  const newWallet = () => new Wallet(id(`test money ${++wallets}`)).connect(chain.provider);
  const post = async (body: unknown, port = shell.port): Promise<Answer> => {
    const { status, headers, body: text } = await once(port, 'POST', FUNDS_PATH, { body: typeof body === 'string' ? body : JSON.stringify(body) });
    return { status, retryAfter: headers['retry-after'], body: JSON.parse(text) as Record<string, unknown> };
  };
  const onChain = async (address: string) => ({
    collateral: Number(await usdc.getFunction('balanceOf')(address)), native: String(await chain.provider.getBalance(address)),
  });
  const validate = new Ajv2020({ strict: true }).compile(giveFunds.answer.schema);

  it('fills a wallet up, so that it can pay for its approvals, and answers when the money is there', async () => {
    const wallet = newWallet();
    const { status, body } = await post({ address: wallet.address });
    assert.deepEqual([status, validate(body)], [200, true]);
    const { txHash, ...rest } = body;
    assert.deepEqual(rest, { address: wallet.address.toLowerCase(), chainId: 31_337, status: 'confirmed', ...GIFT });
    assert.deepEqual(await onChain(wallet.address), GIFT);
    assert.equal((await chain.provider.getTransactionReceipt(String(txHash)))?.status, 1);
    const approval = await (usdc.connect(wallet) as Contract).getFunction('approve').send(dev.contracts.settlement, 5n);
    assert.equal((await approval.wait())?.status, 1);
  });

  it('gives nothing more to who has it, and only what is missing to who has spent some', async () => {
    const wallet = newWallet();
    await post({ address: wallet.address });
    const block = await chain.provider.getBlockNumber();
    const { body } = await post({ address: wallet.address, chainId: 31_337 });
    assert.deepEqual(body, { address: wallet.address.toLowerCase(), chainId: 31_337, ...GIFT, ...EMPTY });
    assert.equal(await chain.provider.getBlockNumber(), block, 'nothing is sent');
    await (await (usdc.connect(wallet) as Contract).getFunction('transfer').send(newWallet().address, 4n)).wait();
    assert.notDeepEqual(await onChain(wallet.address), GIFT);
    await post({ address: wallet.address });
    assert.deepEqual(await onChain(wallet.address), GIFT);
  });

  it('gives once, however many ask at the same time', async () => {
    const { address } = newWallet();
    const answers = await Promise.all(Array.from({ length: 5 }, () => post({ address })));
    assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 200, 200]);
    assert.equal(new Set(answers.map(({ body }) => body['txHash'])).size, 1);
    assert.deepEqual(await onChain(address), GIFT);
  });

  it('refuses what is no wallet of this chain, with a reason, and sends nothing', async () => {
    const { address } = newWallet();
    const block = await chain.provider.getBlockNumber();
    const refusals: [body: unknown, status: number, code: string, field: string | undefined][] = [
      [{ address: 'bob' }, 400, 'invalid_address', '/address'], [{ address: `${address}00` }, 400, 'invalid_address', '/address'],
      [{}, 400, 'invalid_address', '/address'], [{ address: null }, 400, 'invalid_address', '/address'],
      [{ address: dev.contracts.collateral }, 400, 'invalid_address', '/address'], [{ address: `0x${'0'.repeat(40)}` }, 400, 'invalid_address', '/address'],
      [{ address, chainId: 137 }, 404, 'unknown_chain', '/chainId'], [{ address, chainId: 'x' }, 400, 'invalid_chain_id', '/chainId'],
      [{ address, amount: 5 }, 400, 'invalid_request', '/amount'], ['{"address":', 400, 'invalid_json', undefined],
    ];
    for (const [sent, status, code, field] of refusals) {
      const { status: answered, body } = await post(sent);
      const [first] = body['errors'] as { field: string }[] | undefined ?? [];
      assert.deepEqual([answered, body['code'], first?.field], [status, code, field], JSON.stringify(sent));
    }
    assert.equal(await chain.provider.getBlockNumber(), block);
  });

  it('bounds the requests for a wallet, and of a client address, in each minute', async () => {
    const { address } = newWallet();
    for (let n = 0; n < 5; n++) assert.equal((await post({ address })).status, 200);
    nowMs += 20_000;
    const refused = await post({ address });
    assert.deepEqual([refused.status, refused.body['code'], refused.retryAfter], [429, 'rate_limited', '40']);
    let answered = 6;
    while ((await post({ address: newWallet().address })).status === 200) answered++;
    assert.equal(answered, 60);
    nowMs += 40_000;
    assert.equal((await post({ address })).status, 200);
  });

  it('says that the chain does not answer', async () => {
    const own = await withFunds('http://127.0.0.1:1');
    const { status, body } = await post({ address: newWallet().address }, own.port);
    await own.stop();
    assert.deepEqual([status, body['code'], own.failures], [503, 'chain_unavailable', []]);
  });

  it('is at no path of the exchange itself, which answers as at any unknown path', async () => {
    const plain = await startShell();
    const ask = async (path: string) => {
      const { status, body } = await once(plain.port, 'POST', path, { body: JSON.stringify({ address: newWallet().address }) });
      return [status, body];
    };
    assert.deepEqual(await ask(FUNDS_PATH), await ask('/api/v1/dev/found'));
    assert.equal((await ask(FUNDS_PATH))[0], 404);
    const { paths } = openapiDocument(allEndpoints, '1') as { paths: Record<string, unknown> };
    assert.deepEqual(Object.keys(paths).filter((path) => path.includes('/dev')), []);
    await plain.stop();
  });

  it('is not given beside any chain but one that the stack has started, whatever the settings', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'prediction-exchange-funds-'));
    const file = join(folder, 'chains.json');
    const real = {
      chainId: 31_337, name: 'Real', testnet: true, rpcUrls: [chain.url], contracts: madeUpContracts('a'), confirmations: 0, startBlock: 0,
      settlementDomainName: 'Real', exposureCheck: true, publicRpcUrl: chain.url, blocksOnDemand: true, operatorKey: { env: 'THE_KEY' },
    };
    await writeFile(file, JSON.stringify({ chains: [real] }));
    for (const settings of [{ CHAINS: file }, { CHAINS: 'none' }, { CHAINS: file, ROLES: 'query api' }]) {
      const config = parseConfig({ DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', DATA_DIR: folder, LOG_LEVEL: 'silent', ...settings });
      for (const open of [namedResources, stackResources]) {
        const { chains, routes } = await open(config, { environment: {}, signs: false, logger: createLogger(config), steps: [] });
        assert.deepEqual([chains.length, routes], [settings.CHAINS === 'none' ? 0 : 1, undefined], `${open.name} ${JSON.stringify(settings)}`);
      }
    }
    await rm(folder, { recursive: true });
  });
});
