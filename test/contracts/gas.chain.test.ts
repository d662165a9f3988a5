/** What settling and relaying cost in gas, held by upper bounds and against docs/performance.md: a call costs the same on every machine. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Wallet, id } from 'ethers';
import type { RelayAction } from '../../engine/records/fields.js';
import { createRpc } from '../../command/chain/rpc.js';
import { KEEPER_GAS } from '../../command/keeper/keeper.js';
import { encodeCall } from '../../command/chain/abi.js';
import { parseRelayRequest } from '../../command/relayer/bodies.js';
import { createChainReads, type ChainReads } from '../../command/chain/chain-reads.js';
import { marketNames, readMarkets } from '../../command/relayer/markets.js';
import { planOf } from '../../command/relayer/plan.js';
import { prepareAction, type ActionMessage } from '../../command/signing/action-digest.js';
import { createKeccak256 } from '../../command/signing/typed-data.js';
import { nonceKey, signedActions, signingDomains, type SignedActionName } from '../../command/signing/signed-actions.js';
import { deployedChain, type DeployedChain, type DeployedMarket, type Receipt } from '../support/deployed-chain.js';
import { bodiesSignedBy, type Sign } from '../../tools/demo/signed-requests.js';
import { MAX_GAS, MAX_UINT256, SELL, USDC, results, onSettlementContracts, walletOf, type Batch, type Sent, type SettlementContracts } from '../support/settlement-contracts.js';

const PRICE = 600_000n;
const SIZE = 5n * USDC;
const NONCE = 1_700_000_000_000n;

/** The figures of docs/performance.md, and the most gas that a fill may take. */
const BOUNDS = {
  'one taker, 10 makers': 81_000,
  'one taker, 40 makers': 72_000,
  'one taker, 10 makers who never held collateral': 98_100,
  '10 cold pairs': 137_000,
  '10 cold pairs, the buyers without money': 61_000,
  '10 cold pairs again: skipped': 21_500,
  '50 cold pairs, each with a permit': 186_000,
} as const;
type Scenario = keyof typeof BOUNDS;

/** Of whole transactions, those of the relayer and the keeper's. */
const RELAYED = {
  'approval': 75_000,
  'permit': 81_500,
  'split': 139_500,
  'merge': 80_500,
  'proposal with the bond\'s permit': 404_500,
  'settlement': 190_000,
  'the keeper\'s settlement': 146_500,
  'redemption': 98_500,
  'batch of three redemptions': 223_500,
} as const;
type RelayedScenario = keyof typeof RELAYED;

describe('contracts: gas', function () {
  this.timeout(120_000);
  let contracts: SettlementContracts;
  const measured = new Map<Scenario, number>();
  onSettlementContracts((begun) => { contracts = begun; });

  /** Takers who buy from makers in turn. Everybody has held collateral before, but for what the options say. */
  const trading = async (takers: number, makers: number, { held = USDC, money = 1_000n * USDC, permits = false } = {}): Promise<Batch> => {
    const { fund, stock, order, marketId } = contracts;
    const bids = await Promise.all(Array.from({ length: takers }, async (_, index) => {
      const taker = walletOf(`taker ${index}`);
      await fund(taker.address, money, permits ? 0n : MAX_UINT256);
      return await order(taker, { marketId, price: PRICE, size: SIZE * BigInt(makers / takers), nonce: NONCE });
    }));
    const asks = await Promise.all(Array.from({ length: makers }, async (_, index) => {
      const maker = walletOf(`maker ${index}`);
      await stock(maker.address, marketId, 100n * USDC);
      if (held > 0n) await fund(maker.address, held);
      return await order(maker, { marketId, side: SELL, price: PRICE, size: SIZE, nonce: NONCE });
    }));
    const granted = permits ? await Promise.all(bids.map((_, index) => contracts.permit(walletOf(`taker ${index}`), { value: 4n * USDC }))) : [];
    const fills = Array.from({ length: makers }, (_, index) => (
      { seq: BigInt(1_000 + index), buyIndex: BigInt(index % takers), sellIndex: BigInt(takers + index), price: PRICE, size: SIZE }));
    return { orders: [...bids, ...asks], permits: granted, fills };
  };
  const note = (scenario: Scenario, { gasUsed }: Sent, { fills }: Batch) => {
    const each = Math.round(gasUsed / fills.length);
    measured.set(scenario, each);
    assert.ok(each <= BOUNDS[scenario], `${scenario}: ${each} gas a fill, at most ${BOUNDS[scenario]}`);
  };
  const outcomes = (sent: Sent) => [...new Set(results(sent).map((line) => line.replace(/^\d+ /, '')))];

  for (const [scenario, takers, makers, options] of [
    ['one taker, 10 makers', 1, 10, {}], ['one taker, 40 makers', 1, 40, {}], ['one taker, 10 makers who never held collateral', 1, 10, { held: 0n }],
    ['50 cold pairs, each with a permit', 50, 50, { permits: true }],
  ] as const) {
    it(scenario, async () => {
      const batch = await trading(takers, makers, options);
      const sent = await contracts.settle(batch);
      assert.deepEqual([outcomes(sent), results(sent).length], [['settled'], makers]);
      assert.ok(sent.gasUsed < MAX_GAS * 0.75, `${sent.gasUsed} gas in all`);
      note(scenario, sent, batch);
    });
  }

  it('10 cold pairs, and the same batch again', async () => {
    const batch = await trading(10, 10);
    const sent = await contracts.settle(batch);
    assert.deepEqual(outcomes(sent), ['settled']);
    note('10 cold pairs', sent, batch);
    const again = await contracts.settle(batch);
    assert.deepEqual(outcomes(again), []);
    note('10 cold pairs again: skipped', again, batch);
  });

  it('10 cold pairs, the buyers without money', async () => {
    const batch = await trading(10, 10, { money: 1n });
    const sent = await contracts.settle(batch);
    assert.deepEqual(outcomes(sent), ['buyer_insufficient_balance of buyer']);
    note('10 cold pairs, the buyers without money', sent, batch);
  });

  it('is what docs/performance.md says', () => { assertWritten(measured, BOUNDS); });
});

describe('contracts: gas of relayed actions', function () {
  this.timeout(120_000);
  const wallet = new Wallet(id('gas: relayed'));
  const BOND = 10n * USDC;
  const WINDOW_S = 7_200;
  /** Times are part of calldata and of an assertion's id, whose zero bytes cost less: fixed ones make the same gas in every run. */
  const PROPOSED_S = 2_000_000_000;
  const FAR = 4_000_000_000n;
  let node: DeployedChain;
  let reads: ChainReads;
  let bodies: ReturnType<typeof bodiesSignedBy>;
  const measured = new Map<RelayedScenario, number>();

  before(async () => {
    node = await deployedChain();
    const { chain } = node;
    reads = createChainReads(chain, createRpc({ chainId: chain.chainId, urls: [node.url], now: () => performance.now(), report: () => undefined }));
    bodies = bodiesSignedBy(await signer(node), { chainId: chain.chainId, contracts: { ...chain.contracts } });
    await node.mint(wallet, 1_000n * USDC);
  });
  after(() => node.stop());

  /** Signs with the nonces that are due, as the test counts them. */
  async function signer({ chain: { chainId, contracts, domainName } }: DeployedChain): Promise<Sign> {
    const keccak256 = await createKeccak256();
    const domains = signingDomains({ chainId, contracts, settlementName: domainName, token: { name: 'USD Coin (test)', version: '2' } });
    const counters = new Map<string, bigint>();
    return (by, action, wish, { marketId, deadline = FAR } = {}) => {
      const { contract, nonce: kind, ...type } = signedActions[action as SignedActionName];
      const space = `${contract} ${marketId ?? ''}`;
      const counter = counters.get(space) ?? 0n;
      counters.set(space, counter + 1n);
      const nonce = marketId === undefined ? counter : nonceKey(marketId) * 2n ** 64n + counter;
      assert.ok(['owner', 'token'].includes(kind) === (marketId === undefined), action);
      const { v, r, s } = by.signingKey.sign(prepareAction(keccak256, type, domains[contract]!)({ ...wish, nonce, deadline } as ActionMessage));
      return Promise.resolve({ deadline: String(deadline), v, r, s });
    };
  }

  const sent = async (to: string, data: string, gasLimit: bigint, atS?: number): Promise<number> => {
    if (atS !== undefined) await node.rpc('evm_setNextBlockTimestamp', [atS]);
    const call = { from: node.accounts[8]!.address, to, data, gas: `0x${gasLimit.toString(16)}` };
    const { status, gasUsed } = await node.rpc('eth_sendTransactionSync', [call]) as Receipt;
    assert.equal(status, '0x1');
    assert.ok(BigInt(gasUsed) * 3n < gasLimit * 2n, `${Number(gasUsed)} gas is too near to the ceiling of ${gasLimit}`);
    return Number(gasUsed);
  };
  /** Sends what the relayer would send. */
  const relay = async (action: RelayAction, body: object, atS?: number): Promise<number> => {
    const { chain: { contracts } } = node;
    const request = parseRelayRequest(action, Buffer.from(JSON.stringify(body)));
    const markets = await readMarkets(marketNames(request), { contracts, reads, isKnown: () => true });
    const { call, gasLimit } = planOf(request, { contracts, markets });
    return await sent(call.to, call.data, gasLimit, atS);
  };
  /** Sends what the keeper would send. */
  const keep = async ({ marketId }: DeployedMarket, atS: number): Promise<number> => {
    const { oracleResolver, oracle } = node.chain.contracts;
    const [proposal] = await reads.views([{ abi: 'oracleResolver', to: oracleResolver, method: 'proposalOf', args: [marketId] }], 'latest');
    const { assertionId } = proposal as { assertionId: string };
    return await sent(oracle, encodeCall({ abi: 'oracle', method: 'settleAssertion', args: [assertionId] }), KEEPER_GAS, atS);
  };
  const note = (scenario: RelayedScenario, gasUsed: number) => {
    measured.set(scenario, gasUsed);
    assert.ok(gasUsed <= RELAYED[scenario], `${scenario}: ${gasUsed} gas, at most ${RELAYED[scenario]}`);
  };

  it('a market\'s whole life', async () => {
    const { conditionalTokens } = node.chain.contracts;
    const markets: DeployedMarket[] = [];
    for (const question of ['Will it be A?', 'Will it be B?', 'Will it be C?', 'Will it be D?']) {
      markets.push(await node.createMarket({ question, expiration: PROPOSED_S - 1, bond: BOND }));
    }
    const figures: [RelayedScenario, number][] = [
      ['approval', await relay('ctf-approval', await bodies.approval(wallet))],
      ['permit', await relay('usdc-permit', await bodies.permit(wallet, { value: MAX_UINT256 }))],
    ];
    await relay('usdc-permit', await bodies.permit(wallet, { spender: conditionalTokens, value: 900n * USDC }));
    const sets = (action: 'ctf-split' | 'ctf-merge', { marketId }: DeployedMarket, amount: bigint) => (
      bodies.sets(wallet, action, { conditionId: marketId, amount }).then((body) => relay(action, body)));
    const splits = [];
    for (const market of markets) splits.push(await sets('ctf-split', market, 100n * USDC));
    figures.push(['split', splits[0]!], ['merge', await sets('ctf-merge', markets[0]!, 10n * USDC)]);
    const proposals = [];
    for (const [i, { address: market, marketId }] of markets.entries()) {
      proposals.push(await relay('propose-resolution', await bodies.proposal(wallet, { market, marketId, bond: BOND }), PROPOSED_S + i));
    }
    figures.push(['proposal with the bond\'s permit', proposals[0]!]);
    const [first, ...others] = markets as [DeployedMarket, ...DeployedMarket[]];
    const settlement = await bodies.settlement(wallet, { market: first.address, marketId: first.marketId });
    figures.push(['settlement', await relay('settle-market', settlement, PROPOSED_S + WINDOW_S + 10)]);
    const kept = [];
    for (const [i, market] of others.entries()) kept.push(await keep(market, PROPOSED_S + WINDOW_S + 11 + i));
    figures.push(['the keeper\'s settlement', kept[0]!]);
    figures.push(['redemption', await relay('ctf-redemption', await bodies.redemption(wallet, { conditionId: first.marketId }))]);
    const redemptions = await Promise.all(others.map(async ({ address: marketAddress, marketId: conditionId }) => (
      { marketAddress, ...await bodies.redemptionItem(wallet, { conditionId }) })));
    const batch = { chainId: node.chain.chainId, owner: wallet.address, redemptions };
    figures.push(['batch of three redemptions', await relay('batch-ctf-redemption', batch)]);
    assert.equal(await node.usdcOf(wallet), 1_000n * USDC);
    for (const [scenario, gasUsed] of figures) note(scenario, gasUsed);
  });

  it('is what docs/performance.md says', () => { assertWritten(measured, RELAYED); });
});

/** Each figure has its row in the document, and each bound its figure. */
function assertWritten<Name extends string>(measured: ReadonlyMap<Name, number>, bounds: Readonly<Record<Name, number>>): void {
  const text = readFileSync(join(rootAbove(fileURLToPath(new URL('.', import.meta.url))), 'docs', 'performance.md'), 'utf8');
  const row = (name: Name) => `| ${name} | ${measured.get(name)!.toLocaleString('en')} |`;
  const missing = (Object.keys(bounds) as Name[]).map(row).filter((line) => !text.includes(line));
  assert.deepEqual(missing, [], 'write these rows into the section Gas of docs/performance.md');
}

function rootAbove(directory: string): string {
  return existsSync(join(directory, 'package.json')) ? directory : rootAbove(dirname(directory));
}
