/** `npm run tool -- market` as its users run it, on an exchange on a chain: creates, lists and arbitrates, and what it says when it cannot. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Interface, type InterfaceAbi } from 'ethers';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { market as marketArtifact } from '../../contracts-abi/market.js';
import { caughtUp, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { targetAt, BOND, signedResolutions, type Arguments, type Target } from '../support/market-contracts.js';

const PROGRAM = fileURLToPath(new URL('../../tools/market.js', import.meta.url));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

describe('npm run tool -- market', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-market-'));
    node = await tradedChain();
    await node.createMarket({ question: 'Will the sun shine?' });
    exchange = await exchangeStack({}, [node.configured({ chain: { ...node.chain, publicRpcUrl: node.url } })]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
    await rm(directory, { recursive: true });
  });

  const run = (args: readonly string[], environment: Readonly<Record<string, string>> = { MARKET_KEY: node.operatorKey }) =>
    new Promise<Ran>((resolve) => {
      execFile(process.execPath, [PROGRAM, ...args], { env: { PATH: process.env['PATH'] ?? '', ...environment } }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  const at = () => ['--url', exchange.url];
  const create = (...args: readonly string[]) => run(['create', ...at(), '--question', 'Will it rain?', ...args]);

  it('creates a market that the exchange lists when the tool ends, with all that was asked for', async () => {
    const ran = await create('--expires-in', '75s', '--category', 'defi', '--description', 'At noon.', '--bond', '12.5', '--json');
    assert.equal(ran.code, 0, ran.stderr);
    const { id, contractAddress, expiration, bond } = JSON.parse(ran.stdout.trimEnd().split('\n').at(-1)!) as Record<string, string>;
    assert.equal(bond, '12500000');
    const { markets, serverTime } = { ...await exchange.get('/api/v1/markets'), ...await exchange.get('/api/v1/config') } as {
      markets: Record<string, unknown>[]; serverTime: number;
    };
    const listed = markets.find((each) => each['id'] === id)!;
    assert.deepEqual([listed['contractAddress'], listed['question'], listed['description'], listed['category'], listed['expiration']], [
      contractAddress, 'Will it rain?', 'At noon.', 'defi', expiration,
    ]);
    assert.ok(Math.abs(Number(expiration) - serverTime - 75) <= 30);
    assert.match((await run(['list', ...at()])).stdout, new RegExp(`^${id} {2}\\d{4}-.*Z {2}Will it rain\\?$`, 'm'));
    assert.notEqual(JSON.parse((await create('--expires-in', '10m', '--json')).stdout)['id'], id, 'the same question again is another market');
  });

  it('tells its options', async () => {
    for (const command of ['create', 'list', 'arbitrate']) {
      const { code, stdout } = await run([command, '--help']);
      assert.deepEqual([code, stdout.includes('--url <url>')], [0, true], command);
    }
  });

  it('takes the key from a file', async () => {
    const path = join(directory, 'key');
    await writeFile(path, `${node.operatorKey}\n`, { mode: 0o600 });
    const ran = await run(['create', ...at(), '--question', 'From a file?', '--expires-in', '1h', '--key-file', path], {});
    assert.equal(ran.code, 0, ran.stderr);
    assert.match(ran.stdout, /^Market 0x[0-9a-f]{64}\n {2}From a file\?\n {2}contract 0x[0-9a-f]{40}, expires .*Z, transaction 0x[0-9a-f]{64}\n$/);
  });

  it('says what is wrong: arguments with code 2, all else with code 1, and never shows a key', async () => {
    const cases: [readonly string[], number, RegExp, Readonly<Record<string, string>>?][] = [
      [['create', ...at(), '--expires-in', '1h'], 2, /required option '--question/],
      [['create', ...at(), '--question', 'x', '--expires-in', 'soon'], 2, /expected a number with s, m, h or d/],
      [['create', ...at(), '--question', 'x', '--expires-in', '1h', '--category', 'sport'], 2, /expected one of defi, protocol, stablecoin, general/],
      [['create', ...at(), '--question', 'x', '--expires-in', '1h', '--bond', '1.0000001'], 2, /expected an amount of the stablecoin/],
      [['create', ...at(), '--question', 'x'.repeat(1_001), '--expires-in', '1h'], 2, /expected 1 to 1000 bytes of UTF-8, not 1001/],
      [['arbitrate', ...at(), '0x12', 'truthful'], 2, /expected a market's id/],
      [['arbitrate', ...at(), `0x${'1'.repeat(64)}`, 'maybe'], 2, /expected truthful or untruthful/],
      [['create', ...at(), '--question', 'x', '--expires-in', '1h', '--bond', '0'], 1, /^--bond: the oracle takes bonds from 5 on$/m],
      [['create', ...at(), '--question', 'x', '--expires-in', '1h', '--chain', '5'], 1, /^--chain: expected one of 31337, the chains of /m],
      [['create', ...at(), '--question', 'x', '--expires-in', '1h'], 1, /^MARKET_KEY: expected a private key: 64 hex digits, with or without 0x$/m, { MARKET_KEY: 'secret' }],
      [['list', '--url', 'http://127.0.0.1:1'], 1, /^http:\/\/127\.0\.0\.1:1\/api\/v1\/markets does not answer: /m],
      [['create', '--url', 'http://127.0.0.1:1', '--question', 'x', '--expires-in', '1h'], 1, /^no exchange answers at http:\/\/127\.0\.0\.1:1: start one with npm start/m],
      [['arbitrate', ...at(), `0x${'1'.repeat(64)}`, 'truthful'], 1, /unknown_market|no such market/],
    ];
    for (const [args, code, message, environment] of cases) {
      const ran = await run(args, environment);
      assert.equal(ran.code, code, `${args.join(' ')}: ${ran.stderr}`);
      assert.match(ran.stderr, message, args.join(' '));
      assert.doesNotMatch(ran.stderr, /secret|\n {4}at /);
    }
  });

  it('gives a market the bond that the oracle asks for, where that is more than the default', async () => {
    const oracle = new Interface(optimisticOracle.abi as InterfaceAbi);
    const setFee = (fee: bigint) => node.transact(node.operator, { to: node.chain.contracts.oracle, data: oracle.encodeFunctionData('setParameters', [fee, true]) });
    await setFee(250_000_000n);
    const ran = await create('--expires-in', '1h', '--json');
    await setFee(2_500_000n);
    assert.equal(ran.code, 0, ran.stderr);
    assert.equal(JSON.parse(ran.stdout)['bond'], '500000000');
    assert.equal(JSON.parse((await create('--expires-in', '1h', '--json')).stdout)['bond'], '10000000');
  });

  it('decides a dispute, and settles it', async () => {
    const [, proposer, disputer] = node.accounts;
    const { contracts } = node.chain;
    const { id, contractAddress } = JSON.parse((await create('--expires-in', '1h', '--bond', '20', '--json')).stdout) as Record<string, string>;
    const undisputed = await run(['arbitrate', ...at(), id!, 'truthful']);
    assert.match(undisputed.stderr, /^market 0x\w+ has no disputed proposal: there is nothing to decide$/m);
    for (const account of [proposer!, disputer!]) {
      await node.mint(account, 10n * BOND);
      for (const spender of [contracts.oracleResolver, contracts.oracle]) await node.approve(account, 10n * BOND, spender);
    }
    await node.rpc('evm_increaseTime', [3_600]);
    await node.rpc('evm_mine');
    const call = async ({ address, abi }: Target, method: string, args: Arguments = []) => abi.decodeFunctionResult(method,
      await node.rpc('eth_call', [{ to: address, data: abi.encodeFunctionData(method, args) }, 'latest']) as string)[0] as unknown;
    const resolver = targetAt('OracleResolver', contracts.oracleResolver, oracleResolver);
    const signed = signedResolutions({ oracleResolver: resolver, usdc: targetAt('TestUSDC', contracts.collateral, testUsdc), read: call });
    const proposal = await signed.proposal(proposer!, targetAt('Market', contractAddress!, marketArtifact), { outcome: false });
    const transact = (to: string, data: string) => node.rpc('eth_sendTransactionSync', [{ from: disputer!.address, to, data }]);
    await transact(resolver.address, resolver.abi.encodeFunctionData('proposeWithSig', proposal));
    const resolution = async () => await exchange.get(`/api/v1/resolution/${id}`, await caughtUp(exchange, node)) as {
      resolved: boolean; winningOutcome?: number; assertion: { id: string; disputed: boolean };
    };
    const { assertion } = await resolution();
    const oracle = targetAt('OptimisticOracle', contracts.oracle, optimisticOracle);
    await transact(oracle.address, oracle.abi.encodeFunctionData('disputeAssertion', [assertion.id, disputer!.address]));
    assert.equal((await resolution()).assertion.disputed, true);
    const ran = await run(['arbitrate', ...at(), id!, 'truthful', '--json']);
    assert.equal(ran.code, 0, ran.stderr);
    const { resolved, winningOutcome } = await resolution();
    assert.deepEqual([resolved, winningOutcome], [true, 1]);
    assert.match((await run(['arbitrate', ...at(), id!, 'truthful'])).stderr, /is resolved already$/m);
  });
});
