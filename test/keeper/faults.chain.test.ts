/** The keeper's process ends, others are quicker, the oracle refuses, gas is dear: nothing is sent twice, and nothing that would fail. */
import assert from 'node:assert/strict';
import { id } from 'ethers';
import { runKeeper, KEEPER_RULES, type Keeper, type KeeperOptions, type Proposal } from '../../command/keeper/keeper.js';
import { createRpc } from '../../command/chain/rpc.js';
import { openLaneUser } from '../../command/lane/lane-user.js';
import { createChainReads, type ChainReads } from '../../command/chain/chain-reads.js';
import { createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { deployedChain, type DeployedChain } from '../support/deployed-chain.js';
import { eventually } from '../support/exchange-on-chain.js';
import { testDatabase, type TestDatabase } from '../support/postgres.js';
import { runSql } from '../support/sql.js';
import { startRelayLane, type RelayWorld } from '../harness/relay-world.js';
import { resolutionActs } from '../support/resolution-acts.js';

const WINDOW_S = 7_200;

interface KeeperProcess extends Keeper {
  readonly reports: string[];
  /** How often it has asked the oracle what settling would do. */
  simulations(): number;
  stop(): Promise<void>;
}

describe('keeper: faults', function () {
  this.timeout(60_000);
  let node: DeployedChain;
  let acts: ReturnType<typeof resolutionActs>;
  let database: TestDatabase;
  let world: RelayWorld;
  let keeper: string;
  let proposals: Proposal[];
  const running: { stop(): Promise<void> }[] = [];

  before(async () => {
    node = await deployedChain();
    acts = resolutionActs(node);
    keeper = node.accounts[8]!.address.toLowerCase();
  });
  after(() => node.stop());
  beforeEach(async () => {
    database = await testDatabase();
    world = { node, databaseUrl: database.url, store: createMemoryStore() };
    proposals = [];
  });
  afterEach(async () => {
    await node.rpc('evm_setAutomine', [true]);
    for (const each of running.splice(0)) await each.stop();
    await database.drop();
  });

  function startKeeper(changes: Partial<KeeperOptions> = {}): KeeperProcess {
    const { chain } = node;
    const { chainId } = chain;
    const stopping = new AbortController();
    const reports: string[] = [];
    const report = (level: string, text: string) => { reports.push(`${level}: ${text}`); };
    const reads = createChainReads(chain, createRpc({ chainId, urls: [node.url], now: () => performance.now(), report }));
    let simulations = 0;
    const simulate: ChainReads['simulate'] = async (call) => {
      const answer = await reads.simulate(call);
      simulations += 1;
      return answer;
    };
    const run = runKeeper({
      chain, report, signal: stopping.signal, relayer: keeper, maxFeePerGas: 10n ** 12n, pollMs: 20, now: Date.now, reads: { ...reads, simulate },
      lane: openLaneUser({ url: database.url, chainId, key: 'relayer', purpose: 'keeper', standByMs: 20 }),
      view: { proposals: () => proposals, unproposed: () => [], nextBlock: () => Infinity }, verify: () => Promise.resolve(),
      rules: { ...KEEPER_RULES, graceS: 1, againMs: 20, backoff: { firstMs: 20, longestMs: 40 } }, ...changes,
    });
    const process = {
      ...run, reports, simulations: () => simulations,
      async stop() {
        stopping.abort(new Error('stopped'));
        await run.done;
      },
    };
    running.push(process);
    return process;
  }

  async function startLane(): Promise<void> {
    running.push(await startRelayLane(world));
  }

  /** A proposal of a new market whose dispute window is over on the chain. */
  async function due(question: string): Promise<Proposal> {
    const { marketId, address } = await acts.expired(question);
    const assertionId = await acts.propose({ address }, true);
    const expirationTime = await node.now() + WINDOW_S;
    await acts.passes(WINDOW_S + 1);
    return { marketId, assertionId, expirationTime, disputed: false };
  }

  /** The requests in the outbox: how they stand, and whether they are forgotten. */
  const requests = () => rowsOf(database.url, 'select status, forgotten from lane.requests order by number');
  const asked = () => eventually('the lane is asked', async () => (await requests()).length > 0 ? true : undefined);
  const settledBy = ({ assertionId }: Proposal) => eventually('the assertion is settled', () => acts.settlerOf(assertionId));
  const sent = async () => Number(await node.rpc('eth_getTransactionCount', [keeper, 'latest']));
  const looks = (process: KeeperProcess, count: number) => eventually(`${count} looks`, () => (
    Promise.resolve(process.simulations() >= count ? true : undefined)));

  it('killed after the lane was asked and before it has sent: one transaction, of however many processes', async () => {
    const proposal = await due('Killed?');
    proposals = [proposal];
    const before = await sent();
    const first = startKeeper();
    await asked();
    await first.stop();
    const others = [startKeeper(), startKeeper()];
    await eventually('one of the others is the keeper', () => Promise.resolve(others.some(({ status }) => status().holds) ? true : undefined));
    await startLane();
    assert.equal(await settledBy(proposal), keeper);
    proposals = [];
    await eventually('the request is forgotten', async () => (await requests()).every(({ forgotten }) => forgotten === true) ? true : undefined);
    assert.deepEqual([await requests(), await sent() - before], [[{ status: 'ended', forgotten: true }], 1]);
  });

  it('settled by somebody else, and the history has not heard of it: nothing is asked', async () => {
    const proposal = await due('Settled already?');
    await acts.settleOnOracle(proposal.assertionId);
    proposals = [proposal];
    const process = startKeeper();
    await eventually('the keeper has looked', () => Promise.resolve(process.status().due === 1 ? true : undefined));
    // A second proposal shows that the keeper has been round.
    const other = await due('Not settled yet?');
    proposals = [proposal, other];
    await asked();
    const [request] = await rowsOf(database.url, 'select note, priority from lane.requests');
    assert.deepEqual([request, (await requests()).length, process.simulations()], [{ note: { assertionId: other.assertionId }, priority: 1 }, 1, 1]);
  });

  it('settled by somebody else in the same block: its transaction reverts, which is told, and there is no second one', async () => {
    const proposal = await due('Overtaken?');
    proposals = [proposal];
    const before = await sent();
    await node.rpc('evm_setAutomine', [false]);
    await startLane();
    const process = startKeeper();
    await eventually('its transaction is in the pool', async () => (
      Number(await node.rpc('eth_getTransactionCount', [keeper, 'pending'])) > before ? true : undefined));
    const { abi, address } = acts.at('oracle');
    const fees = { maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x174876e800' };
    const data = abi.encodeFunctionData('settleAssertion', [proposal.assertionId]);
    await node.rpc('eth_sendTransaction', [{ from: acts.stranger.address, to: address, data, gas: '0x927c0', ...fees }]);
    await node.rpc('evm_mine');
    assert.equal(await settledBy(proposal), acts.stranger.address.toLowerCase());
    await eventually('it is told', () => Promise.resolve(process.reports.some((text) => /reverted: somebody else may have been first/.test(text)) ? true : undefined));
    proposals = [];
    await eventually('the request is forgotten', async () => (await requests()).every(({ forgotten }) => forgotten === true) ? true : undefined);
    assert.deepEqual([(await requests()).length, await sent() - before], [1, 1]);
  });

  it('refused by the oracle: nothing is asked, the reason is told once; settled when the obstacle is gone', async () => {
    const proposal = await due('Refused?');
    await startLane();
    const { address } = acts.at('oracleResolver');
    const code = await node.rpc('eth_getCode', [address, 'latest']);
    // The callback reverts with the first error that comes to hand: PUSH4 selector, PUSH1 224, SHL, PUSH0, MSTORE, PUSH1 4, PUSH0, REVERT.
    await node.rpc('anvil_setCode', [address, `0x63${id('ReentrancyGuardReentrantCall()').slice(2, 10)}60e01b5f5260045ffd`]);
    proposals = [proposal];
    const process = startKeeper();
    await looks(process, 4);
    const { assertionId, marketId } = proposal;
    assert.deepEqual(process.reports, [
      `alert: chain ${node.chain.chainId}, assertion ${assertionId} of market ${marketId}: the oracle refuses to settle it: ReentrancyGuardReentrantCall(). `
      + 'Nothing is sent; it is tried again with growing pauses',
    ]);
    assert.deepEqual(await requests(), []);
    await node.rpc('anvil_setCode', [address, code]);
    assert.equal(await settledBy(proposal), keeper);
  });

  it('disputed and not arbitrated: nothing is asked, and nothing is told', async () => {
    const market = await acts.expired('Not arbitrated?');
    const assertionId = await acts.propose(market, true);
    await acts.dispute(assertionId);
    proposals = [{ marketId: market.marketId, assertionId, expirationTime: await node.now() + WINDOW_S, disputed: true }];
    const process = startKeeper();
    await looks(process, 3);
    assert.deepEqual([await requests(), process.reports], [[], []]);
  });

  it('gas dearer than the limit, or a key without means: nothing is asked, and why is told', async () => {
    proposals = [await due('Dear?')];
    const dear = startKeeper({ maxFeePerGas: 1n });
    await eventually('it is told', () => Promise.resolve(dear.status().problem));
    assert.match(dear.status().problem!, /^gas costs \d+ wei on chain \d+, and the relayer offers 1 at most$/);
    await dear.stop();
    const balance = await node.rpc('eth_getBalance', [keeper, 'latest']);
    await node.rpc('anvil_setBalance', [keeper, '0x1']);
    const poor = startKeeper();
    await eventually('it is told', () => Promise.resolve(poor.status().problem));
    assert.match(poor.status().problem!, /short of gas/);
    assert.deepEqual(await requests(), []);
    await node.rpc('anvil_setBalance', [keeper, balance]);
    await asked();
    await eventually('it goes on', () => Promise.resolve(poor.status().problem === undefined ? true : undefined));
  });
});

/** None before the first keeper has made the outbox. */
async function rowsOf(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const [found] = await runSql<{ there: boolean }>(url, 'select to_regclass(\'lane.requests\') is not null as there');
  return found?.there === true ? await runSql(url, statement) : [];
}
