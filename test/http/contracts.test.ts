/** `/api/v1/contracts`: every contract of the settings with an ABI for wallets, kept by clients until it changes. */
import assert from 'node:assert/strict';
import { Interface, type InterfaceAbi } from 'ethers';
import { getContracts, contractsHandler } from '../../command/chain/contracts.js';
import { documentedClient } from '../support/documented-client.js';
import { startShell, type RunningShell } from '../support/shell.js';
import { once } from '../support/wire.js';

const PATH = getContracts.path;
const address = (n: number) => `0x${n.toString(16).padStart(40, '0')}`;
const contracts = {
  settlement: address(1), conditionalTokens: address(2), collateral: address(3), marketFactory: address(4), oracle: address(5),
  oracleResolver: address(6), quickResolver: address(7), multicall: address(8),
};
type Described = Record<string, { address: string | null; abi: InterfaceAbi }>;

describe('service: /api/v1/contracts', () => {
  let shell: RunningShell;
  before(async () => {
    const chains = [{ chainId: 137, testnet: false, contracts }, { chainId: 31_337, testnet: true, contracts }];
    shell = await startShell({ handlers: { getContracts: contractsHandler(chains) } });
  });
  after(() => shell.stop());

  async function chains(): Promise<Map<number, Described>> {
    const { chains: all } = await documentedClient(`http://127.0.0.1:${shell.port}`).get(PATH) as { chains: { chainId: number; contracts: Described }[] };
    return new Map(all.map((each) => [each.chainId, each.contracts]));
  }
  const functionsOf = (described: Described, name: string): string[] => {
    const names: string[] = [];
    new Interface(described[name]!.abi).forEachFunction((each) => { names.push(each.name); });
    return names;
  };

  it('has every contract of the chain at its address, and a market\'s ABI without one', async () => {
    const described = (await chains()).get(137)!;
    assert.deepEqual(Object.fromEntries(Object.entries(described).map(([name, each]) => [name, each.address])), { ...contracts, market: null });
  });

  it('has what a wallet calls, with its errors and events, and nothing of the administration', async () => {
    const described = (await chains()).get(137)!;
    const wanted: [contract: string, calls: string[], events: string[], errors: string[]][] = [
      ['collateral', ['approve', 'balanceOf', 'allowance', 'permit', 'nonces'], ['Transfer', 'Approval'], ['ERC20InsufficientBalance']],
      ['conditionalTokens', ['setApprovalForAll', 'splitPosition', 'mergePositions', 'redeemPositions', 'balanceOf'], ['TransferSingle'], ['InvalidPartition']],
      ['settlement', ['cancelOrders', 'scheduleCancelAll', 'hashOrder', 'filled'], ['FillSettled', 'FillFailed'], ['CancelAllPending']],
      ['oracleResolver', ['proposeWithSig', 'settleWithSig'], ['ResolutionProposed'], ['ProposalPending']],
      ['market', ['marketId', 'yesId', 'noId', 'resolved', 'winningOutcome'], [], ['NotResolved']],
    ];
    for (const [name, calls, events, errors] of wanted) {
      const abi = new Interface(described[name]!.abi);
      for (const call of calls) assert.ok(functionsOf(described, name).includes(call), `${name}.${call}`);
      for (const event of events) assert.ok(abi.getEvent(event) !== null, `${name}.${event}`);
      for (const error of errors) assert.ok(abi.getError(error) !== null, `${name}.${error}`);
    }
    const text = JSON.stringify(described);
    for (const hidden of ['grantRole', 'OPERATOR_ROLE', 'RoleGranted', 'settleBatch', 'settlementTransfer', 'reportPayouts', 'transferOwnership', '"constructor"']) {
      assert.ok(!text.includes(hidden), hidden);
    }
  });

  it('lets wallets mint the stablecoin of a test network, and of no other', async () => {
    const all = await chains();
    assert.deepEqual([137, 31_337].map((chainId) => functionsOf(all.get(chainId)!, 'collateral').includes('mint')), [false, true]);
  });

  it('is kept by clients, who learn with 304 that it is still true', async () => {
    const first = await once(shell.port, 'GET', PATH);
    const etag = first.headers['etag']!;
    assert.match(etag, /^"[\w-]{43}"$/);
    assert.equal(first.headers['cache-control'], 'no-cache');
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await once(shell.port, 'GET', PATH, { headers: { 'If-None-Match': known } });
      assert.deepEqual([again.status, again.body, again.headers['etag'], again.headers['content-type']], [304, '', etag, undefined], known);
    }
    const changed = await once(shell.port, 'GET', PATH, { headers: { 'If-None-Match': '"other"' } });
    assert.deepEqual([changed.status, changed.body], [200, first.body]);
    assert.equal((await once(shell.port, 'GET', '/api/v1/config', { headers: { 'If-None-Match': '*' } })).headers['cache-control'], 'no-store');
  });

  it('is empty where orders settle nowhere', async () => {
    const none = await startShell();
    assert.equal((await once(none.port, 'GET', PATH)).body, '{"chains":[]}');
    await none.stop();
  });
});
