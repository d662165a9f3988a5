/** The chains file: several chains, secrets from elsewhere, every fault at once with its place, and never a secret shown. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { computeAddress, getAddress } from 'ethers';
import { ChainsFileError, keyVariablesOf, readChainsFile } from '../../service/chains-file.js';

/** The first key of the well-known test mnemonic. */
const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const KEY_ADDRESS = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';
const NAMES = ['settlement', 'conditionalTokens', 'collateral', 'marketFactory', 'oracle', 'oracleResolver', 'quickResolver', 'multicall'];
const contracts = Object.fromEntries(NAMES.map((name, i) => [name, `0x${`a${i}`.repeat(20)}`]));
const polygon = {
  chainId: 137, name: 'Polygon', testnet: false, rpcUrls: ['https://rpc.example', { env: 'POLYGON_RPC' }, { file: 'rpc-url' }], contracts,
  confirmations: 64, startBlock: 60_000_000, settlementDomainName: 'Prediction Exchange Settlement', exposureCheck: true, operatorKey: { env: 'POLYGON_KEY' },
};
/** The second key of the mnemonic, for the relayer. */
const RELAYER_KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
const RELAYER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const QUICK_KEY = `0x${'13'.repeat(32)}`;
const QUICK = computeAddress(QUICK_KEY);
const amoy = {
  ...polygon, chainId: 80_002, name: 'Amoy', testnet: true, rpcUrls: ['http://127.0.0.1:8545'], confirmations: 0, operatorKey: { file: 'key' }, pollMs: 50,
  maxFeePerGasGwei: 0.25, publicRpcUrl: 'https://rpc.example/public', blocksOnDemand: true, minOrderSize: 1_000_000,
};
const environment = { POLYGON_RPC: 'https://user:hunter2@rpc.example/v2/hunter2?key=hunter2', POLYGON_KEY: KEY };

describe('service: chains file', () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'prediction-exchange-chains-'));
    await writeFile(join(folder, 'key'), `${KEY.slice(2).toUpperCase()}\n`);
    await writeFile(join(folder, 'rpc-url'), ' https://third.example/\n');
    await writeFile(join(folder, 'empty'), '\n');
  });

  after(() => rm(folder, { recursive: true }));

  async function read(content: unknown, variables: Record<string, string> = environment, signs = true) {
    const path = join(folder, 'chains.json');
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return readChainsFile(path, { environment: variables, signs });
  }

  async function problemsOf(content: unknown, variables: Record<string, string> = environment, signs = true): Promise<readonly string[]> {
    const error: unknown = await read(content, variables, signs).then(() => undefined, (thrown: unknown) => thrown);
    if (error === undefined) return [];
    assert.ok(error instanceof ChainsFileError, String(error));
    for (const secret of ['hunter2', 'ac0974', '4f4f']) assert.ok(!error.message.includes(secret), error.message);
    return error.problems;
  }

  it('gives the keys of the relayer and of quick markets with their addresses, each another one', async () => {
    const variables = { ...environment, RELAYER_KEY };
    const [chain] = await read({ chains: [{ ...polygon, relayerKey: { env: 'RELAYER_KEY' }, relayerAddress: RELAYER }] }, variables);
    assert.deepEqual([chain?.relayerKey, chain?.relayer], [RELAYER_KEY, '0x70997970c51812dc3a010c7d01b50e0d17dc79c8']);
    const [other] = await read({ chains: [{ ...polygon, quickKey: { env: 'RELAYER_KEY' }, quickAddress: RELAYER.toLowerCase() }] }, variables);
    assert.deepEqual([other?.quickKey, other?.quick, other?.relayer], [RELAYER_KEY, '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', undefined]);
    const [unnamed] = await read({ chains: [{ ...polygon, relayerKey: { env: 'RELAYER_KEY' } }] }, variables);
    assert.equal(unnamed?.relayer, chain?.relayer, 'who has the key needs no address');
    assert.deepEqual(await problemsOf({ chains: [{ ...polygon, relayerKey: { env: 'RELAYER_KEY' } }] }, environment, false),
      ['/chains/0/relayerAddress: expected the address of relayerKey']);
    const same = { env: 'POLYGON_KEY' };
    const addresses = { relayerAddress: KEY_ADDRESS, quickAddress: KEY_ADDRESS };
    assert.deepEqual(await problemsOf({ chains: [{ ...polygon, relayerKey: same, quickKey: same, ...addresses }] }), [
      '/chains/0/relayerKey: is the same key as operatorKey: each needs a key of its own, whose nonces nothing else uses',
      '/chains/0/quickKey: is the same key as operatorKey: each needs a key of its own, whose nonces nothing else uses',
    ]);
    const [inFile] = await problemsOf({ chains: [{ ...polygon, relayerKey: RELAYER_KEY, relayerAddress: RELAYER }] });
    assert.match(inFile!, /\/chains\/0\/relayerKey: a key must not be in this file/);
  });

  it('holds the keys against the addresses that it names, which processes need that have no keys', async () => {
    const keys = { relayerKey: { env: 'RELAYER_KEY' }, quickKey: { env: 'QUICK_KEY' } };
    const variables = { ...environment, RELAYER_KEY, QUICK_KEY };
    const faults = (addresses: object, signs: boolean) => problemsOf({ chains: [{ ...polygon, ...keys, ...addresses }] }, variables, signs);
    assert.deepEqual(await faults({ relayerAddress: QUICK }, true), [
      `/chains/0/relayerAddress: is not the address of relayerKey, which is ${RELAYER}`,
    ]);
    assert.deepEqual(await faults({ relayerAddress: 'hunter2', quickAddress: RELAYER.replace('C5', 'c5') }, false), [
      '/chains/0/relayerAddress: expected the address of relayerKey',
      '/chains/0/quickAddress: its capital letters are not those of its checksum (EIP-55): a digit may be wrong',
    ]);
    assert.deepEqual(await problemsOf({ chains: [{ ...polygon, quickAddress: QUICK }] }), ['/chains/0/quickAddress: has no effect without quickKey']);
  });

  it('gives a process that does not sign no key: it does not look where they are', async () => {
    const chain = {
      ...polygon, operatorKey: { file: 'nowhere' }, relayerKey: { env: 'UNSET' }, relayerAddress: RELAYER, quickKey: { env: 'QUICK_KEY' }, quickAddress: QUICK,
    };
    const [read1] = await read({ chains: [chain] }, { ...environment, QUICK_KEY }, false);
    assert.deepEqual([read1!.relayer, read1!.quick], [RELAYER.toLowerCase(), QUICK.toLowerCase()]);
    assert.ok(!JSON.stringify(read1).includes(QUICK_KEY.slice(2)));
    assert.deepEqual(Object.keys(read1!).filter((name) => name.endsWith('Key')), []);
    assert.deepEqual(await problemsOf({ chains: [{ ...chain, operatorKey: KEY }] }, environment, false).then(([first]) => first?.includes('a key must not be in this file')), true);
    assert.deepEqual(await problemsOf({ chains: [{ ...chain, operatorKey: { env: 'A', file: 'b' } }] }, environment, false),
      ['/chains/0/operatorKey: write { "env": "NAME" } for an environment variable, or { "file": "path" } for a file']);
  });

  it('tells which variables hold its keys, whatever else is wrong with it', async () => {
    const path = join(folder, 'variables.json');
    await writeFile(path, JSON.stringify({ chains: [{ ...polygon, relayerKey: { env: 'RELAYER_KEY' } }, { operatorKey: { file: 'key' }, quickKey: { env: 'QUICK_KEY' } }, 7] }));
    assert.deepEqual(await keyVariablesOf(path), ['POLYGON_KEY', 'RELAYER_KEY', 'QUICK_KEY']);
    for (const other of ['none', 'dev', join(folder, 'empty')]) assert.deepEqual(await keyVariablesOf(other), []);
  });

  it('gives several chains, with keys and URLs from where it names them', async () => {
    const { settlementDomainName, rpcUrls, operatorKey, ...chain } = polygon;
    assert.ok(settlementDomainName && rpcUrls && operatorKey);
    const domainName = 'Prediction Exchange Settlement';
    assert.deepEqual(await read({ chains: [polygon, amoy] }), [
      {
        chain: { ...chain, domainName }, rpcUrls: ['https://rpc.example', environment.POLYGON_RPC, 'https://third.example/'], operatorKey: KEY,
        pollMs: 1_000, blocksOnDemand: false,
      },
      {
        chain: { ...chain, domainName, chainId: 80_002, name: 'Amoy', testnet: true, confirmations: 0, minOrderSize: 1_000_000,
          publicRpcUrl: 'https://rpc.example/public' },
        rpcUrls: ['http://127.0.0.1:8545'], operatorKey: KEY, pollMs: 50, maxFeePerGas: 250_000_000n, blocksOnDemand: true,
      },
    ]);
  });

  it('is as its documentation shows it', async () => {
    const text = await readFile('docs/chains-file.md', 'utf8');
    const example = JSON.parse(/```json\n(.*?)```/s.exec(text)![1]!) as { chains: object[] };
    const chains = example.chains.map((each) => ({ ...each, operatorKey: { file: 'key' }, relayerKey: { env: 'RELAYER_KEY' }, relayerAddress: RELAYER, quickKey: { env: 'QUICK_KEY' }, quickAddress: QUICK }));
    const [chain, ...others] = await read({ chains }, { AMOY_RPC_URL: 'http://amoy.example', RELAYER_KEY, QUICK_KEY });
    assert.deepEqual(others, []);
    assert.deepEqual([chain!.relayerKey, chain!.quickKey], [RELAYER_KEY, QUICK_KEY]);
    assert.deepEqual([chain!.chain.chainId, chain!.rpcUrls], [80_002, ['http://amoy.example', 'https://rpc-amoy.example']]);
  });

  it('lower-cases addresses, and refuses those that cannot be right', async () => {
    const settlement = getAddress(contracts['settlement']!);
    const [read1] = await read({ chains: [{ ...polygon, contracts: { ...contracts, settlement } }] });
    assert.equal(read1!.chain.contracts.settlement, contracts['settlement']);
    const wrong = {
      ...contracts, settlement: settlement.replace(/[A-F]/, (letter) => letter.toLowerCase()), collateral: contracts['multicall'], oracle: `0x${'0'.repeat(40)}`,
      marketFactory: '0x12', quickResolver: 7,
    };
    assert.deepEqual(await problemsOf({ chains: [{ ...polygon, contracts: wrong }] }), [
      '/chains/0/contracts/settlement: its capital letters are not those of its checksum (EIP-55): a digit may be wrong',
      '/chains/0/contracts/marketFactory: expected an address: 0x and 40 hex digits',
      '/chains/0/contracts/oracle: is the zero address, where no contract is',
      '/chains/0/contracts/quickResolver: expected an address: 0x and 40 hex digits',
      '/chains/0/contracts/multicall: is the address of collateral too',
    ]);
  });

  it('refuses a key that is written in it, and says where keys belong', async () => {
    for (const operatorKey of [KEY, KEY.slice(2), 'hunter2']) {
      const [problem, ...others] = await problemsOf({ chains: [{ ...polygon, operatorKey }] });
      assert.deepEqual(others, []);
      assert.match(problem!, /^\/chains\/0\/operatorKey: a key must not be in this file, .*: write \{ "env": "NAME" \} .*Replace a key/);
    }
  });

  it('says where a secret is missing or is none, without showing it', async () => {
    const keyOf = (operatorKey: unknown) => problemsOf({ chains: [{ ...polygon, operatorKey }] }, { ...environment, SHORT: '0x4f4f4f', ZERO: '0'.repeat(64), BLANK: ' ' });
    assert.deepEqual(await keyOf({ env: 'NONE' }), ['/chains/0/operatorKey: the environment variable NONE is not set']);
    assert.deepEqual(await keyOf({ env: 'BLANK' }), ['/chains/0/operatorKey: the environment variable BLANK is not set']);
    assert.deepEqual(await keyOf({ file: 'none' }), [`/chains/0/operatorKey: the file ${join(folder, 'none')} cannot be read (ENOENT)`]);
    assert.deepEqual(await keyOf({ file: 'empty' }), [`/chains/0/operatorKey: the file ${join(folder, 'empty')} is empty`]);
    for (const [name, length] of [['SHORT', 8], ['ZERO', 64]] as const) {
      assert.deepEqual(await keyOf({ env: name }),
        [`/chains/0/operatorKey: the text there is not a key: expected 64 hex digits, with or without 0x, but found ${length} characters`]);
    }
    for (const malformed of [null, 7, {}, { env: 'A', file: 'b' }, { env: 7 }, { key: KEY }, [KEY]]) {
      assert.deepEqual(await keyOf(malformed),
        ['/chains/0/operatorKey: write { "env": "NAME" } for an environment variable, or { "file": "path" } for a file'], JSON.stringify(malformed));
    }
    assert.deepEqual(await problemsOf({ chains: [{ ...polygon, rpcUrls: ['wss://hunter2', { env: 'POLYGON_KEY' }, 'hunter2', 5] }] }), [
      ...[0, 1, 2].map((i) => `/chains/0/rpcUrls/${i}: is not an http or https URL`),
      '/chains/0/rpcUrls/3: write { "env": "NAME" } for an environment variable, or { "file": "path" } for a file, or the URL itself if it holds no secret',
    ]);
  });

  it('refuses a node\'s URL with a secret that is written in it, and says where it belongs, without showing it', async () => {
    const key = 'aB3dE5fG7hJ9kL1mN3pQ';
    const secret = [
      `https://rpc.example/v2/${key}`, `https://rpc.example/?apikey=${key}`, 'https://user:hunter2@rpc.example', `http://${key}@rpc.example/`,
    ];
    for (const url of secret) {
      const [problem, ...others] = await problemsOf({ chains: [{ ...polygon, rpcUrls: [url] }] });
      assert.deepEqual(others, []);
      assert.match(problem!, /^\/chains\/0\/rpcUrls\/0: the URL has a password or what looks like a key, /);
      assert.match(problem!, /: write \{ "env": "NAME" \} .*Replace a key/);
      assert.doesNotMatch(problem!, /hunter2|aB3dE5/);
    }
    const harmless = [
      'https://rpc.example/polygon', 'http://127.0.0.1:8545', 'https://rpc.example/ext/bc/C/rpc', 'https://a-long-name.example/mainnet-archive-nodes',
    ];
    for (const url of harmless) {
      assert.deepEqual((await read({ chains: [{ ...polygon, rpcUrls: [url] }] }))[0]!.rpcUrls, [url]);
    }
  });

  it('takes a fee limit in gwei, to the wei, and no wei by mistake', async () => {
    const limits: readonly (readonly [number, bigint])[] = [
      [0.001, 1_000_000n], [30.000000001, 30_000_000_001n], [500, 500_000_000_000n], [1_000_000, 10n ** 15n],
    ];
    for (const [maxFeePerGasGwei, wei] of limits) {
      assert.equal((await read({ chains: [{ ...polygon, maxFeePerGasGwei }] }))[0]!.maxFeePerGas, wei);
    }
    const wrong: readonly (readonly [unknown, string])[] = [
      [0, 'must be >= 0.001'], [-1, 'must be >= 0.001'], [500_000_000_000, 'must be <= 1000000'], ['500', 'must be number'], [null, 'must be number'],
    ];
    for (const [maxFeePerGasGwei, what] of wrong) {
      assert.deepEqual(await problemsOf({ chains: [{ ...polygon, maxFeePerGasGwei }] }), [`/chains/0/maxFeePerGasGwei: ${what}`]);
    }
  });

  it('takes a public URL as it is written only, and none with a password', async () => {
    const wrong: readonly (readonly [unknown, string])[] = [
      [{ env: 'POLYGON_RPC' }, 'write the URL itself: clients see this URL, so it cannot be a secret'],
      [7, 'write the URL itself: clients see this URL, so it cannot be a secret'],
      ['wss://rpc.example', 'is not an http or https URL'],
      ['https://user:hunter2@rpc.example', 'has a user name or a password, but clients see this URL'],
    ];
    for (const [publicRpcUrl, what] of wrong) {
      assert.deepEqual(await problemsOf({ chains: [{ ...polygon, publicRpcUrl }] }), [`/chains/0/publicRpcUrl: ${what}`]);
    }
  });

  for (const name of ['passOverAnchors', 'passOverFills'] as const) {
    it(`takes hashes of transactions in ${name}, and nothing else`, async () => {
      const hash = `0x${'aB'.repeat(32)}`;
      const [read1] = await read({ chains: [{ ...polygon, [name]: [hash, `0x${'1'.repeat(64)}`] }] });
      assert.deepEqual(read1!.chain[name], [hash.toLowerCase(), `0x${'1'.repeat(64)}`]);
      const [none] = await read({ chains: [{ ...polygon, [name]: [] }] });
      assert.ok(!(name in none!.chain));
      const expected = 'expected the hash of a transaction: 0x and 64 hex digits';
      assert.deepEqual(await problemsOf({ chains: [{ ...polygon, [name]: [hash, hash.slice(0, -1), 7, hash.toLowerCase()] }] }), [
        `/chains/0/${name}/1: ${expected}`, `/chains/0/${name}/2: ${expected}`, `/chains/0/${name}/3: is listed twice`,
      ]);
      assert.deepEqual(await problemsOf({ chains: [{ ...polygon, [name]: hash }] }), [`/chains/0/${name}: must be array`]);
    });
  }

  it('names every fault of every chain at once', async () => {
    const { name, ...nameless } = polygon;
    assert.equal(name, 'Polygon');
    const chains = [
      {
        ...nameless, chainId: 0, testnet: 'no', confirmations: -1, startBlock: 1.5, settlementDomainName: '', exposureCheck: null, rpcUrls: [],
        privateKey: KEY, pollMs: 9, blocksOnDemand: 'yes', minOrderSize: 0,
      },
      amoy,
      { ...amoy, operatorKey: { env: 'NONE' } },
      'chain',
    ];
    assert.deepEqual([...await problemsOf({ chains, more: 1 })].sort(), [
      '/chains/0/blocksOnDemand: must be boolean', '/chains/0/chainId: must be >= 1', '/chains/0/confirmations: must be >= 0', '/chains/0/exposureCheck: must be boolean',
      '/chains/0/minOrderSize: must be >= 1',
      '/chains/0/name: is missing', '/chains/0/pollMs: must be >= 10', '/chains/0/privateKey: is not known here',
      '/chains/0/rpcUrls: must NOT have fewer than 1 items',
      '/chains/0/settlementDomainName: must NOT have fewer than 1 characters', '/chains/0/startBlock: must be integer', '/chains/0/testnet: must be boolean',
      '/chains/2/chainId: chain 80002 is already at /chains/1', '/chains/2/operatorKey: the environment variable NONE is not set',
      '/chains/3: must be object', '/more: is not known here',
    ]);
  });

  it('is refused when it is not a chains file at all', async () => {
    assert.deepEqual(await problemsOf('{"chains": [\n {"operatorKey": "hunter2"\n'), ['it is not JSON from line 3 on']);
    assert.deepEqual(await problemsOf([]), ['/: must be object']);
    assert.deepEqual(await problemsOf({}), ['/chains: is missing']);
    assert.deepEqual(await problemsOf({ chains: [] }), ['/chains: must NOT have fewer than 1 items']);
    assert.deepEqual(await problemsOf({ chains: Array.from({ length: 101 }, (_, i) => ({ ...polygon, chainId: i + 1 })) }), ['/chains: must NOT have more than 100 items']);
    await assert.rejects(readChainsFile(join(folder, 'absent.json'), { environment: {}, signs: true }), /the chains file .*absent\.json \(CHAINS\) is wrong in 1 place:\n {2}it cannot be read \(ENOENT\)/);
  });
});
