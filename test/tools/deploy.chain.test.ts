/** A deployment puts the contracts on a chain, hands them over, checks them, and gives a chains file that the exchange takes. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Interface, getAddress, id, type HDNodeWallet, type InterfaceAbi } from 'ethers';
import { compiled } from '../../contracts-abi/compile.js';
import type { CompilerInput } from '../../contracts-abi/compiler-input.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { readChainsFile } from '../../service/chains-file.js';
import { ACCEPT_HAND_OVER, addressOnly, planOnly, type Deployment, type Planned } from '../../tools/deploy/deploy.js';
import { resultText } from '../../tools/deploy/result-text.js';
import type { RequestedTerms } from '../../tools/deploy/terms.js';
import { isCodeOf } from '../../tools/deploy/verify.js';
import { deploymentScene, type DeploymentScene } from '../support/deployment.js';
import { eventually, readiness } from '../support/exchange-on-chain.js';
import { exchangeStack } from '../harness/exchange.js';

const DAY_S = 86_400;

describe('service: a deployment', function () {
  this.timeout(180_000);
  let scene: DeploymentScene;
  let planned: Planned;
  let done: Deployment;
  let directory: string;
  let deployer: HDNodeWallet;
  const [operator, creator, quickOperator, relayer, admin] = [1, 2, 3, 4, 5];
  const address = (index: number) => scene.accounts[index]!.address;
  const abi = new Interface(oracleResolver.abi as InterfaceAbi);

  before(async () => {
    scene = await deploymentScene();
    deployer = scene.accounts[0]!;
    // Somebody else's stablecoin and oracle.
    const { chain: { contracts: { collateral, oracle } } } = await scene.run(scene.accounts[6]!, await scene.directory());
    const minted = new Interface(testUsdc.abi as InterfaceAbi).encodeFunctionData('mint', [address(6), 5_000_000n]);
    await scene.chain.rpc('eth_sendTransactionSync', [{ from: address(6), to: collateral, data: minted }]);
    directory = await scene.directory();
    valuable = {
      testnet: false, collateral: getAddress(collateral), oracle: getAddress(oracle), operator: address(operator), creator: address(creator),
      quickOperator: address(quickOperator), relayer: address(relayer), admin: address(admin),
    };
    planned = await planOnly({ ...scene.deploying(addressOnly(deployer.address), join(directory, 'none')), requested: valuable });
    done = await scene.run(deployer, directory, { requested: valuable });
  });
  after(() => scene.stop());
  let valuable: RequestedTerms & { readonly collateral: string; readonly oracle: string };

  async function read(to: string, method: string, ...args: readonly unknown[]): Promise<readonly unknown[]> {
    const answer = await scene.rpc.request<string>('eth_call', [{ to, data: abi.encodeFunctionData(method, args) }, 'latest']);
    return abi.decodeFunctionResult(method, answer).toArray() as unknown[];
  }

  it('uses the stablecoin and the oracle that are there, and gives each role to its key alone', async () => {
    const { contracts } = done.chain;
    assert.deepEqual([contracts.collateral, contracts.oracle], [valuable.collateral.toLowerCase(), valuable.oracle.toLowerCase()]);
    assert.equal(await scene.nonceOf(deployer), 14, 'four contracts, five roles, five hand-overs');
    for (const [contract, role, holder] of [
      [contracts.conditionalTokens, 'SETTLEMENT_ROLE', contracts.settlement], [contracts.settlement, 'OPERATOR_ROLE', address(operator)],
      [contracts.marketFactory, 'CREATOR_ROLE', address(creator)], [contracts.quickResolver, 'OPERATOR_ROLE', address(quickOperator)],
      [contracts.marketFactory, 'CREATOR_ROLE', address(quickOperator)],
    ] as const) {
      assert.deepEqual(await read(contract, 'hasRole', id(role), holder), [true], role);
      for (const other of [deployer.address, address(admin), address(relayer)]) assert.deepEqual(await read(contract, 'hasRole', id(role), other), [false], role);
    }
    assert.deepEqual(await read(contracts.oracleResolver, 'disputeWindow'), [7_200n]);
  });

  it('is planned without a key, and sends just what was planned: the result has the call data of everything', async () => {
    assert.equal(existsSync(join(directory, 'none')), false, 'a plan writes nothing');
    const { contracts: asPlanned, chainId, transactions, ...others } = planned;
    assert.deepEqual([chainId, others], [done.chain.chainId, { deployer: done.deployer, admin: done.admin, roles: done.roles }]);
    assert.deepEqual(Object.values(asPlanned).map((at: string) => at.toLowerCase()), Object.values(done.chain.contracts));
    assert.deepEqual(done.transactions.map(({ nonce, what, to, data }) => ({ nonce, what, to, data })), transactions);
    for (const { txHash, nonce, to, data, block } of done.transactions) {
      type Sent = Readonly<Record<'nonce' | 'input' | 'blockNumber', string>> & { readonly to: string | null };
      const sent = await scene.rpc.request<Sent>('eth_getTransactionByHash', [txHash]);
      assert.deepEqual([Number(sent.nonce), sent.to, sent.input, Number(sent.blockNumber)], [nonce, to?.toLowerCase() ?? null, data, block]);
    }
    assert.deepEqual(done.handOvers.map(({ to, data }) => [to, data]), done.handOvers.map(({ address: at }) => [at, ACCEPT_HAND_OVER]));
    assert.deepEqual(JSON.parse(JSON.stringify(done)), done, 'all of it is JSON');
  });

  it('tells how to start the exchange with it, and what its oracle asks for', () => {
    const { chainId } = done.chain;
    const text = resultText(done);
    for (const [variable, holder] of [['OPERATOR', operator], ['RELAYER', relayer], ['QUICK', quickOperator]] as const) {
      assert.match(text, new RegExp(`^ {2}export CHAIN_${chainId}_${variable}_KEY=… +# the private key of ${address(holder)}, for the process with the role lane alone$`, 'm'));
    }
    assert.match(text, new RegExp(`^ {2}export CHAIN_${chainId}_RPC_URL=… +# the URL of a node, for every process$`, 'm'));
    assert.ok(text.includes(`\n  CHAINS=${done.chainsFile} DATABASE_URL=postgresql://… npm start\n`));
    assert.match(text, new RegExp(`with the key of ${address(creator)} in a file that only you can read:\n {2}npm run tool -- market create .*--bond 10$`, 'm'));
    assert.match(text, /^The oracle takes bonds from 5 on\. /m);
    const sync = { to: done.chain.contracts.oracle, data: '0x1234' };
    const uma = { ...done, bond: '500000000', oracle: { isOwn: false, minimum: '0', minimumAfterSync: '500000000', sync } };
    assert.match(resultText(uma), /--bond 500$/m);
    assert.match(resultText(uma), /syncUmaParams; [^\n]*:\n {2}to 0x\w{40} data 0x1234\nSTILL TO DO: [^\n]*, and of 500 after syncUmaParams\. /);
    assert.match(resultText({ ...done, oracle: { ...done.oracle, isOwn: true } }), /^The oracle is our own, .* It takes bonds from 5 on\.$/m);
  });

  it('puts no secret into any file: URLs and keys are named by their variables', () => {
    const written = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').toLowerCase());
    assert.ok(written.length > 8);
    const secrets = [scene.chain.url, ...scene.accounts.map(({ privateKey }) => privateKey.slice(2))];
    for (const text of written) assert.deepEqual(secrets.filter((secret) => text.includes(secret.toLowerCase())), []);
  });

  it('leaves the administration to be accepted after three days, and tells where and when', async () => {
    assert.deepEqual(done.handOvers.map(({ contract }) => contract), ['ConditionalTokens', 'Settlement', 'MarketFactory', 'OracleResolver', 'QuickResolver']);
    for (const { address: contract, acceptableAfter } of done.handOvers) {
      assert.deepEqual(await read(contract, 'pendingDefaultAdmin'), [address(admin), BigInt(acceptableAfter)]);
      assert.deepEqual(await read(contract, 'defaultAdminDelay'), [BigInt(3 * DAY_S)]);
    }
  });

  it('gives a chains file with which the exchange runs: it lists a market that the creator creates, and creates quick markets itself', async () => {
    const { chainId } = done.chain;
    const keys = [operator, relayer, quickOperator].map((index) => scene.accounts[index]!.privateKey) as [string, string, string];
    const environment = {
      [`CHAIN_${chainId}_RPC_URL`]: scene.chain.url, [`CHAIN_${chainId}_OPERATOR_KEY`]: keys[0], [`CHAIN_${chainId}_RELAYER_KEY`]: keys[1],
      [`CHAIN_${chainId}_QUICK_KEY`]: keys[2],
    };
    const [entry, ...others] = await readChainsFile(done.chainsFile, { environment, signs: true });
    assert.deepEqual([entry!.chain, entry!.operatorKey, entry!.relayer, entry!.quick, others], [
      done.chain, keys[0], ...[relayer, quickOperator].map((index) => address(index).toLowerCase()), [],
    ]);
    const { timestamp } = await scene.rpc.request<{ timestamp: string }>('eth_getBlockByNumber', ['latest', false]);
    const factory = new Interface(marketFactory.abi as InterfaceAbi);
    const data = factory.encodeFunctionData('createMarket', [id('rain'), 'Will it rain?', '', 3, Number(timestamp) + 40 * DAY_S, 10_000_000n]);
    await scene.chain.rpc('eth_sendTransactionSync', [{ from: address(creator), to: done.chain.contracts.marketFactory, data }]);
    const exchange = await exchangeStack({ PRICE_SOURCES: 'simulated', QUICK_ASSETS: 'BTC' }, [{ ...entry!, pollMs: 50, stalledAfterMs: Infinity }]);
    try {
      assert.equal((await readiness(exchange)).ready, true);
      await eventually('the market is listed', async () => {
        const { markets } = await exchange.get('/api/v1/markets') as { markets: readonly { question: string }[] };
        return markets.find(({ question }) => question === 'Will it rain?');
      });
      const created = { address: done.chain.contracts.marketFactory, fromBlock: '0x0', topics: [factory.getEvent('QuickMarketCreated')!.topicHash] };
      await eventually('a quick market is made', async () => (await scene.rpc.request<object[]>('eth_getLogs', [created])).length > 0 || undefined);
    } finally {
      await exchange.close();
    }
  });

  it('run again sends nothing and says the same, until the administrator has accepted everything', async () => {
    assert.deepEqual(await scene.run(deployer, directory, { requested: valuable }), done);
    await scene.chain.rpc('evm_increaseTime', [3 * DAY_S + 60]);
    await scene.chain.rpc('evm_mine');
    for (const [i, { address: to }] of done.handOvers.entries()) {
      const { status } = await scene.chain.rpc('eth_sendTransactionSync', [{ from: address(admin), to, data: ACCEPT_HAND_OVER }]) as { status: string };
      assert.equal(status, '0x1');
      const now = await scene.run(deployer, directory, { requested: valuable });
      assert.deepEqual(now.handOvers, done.handOvers.slice(i + 1));
      assert.deepEqual(await read(to, 'defaultAdmin'), [address(admin)]);
    }
    assert.equal(await scene.nonceOf(deployer), 14);
  });

  it('leaves a role to the deployer that nobody else is named for, beside another one who has it, too', async () => {
    const own = scene.accounts[7]!;
    const { roles } = await scene.run(own, await scene.directory(), { requested: { quickOperator: address(quickOperator) } });
    assert.deepEqual(roles.filter(({ role }) => role === 'CREATOR_ROLE').map(({ holder }) => holder), [own.address, address(quickOperator)]);
  });

  it('is noticed when it is not as it was: a role that was taken away, or code of another contract', async () => {
    const { settlement, quickResolver } = done.chain.contracts;
    const snapshot = await scene.chain.rpc('evm_snapshot');
    const data = abi.encodeFunctionData('revokeRole', [id('OPERATOR_ROLE'), address(operator)]);
    await scene.chain.rpc('eth_sendTransactionSync', [{ from: address(admin), to: settlement, data }]);
    await assert.rejects(scene.run(deployer, directory, { requested: valuable }), new RegExp(`^CannotDeploy: Settlement: ${address(operator)} does not have OPERATOR_ROLE\n`));
    await scene.chain.rpc('anvil_setCode', [quickResolver, await scene.rpc.request('eth_getCode', [settlement, 'latest'])]);
    await assert.rejects(
      scene.run(deployer, directory, { requested: valuable }), /QuickResolver: the code at 0x\w+ is not what the sources compile to/,
    );
    await scene.chain.rpc('evm_revert', [snapshot]);
  });

  it('gives block explorers an input for each contract that compiles to the code on the chain, also of those that the factory created', async () => {
    const { contracts } = JSON.parse(readFileSync(join(done.verification, 'contracts.json'), 'utf8')) as {
      contracts: readonly { address: string; contractName: string; compilerVersion: string; constructorArguments: string; input: string }[];
    };
    assert.deepEqual(contracts.map(({ contractName }) => contractName.split(':')[1]), [
      'ConditionalTokens', 'Settlement', 'MarketFactory', 'Multicall3', 'Market', 'OracleResolver', 'QuickResolver',
    ]);
    for (const { address: to, contractName, compilerVersion, constructorArguments, input } of contracts) {
      assert.equal(compilerVersion, 'v0.8.37+commit.f401782d');
      const [source, name] = contractName.split(':') as [string, string];
      // The others compile by the same input as the artifacts, which a test compiles.
      if (!['Multicall3', 'Market', 'OracleResolver', 'QuickResolver'].includes(name)) continue;
      const standard = JSON.parse(readFileSync(join(done.verification, input), 'utf8')) as CompilerInput;
      const creation = `0x${compiled(standard).contracts![source]![name]!.evm.bytecode.object}`;
      const code = await scene.rpc.request<string>('eth_getCode', [to, 'latest']);
      assert.ok(isCodeOf(code, creation), name);
      if (name === 'OracleResolver') continue;
      // The constructor itself, run by the contract's creator: with these arguments it leaves the very bytes, immutable values included.
      const from = name === 'Multicall3' ? deployer.address : done.chain.contracts.marketFactory;
      assert.equal(await scene.rpc.request('eth_call', [{ from, data: creation + constructorArguments.slice(2) }, 'latest']), code, name);
    }
  });
});
