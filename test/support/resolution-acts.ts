/** What happens to the resolution of markets on a chain, by whoever a test says: proposals, disputes, arbitration, settling at the oracle, time. */
import assert from 'node:assert/strict';
import type { HDNodeWallet } from 'ethers';
import { market as marketArtifact } from '../../contracts-abi/market.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import type { DeployedChain, DeployedMarket, Receipt } from './deployed-chain.js';
import { targetAt, BOND, signedResolutions, type Arguments, type Target } from './market-contracts.js';

const artifacts = { oracle: optimisticOracle, oracleResolver, collateral: testUsdc, quickResolver, marketFactory };

export function resolutionActs(node: DeployedChain) {
  const [, proposer, disputer, stranger] = node.accounts as [HDNodeWallet, HDNodeWallet, HDNodeWallet, HDNodeWallet];
  const at = (name: keyof typeof artifacts): Target => targetAt(name, node.chain.contracts[name], artifacts[name]);
  const transact = async (from: HDNodeWallet, to: Target, method: string, args: Arguments): Promise<Receipt> => {
    const receipt = await node.rpc('eth_sendTransactionSync', [{ from: from.address, to: to.address, data: to.abi.encodeFunctionData(method, args) }]);
    assert.equal((receipt as Receipt).status, '0x1', method);
    return receipt as Receipt;
  };
  const signed = signedResolutions({
    oracleResolver: at('oracleResolver'), usdc: at('collateral'),
    read: async ({ address, abi }, method, args = []) => {
      const data = await node.rpc('eth_call', [{ to: address, data: abi.encodeFunctionData(method, args) }, 'latest']);
      return abi.decodeFunctionResult(method, data as string)[0] as unknown;
    },
  });
  const passes = async (seconds: number) => {
    await node.rpc('evm_increaseTime', [seconds]);
    await node.rpc('evm_mine');
  };
  return {
    at, transact, passes, proposer, disputer, stranger,
    /** A market that has expired on the chain. */
    async expired(question: string): Promise<DeployedMarket> {
      const market = await node.createMarket({ question, bond: BOND });
      await passes(86_401);
      return market;
    },
    /** The proposer's assertion, brought by a stranger. */
    async propose({ address }: Pick<DeployedMarket, 'address'>, outcome: boolean): Promise<string> {
      await node.mint(proposer, BOND);
      const proposal = await signed.proposal(proposer, targetAt('Market', address, marketArtifact), { outcome, bondPermit: await signed.bondPermit(proposer) });
      const resolver = at('oracleResolver');
      const { logs } = await transact(stranger, resolver, 'proposeWithSig', proposal);
      const events = logs.map(({ topics, data }) => resolver.abi.parseLog({ topics: [...topics], data }));
      return events.find((event) => event?.name === 'ResolutionProposed')!.args['assertionId'] as string;
    },
    async dispute(assertionId: string): Promise<void> {
      await node.mint(disputer, BOND);
      await node.approve(disputer, BOND, node.chain.contracts.oracle);
      await transact(disputer, at('oracle'), 'disputeAssertion', [assertionId, disputer.address]);
    },
    arbitrate: (assertionId: string, truthful: boolean) => transact(node.operator, at('oracle'), 'arbitrate', [assertionId, truthful]),
    /** Anybody settles on the oracle itself, without a signature. */
    settleOnOracle: (assertionId: string) => transact(stranger, at('oracle'), 'settleAssertion', [assertionId]),
    /** Who has settled the assertion, lower-case; undefined while nobody has. */
    async settlerOf(assertionId: string): Promise<string | undefined> {
      const { abi, address } = at('oracle');
      const topics = [abi.getEvent('AssertionSettled')!.topicHash, assertionId];
      const [log] = await node.rpc('eth_getLogs', [{ address, topics, fromBlock: '0x0' }]) as { topics: string[]; data: string }[];
      return log === undefined ? undefined : (abi.parseLog(log)!.args['settleCaller'] as string).toLowerCase();
    },
  };
}
