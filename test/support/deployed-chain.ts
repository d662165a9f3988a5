/** A chain for tests with the contracts on it, wallets with means, and what tests do there besides what they test. */
import { HDNodeWallet, Interface, Mnemonic, ZeroHash, id, type InterfaceAbi, type JsonRpcProvider } from 'ethers';
import { DISPUTE_WINDOW_S } from '../../command/chain/chain-check.js';
import type { Chain } from '../../command/chain/chain.js';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { TEST_MNEMONIC } from '../../stack/chain/anvil.js';
import { deployContracts, type DeployedContracts } from '../../stack/chain/deploy-contracts.js';
import { chainOf } from './chain-settings.js';
import { TEST_CHAIN_ID, chainWithContracts } from './chain.js';

export interface DeployedMarket {
  readonly marketId: string;
  /** The market's own contract. */
  readonly address: string;
  /** Unix seconds. */
  readonly expiration: number;
  /** ERC-1155 ids of its shares, as 32 bytes. */
  readonly yesId: string;
  readonly noId: string;
}

/** What a transaction came to: its receipt, with numbers as hex. */
export interface Receipt {
  readonly transactionHash: string;
  readonly blockNumber: string;
  readonly status: '0x0' | '0x1';
  readonly gasUsed: string;
  readonly logs: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string; readonly logIndex: string }[];
}

interface Account { readonly address: string }

/** A chain's node, and how a test's accounts get ether and send there. */
export interface ActingNode {
  readonly url: string;
  readonly provider: JsonRpcProvider;
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** Sends a transaction of the account, its gas estimated or given; resolves with its receipt once it is mined. */
  transact(from: Account, call: { readonly to: string; readonly data: string; readonly gas?: number | undefined }): Promise<Receipt>;
  /** Gives the account ether. */
  fund(account: Account): Promise<unknown>;
  stop(): Promise<void>;
}

export interface DeploymentOptions {
  readonly chainId: number;
  readonly disputeWindowS?: bigint | undefined;
  readonly chain?: Partial<Pick<Chain, 'confirmations' | 'exposureCheck' | 'startBlock' | 'minOrderSize'>> | undefined;
}

export interface DeployedChainOptions extends Partial<DeploymentOptions> {
  /** Further arguments of anvil. */
  readonly args?: readonly string[];
}

/** A chain with the contracts, of whichever node. */
export type ContractsChain<Node extends ActingNode = ActingNode> = Awaited<ReturnType<typeof withContracts<Node>>>;
export type DeployedChain = Awaited<ReturnType<typeof deployedChain>>;

export const MAX_UINT256 = 2n ** 256n - 1n;
const DAY_S = 86_400;

/** The accounts of the test mnemonic; each has ether on the chain. Account 0 deploys, and has every role: it is the operator. */
export function testAccounts(count = 10): HDNodeWallet[] {
  const root = HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(TEST_MNEMONIC), 'm/44\'/60\'/0\'/0');
  return Array.from({ length: count }, (_, i) => root.deriveChild(i));
}

/** Starts a chain with the contracts, where any account acts without signing. Call stop() in an `after` hook, reset() between tests. */
export async function deployedChain({ chainId = TEST_CHAIN_ID, args = [], disputeWindowS = DISPUTE_WINDOW_S, chain }: DeployedChainOptions = {}) {
  const { chain: anvil, deployed: contracts } = await chainWithContracts({ chainId, args: ['--auto-impersonate', ...args], terms: { disputeWindowS } });
  const { rpc } = anvil;
  const deployed = contractsOn({
    ...anvil,
    async transact(from, { gas, ...call }) {
      const limit = gas === undefined ? {} : { gas: `0x${gas.toString(16)}` };
      return await rpc('eth_sendTransactionSync', [{ from: from.address, ...call, ...limit }]) as Receipt;
    },
    fund: ({ address }) => rpc('anvil_setBalance', [address, `0x${(10n ** 20n).toString(16)}`]),
  }, contracts, { chainId, chain });
  let snapshot = await rpc('evm_snapshot');
  return {
    ...anvil, ...deployed,
    /** The chain's time goes on to a second, Unix time, ahead of all other clocks. */
    async passUntil(second: number): Promise<void> {
      await rpc('evm_increaseTime', [Math.max(0, second - await deployed.now())]);
      await rpc('evm_mine');
    },
    /** Puts the chain back to where it was after the deployment. */
    async reset(): Promise<void> {
      await rpc('evm_revert', [snapshot]);
      snapshot = await rpc('evm_snapshot');
    },
  };
}

/** Deploys on a node, where account 0 must have ether. */
export async function withContracts<Node extends ActingNode>(node: Node, { disputeWindowS = DISPUTE_WINDOW_S, ...options }: DeploymentOptions) {
  return contractsOn(node, await deployContracts({ signer: testAccounts()[0]!.connect(node.provider), disputeWindowS }), options);
}

function contractsOn<Node extends ActingNode>(
  node: Node, deployed: DeployedContracts, { chainId, chain: changes }: Omit<DeploymentOptions, 'disputeWindowS'>,
) {
  const accounts = testAccounts();
  const chain = chainOf(deployed, { chainId, ...changes });
  return { ...node, ...actionsOn(node, chain, accounts[0]!), chain, accounts, operator: accounts[0]!, operatorKey: accounts[0]!.privateKey };
}

const abis = {
  settlement: new Interface(settlement.abi as InterfaceAbi), conditionalTokens: new Interface(conditionalTokens.abi as InterfaceAbi),
  collateral: new Interface(testUsdc.abi as InterfaceAbi), marketFactory: new Interface(marketFactory.abi as InterfaceAbi),
  quickResolver: new Interface(quickResolver.abi as InterfaceAbi),
};
type Target = keyof typeof abis;

function actionsOn(node: ActingNode, { contracts }: Chain, operator: Account) {
  /** Sends a transaction of any account to a contract, its gas estimated or given; resolves once it is mined, and rejects when it fails. */
  async function send(from: Account, to: Target, method: string, args: readonly unknown[], gas?: number): Promise<Receipt> {
    const receipt = await node.transact(from, { to: contracts[to], data: abis[to].encodeFunctionData(method, args), gas });
    if (receipt.status !== '0x1') throw new Error(`${to}.${method} of ${from.address} reverted: ${JSON.stringify(receipt)}`);
    return receipt;
  }

  /** What a view returns. */
  async function read(to: Target, method: string, args: readonly unknown[]): Promise<unknown> {
    const data = await node.rpc('eth_call', [{ to: contracts[to], data: abis[to].encodeFunctionData(method, args) }, 'latest']);
    return abis[to].decodeFunctionResult(method, data as string)[0];
  }

  async function now(): Promise<number> {
    const { timestamp } = await node.rpc('eth_getBlockByNumber', ['latest', false]) as { timestamp: string };
    return Number(timestamp);
  }

  const mint = (to: Account, amount: bigint) => send(operator, 'collateral', 'mint', [to.address, amount]);
  /** Lets the settlement contract take this much of the account's collateral. */
  const approve = (from: Account, amount = MAX_UINT256, spender = contracts.settlement) => send(from, 'collateral', 'approve', [spender, amount]);
  /** Lets the settlement contract move the account's shares. */
  const approveShares = (from: Account, approved = true) => send(from, 'conditionalTokens', 'setApprovalForAll', [contracts.settlement, approved]);

  /** Turns collateral, which the account must have, into as many YES and NO shares. */
  async function split(from: Account, { marketId }: { readonly marketId: string }, amount: bigint): Promise<Receipt> {
    await approve(from, amount, contracts.conditionalTokens);
    return await send(from, 'conditionalTokens', 'splitPosition', [contracts.collateral, ZeroHash, marketId, [1n, 2n], amount]);
  }

  /** A market for a day, or until `expiration`. The same question makes the same market, which there can be once. */
  async function createMarket(
    { question = 'Will it rain?', description = 'At noon.', category = 3, expiration, bond = 10_000_000n }:
    { question?: string; description?: string; category?: number; expiration?: number; bond?: bigint } = {},
  ): Promise<DeployedMarket> {
    const until = expiration ?? await now() + DAY_S;
    const { logs } = await send(operator, 'marketFactory', 'createMarket', [id(question), question, description, category, until, bond]);
    const created = logs.map(({ topics, data }) => abis.marketFactory.parseLog({ topics, data })).find((event) => event?.name === 'MarketCreated')!;
    const { marketId, market, yesId, noId } = created.args.toObject() as { marketId: string; market: string; yesId: bigint; noId: bigint };
    return { marketId, address: market.toLowerCase(), expiration: until, yesId: word(yesId), noId: word(noId) };
  }

  return {
    send, read, now, mint, approve, approveShares, split, createMarket,
    /** Makes an account able to trade: collateral and, with a market, shares of both outcomes; both approved for the settlement. */
    async equip(
      account: Account, { usdc = 0n, shares = 0n, market }: { usdc?: bigint; shares?: bigint; market?: { readonly marketId: string } },
    ): Promise<void> {
      await node.fund(account);
      await mint(account, usdc + shares);
      if (market !== undefined) await split(account, market, shares);
      await approve(account);
      await approveShares(account);
    },
    async usdcOf({ address }: Account): Promise<bigint> {
      return await read('collateral', 'balanceOf', [address]) as bigint;
    },
    async sharesOf({ address }: Account, { yesId, noId }: DeployedMarket): Promise<{ yes: bigint; no: bigint }> {
      const [yes, no] = await Promise.all([yesId, noId].map((token) => read('conditionalTokens', 'balanceOf', [address, token]) as Promise<bigint>));
      return { yes: yes!, no: no! };
    },
  };
}

function word(value: bigint): string {
  return `0x${value.toString(16).padStart(64, '0')}`;
}

const settling = new Interface(settlement.abi as InterfaceAbi);

/** An order as the settlement contract takes it: to buy 5 YES at 0.5. */
export function orderOf({ marketId }: DeployedMarket, { address: trader }: Account, nonce: bigint) {
  return {
    marketId, trader, side: 0n, outcome: 0n, price: 500_000n, size: 5n, nonce, expiration: 2n ** 40n, makerFeeRecipient: `0x${'0'.repeat(40)}`,
  };
}

export interface AnchoredBatch {
  readonly market: DeployedMarket;
  /** The fill's number. */
  readonly seq: bigint;
  readonly position: bigint;
  readonly digest: string;
  /** Whose key sends it; default: the operator. */
  readonly from?: Account;
}

/** Sends the batch; resolves with its transaction's hash. */
export async function sendAnchoredBatch(node: DeployedChain, batch: AnchoredBatch): Promise<string> {
  const { market, seq, position, digest, from = node.operator } = batch;
  const buy = orderOf(market, node.accounts[1]!, 1n);
  const sell = { ...orderOf(market, node.accounts[2]!, 1n), side: 1n };
  const fill = { seq, buyIndex: 0n, sellIndex: 1n, price: 500_000n, size: 5n };
  const data = settling.encodeFunctionData('settleBatch', [[buy, sell], ['0x', '0x'], [], [fill], position, digest]);
  // An estimate of the gas would find the least with which the transaction succeeds: enough to leave the fill undone.
  const request = { from: from.address, to: node.chain.contracts.settlement, data, gas: '0x4c4b40' };
  const { status, transactionHash } = await node.rpc('eth_sendTransactionSync', [request]) as Receipt;
  if (status !== '0x1') throw new Error(`the batch of ${from.address} reverted`);
  return transactionHash;
}
