/** `npm run demo URL` as its users run it, on an exchange on a chain: a market's whole life, where it stops earlier, and how it fails. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { id } from 'ethers';
import type { ConfiguredChain } from '../../command/chain/configured-chain.js';
import type { DeployedChainOptions } from '../support/deployed-chain.js';
import { caughtUp, eventsOf, eventually, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import { bearerToken } from '../support/gasless-wallet.js';

const QUICK_INTERVAL_S = 25;
const PROGRAM = fileURLToPath(new URL('../../tools/demo.js', import.meta.url));

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the demonstration. `heard` gets all that it has written so far, at each write. */
function run(
  args: readonly string[], environment: Readonly<Record<string, string>>, heard: (stdout: string) => void = () => undefined,
): Promise<Ran> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...environment }, stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => { heard(stdout += chunk.toString()); });
  child.stderr.on('data', (chunk: Buffer) => { stderr += chunk.toString(); });
  return new Promise((resolve) => child.once('close', (code) => { resolve({ code, stdout, stderr }); }));
}

interface Scene {
  readonly node: TradedChain;
  readonly exchange: ExchangeStack;
  /** The environment of a demonstration that may do everything. */
  readonly may: Readonly<Record<string, string>>;
}

interface SceneOptions extends DeployedChainOptions {
  readonly relays?: boolean;
  readonly testnet?: boolean;
  readonly publicUrl?: string;
  /** The length of quick markets; absent: there are none. */
  readonly quickIntervalS?: number;
}

/** An exchange with a market, whose chain is public; unless `relays` is false, it relays. */
async function scene({ relays = true, testnet = true, publicUrl, quickIntervalS, ...options }: SceneOptions): Promise<Scene> {
  const node = await tradedChain(options);
  try {
    await node.createMarket({ question: 'Will somebody else trade?' });
    const key = node.accounts[8]!;
    const relayer = relays ? { relayerKey: key.privateKey, relayer: key.address.toLowerCase() } : {};
    const chain = { ...node.chain, testnet, publicRpcUrl: publicUrl ?? node.url };
    const quick = quickIntervalS === undefined ? {} : await quickOperator(node);
    const settings = quickIntervalS === undefined ? {} : { PRICE_SOURCES: 'simulated', QUICK_ASSETS: 'BTC', QUICK_INTERVAL_S: String(quickIntervalS) };
    const exchange = await exchangeStack(settings, [node.configured({ chain, ...relayer, ...quick })]);
    return { node, exchange, may: { MARKET_KEY: node.operatorKey, TOKEN: await bearerToken(exchange.databaseUrl) } };
  } catch (error) {
    await node.stop();
    throw error;
  }
}

/** A key with the roles that quick markets need. */
async function quickOperator(node: TradedChain): Promise<Pick<ConfiguredChain, 'quickKey' | 'quick'>> {
  const { address, privateKey } = node.accounts[6]!;
  await node.send(node.operator, 'marketFactory', 'grantRole', [id('CREATOR_ROLE'), address]);
  await node.send(node.operator, 'quickResolver', 'grantRole', [id('OPERATOR_ROLE'), address]);
  return { quickKey: privateKey, quick: address.toLowerCase() };
}

/** An interval of which most is left, so that the market that runs is made, and ends too far ahead for a demonstration. */
function longIntervalS(): number {
  const nowS = Math.floor(Date.now() / 1_000);
  return Array.from({ length: 2_000 }, (_, i) => 1_000 + i).find((each) => nowS % each < each / 4)!;
}

/** Every relayed action's end, once each has one: the demonstration ends with the payment, and the relayer records the action's end after that. */
async function endedRelays({ node, exchange }: Scene) {
  return await eventually('every relayed action has ended', async () => {
    const position = await caughtUp(exchange, node);
    const [asked, ended] = await Promise.all([eventsOf(exchange, 'RelayRequested', position), eventsOf(exchange, 'RelayEnded', position)]);
    return ended.length === asked.length ? { position, ended } : undefined;
  });
}

const questions = async (exchange: ExchangeStack, position?: number): Promise<string[]> => (
  (await exchange.get('/api/v1/markets', position)) as { markets: { question: string }[] }).markets.map(({ question }) => question);

async function closed({ node, exchange }: Scene): Promise<void> {
  await exchange.close();
  await node.stop();
}

const assertFailed = (ran: Ran, message: RegExp): void => {
  assert.equal(ran.code, 1, ran.stdout + ran.stderr);
  assert.match(ran.stderr, message);
  assert.doesNotMatch(ran.stderr, /\n {4}at /);
  assert.doesNotMatch(ran.stdout, /All as expected/);
};

describe('npm run demo: a market\'s whole life', function () {
  this.timeout(240_000);
  let at: Scene;
  before(async () => { at = await scene({ disputeWindowS: 5n, chain: { exposureCheck: true }, quickIntervalS: QUICK_INTERVAL_S }); });
  after(() => closed(at));

  it('goes from the first signature to the last redemption, and leaves nothing behind', async () => {
    const { node, exchange, may } = at;
    const { code, stdout, stderr } = await run([exchange.url], may);
    assert.equal(code, 0, stdout + stderr);
    for (const line of [
      /^The buyer bids for 1000\.00 YES without approval: 422 insufficient_balance, /m,
      /^The buyer bids for 4\.00 YES without approval: 422 insufficient_allowance, /m,
      /^The buyer bids 0\.62 for 4\.00 YES, with a permit: position \d+, 1 match$/m, /^Fill of 4\.00 at 0\.62: confirmed$/m,
      /^The transaction anchored position \d+ of the history with digest 0x[0-9a-f]{64}$/m, /^ {2}until the markets expire: \d+ s left$/m,
      /^The rest of the ask is cancelled, and another order is refused: 409 market_closed$/m, /^ {2}the seller is paid 6\.00 USDC: transaction 0x/m,
      /^ {2}the buyer is paid 4\.00 \+ 5\.00 USDC: transaction 0x/m,
      /^ {2}40\.00 USDC in the wallets \+ 0\.00 in the markets \+ 0\.00 at the oracle = 40\.00 minted$/m,
      /^ {2}Both wallets have 0 ether and have sent 0 transactions/m, /^All as expected\.$/m,
    ]) assert.match(stdout, line);
    assert.doesNotMatch(stdout, /\r|undefined|NaN|it is so already/, 'a file gets whole lines');
    const [, strike, end, winner] = /^ {2}from ([\d.]+) USD to ([\d.]+) USD: (UP|DOWN), so (?:YES|NO) wins$/m.exec(stdout) ?? [];
    assert.equal(winner, Number(end) >= Number(strike) ? 'UP' : 'DOWN', stdout);
    for (const line of [
      new RegExp(`^Quick market 0x[0-9a-f]{64}\\n {2}from \\S+Z to \\S+Z, strike price ${strike} USD from simulated$`, 'm'),
      /^ {2}BTC \d+\.\d\d USD at \S+Z from simulated\n {2}history \d+: PriceRecorded, .*\n {2}BTC .*\n {2}history \d+: PriceRecorded/m,
      /^The best ask for UP is 0\.62$/m, /^The chain pays by the same two prices: transaction 0x[0-9a-f]{64}$/m,
      winner === 'UP' ? /^ {2}the buyer is paid 4\.00 USDC: transaction 0x/m : /^ {2}the seller is paid 10\.00 USDC: transaction 0x/m,
    ]) assert.match(stdout, line);
    assert.equal(stdout.match(/^ {2}40\.00 USDC in the wallets \+ 0\.00 in the markets \+ 0\.00 at the oracle = 40\.00 minted$/mg)?.length, 2);
    assert.equal(await node.read('collateral', 'balanceOf', [node.chain.contracts.conditionalTokens]), 0n);
    const { position, ended } = await endedRelays(at);
    assert.deepEqual(ended.map(({ action }) => action).sort(), [
      'batch-ctf-redemption', 'ctf-approval', 'ctf-redemption', 'ctf-split', 'ctf-split', 'propose-resolution', 'propose-resolution',
      'settle-market', 'settle-market', 'usdc-permit', 'usdc-permit',
      // In the quick market, in which both redeem YES, or the seller NO.
      'ctf-approval', 'ctf-redemption', 'ctf-split', 'usdc-permit', ...winner === 'UP' ? ['ctf-redemption'] : [],
    ].sort());
    assert.ok(ended.every(({ results }) => results.every(({ succeeded }) => succeeded)));
    assert.deepEqual(await questions(exchange, position), ['Will somebody else trade?'], 'its markets are resolved');
  });

  it('says which bearer token is wrong, before it has made a market', async () => {
    const { exchange, may } = at;
    const { TOKEN, ...rest } = may;
    const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-demo-'));
    await writeFile(join(directory, 'token'), `${await bearerToken(exchange.databaseUrl, ['relay:ctf-split'])}\n`);
    const wrong = `${TOKEN!.slice(0, -2)}xx`;
    const cases: [readonly string[], Readonly<Record<string, string>>, RegExp][] = [
      [[], { DATA_DIR: '/nowhere' }, /^the relayer of http:\S+ needs a bearer token: \/nowhere\/token has none; set DATA_DIR to the stack's, or give --token or set TOKEN/],
      [[], { TOKEN: wrong }, /answered 401: Invalid bearer token\. The bearer token is from TOKEN$/m],
      [['--token', wrong], { TOKEN: TOKEN! }, /answered 401: Invalid bearer token\. The bearer token is from --token$/m],
      [[], { DATA_DIR: directory }, /answered 403: Token lacks the scope relay:(ctf-approval|usdc-permit)\. The bearer token is from \S+\/token$/m],
    ];
    for (const [args, environment, message] of cases) {
      const ran = await run([exchange.url, ...args], { ...rest, ...environment });
      assertFailed(ran, message);
      assert.doesNotMatch(ran.stdout + ran.stderr, /pex_/, 'the text of a bearer token is never shown');
    }
    await rm(directory, { recursive: true });
    assert.deepEqual(await questions(exchange), ['Will somebody else trade?']);
  });

  it('says that the service does not answer any more when it stops in between', async () => {
    const { exchange, may } = at;
    let stopped: Promise<void> | undefined;
    const ran = await run([exchange.url], may, (stdout) => { if (/Two markets are created/.test(stdout)) stopped ??= exchange.stop(); });
    assert.ok(stopped !== undefined);
    await stopped;
    assertFailed(ran, /^http:\/\/127\.0\.0\.1:\d+\/\S+ does not answer: /);
  });
});

describe('npm run demo: where it stops earlier', function () {
  this.timeout(180_000);

  it('stops at the proposal where the dispute window is long, and after the trade where the quick market is, and says how to see the rest', async () => {
    const at = await scene({ quickIntervalS: longIntervalS() });
    try {
      const { code, stdout, stderr } = await run([at.exchange.url], at.may);
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /^The proposals can be disputed until \d{4}-\S+Z$/m);
      assert.match(stdout, /^ {2}5\.00 USDC in the wallets \+ 15\.00 in the markets \+ 20\.00 at the oracle = 40\.00 minted$/m);
      assert.match(stdout, /^The demonstration does not wait 7200 s for the end of the dispute windows: it stops here, /m);
      assert.match(stdout, /DEV_DISPUTE_WINDOW_S=10/);
      assert.match(stdout, /^ {2}30\.00 USDC in the wallets \+ 10\.00 in the markets \+ 0\.00 at the oracle = 40\.00 minted$/m);
      assert.match(stdout, /^The demonstration does not wait \d{3,4} s for the end of the quick market: it stops here, /m);
      assert.match(stdout, /QUICK_INTERVAL_S=25/);
    } finally {
      await closed(at);
    }
  });

  it('ends with the trade where nothing is relayed: the wallets pay for their own transactions', async () => {
    const at = await scene({ relays: false });
    try {
      const { code, stdout, stderr } = await run([at.exchange.url], {});
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /^This service relays nothing on chain 31337: the wallets pay for their transactions, and the demonstration ends /m);
      assert.match(stdout, /^ {2}seller {2}6\.00 YES, 10\.00 NO, 12\.48 USDC; /m);
    } finally {
      await closed(at);
    }
  });

  it('ends with the match where there is no chain', async () => {
    const exchange = await exchangeStack();
    try {
      const { code, stdout, stderr } = await run([exchange.url], {});
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /^This service settles on no chain: the orders are matched, but the trade does not settle\.$/m);
    } finally {
      await exchange.close();
    }
  });

  it('says what is missing where nobody answers, neither service nor node, and where the money is real', async () => {
    assertFailed(await run(['http://127.0.0.1:1'], {}), /^no service answers at http:\/\/127\.0\.0\.1:1: start one with npm start/);
    const refusals: [SceneOptions, RegExp][] = [
      [{ testnet: false }, /where the demonstration has no money: it needs a development stack$/m],
      [{ publicUrl: 'http://127.0.0.1:1' }, /^the node of chain 31337 at http:\/\/127\.0\.0\.1:1 does not answer: connect ECONNREFUSED/m],
    ];
    for (const [options, message] of refusals) {
      const at = await scene({ relays: false, ...options });
      try {
        assertFailed(await run([at.exchange.url], {}), message);
      } finally {
        await closed(at);
      }
    }
  });
});
