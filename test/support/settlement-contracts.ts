/** Tokens and settlement on a chain of their own, and what tests do with them: traders with means, signed orders, batches and what came of them. */
import { HDNodeWallet, Interface, Signature, TypedDataEncoder, Wallet, ZeroAddress, ZeroHash, id, type InterfaceAbi, type TypedDataField } from 'ethers';
import { orderTypes } from '../../command/signing/typed-data.js';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { multicall3 } from '../../contracts-abi/multicall3.js';
import { settlement, type Fill, type Order, type Permit } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { TEST_MNEMONIC } from '../../stack/chain/anvil.js';
import type { DeployedContracts } from '../../stack/chain/deploy-contracts.js';
import { TEST_CHAIN_ID, chainWithContracts, type TestChain } from './chain.js';

export interface Target {
  readonly name: string;
  readonly address: string;
  readonly abi: Interface;
}

/** An event of a contract with its arguments by name. */
export interface Emitted {
  readonly event: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface Sent {
  readonly events: readonly Emitted[];
  readonly gasUsed: number;
  /** False when the transaction reverted. */
  readonly ok: boolean;
}

export interface SignedOrder {
  readonly order: Order;
  readonly hash: string;
  readonly signature: string;
}

export interface Batch {
  readonly orders: readonly SignedOrder[];
  readonly permits?: readonly Permit[];
  readonly fills: readonly Fill[];
}

export const USDC = 1_000_000n;
export const BUY = 0n;
export const SELL = 1n;
export const MAX_UINT256 = 2n ** 256n - 1n;
/** What a transaction may have (EIP-7825). */
export const MAX_GAS = 16_777_216;
export const HISTORY = { position: 77n, digest: id('history') };

/** In the contract's order. */
export const REASONS = [
  'buyer_insufficient_balance', 'buyer_insufficient_allowance', 'seller_insufficient_shares', 'seller_not_approved', 'order_expired', 'order_cancelled',
  'overfill', 'market_resolved', 'invalid_signature', 'transfer_rejected', 'transaction_reverted', 'unknown',
] as const;
export const CULPRITS = ['buyer', 'seller', 'both'] as const;

export type SettlementContracts = Awaited<ReturnType<typeof settlementContracts>>;

/** Starts a chain with the contracts; stop() ends it. Every account sends without signing and without paying. */
export async function settlementContracts() {
  const { chain, deployed } = await chainWithContracts({ args: ['--auto-impersonate', '--base-fee', '0', '--disable-min-priority-fee'] });
  const signer = HDNodeWallet.fromPhrase(TEST_MNEMONIC);
  const target = (name: string, address: string, { abi }: { abi: InterfaceAbi }): Target => ({ name, address, abi: new Interface(abi) });
  const targets = {
    settlement: target('Settlement', deployed.settlement, settlement), usdc: target('TestUSDC', deployed.collateral, testUsdc),
    tokens: target('ConditionalTokens', deployed.conditionalTokens, conditionalTokens),
  };
  const calls = callsOn(chain, Object.values(targets));
  const oracle = signer.address;
  return {
    chain, deployed, operator: signer.address, oracle, ...targets, ...calls, stop: () => chain.stop(),
    ...await conditions({ targets, calls, oracle, deployed }), ...signing(targets), ...batches({ targets, calls, operator: signer.address }),
    ...times(chain),
  };
}

/** Registers mocha's hooks: the contracts for the tests of a `describe`, put back after each one to where `begun` has left them. */
export function onSettlementContracts(begun: (contracts: SettlementContracts) => Promise<void> | void): void {
  let contracts: SettlementContracts;
  let snapshot: string;
  before(async () => {
    contracts = await settlementContracts();
    await begun(contracts);
  });
  after(() => contracts.stop());
  beforeEach(async () => { snapshot = await contracts.snapshot(); });
  afterEach(() => contracts.revertTo(snapshot));
}

type Calls = ReturnType<typeof callsOn>;
interface Targets { readonly settlement: Target; readonly usdc: Target; readonly tokens: Target }

function callsOn(chain: TestChain, targets: readonly Target[]) {
  return {
    /** Sends a transaction, which is mined at once, and gives its events. */
    async send(from: string, to: Target, method: string, args: readonly unknown[] = [], gas = MAX_GAS): Promise<Sent> {
      const hash = await chain.rpc('eth_sendTransaction', [{
        from, to: to.address, data: to.abi.encodeFunctionData(method, args), gas: `0x${gas.toString(16)}`, gasPrice: '0x0',
      }]);
      const { status, gasUsed, logs } = await chain.receipt<Receipt>(hash);
      const events = logs.flatMap((log) => {
        const abi = targets.find(({ address }) => address.toLowerCase() === log.address)?.abi;
        const parsed = abi?.parseLog(log);
        return parsed ? [{ event: parsed.name, args: plain(parsed.args.toObject()) }] : [];
      });
      return { events, gasUsed: Number(gasUsed), ok: status === '0x1' };
    },
    /** What a view returns: one value, or all of them. */
    async read(to: Target, method: string, args: readonly unknown[] = []): Promise<unknown> {
      const data = await chain.rpc('eth_call', [{ to: to.address, data: to.abi.encodeFunctionData(method, args) }, 'latest']);
      const values = to.abi.decodeFunctionResult(method, data as string).toArray() as unknown[];
      return values.length === 1 ? values[0] : values;
    },
    /** What many views return, read at one block; each gives one value. */
    async readAll(multicall: string, views: readonly (readonly [to: Target, method: string, args: readonly unknown[]])[]): Promise<unknown[]> {
      const abi = new Interface(multicall3.abi);
      const calls = views.map(([to, method, args]) => (
        { target: to.address, allowFailure: false, callData: to.abi.encodeFunctionData(method, args) }));
      const data = await chain.rpc('eth_call', [{ to: multicall, data: abi.encodeFunctionData('aggregate3', [calls]) }, 'latest']);
      const [answers] = abi.decodeFunctionResult('aggregate3', data as string).toArray() as [{ returnData: string }[]];
      return answers.map(({ returnData }, index) => {
        const [to, method] = views[index]!;
        return to.abi.decodeFunctionResult(method, returnData)[0] as unknown;
      });
    },
    /** The typed error that a call reverts with, as `Name(arg,…)`. Rejects when it does not revert. */
    async refusal(from: string, to: Target, method: string, args: readonly unknown[] = []): Promise<string> {
      try {
        await chain.rpc('eth_call', [{ from, to: to.address, data: to.abi.encodeFunctionData(method, args) }, 'latest']);
      } catch (error) {
        const data = revertData(error);
        for (const { abi } of [to, ...targets]) {
          const parsed = abi.parseError(data);
          if (parsed !== null) return `${parsed.name}(${parsed.args.toArray().join(',')})`;
        }
        throw error;
      }
      throw new Error(`${to.name}.${method} does not revert`);
    },
  };
}

interface Receipt {
  readonly status: string;
  readonly gasUsed: string;
  readonly logs: readonly { readonly address: string; readonly topics: string[]; readonly data: string }[];
}

function revertData(error: unknown): string {
  const nested = error as { data?: unknown; error?: unknown; info?: { error?: unknown } };
  if (typeof nested.data === 'string') return nested.data;
  for (const inner of [nested.info?.error, nested.error]) if (inner !== undefined) return revertData(inner);
  throw error;
}

function plain(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, Array.isArray(value) ? [...value as unknown[]] : value]));
}

/** Markets and traders with collateral, shares and approvals. */
async function conditions({ targets, calls, oracle, deployed }: { targets: Targets; calls: Calls; oracle: string; deployed: DeployedContracts }) {
  const { tokens, usdc, settlement: settling } = targets;
  const prepare = async (questionId: string): Promise<string> => {
    await calls.send(oracle, tokens, 'prepareCondition', [oracle, questionId, 2n]);
    return await calls.read(tokens, 'getConditionId', [oracle, questionId, 2n]) as string;
  };
  const positionId = async (marketId: string, outcome: number) =>
    await calls.read(tokens, 'getPositionId', [deployed.collateral, await calls.read(tokens, 'getCollectionId', [ZeroHash, marketId, outcome + 1])]) as bigint;
  const balances = async (trader: string, marketId: string) => ({
    usdc: await calls.read(usdc, 'balanceOf', [trader]),
    yes: await calls.read(tokens, 'balanceOf', [trader, await positionId(marketId, 0)]),
    no: await calls.read(tokens, 'balanceOf', [trader, await positionId(marketId, 1)]),
  });
  return {
    questionId: id('question'), marketId: await prepare(id('question')), prepare, positionId, balances,
    resolve: (outcome: number, questionId = id('question')) =>
      calls.send(oracle, tokens, 'reportPayouts', [questionId, outcome === 0 ? [1n, 0n] : [0n, 1n]]),
    /** Collateral in hand, allowed to the settlement. */
    async fund(trader: string, amount: bigint, allowance = MAX_UINT256): Promise<void> {
      await calls.send(trader, usdc, 'mint', [trader, amount]);
      await calls.send(trader, usdc, 'approve', [settling.address, allowance]);
    },
    /** Complete sets in hand, approved for the settlement. */
    async stock(trader: string, marketId: string, amount: bigint): Promise<void> {
      await calls.send(trader, usdc, 'mint', [trader, amount]);
      await calls.send(trader, usdc, 'approve', [tokens.address, MAX_UINT256]);
      await calls.send(trader, tokens, 'splitPosition', [usdc.address, ZeroHash, marketId, [1n, 2n], amount]);
      await calls.send(trader, tokens, 'setApprovalForAll', [settling.address, true]);
    },
  };
}

function signing({ settlement: settling, usdc, tokens }: Targets) {
  const domainOf = (name: string, { address }: Target, version = '1') => ({ name, version, chainId: TEST_CHAIN_ID, verifyingContract: address });
  const orderDomain = domainOf('Prediction Exchange Settlement', settling);
  const types: Record<string, TypedDataField[]> = { Order: [...orderTypes.Order] };
  return {
    orderDomain,
    /** An order to buy one YES share at 0.6 that does not expire, but for what `fields` says. */
    async order(wallet: Wallet, fields: Pick<Order, 'marketId'> & Partial<Order>): Promise<SignedOrder> {
      const order: Order = {
        trader: wallet.address, side: BUY, outcome: 0n, price: 600_000n, size: USDC, nonce: 1n, expiration: 4_000_000_000n,
        makerFeeRecipient: ZeroAddress, ...fields,
      };
      return { order, hash: TypedDataEncoder.hash(orderDomain, types, order), signature: await wallet.signTypedData(orderDomain, types, order) };
    },
    /** An ERC-2612 permit of the collateral for the settlement. */
    async permit(wallet: Wallet, options: { readonly value: bigint; readonly nonce?: bigint; readonly deadline?: bigint }): Promise<Permit> {
      const { value, nonce = 0n, deadline = 4_000_000_000n } = options;
      const permitTypes = { Permit: fieldsOf('address owner,address spender,uint256 value,uint256 nonce,uint256 deadline') };
      const message = { owner: wallet.address, spender: settling.address, value, nonce, deadline };
      const { v, r, s } = Signature.from(await wallet.signTypedData(domainOf('USD Coin (test)', usdc, '2'), permitTypes, message));
      return { owner: wallet.address, value, deadline, v: BigInt(v), r, s };
    },
    /** The signature of one of the conditional tokens' types, as the functions' last three arguments. */
    async tokensSignature(wallet: Wallet, type: string, fields: string, message: Record<string, unknown>): Promise<[number, string, string]> {
      const signature = await wallet.signTypedData(domainOf('ConditionalTokens', tokens), { [type]: fieldsOf(fields) }, message);
      const { v, r, s } = Signature.from(signature);
      return [v, r, s];
    },
  };
}

function fieldsOf(text: string): TypedDataField[] {
  return text.split(',').map((field) => ({ type: field.split(' ')[0]!, name: field.split(' ')[1]! }));
}

function batches({ targets, calls, operator }: { targets: Targets; calls: Calls; operator: string }) {
  const batchArgs = ({ orders, permits = [], fills }: Batch) =>
    [orders.map(({ order }) => order), orders.map(({ signature }) => signature), permits, fills, HISTORY.position, HISTORY.digest];
  return {
    batchArgs,
    settle: (batch: Batch, gas = MAX_GAS) => calls.send(operator, targets.settlement, 'settleBatch', batchArgs(batch), gas),
  };
}

/** The fills' results, one line each, such as `1 settled` or `2 order_expired of the seller`. */
export function results({ events }: Sent): string[] {
  return events.flatMap(({ event, args }) => {
    if (event === 'FillSettled') return [`${String(args.seq)} settled`];
    if (event !== 'FillFailed') return [];
    return [`${String(args.seq)} ${REASONS[Number(args.reason)]!} of ${CULPRITS[Number(args.culprit)]!}`];
  });
}

function times(chain: TestChain) {
  return {
    /** The latest block's time in seconds. */
    now: async () => Number((await chain.rpc('eth_getBlockByNumber', ['latest', false]) as { timestamp: string }).timestamp),
    /** The next block will be of that time. */
    nextBlockAt: (seconds: number) => chain.rpc('evm_setNextBlockTimestamp', [seconds]),
    /** A block of that time is mined. */
    async timeIs(seconds: number): Promise<void> {
      await chain.rpc('evm_setNextBlockTimestamp', [seconds]);
      await chain.rpc('evm_mine');
    },
    snapshot: () => chain.rpc('evm_snapshot') as Promise<string>,
    revertTo: (snapshot: string) => chain.rpc('evm_revert', [snapshot]),
  };
}

/** A wallet of that name: always the same. */
export function walletOf(name: string): Wallet {
  return new Wallet(id(name));
}
