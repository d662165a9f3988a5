/** A deployment that was killed at any moment is gone on with by the same call: nothing is deployed twice, nothing else is taken for it. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HDNodeWallet } from 'ethers';
import { createRpc } from '../../command/chain/rpc.js';
import type { Rpc } from '../../command/chain/chain.js';
import { lockDirectory } from '../../service/machine/directory-lock.js';
import { planDeployment, type DeployTerms } from '../../tools/deploy/plan.js';
import { testChain } from '../support/chain.js';
import { deploymentScene, hashOf, Killed, recordIn, type DeploymentScene } from '../support/deployment.js';

const STEPS = 16;

describe('service: a deployment that goes on', function () {
  this.timeout(180_000);
  let scene: DeploymentScene;
  let deployer: HDNodeWallet;
  let admin: string;
  let next = 0;

  before(async () => { scene = await deploymentScene(); });
  after(() => scene.stop());
  beforeEach(() => {
    deployer = scene.accounts[next++]!;
    admin = scene.accounts[9]!.address;
  });

  /** Runs until one is not killed; returns how many were. */
  async function runs(directory: string, node: () => Rpc): Promise<number> {
    for (let killed = 0; ; killed++) {
      try {
        await scene.run(deployer, directory, { rpc: node(), requested: { admin } });
        return killed;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
      }
    }
  }

  async function isWhole(directory: string): Promise<void> {
    assert.equal(await scene.nonceOf(deployer), STEPS, 'a nonce per step, and no other transaction');
    for (const { contract, address } of planOf(0).deployed) assert.notEqual(await scene.rpc.request('eth_getCode', [address, 'latest']), '0x', contract);
    const { attempts } = recordIn(directory);
    assert.deepEqual(Object.values(attempts).map((each) => each.length), Array.from({ length: STEPS }, () => 1), 'signed once each');
  }

  function planOf(firstNonce: number) {
    const { address } = deployer;
    const terms: DeployTerms = { operator: address, creator: address, quickOperator: address, admin, disputeWindowS: 7_200n, adminDelayS: 0n };
    return planDeployment(address, firstNonce, terms);
  }

  it('when every run is killed before it sends what it has signed', async () => {
    const directory = await scene.directory();
    let allowed = 0;
    const killed = await runs(directory, () => {
      let sent = 0;
      const most = allowed;
      allowed = 1;
      return scene.node((ask, method, params) => method === 'eth_sendRawTransaction' && ++sent > most ? Promise.reject(new Killed()) : ask(method, params));
    });
    assert.equal(killed, STEPS);
    await isWhole(directory);
  });

  it('when every run is killed once a transaction is sent, mined or not', async () => {
    const directory = await scene.directory();
    await scene.chain.rpc('evm_setAutomine', [false]);
    let looks = 0;
    const killed = await runs(directory, () => scene.node(async (ask, method, params) => {
      if (method === 'eth_blockNumber' && ++looks % 3 === 0) await scene.chain.rpc('evm_mine');
      const answer = await ask(method, params);
      if (method === 'eth_sendRawTransaction') throw new Killed();
      return answer;
    }));
    await scene.chain.rpc('evm_setAutomine', [true]);
    assert.ok(killed >= STEPS, String(killed));
    await isWhole(directory);
  });

  it('when every run is killed at its next request but a few', async () => {
    const directory = await scene.directory();
    let patience = 0;
    const killed = await runs(directory, () => {
      let requests = 0;
      // Reading what is mined takes a request per step, so that a run needs more each time.
      const most = 8 + patience++;
      return scene.node((ask, method, params) => ++requests > most ? Promise.reject(new Killed()) : ask(method, params));
    });
    assert.ok(killed >= 10, String(killed));
    await isWhole(directory);
  });

  it('when a reorganisation takes its transactions: it waits for confirmations, and sends the same bytes again', async () => {
    const directory = await scene.directory();
    const before = await scene.chain.rpc('evm_snapshot');
    const said: string[] = [];
    const waits = () => said.filter((line) => line.startsWith('everything is mined: waiting for block')).length;
    let reverted = false;
    const node = scene.node(async (ask, method, params) => {
      if (method === 'eth_blockNumber' && waits() === 1 && !reverted) reverted = await scene.chain.rpc('evm_revert', [before]) as boolean;
      if (method === 'eth_blockNumber' && waits() === 2) await scene.chain.rpc('evm_mine');
      return await ask(method, params);
    });
    const say = (line: string): void => { said.push(line); };
    const { chain: { startBlock } } = await scene.run(deployer, directory, { rpc: node, confirmations: 4, requested: { admin }, say });
    assert.deepEqual([reverted, waits()], [true, 2]);
    await isWhole(directory);
    assert.ok(Number(await scene.rpc.request('eth_blockNumber', [])) >= startBlock + STEPS - 1 + 4);
  });

  it('when a node loses a transaction: after some blocks it is replaced at the same nonce, with higher fees', async () => {
    const directory = await scene.directory();
    let lost: string | undefined;
    const node = scene.node(async (ask, method, params) => {
      if (method === 'eth_sendRawTransaction' && lost === undefined) return lost = hashOf(params[0]);
      if (method === 'eth_blockNumber') await scene.chain.rpc('evm_mine');
      return await ask(method, params);
    });
    await scene.run(deployer, directory, { rpc: node, requested: { admin } });
    const [first, second, ...others] = recordIn(directory).attempts['0']!;
    assert.deepEqual([first!.txHash, others], [lost, []]);
    assert.ok(BigInt(second!.maxFeePerGas) * 8n >= BigInt(first!.maxFeePerGas) * 9n);
    assert.equal(await scene.nonceOf(deployer), STEPS);
  });

  it('is refused with other options, another key, another chain, another program\'s contracts, or while it is running', async () => {
    const directory = await scene.directory();
    await scene.run(deployer, directory, { requested: { admin } });
    const refused = (expected: RegExp, ...[from, changes]: [HDNodeWallet?, Parameters<DeploymentScene['run']>[2]?]) =>
      assert.rejects(scene.run(from ?? deployer, directory, { requested: { admin }, ...changes }), expected);
    const other = scene.accounts[8]!;
    const operated = { requested: { admin, operator: other.address } };
    await refused(/^CannotDeploy: --operator was 0x\w+ when the deployment began, and is 0x\w+ now\n\(go on/, deployer, operated);
    await refused(/--dispute-window was 7200 s when the deployment began, and is 60 s now/, deployer, { requested: { admin, disputeWindowS: 60 } });
    await refused(/the deployer was 0x\w+ when the deployment began, and is 0x\w+ now/, other);
    const elsewhere = await testChain();
    const rpc = createRpc({ chainId: scene.rpc.chainId, urls: [elsewhere.url], now: () => 0, report: () => undefined });
    await refused(/block 0 of the chain was 0x\w+ when the deployment began, and is 0x\w+ now/, deployer, { rpc }).finally(() => elsewhere.stop());
    await refused(/the chain was 31337 when the deployment began, and is 5 now/, deployer, { rpc: { ...scene.rpc, chainId: 5 } });
    const record = recordIn(directory);
    const path = join(directory, 'deployment.json');
    writeFileSync(path, JSON.stringify({ ...record, plan: hashOf('0x') }));
    await refused(/the contracts of this program are not those that the deployment began with/);
    writeFileSync(path, '{');
    await refused(/--out: .*deployment\.json is not the record of a deployment/);
    writeFileSync(path, JSON.stringify(record));
    const release = await lockDirectory(directory);
    await refused(/--out: another run of this program uses/);
    release();
    assert.equal(await scene.nonceOf(deployer), STEPS);
  });

  it('stops when another transaction took a nonce, or when the node has lost the chain', async () => {
    const directory = await scene.directory();
    let sent = 0;
    const node = scene.node((ask, method, params) =>
      method === 'eth_sendRawTransaction' && ++sent === 3 ? Promise.reject(new Killed()) : ask(method, params));
    await assert.rejects(scene.run(deployer, directory, { rpc: node, requested: { admin } }), Killed);
    const { address } = deployer;
    const hides = scene.node(async (ask, method, params) => method === 'eth_getTransactionCount' ? '0x1' : await ask(method, params));
    await assert.rejects(scene.run(deployer, directory, { rpc: hides, requested: { admin } }),
      /the node counts 1 transactions of 0x\w+, but 2 were mined: it is behind/);
    await scene.chain.rpc('eth_sendTransactionSync', [{ from: address, to: address, value: '0x1' }]);
    await assert.rejects(scene.run(deployer, directory, { requested: { admin } }),
      new RegExp(`^CannotDeploy: another transaction of ${address} has nonce 2, which "deploy Settlement" was to have: nothing else may send with that key`));
    assert.equal(await scene.nonceOf(deployer), 3);
  });
});
