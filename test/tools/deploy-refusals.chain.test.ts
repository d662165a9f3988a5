/** What a deployment is refused for, before anything is sent; and `npm run deploy` as its users run it. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AbiCoder, Interface, getAddress, id, type HDNodeWallet, type InterfaceAbi } from 'ethers';
import { RpcError } from '../../command/chain/chain.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import type { Deployment, Planned } from '../../tools/deploy/deploy.js';
import { KNOWN_CHAINS } from '../../tools/deploy/known-chains.js';
import type { RequestedTerms } from '../../tools/deploy/terms.js';
import { deploymentScene, recordIn, type DeploymentScene } from '../support/deployment.js';
import { eventually } from '../support/exchange-on-chain.js';

const PROGRAM = fileURLToPath(new URL('../../tools/deploy.js', import.meta.url));

describe('service: a deployment is refused', function () {
  this.timeout(120_000);
  let scene: DeploymentScene;
  let deployer: HDNodeWallet;
  let collateral: string;
  let oracle: string;
  let other: string;
  let valuable: RequestedTerms;

  before(async () => {
    scene = await deploymentScene();
    deployer = scene.accounts[0]!;
    const { chain: { contracts } } = await scene.run(scene.accounts[6]!, await scene.directory());
    [collateral, oracle, other] = [contracts.collateral, contracts.oracle, contracts.multicall].map(getAddress) as [string, string, string];
    const [, operator, creator, quickOperator, , admin] = scene.accounts.map(({ address }) => address);
    valuable = { testnet: false, collateral, oracle, operator: operator!, creator: creator!, quickOperator: quickOperator!, admin: admin! };
  });
  after(() => scene.stop());

  /** The deployment as a node answers that lies about some calls: by selector. */
  const lying = (answers: Readonly<Record<string, string | undefined>>) => scene.node((ask, method, params) => {
    const [{ data } = {}] = params as [{ data?: string }?];
    const selector = data?.slice(0, 10) ?? '';
    if (method !== 'eth_call' || !(selector in answers)) return ask(method, params);
    const answer = answers[selector];
    return answer === undefined ? Promise.reject(new RpcError(method, 3, 'execution reverted', '0x')) : Promise.resolve(answer);
  });
  const ASSERT_TRUTH = new Interface(optimisticOracle.abi as InterfaceAbi).getFunction('assertTruth')!.selector;
  const word = (value: unknown, type = 'uint256') => AbiCoder.defaultAbiCoder().encode([type], [value]);
  const selector = (signature: string) => id(signature).slice(0, 10);

  /** UMA's oracle before it knows the collateral, whose final fee is 250; half of a loser's bond is burned. */
  const UMA_UNSYNCED = {
    [selector('getMinimumBond(address)')]: word(0), [selector('finder()')]: word(`0x${'f1'.repeat(20)}`, 'address'), [selector('defaultIdentifier()')]: id('ASSERT_TRUTH'),
    [selector('getImplementationAddress(bytes32)')]: word(`0x${'f2'.repeat(20)}`, 'address'), [selector('computeFinalFee(address)')]: word(250_000_000n),
    [selector('burnedBondPercentage()')]: word(10n ** 18n / 2n),
  };

  async function refused(expected: RegExp, changes: Parameters<DeploymentScene['run']>[2] = {}, from = deployer): Promise<void> {
    const directory = await scene.directory();
    await assert.rejects(scene.run(from, directory, { ...changes, requested: { ...valuable, ...changes.requested } }), expected);
    assert.equal(await scene.nonceOf(from), 0, 'nothing was sent');
    assert.equal(existsSync(join(directory, 'deployment.json')), false, 'nothing was begun');
  }

  it('for a stablecoin that cannot be the collateral', async () => {
    await refused(/^CannotDeploy: --collateral: collateral: there is no contract at 0x12/, { requested: { collateral: `0x${'12'.repeat(20)}` } });
    await refused(/has no name\(\) or no symbol\(\), so it is not a token\n[^]*takes no permits \(ERC-2612\)/, { requested: { collateral: other } });
    await refused(/takes no permits/, { rpc: lying({ [selector('DOMAIN_SEPARATOR()')]: undefined }) });
    await refused(/it has 18 decimals, not 6/, { rpc: lying({ [selector('decimals()')]: word(18) }) });
    await refused(/its DOMAIN_SEPARATOR\(\) is not that of name/, { rpc: lying({ [selector('DOMAIN_SEPARATOR()')]: id('another') }) });
  });

  it('for a stablecoin that charges on transfer, by a simulated transfer of somebody who got some lately', async () => {
    const holder = scene.accounts[7]!.address;
    const mint = new Interface(['function mint(address to, uint256 amount)']).encodeFunctionData('mint', [holder, 3_000_000n]);
    await scene.chain.rpc('eth_sendTransactionSync', [{ from: holder, to: collateral, data: mint }]);
    const holders: unknown[] = [];
    const charging = scene.node(async (ask, method, params) => {
      const answer = await ask<string>(method, params);
      if (params.length < 3) return answer;
      const [sent] = AbiCoder.defaultAbiCoder().decode(['uint256', 'uint256'], answer).toArray() as [bigint];
      holders.push((params[0] as { to: string }).to, sent);
      return AbiCoder.defaultAbiCoder().encode(['uint256', 'uint256'], [sent, sent === 0n ? 0n : sent - 1n]);
    });
    await refused(/^CannotDeploy: --collateral: collateral: of 1000000 sent, 999999 arrive: a token that charges on transfer/, { rpc: charging });
    assert.deepEqual(holders, [deployer.address.toLowerCase(), 0n, holder.toLowerCase(), 1_000_000n]);
  });

  it('for an oracle that is not UMA\'s, or does not take the collateral', async () => {
    const abi = new Interface(optimisticOracle.abi as InterfaceAbi);
    await refused(/^CannotDeploy: --oracle: there is no contract at 0x12/, { requested: { oracle: `0x${'12'.repeat(20)}` } });
    await refused(new RegExp(['defaultIdentifier', 'getMinimumBond', 'getAssertion', 'settleAssertion', 'settleAndGetAssertionResult', 'disputeAssertion']
      .map((method) => `--oracle: the contract at ${other} has no ${method}\\(\\) of UMA's Optimistic Oracle V3\n`).join('')), { requested: { oracle: other } });
    await refused(/has no settleAssertion\(\) of UMA/, { rpc: lying({ [abi.getFunction('settleAssertion')!.selector]: undefined }) });
    // The oracle that is there takes another stablecoin only.
    const { chain: { contracts } } = await scene.run(scene.accounts[8]!, await scene.directory());
    const another = { collateral: getAddress(contracts.collateral) };
    await refused(/--oracle: it refuses assertions with a bond in the collateral 0x\w+: UnsupportedCurrency/, { requested: another });
    const unsupported = `0x08c379a0${word('Unsupported currency', 'string').slice(2)}`;
    const uma = scene.node((ask, method, params) => (params[0] as { data?: string } | undefined)?.data?.startsWith(abi.getFunction('assertTruth')!.selector)
      ? Promise.reject(new RpcError(method, 3, 'execution reverted: Unsupported currency', unsupported))
      : ask(method, params));
    await refused(/it refuses assertions with a bond in the collateral 0x\w+: Unsupported currency/, { rpc: uma });
  });

  it('for a bond that the oracle or the factory does not take', async () => {
    const LEAST = 5_000_000n;
    await refused(/^CannotDeploy: --bond: 4 is less than the oracle asks for, which is 5\n/, { requested: { bond: LEAST - 1_000_000n } });
    await refused(/^CannotDeploy: --bond: 100001 is more than a market may have, which is 100000\n/, { requested: { bond: 100_001_000_000n } });
    // UMA's oracle has a stablecoin's fee from the first assertion or syncUmaParams on: until then it asks for nothing, and refuses a proposal.
    const said: string[] = [];
    await refused(/^CannotDeploy: --bond: 499\.99 is less than the oracle asks for, which is 500\n/, {
      requested: { bond: 499_990_000n }, rpc: lying(UMA_UNSYNCED), say: (line) => { said.push(line); },
    });
    const sync = new Interface(['function syncUmaParams(bytes32, address)']).encodeFunctionData('syncUmaParams', [id('ASSERT_TRUTH'), collateral]);
    assert.deepEqual(said.filter((line) => line.includes('syncUmaParams')), [
      'the oracle does not know UMA\'s present final fee: it asks for a bond of 0 now, and of 500 after syncUmaParams. '
      + `Anybody may call it, and somebody should before outcomes are proposed: to ${oracle} with data ${sync}`,
    ]);
    const tooLow = `0x08c379a0${word('Bond amount too low', 'string').slice(2)}`;
    const changed = scene.node((ask, method, params) => (params[0] as { data?: string } | undefined)?.data?.startsWith(ASSERT_TRUTH) === true
      ? Promise.reject(new RpcError(method, 3, 'execution reverted: Bond amount too low', tooLow))
      : ask(method, params));
    await refused(/--bond: the oracle finds 10 too low \(Bond amount too low\): give more\. .* anybody may call its syncUmaParams/, { rpc: changed });
  });

  it('for a deployer without coin or with open transactions, a high price of gas, and a chain without EIP-1559', async () => {
    await refused(/has 0\.0 of the chain's coin, and about 0\.\d+ are needed/, {
      rpc: scene.node((ask, method, params) => method === 'eth_getBalance' ? Promise.resolve('0x0') : ask(method, params)),
    });
    await refused(/has transactions that are not mined yet/, {
      rpc: scene.node((ask, method, params) => params[1] === 'pending' ? Promise.resolve('0x1') : ask(method, params)),
    });
    await refused(/gas costs [\d.]+ gwei now, above the limit of 0\.000000001 gwei: wait, or raise --max-fee-gwei/, {
      limits: { maxFeePerGas: 1n, minPriorityFeePerGas: 1n },
    });
    await refused(/has no base fee/, {
      rpc: scene.node(async (ask, method, params) =>
        method === 'eth_getBlockByNumber' ? { ...await ask<object>(method, params), baseFeePerGas: undefined } : await ask(method, params)),
    });
  });

  it('for what a chain with value does not allow, all at once', async () => {
    const { address } = deployer;
    await refused(new RegExp(['--collateral: give the address', '--operator: give an address', '--creator: give an address', '--quick-operator: give an address',
      '--admin: give an address', '--dispute-window: is 7200 s on every chain that is not a testnet, not 60 s'].join('[^]*')),
    { requested: { ...Object.fromEntries(['collateral', 'operator', 'creator', 'quickOperator', 'admin'].map((name) => [name, undefined])), disputeWindowS: 60 } });
    await refused(/^CannotDeploy: --operator: is the deployer, which is to keep no role/, { requested: { operator: address } });
    await refused(/^CannotDeploy: --creator: is the administrator too/, { requested: { creator: valuable.admin! } });
    await refused(/^CannotDeploy: --relayer: is the operator too/, { requested: { relayer: valuable.operator! } });
    await refused(/^CannotDeploy: --quick-operator: is the operator too/, { requested: { quickOperator: valuable.operator! } });
    await refused(/^CannotDeploy: --quick-operator: is the relayer too/, { requested: { relayer: valuable.quickOperator! } });
    await refused(/^CannotDeploy: --quick-operator: is the operator too/, {
      requested: { testnet: true, operator: address, quickOperator: address },
    });
    const polygon = { ...scene.rpc, chainId: 137 };
    await refused(/^CannotDeploy: --testnet: chain 137 \(Polygon\) is not a test network$/, { requested: { testnet: true }, rpc: polygon });
  });

  describe('npm run deploy', () => {
    let key: string;
    before(async () => {
      key = join(await scene.directory(), 'key');
      writeFileSync(key, `${deployer.privateKey}\n`, { mode: 0o600 });
    });
    const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
      new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
        execFile(process.execPath, [PROGRAM, ...args], { env: { PATH: process.env['PATH'] ?? '', ...environment } }, (error, stdout, stderr) => {
          resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
        });
      });

    it('says what is wrong: arguments with code 2, all else with code 1, and never shows a key or a URL', async () => {
      const at = ['--rpc', scene.chain.url, '--testnet', '--out', await scene.directory()];
      const open = join(await scene.directory(), 'open');
      writeFileSync(open, `${deployer.privateKey}\n`, { mode: 0o644 });
      const cases: readonly [readonly string[], number, RegExp][] = [
        [['--rpc', 'ftp://secret'], 1, /^--rpc: give a node's http or https URL, or set DEPLOY_RPC_URL$/m], [[...at, '--admin', '0x12'], 2, /expected an address: 0x and 40 hex digits/],
        [[...at, '--admin', deployer.address.replace('a', 'A')], 2, /not those of its checksum/], [[...at, '--admin', `0x${'0'.repeat(40)}`], 2, /expected an address/],
        [[...at, '--admin-delay', 'long'], 2, /expected a number with s, m, h or d/], [[...at, '--max-fee-gwei', '0'], 2, /expected a number of gwei/],
        [[...at, '--confirmations', '-1'], 2, /expected a whole number from 0 to 100000/], [['--key-file', key], 1, /^--rpc: give a node's http/m],
        [at, 1, /^--key-file: give the file with the deployer's key, or set DEPLOY_KEY$/m], [[...at, '--key-file', '/nowhere'], 1, /it cannot be read \(ENOENT\)/],
        [[...at, '--key-file', open], 1, /^--key-file .*: other users of this machine can read the key: chmod 600 /m],
        [['--rpc', 'http://127.0.0.1:1/secret-path', '--key-file', key], 1, /127\.0\.0\.1:1/],
      ];
      // A program takes half a second to start.
      const all = await Promise.all(cases.map(([args]) => run(args)));
      for (const [i, [args, code, message]] of cases.entries()) {
        const ran = all[i]!;
        assert.equal(ran.code, code, `${args.join(' ')}: ${ran.stderr}`);
        assert.match(ran.stderr, message, args.join(' '));
        assert.doesNotMatch(ran.stderr, /secret|\n {4}at /);
        assert.equal(ran.stderr.includes(deployer.privateKey.slice(2)), false);
      }
    });

    it('tells its options, and the chains that it knows', async () => {
      const { code, stdout } = await run(['--help']);
      assert.deepEqual([code, stdout.includes('--max-fee-gwei <number>')], [0, true]);
      assert.match(stdout, /^ {2}137 +Polygon +money has value +0x5953f2538F613E05bAED8A5AeFa8e6622467AD3D$/m);
      for (const { chainId, name, oracle = 'no oracle known' } of KNOWN_CHAINS) assert.match(stdout, new RegExp(`^ {2}${chainId} +${name} .* ${oracle}$`, 'm'));
    });

    it('tells a plan without a key, and sends nothing', async () => {
      const out = join(await scene.directory(), 'none');
      const args = ['--rpc', scene.chain.url, '--testnet', '--out', out, '--plan', '--deployer', deployer.address, '--admin', valuable.admin!, '--bond', '20'];
      const [told, json] = [await run(args), await run([...args, '--json'])];
      assert.deepEqual([told.code, json.code], [0, 0], told.stderr + json.stderr);
      const { transactions, contracts } = JSON.parse(json.stdout) as Planned;
      const last = `nonce 15: begin to hand QuickResolver over to ${valuable.admin}, to ${contracts.quickResolver} data 0x\\w+`;
      assert.match(told.stdout, new RegExp(`^ {2}nonce 0: deploy TestUSDC, \\d+ bytes$[^]*^ {2}${last}$`, 'm'));
      assert.deepEqual([transactions.length, existsSync(out), await scene.nonceOf(deployer)], [16, false, 0]);
      // Our own oracle asks for the bond: its constructor has half of it as the fee.
      const oracle = transactions.find(({ what }) => what === 'deploy OptimisticOracle')!;
      assert.ok(oracle.data.includes((10_000_000n).toString(16).padStart(64, '0')));
      assert.match((await run(args.filter((each) => each !== '--plan'))).stderr, /^--deployer: is for --plan/);
    });

    it('goes on after kill -9, and ends with what to do next', async () => {
      const out = await scene.directory();
      const args = ['--rpc', scene.chain.url, '--key-file', key, '--testnet', '--confirmations', '0', '--out', out, '--admin', valuable.admin!];
      const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: 'ignore' });
      await eventually('something is sent', async () => await scene.nonceOf(deployer) > 1 || undefined);
      child.kill('SIGKILL');
      const ran = await run(args);
      assert.equal(ran.code, 0, ran.stderr);
      assert.equal(await scene.nonceOf(deployer), 16);
      assert.equal(Object.keys(recordIn(out).attempts).length, 16);
      assert.match(ran.stdout, new RegExp(`^STILL OPEN: .* until ${valuable.admin} calls acceptDefaultAdminTransfer\\(\\) \\(data 0xcefc1429\\) on each:\n {2}ConditionalTokens 0x`, 'm'));
      const variables = `export CHAIN_31337_RPC_URL=…[^\n]*\n {2}export CHAIN_31337_OPERATOR_KEY=… +# the private key of ${deployer.address}, which is the deployer`;
      assert.match(ran.stdout, new RegExp(`${variables}, [^\n]*\n {2}CHAINS=${out}/chains.json npm start\n`), 'no keys but those that were named');
      const again = await run([...args.slice(2), '--json'], { DEPLOY_RPC_URL: scene.chain.url });
      assert.equal(again.code, 0, again.stderr);
      const { handOvers, roles } = JSON.parse(again.stdout.trimEnd().split('\n').at(-1)!) as Deployment;
      assert.deepEqual([handOvers.length, roles.map(({ holder }) => holder).slice(1)], [5, [deployer.address, deployer.address, deployer.address]]);
      assert.ok(readdirSync(join(out, 'verification')).includes('contracts.json'));
    });
  });
});
