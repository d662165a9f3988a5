/** The keeper at an exchange on a chain: it settles what nobody else has settled, whichever way it ends, and nothing that somebody has. */
import assert from 'node:assert/strict';
import { ZeroHash } from 'ethers';
import { KEEPER_RULES } from '../../command/keeper/keeper.js';
import type { DeployedMarket } from '../support/deployed-chain.js';
import { ONE, caughtUp, eventually, tradedChain, type TradedChain } from '../support/exchange-on-chain.js';
import { exchangeStack, type ExchangeStack, type Fields } from '../harness/exchange.js';
import type { RelayerState } from '../../command/relayer/role-state.js';
import { resolutionActs } from '../support/resolution-acts.js';

const WINDOW_S = 7_200;
const { graceS: GRACE_S } = KEEPER_RULES;

describe('keeper: at the exchange', function () {
  this.timeout(120_000);
  let node: TradedChain;
  let exchange: ExchangeStack;
  let acts: ReturnType<typeof resolutionActs>;
  let keeper: string;

  before(async () => {
    node = await tradedChain();
    acts = resolutionActs(node);
    const key = node.accounts[8]!;
    keeper = key.address.toLowerCase();
    await node.createMarket();
    exchange = await exchangeStack({}, [node.configured({ relayerKey: key.privateKey, relayer: keeper })]);
  });
  after(async () => {
    await exchange.close();
    await node.stop();
  });

  const health = async (): Promise<RelayerState['keeper']> => {
    const { relays: [relay] } = await exchange.get('/health/ready') as { relays: [RelayerState] };
    return relay.keeper;
  };
  const resolutionOf = async ({ marketId }: DeployedMarket) => (
    await exchange.get(`/api/v1/resolution/${marketId}`, await caughtUp(exchange, node)) as Fields & { resolved: boolean; assertion?: Fields });
  const settledBy = (assertionId: string) => eventually('the assertion is settled', () => acts.settlerOf(assertionId));
  /** How many transactions the relayer's key has sent. */
  const sent = async () => Number(await node.rpc('eth_getTransactionCount', [keeper, 'pending']));
  /** The history has it all, and the keeper has seen that nothing is left to do. */
  const isQuiet = () => eventually('nothing is due', async () => {
    await caughtUp(exchange, node);
    return (await health()).dueProposals === 0 ? true : undefined;
  });

  /** A process that has found a proposal undecided looks again after a minute, the next process at once. */
  const looksAtOnce = async () => { exchange = await exchange.restart(); };

  it('leaves others their time after the dispute window, then settles an undisputed proposal, which pays', async () => {
    const market = await acts.expired('Undisputed?');
    const user = node.accounts[4]!;
    await node.mint(user, BigInt(3 * ONE));
    await node.split(user, market, BigInt(3 * ONE));
    const assertionId = await acts.propose(market, true);
    await acts.passes(WINDOW_S + GRACE_S - 60);
    await caughtUp(exchange, node);
    assert.equal(await acts.settlerOf(assertionId), undefined);
    await acts.passes(60);
    assert.equal(await settledBy(assertionId), keeper);
    await isQuiet();
    const { resolved, winningOutcome } = await resolutionOf(market);
    assert.deepEqual({ resolved, winningOutcome }, { resolved: true, winningOutcome: 0 });
    await node.send(user, 'conditionalTokens', 'redeemPositions', [node.chain.contracts.collateral, ZeroHash, market.marketId, [1n, 2n]]);
    assert.equal(await node.usdcOf(user), BigInt(3 * ONE));
  });

  it('settles a disputed proposal once it is arbitrated, and waits till then', async () => {
    const market = await acts.expired('Disputed, and true?');
    const assertionId = await acts.propose(market, false);
    await acts.dispute(assertionId);
    await acts.passes(WINDOW_S + 8 * 86_400);
    const waiting = await eventually('it has waited for long', async () => {
      await caughtUp(exchange, node);
      const state = await health();
      return state.overdueProposals > 0 ? state : undefined;
    });
    assert.deepEqual(waiting, { standby: false, dueProposals: 1, overdueProposals: 1, problem: null });
    assert.match(await (await fetch(`${exchange.url}/metrics`)).text(), /^exchange_keeper_overdue_proposals\{chain="\d+"\} 1$/m);
    assert.equal(await acts.settlerOf(assertionId), undefined);
    await acts.arbitrate(assertionId, true);
    await looksAtOnce();
    assert.equal(await settledBy(assertionId), keeper);
    await isQuiet();
    const { resolved, winningOutcome, assertion } = await resolutionOf(market);
    assert.deepEqual([resolved, winningOutcome, assertion!['settlementResolution']], [true, 1, true]);
  });

  it('settles an untruthful proposal, so that another one may come, and settles that one too', async () => {
    const market = await acts.expired('Disputed, and untrue?');
    const lie = await acts.propose(market, true);
    await acts.dispute(lie);
    await acts.arbitrate(lie, false);
    await looksAtOnce();
    assert.equal(await settledBy(lie), keeper);
    await isQuiet();
    const cleared = await resolutionOf(market);
    assert.deepEqual([cleared.resolved, cleared.assertion], [false, undefined]);
    const truth = await acts.propose(market, false);
    await acts.passes(WINDOW_S + GRACE_S);
    assert.equal(await settledBy(truth), keeper);
    await isQuiet();
    const { resolved, winningOutcome } = await resolutionOf(market);
    assert.deepEqual({ resolved, winningOutcome }, { resolved: true, winningOutcome: 1 });
  });

  it('sends nothing when somebody else settles in time', async () => {
    const market = await acts.expired('Settled by a stranger?');
    const assertionId = await acts.propose(market, true);
    const before = await sent();
    await acts.passes(WINDOW_S);
    await acts.settleOnOracle(assertionId);
    await isQuiet();
    await acts.passes(GRACE_S);
    await isQuiet();
    assert.equal((await resolutionOf(market)).resolved, true);
    assert.deepEqual([await acts.settlerOf(assertionId), await sent()], [acts.stranger.address.toLowerCase(), before]);
  });
});
