/** The running development chain is described by a chains file, with which another process uses it like any other chain. */
import assert from 'node:assert/strict';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { computeAddress } from 'ethers';
import { createRpc } from '../../command/chain/rpc.js';
import { readChainsFile } from '../../service/chains-file.js';
import { chainsOf } from '../../service/chains-of.js';
import { startDevelopmentChain, type DevelopmentChain } from '../../stack/chain/development.js';
import { devChainsFile } from '../../stack/chain/dev-chains-file.js';
import { parseConfig } from '../../service/config.js';
import { rpcTo } from '../support/proxies.js';

describe('chains file of the development chain', () => {
  let home: string;
  let started: DevelopmentChain | undefined;
  const parts = { environment: {}, signs: true, log: () => undefined, report: () => undefined };

  beforeEach(async () => { home = await mkdtemp(join(tmpdir(), 'prediction-exchange-dev-chains-')); });
  afterEach(async () => {
    await started?.close();
    await rm(home, { recursive: true, force: true });
  });

  it('gives another process the same chain, with the same key', async () => {
    const directory = join(home, 'chain');
    const path = devChainsFile(directory);
    await mkdir(directory);
    for (const stale of ['chains.json', 'operator-key']) writeFileSync(join(directory, stale), 'of a killed process');
    const config = { ...parseConfig({ DATA_DIR: home, CHAIN_PORT: '0' }), catalogue: '' };
    started = await startDevelopmentChain(config, () => undefined);

    const own = started.configured;
    const { blocksOnDemand, ...read } = (await readChainsFile(path, parts))[0]!;
    assert.deepEqual({ ...read, stalledAfterMs: Infinity }, own);
    assert.equal(blocksOnDemand, true);
    assert.equal(read.relayer, computeAddress(own.relayerKey!).toLowerCase());
    assert.equal(read.quick, computeAddress(own.quickKey!).toLowerCase());
    assert.equal(new Set([own.operatorKey, own.relayerKey, own.quickKey]).size, 3);
    const { operatorKey, relayerKey, quickKey, ...unsigned } = own;
    assert.ok(operatorKey && relayerKey && quickKey);
    assert.deepEqual(await chainsOf(path, { ...parts, signs: false }), [unsigned]);
    for (const name of ['operator-key', 'relayer-key', 'quick-key']) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600);
    const key = await readFile(join(directory, 'operator-key'), 'utf8');
    assert.equal((await readFile(path, 'utf8')).includes(key.trim()), false);
    const elsewhere = await chainsOf(path, parts);
    assert.deepEqual(elsewhere.map(({ stalledAfterMs, chain }) => [stalledAfterMs, chain.publicRpcUrl]), [[Infinity, started.rpcUrl]]);

    const rpc = createRpc({ chainId: 31_337, urls: read.rpcUrls, now: () => performance.now(), report: () => undefined });
    await rpcTo(started.rpcUrl)('evm_mine', []);
    assert.equal(await rpc.request('eth_blockNumber', []), await rpcTo(started.rpcUrl)('eth_blockNumber', []));
    await started.close();
    assert.deepEqual([path, ...['operator-key', 'relayer-key', 'quick-key'].map((name) => join(directory, name))].filter((each) => existsSync(each)), []);
  });

  it('is not there when the chain could not be made ready', async () => {
    const config = { ...parseConfig({ DATA_DIR: home, CHAIN_PORT: '0' }), catalogue: join(home, 'none.json') };
    await assert.rejects(startDevelopmentChain(config, () => undefined), /none\.json/);
    assert.equal(existsSync(devChainsFile(join(home, 'chain'))), false);
  });
});
