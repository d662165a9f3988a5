/** A chain whose contracts are not those of the settings is refused, with every difference; an unreachable one is not called wrong. */
import assert from 'node:assert/strict';
import { AbiCoder, TypedDataEncoder, id } from 'ethers';
import { ChainUnavailable, RpcError, type Chain, type Rpc } from '../../command/chain/chain.js';
import { createRpc } from '../../command/chain/rpc.js';
import { checkContracts, ContractMismatch } from '../../command/chain/chain-check.js';
import { deployedChain, type DeployedChain } from '../support/deployed-chain.js';

describe('service: the contracts of a chain', () => {
  let deployed: DeployedChain;
  let chain: Chain;
  let rpc: Rpc;

  before(async () => {
    deployed = await deployedChain();
    chain = deployed.chain;
    rpc = createRpc({ chainId: chain.chainId, urls: [deployed.url], now: () => 0, report: () => undefined });
  });

  after(() => deployed.stop());

  /** The chain with other answers to some views of the stablecoin, or of another contract; undefined: a revert. */
  function answering(
    views: Readonly<Record<string, readonly [types: readonly string[], values: readonly unknown[]] | undefined>>, of = chain.contracts.collateral,
  ): Rpc {
    const selectors = new Map(Object.entries(views).map(([view, answer]) => [id(`${view}()`).slice(0, 10), answer]));
    return {
      chainId: rpc.chainId,
      async request<T>(method: string, params: readonly unknown[]): Promise<T> {
        const [{ to, data } = {}] = params as [{ to?: string; data?: string }?];
        if (method !== 'eth_call' || to !== of || !selectors.has(data!)) return rpc.request(method, params);
        const answer = selectors.get(data!);
        if (answer === undefined) throw new RpcError(method, 3, 'execution reverted', '0x');
        return AbiCoder.defaultAbiCoder().encode(answer[0], answer[1]) as T;
      },
    };
  }

  async function problemsOf(asked: { chain: Chain; rpc: Rpc }): Promise<readonly string[]> {
    const error: unknown = await checkContracts(asked).then(() => undefined, (thrown: unknown) => thrown);
    if (error === undefined) return [];
    assert.ok(error instanceof ContractMismatch, String(error));
    return error.problems;
  }

  const collateral = () => ({ name: 'USD Coin (test)', version: '2', symbol: 'USDC', decimals: 6, address: chain.contracts.collateral });

  it('are as the settings say, and tell the stablecoin\'s signing domain', async () => {
    assert.deepEqual(await checkContracts({ chain, rpc }), { collateral: collateral(), shortcomings: [] });
  });

  it('may be of an earlier version, which is told', async () => {
    const { shortcomings } = await checkContracts({ chain, rpc: answering({ HALVE_DELAY: undefined }, chain.contracts.oracleResolver) });
    assert.equal(shortcomings.length, 1);
    assert.match(shortcomings[0]!, /^chain 31337: its oracleResolver is of an earlier version, .* stays locked\. See "Contracts of an earlier/);
  });

  it('need no ERC-5267 of a stablecoin: its name and version do, and version "1" where it has none', async () => {
    assert.deepEqual((await checkContracts({ chain, rpc: answering({ eip712Domain: undefined }) })).collateral, collateral());
    const { chainId, contracts } = chain;
    const separator = TypedDataEncoder.hashDomain({ name: 'USD Coin (test)', version: '1', chainId, verifyingContract: contracts.collateral });
    const unversioned = answering({ eip712Domain: undefined, version: undefined, DOMAIN_SEPARATOR: [['bytes32'], [separator]] });
    assert.deepEqual((await checkContracts({ chain, rpc: unversioned })).collateral, { ...collateral(), version: '1' });
  });

  it('are refused when the stablecoin signs in another domain, takes no permits, or counts otherwise', async () => {
    const domain = (name: string, version: string) => new RegExp(`^collateral: its DOMAIN_SEPARATOR\\(\\) is not that of name "${name}", version "${version}", chain 31337 and`);
    const [version, ...others] = await problemsOf({ chain, rpc: answering({ eip712Domain: undefined, version: [['string'], ['1']] }) });
    assert.match(version!, domain('USD Coin \\(test\\)', '1'));
    const [name] = await problemsOf({ chain, rpc: answering({ eip712Domain: undefined, name: [['string'], ['USD Coin']] }) });
    assert.match(name!, domain('USD Coin', '2'));
    const [separator] = await problemsOf({ chain, rpc: answering({ DOMAIN_SEPARATOR: [['bytes32'], [id('another')]] }) });
    assert.match(separator!, domain('USD Coin \\(test\\)', '2'));
    assert.deepEqual(others, []);
    const token = chain.contracts.collateral;
    assert.deepEqual(await problemsOf({ chain, rpc: answering({ DOMAIN_SEPARATOR: undefined, decimals: [['uint8'], [18]], symbol: undefined }) }), [
      'collateral: it has 18 decimals, not 6', `collateral: the contract at ${token} has no name() or no symbol(), so it is not a token`,
      `collateral: the contract at ${token} has no DOMAIN_SEPARATOR(), so it takes no permits (ERC-2612)`,
    ]);
  });

  it('are refused when the stablecoin charges on transfer, by what a simulated transfer of the conditional tokens\' brings', async () => {
    const [, trader] = deployed.accounts;
    const charging = (arrived: bigint): Rpc => ({
      chainId: rpc.chainId,
      async request<T>(method: string, params: readonly unknown[]): Promise<T> {
        if (params.length < 3) return rpc.request(method, params);
        const [sent] = AbiCoder.defaultAbiCoder().decode(['uint256', 'uint256'], await rpc.request<string>(method, params));
        return AbiCoder.defaultAbiCoder().encode(['uint256', 'uint256'], [sent, (sent as bigint) - arrived]) as T;
      },
    });
    const market = await deployed.createMarket();
    await deployed.mint(trader!, 3_000_000n);
    await deployed.split(trader!, market, 3_000_000n);
    assert.deepEqual(await problemsOf({ chain, rpc }), []);
    assert.deepEqual(await problemsOf({ chain, rpc: charging(0n) }), []);
    assert.deepEqual(await problemsOf({ chain, rpc: charging(1n) }), [
      'collateral: of 1000000 sent, 999999 arrive: a token that charges on transfer cannot be the collateral',
    ]);
    assert.equal(await deployed.usdcOf({ address: chain.contracts.conditionalTokens }), 3_000_000n, 'it was simulated only');
  });

  it('are refused on a chain that is not a testnet when disputes have less than two hours', async () => {
    const short = await deployedChain({ disputeWindowS: 60n });
    const there = createRpc({ chainId: short.chain.chainId, urls: [short.url], now: () => 0, report: () => undefined });
    assert.deepEqual(await problemsOf({ chain: short.chain, rpc: there }), []);
    assert.deepEqual(await problemsOf({ chain: { ...short.chain, testnet: false }, rpc: there }), [
      'oracleResolver: its dispute window is 60 s, not 7200 s: others are for testnets',
    ]);
    assert.deepEqual(await problemsOf({ chain: { ...chain, testnet: false }, rpc }), []);
    await short.stop();
  });

  it('are refused when the signing domain of orders has another name or chain', async () => {
    assert.deepEqual(await problemsOf({ chain: { ...chain, domainName: 'Other', chainId: 1 }, rpc }), [
      'settlement: the signing domain\'s name is "Prediction Exchange Settlement", not "Other"', 'settlement: the signing domain\'s chainId is 31337, not 1',
      'conditionalTokens: the signing domain\'s chainId is 31337, not 1', 'oracleResolver: the signing domain\'s chainId is 31337, not 1',
      `collateral: its DOMAIN_SEPARATOR() is not that of name "USD Coin (test)", version "2", chain 1 and its address, so permits for it could not be signed`,
    ]);
  });

  it('are refused where there are none, or two are mixed up', async () => {
    const nowhere = `0x${'12'.repeat(20)}`;
    const { contracts } = chain;
    assert.deepEqual((await problemsOf({ chain: { ...chain, contracts: { ...contracts, oracle: nowhere, multicall: nowhere } }, rpc })).toSorted(), [
      `multicall: there is no contract at ${nowhere}`, `oracle: there is no contract at ${nowhere}`,
    ]);
    const mixed = { ...contracts, oracleResolver: contracts.quickResolver, quickResolver: contracts.oracleResolver, settlement: contracts.multicall };
    const problems = await problemsOf({ chain: { ...chain, contracts: mixed }, rpc });
    assert.deepEqual([...problems].sort(), [
      `marketFactory: its oracleResolver() is ${contracts.oracleResolver}, not the oracleResolver of the settings, ${contracts.quickResolver}`,
      `marketFactory: its quickResolver() is ${contracts.quickResolver}, not the quickResolver of the settings, ${contracts.oracleResolver}`,
      `oracleResolver: the contract at ${contracts.quickResolver} has no disputeWindow()`,
      `oracleResolver: the contract at ${contracts.quickResolver} has no eip712Domain()`,
      `settlement: its collateral() is not there, not the collateral of the settings, ${contracts.collateral}`,
      `settlement: its conditionalTokens() is not there, not the conditionalTokens of the settings, ${contracts.conditionalTokens}`,
      `settlement: the contract at ${contracts.multicall} has no eip712Domain()`,
    ]);
  });

  describe('are not called wrong by a node', () => {
    /** The chain's node with another answer to the requests of a method. */
    const instead = (method: string, answer: (params: readonly unknown[]) => unknown): Rpc => ({
      chainId: rpc.chainId,
      request: async <T>(asked: string, params: readonly unknown[]) => (asked === method ? answer(params) : await rpc.request(asked, params)) as T,
    });
    const fails = (method: string, code: number, message: string) => instead(method, () => { throw new RpcError(method, code, message, undefined); });
    const unavailable = (node: Rpc, detail: string) =>
      assert.rejects(checkContracts({ chain, rpc: node }), new ChainUnavailable(chain.chainId, detail));

    for (const method of ['eth_blockNumber', 'eth_getCode', 'eth_call']) {
      it(`that answers ${method} with an error of its own, or with nothing`, async () => {
        await unavailable(fails(method, -32_000, 'node is syncing, try later'), `${method}: node is syncing, try later`);
        await unavailable(instead(method, () => null), `${method} did not return a text`);
      });
    }

    it('that has not got to their blocks yet', async () => {
      const syncing: Rpc = {
        chainId: rpc.chainId,
        request: <T>(method: string) => Promise.resolve((method === 'eth_blockNumber' ? '0x7' : '0x') as T),
      };
      await assert.rejects(checkContracts({ chain: { ...chain, startBlock: 8 }, rpc: syncing }), new ChainUnavailable(chain.chainId,
        'its node is still syncing: its latest block is 7, but the contracts begin at block 8'));
      await assert.rejects(checkContracts({ chain: { ...chain, startBlock: 7 }, rpc: syncing }), ContractMismatch);
    });

    it('whose number of the latest block is none', () => unavailable(instead('eth_blockNumber', () => 'latest'),
      'the node\'s answer cannot be used: eth_blockNumber is "latest"'));
  });

  it('are called wrong where a call ends in the contract, in whatever words', async () => {
    const reverts = [[3, 'execution reverted'], [-32_015, 'VM execution error.'], [-32_000, 'invalid opcode: INVALID'], [-32_000, 'EVM error StackUnderflow'],
      [-32_603, 'Reverted 0x'], [-32_000, 'out of gas']] as const;
    for (const [code, message, data] of [...reverts, [-32_000, 'words of its own', '0x'] as const]) {
      const node: Rpc = {
        chainId: rpc.chainId,
        async request<T>(method: string, params: readonly unknown[]): Promise<T> {
          if (method === 'eth_call') throw new RpcError(method, code, message, data);
          return await rpc.request(method, params);
        },
      };
      assert.equal((await problemsOf({ chain, rpc: node }))[0], `settlement: the contract at ${chain.contracts.settlement} has no eip712Domain()`, message);
    }
  });

  it('are not called wrong when no node answers', async () => {
    const nobody = createRpc({ chainId: chain.chainId, urls: ['http://127.0.0.1:1'], now: () => 0, report: () => undefined });
    await assert.rejects(checkContracts({ chain, rpc: nobody }), ChainUnavailable);
  });
});
