/** The development chain is made once and keeps everything through restarts and kills; what cannot be used is refused, and left as it is. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { computeAddress, id } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { startAnvil } from '../../stack/chain/anvil.js';
import { DevChainUnusable } from '../../stack/chain/dev-chain-state.js';
import { startDevChain, type DevChain, type DevChainOptions } from '../../stack/chain/dev-chain.js';
import { developmentAccounts } from '../../stack/chain/dev-contracts.js';
import { DirectoryInUse } from '../../service/machine/directory-lock.js';
import { contractOn, rpcTo } from '../support/proxies.js';
import { haveEnded, isRunning, killGuardOf } from '../support/test-machine.js';
import { until } from '../support/until.js';

const MILLION_USDC = 1_000_000_000_000n;
const TRANSFER = id('Transfer(address,address,uint256)');

describe('development chain', () => {
  let home: string;
  /** A chain that was made and stopped, to copy. */
  let made: string;
  let directory: string;
  let chains: DevChain[];
  let children: ChildProcess[];
  const [alice, bob] = developmentAccounts();

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'prediction-exchange-chain-'));
    made = join(home, 'made');
    const chain = await startDevChain(optionsFor(made));
    await chain.stop();
  });

  beforeEach(async () => {
    directory = join(await mkdtemp(join(home, 'test-')), 'chain');
    chains = [];
    children = [];
  });

  afterEach(async () => {
    for (const child of children) await killed(child);
    for (const chain of chains) await chain.stop();
    // What a killed owner has left running is stopped by the next start there.
    if (children.length > 0) await (await start()).stop();
  });

  after(() => rm(home, { recursive: true, force: true }));

  function optionsFor(where: string): DevChainOptions {
    return { directory: where, port: 0, chainId: 31_337, name: 'Here', exposureCheck: true, disputeWindowS: 75, log: () => undefined };
  }

  async function start(options: Partial<DevChainOptions> = {}): Promise<DevChain> {
    const chain = await startDevChain({ ...optionsFor(directory), ...options });
    chains.push(chain);
    return chain;
  }

  /** Another node process that starts it, writes its log, then its URL and process number. */
  function startElsewhere(writeEveryS = 1_000) {
    const module = new URL('../../stack/chain/dev-chain.js', import.meta.url).href;
    const child = spawn(process.execPath, ['--input-type=module', '-e', `
      import { startDevChain } from ${JSON.stringify(module)};
      const options = ${JSON.stringify(optionsFor(directory))};
      const chain = await startDevChain({ ...options, writeEveryS: ${writeEveryS}, log: (line) => console.log('log', line) });
      console.log('ready', chain.rpcUrl, chain.pid);
      setInterval(() => {}, 1000);
    `], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
      child,
      async until(pattern: RegExp): Promise<string> {
        for (let line = await lines.next(); !line.done; line = await lines.next()) {
          if (pattern.test(line.value)) return line.value;
        }
        throw new Error(`the other process ended before it wrote ${String(pattern)}`);
      },
    };
  }

  const usdcOf = ({ rpcUrl, chain }: DevChain, { address }: { address: string }) =>
    contractOn(rpcUrl, chain.contracts.collateral, testUsdc).read('balanceOf', [address]);
  const pay = ({ rpcUrl, chain }: DevChain, amount: bigint) =>
    contractOn(rpcUrl, chain.contracts.collateral, testUsdc).send(alice!.address, 'transfer', [bob!.address, amount]);

  /** The same, on a chain that another process runs. */
  async function payAt(url: string, amount: bigint): Promise<void> {
    const { contracts } = JSON.parse(readFileSync(join(directory, 'kept/manifest.json'), 'utf8')) as DevChain['chain'];
    await contractOn(url, contracts.collateral, testUsdc).send(alice!.address, 'transfer', [bob!.address, amount]);
  }

  it('is made with all contracts, roles for keys of their own, and wallets with money and no approvals', async () => {
    const made = await start();
    assert.deepEqual(made.chain, {
      chainId: 31_337, name: 'Here', testnet: true, confirmations: 0, startBlock: 1, contracts: made.chain.contracts,
      domainName: 'Prediction Exchange Settlement', exposureCheck: true,
    });
    const { contracts } = made.chain;
    assert.deepEqual(Object.values(contracts).filter((address) => !/^0x[0-9a-f]{40}$/.test(address)), []);
    const keys = [made.operatorKey, made.creatorKey, made.quickKey, made.relayerKey, ...developmentAccounts().map(({ privateKey }) => privateKey)];
    assert.deepEqual([new Set(keys).size, keys.length], [14, 14], 'nobody else takes their nonces');
    const [operator, creator, quick] = [made.operatorKey, made.creatorKey, made.quickKey].map((key) => computeAddress(key));
    const on = (address: string, artifact: Parameters<typeof contractOn>[2]) => contractOn(made.rpcUrl, address, artifact);
    for (const [artifact, address, role, who] of [
      [settlement, contracts.settlement, 'OPERATOR_ROLE', operator], [marketFactory, contracts.marketFactory, 'CREATOR_ROLE', creator],
      [quickResolver, contracts.quickResolver, 'OPERATOR_ROLE', quick], [marketFactory, contracts.marketFactory, 'CREATOR_ROLE', quick],
    ] as const) {
      const contract = on(address, artifact);
      assert.equal(await contract.read('hasRole', [await contract.read(role, []), who]), true, address);
      assert.ok(BigInt(await rpcTo(made.rpcUrl)<string>('eth_getBalance', [who, 'latest'])) > 10n ** 21n);
    }
    assert.equal(await on(contracts.oracleResolver, oracleResolver).read('disputeWindow', []), 75n);
    for (const account of developmentAccounts()) {
      assert.equal(await usdcOf(made, account), MILLION_USDC);
      assert.equal(await on(contracts.collateral, testUsdc).read('allowance', [account.address, contracts.settlement]), 0n);
      assert.equal(await on(contracts.conditionalTokens, conditionalTokens).read('isApprovedForAll', [account.address, contracts.settlement]), false);
    }
  });

  it('has its blocks, receipts, logs and balances after a restart, and goes on at the clock\'s time', async () => {
    await cp(made, directory, { recursive: true });
    const first = await start();
    const paid = await pay(first, 5n);
    const before = rpcTo(first.rpcUrl);
    const all = { fromBlock: '0x0', toBlock: 'latest', topics: [TRANSFER] };
    const block = (rpc: typeof before, tag: string) => rpc('eth_getBlockByNumber', [tag, true]);
    const seen = [await before('eth_getLogs', [all]), await block(before, '0x1'), await block(before, 'latest'), await before('eth_blockNumber', [])];
    await first.stop();
    await first.stop();
    assert.equal(isRunning(first.pid), false);
    assert.deepEqual(readdirSync(directory), ['kept'], 'neither a lock nor the number of a process is left');

    const second = await start();
    const after = rpcTo(second.rpcUrl);
    assert.deepEqual(second.chain, first.chain);
    assert.deepEqual([await after('eth_getLogs', [all]), await block(after, '0x1'), await block(after, 'latest'), await after('eth_blockNumber', [])], seen);
    assert.deepEqual(await after('eth_getTransactionReceipt', [paid.transactionHash]), paid);
    assert.equal(await usdcOf(second, bob!), MILLION_USDC + 5n);
    const { blockNumber } = await pay(second, 6n);
    const { timestamp, parentHash } = await after<{ timestamp: string; parentHash: string }>('eth_getBlockByNumber', [blockNumber, false]);
    assert.equal(parentHash, (seen[2] as { hash: string }).hash);
    assert.ok(Math.abs(Number(timestamp) - Date.now() / 1_000) < 30);
  });

  it('ends with its owner, which is killed, without another start, and then has all of its blocks', async () => {
    await cp(made, directory, { recursive: true });
    const owner = startElsewhere();
    const [, url, pid] = (await owner.until(/^ready/)).split(' ');
    await payAt(url!, 9n);
    await killed(owner.child);
    await haveEnded([Number(pid)]);

    const next = await start();
    assert.equal(await usdcOf(next, bob!), MILLION_USDC + 9n);
  });

  it('has what happened before and after the kill -9 of its owner and its guard, when it lives on until the next start', async () => {
    await cp(made, directory, { recursive: true });
    const owner = startElsewhere();
    const [, url, pid] = (await owner.until(/^ready/)).split(' ');
    await payAt(url!, 1n);
    killGuardOf(Number(pid));
    await killed(owner.child);
    await payAt(url!, 2n);

    const next = await start();
    assert.equal(isRunning(Number(pid)), false);
    assert.equal(await usdcOf(next, bob!), MILLION_USDC + 3n);
  });

  it('has all but the last seconds when anvil itself is killed', async () => {
    await cp(made, directory, { recursive: true });
    const first = await start({ writeEveryS: 1 });
    const state = join(directory, 'kept/state.json');
    await pay(first, 7n);
    await pay(first, 8n);
    // The write that ends first may have begun before the payments; the one after it has both.
    for (let write = 0; write < 2; write++) {
      const { mtimeMs } = statSync(state);
      await until('the state is written', () => statSync(state).mtimeMs !== mtimeMs || undefined);
    }
    await until('the write has ended', () => isJson(state) || undefined);
    process.kill(first.pid, 'SIGKILL');
    assert.equal((await first.ended).message, `the development chain (pid ${first.pid}) was stopped: signal SIGKILL`);
    await first.stop();
    const second = await start();
    assert.equal(await usdcOf(second, bob!), MILLION_USDC + 15n);
  });

  it('is made anew when its owner was killed in the middle of the deployment', async () => {
    const owner = startElsewhere();
    await owner.until(/eth_sendRawTransaction/);
    const orphan = Number(readFileSync(join(directory, 'anvil.pid'), 'utf8'));
    killGuardOf(orphan);
    await killed(owner.child);
    assert.equal(isRunning(orphan), true, 'the test needs an orphan');
    assert.equal(existsSync(join(directory, 'kept')), false, 'the test needs a half-made chain');
    writeFileSync(join(directory, 'making/manifest.json'), '{');

    const next = await start();
    assert.equal(isRunning(orphan), false);
    assert.equal(next.chain.startBlock, 1);
    assert.equal(await usdcOf(next, bob!), MILLION_USDC);
  });

  it('leaves alone a process that has the number of an old one', async () => {
    await cp(made, directory, { recursive: true });
    const somebody = spawn('sleep', ['1000']);
    try {
      writeFileSync(join(directory, 'anvil.pid'), `${somebody.pid}\n`);
      await start();
      assert.equal(isRunning(somebody.pid!), true);
    } finally {
      await killed(somebody);
    }
  });

  it('refuses a second start while the first lives, and a port that is taken', async () => {
    await cp(made, directory, { recursive: true });
    const first = await start();
    await assert.rejects(start(), DirectoryInUse);
    await first.stop();
    const server = createServer();
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    const { port } = server.address() as { port: number };
    await assert.rejects(start({ port }), new RegExp(`port ${port} of the development chain is in use: set CHAIN_PORT to another port, or to 0 for any free port$`));
    await new Promise((resolve) => { server.close(resolve); });
    assert.match((await start({ port })).rpcUrl, new RegExp(`:${port}$`));
  });

  describe('that cannot be used', () => {
    const state = () => join(directory, 'kept/state.json');
    const manifest = () => join(directory, 'kept/manifest.json');
    const change = (changes: object) => {
      writeFileSync(manifest(), JSON.stringify({ ...JSON.parse(readFileSync(manifest(), 'utf8')) as object, ...changes }));
    };

    async function otherChain(): Promise<void> {
      rmSync(state());
      const anvil = await startAnvil({ chainId: 31_337, args: ['--dump-state', state(), '--state-interval', '1'] });
      await rpcTo(anvil.url)('evm_mine', []);
      // It answers before it knows what to do at its end.
      await until('it writes its state', () => existsSync(state()));
      await anvil.stop();
    }

    async function otherCode(): Promise<void> {
      const chain = await startDevChain(optionsFor(directory));
      await rpcTo(chain.rpcUrl)('anvil_setCode', [chain.chain.contracts.settlement, '0x00']);
      await chain.stop();
    }

    for (const [what, spoil, message] of [
      ['a state of which half was written', () => { truncateSync(state(), 1_000); }, /is damaged: anvil cannot load its state \(.*state\.json/s],
      ['a state that is something else', () => { writeFileSync(state(), 'x'); }, /is damaged: anvil cannot load its state/],
      ['no state', () => { rmSync(state()); }, /is incomplete: .*state\.json is missing\. Put it back\./],
      ['no manifest', () => { rmSync(manifest()); }, /is incomplete: .*manifest\.json is missing\. Put it back\./],
      ['half a manifest', () => { truncateSync(manifest(), 100); }, /is damaged: .*manifest\.json is not JSON/],
      ['a manifest of another version', () => { change({ version: 1 }); }, /another version of the program, or is damaged: .*version/],
      ['another chain id', () => { change({ chainId: 1 }); }, /has id 1, not 31337\. Set CHAIN_ID back to 1\./],
      ['another dispute window', () => { change({ disputeWindowS: 60 }); }, /has a dispute window of 60 s, not 75 s\. Set DEV_DISPUTE_WINDOW_S back to 60\./],
      ['other contracts than the program\'s', () => { change({ artifacts: `0x${'00'.repeat(32)}` }); },
        /has contracts of another version of this program\. Run that version to continue with this chain\./],
      ['the state of another chain', otherChain, /has the state of another chain: its block 1 is not the block of the manifest/],
      ['other code at an address', otherCode, /has other code where it should have settlement\./],
    ] as const) {
      it(`is refused and left as it is: ${what}`, async () => {
        await cp(made, directory, { recursive: true });
        await spoil();
        // anvil, which has to load a state that is something else before it is known, writes it again.
        const contents = () => readdirSync(join(directory, 'kept')).map((name) => [name, blocksIn(readFileSync(join(directory, 'kept', name), 'utf8'))]);
        const before = contents();
        await assert.rejects(startDevChain(optionsFor(directory)), (error: Error) => {
          assert.ok(error instanceof DevChainUnusable, error.stack);
          assert.match(error.message, message);
          assert.match(error.message, /To start anew, move the whole data directory \(.*test-\w+\) away: the history in it belongs to that chain$/);
          return true;
        });
        assert.deepEqual(contents(), before);
        assert.equal(existsSync(join(directory, 'lock')), false);
      });
    }
  });
});

/** The blocks of a whole state, in any order; the text itself of anything else. */
function blocksIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { blocks?: unknown[] }).blocks?.map((block) => JSON.stringify(block)).sort() ?? text;
  } catch {
    return text;
  }
}

function isJson(path: string): boolean {
  try {
    JSON.parse(readFileSync(path, 'utf8'));
    return true;
  } catch {
    return false;
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const died = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await died;
}
