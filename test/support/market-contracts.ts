/** The contracts of markets and their resolution on a chain of their own, and what tests do to them: send, sign, read, be refused, let time pass. */
import { inspect } from 'node:util';
import {
  HDNodeWallet, Interface, Result, getCreateAddress, Signature, TypedDataEncoder, id, recoverAddress, type InterfaceAbi, type TypedDataField,
} from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { market as marketArtifact } from '../../contracts-abi/market.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { TEST_MNEMONIC } from '../../stack/chain/anvil.js';
import { chainWithContracts, TEST_CHAIN_ID, type TestChain } from './chain.js';

export interface Target {
  readonly name: string;
  readonly address: string;
  readonly abi: Interface;
}

/** An event of one of the contracts with all its arguments by name, as ethers decodes them. */
export interface ContractEvent {
  readonly contract: string;
  readonly event: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What a call is refused with; no name when it reverts without a reason. */
interface Refusal {
  readonly error: string;
  readonly args: Readonly<Record<string, unknown>>;
}

interface Artifact {
  readonly abi: InterfaceAbi;
}

interface Log {
  readonly address: string;
  readonly topics: string[];
  readonly data: string;
}

export type Arguments = readonly unknown[];

export interface MarketContracts {
  readonly chain: TestChain;
  /** Has every administrator's role, creates markets, arbitrates, and operates the quick resolver. */
  readonly admin: HDNodeWallet;
  /** Three accounts with 1,000 USDC each. */
  readonly traders: readonly [HDNodeWallet, HDNodeWallet, HDNodeWallet];
  readonly tokens: Target;
  readonly usdc: Target;
  readonly oracle: Target;
  readonly factory: Target;
  readonly oracleResolver: Target;
  readonly quickResolver: Target;
  /** Sends a transaction, mined in the next block, and gives its events in order. Rejects when it reverts. */
  send(from: HDNodeWallet, to: Target, method: string, args?: Arguments): Promise<ContractEvent[]>;
  read(to: Target, method: string, args?: Arguments): Promise<unknown>;
  /** The typed error that a call reverts with in the latest block. Rejects when it does not revert. */
  refusal(from: HDNodeWallet, to: Target, method: string, args?: Arguments): Promise<Refusal>;
  deploy(name: string, artifact: Artifact & { readonly bytecode: string }, args?: Arguments): Promise<Target>;
  /** The latest block's time in seconds. */
  now(): Promise<number>;
  /** Mines a block at that time. */
  timeIs(seconds: number): Promise<void>;
  /** The next block will be of that time. */
  nextBlockAt(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** The least bond that the oracle takes: twice its fee. */
export const MINIMUM_BOND = 5_000_000n;
export const USDC = 1_000_000n;

const GAS = '0xf00000';
const ACCOUNTS = Array.from({ length: 4 }, (_, index) => HDNodeWallet.fromPhrase(TEST_MNEMONIC, '', `m/44'/60'/0'/0/${index}`));

/** Starts a chain and deploys the contracts; stop() ends both. */
export async function marketContracts(): Promise<MarketContracts> {
  const { chain, deployed: addresses } = await chainWithContracts({ terms: { bond: MINIMUM_BOND } });
  const [admin, ...traders] = ACCOUNTS as [HDNodeWallet, HDNodeWallet, HDNodeWallet, HDNodeWallet];
  const targets: Target[] = [];
  const calls = callsTo(chain, targets);
  const { send } = calls;

  const at = (name: string, address: string, artifact: Artifact) => {
    const target = targetAt(name, address, artifact);
    targets.push(target);
    return target;
  };
  const usdc = at('TestUSDC', addresses.collateral, testUsdc);
  for (const trader of traders) await send(admin, usdc, 'mint', [trader.address, 1_000n * USDC]);
  return {
    chain, admin, traders, usdc, send, read: calls.read, refusal: calls.refusal,
    tokens: at('ConditionalTokens', addresses.conditionalTokens, conditionalTokens),
    oracle: at('OptimisticOracle', addresses.oracle, optimisticOracle),
    factory: at('MarketFactory', addresses.marketFactory, marketFactory),
    oracleResolver: at('OracleResolver', addresses.oracleResolver, oracleResolver),
    quickResolver: at('QuickResolver', addresses.quickResolver, quickResolver),
    async deploy(name, artifact, args = []) {
      const nonce = Number(await chain.rpc('eth_getTransactionCount', [admin.address, 'latest']));
      await calls.sendData(admin, null, artifact.bytecode + new Interface(artifact.abi).encodeDeploy(args).slice(2));
      return at(name, getCreateAddress({ from: admin.address, nonce }), artifact);
    },
    async now() {
      const block = await chain.rpc('eth_getBlockByNumber', ['latest', false]) as { timestamp: string };
      return Number(block.timestamp);
    },
    async timeIs(seconds) {
      await chain.rpc('evm_setNextBlockTimestamp', [seconds]);
      await chain.rpc('evm_mine');
    },
    async nextBlockAt(seconds) { await chain.rpc('evm_setNextBlockTimestamp', [seconds]); },
    stop: () => chain.stop(),
  };
}

/** A contract of a known interface at an address, such as a market. */
export function targetAt(name: string, address: string, { abi }: Artifact): Target {
  return { name, address, abi: new Interface(abi) };
}

/** Puts the chain back, after each test, to where it was before the first one: use it in a `describe`. */
export function revertAfterEach(contracts: () => MarketContracts): void {
  let snapshot: unknown;
  beforeEach(async () => { snapshot = await contracts().chain.rpc('evm_snapshot'); });
  afterEach(async () => { await contracts().chain.rpc('evm_revert', [snapshot]); });
}

function callsTo(chain: TestChain, targets: readonly Target[]) {
  const events = (logs: readonly Log[]) => logs.map(({ address, topics, data }) => {
    const target = targets.find((candidate) => candidate.address.toLowerCase() === address.toLowerCase());
    const parsed = target?.abi.parseLog({ topics, data });
    if (!target || !parsed) throw new Error(`an event of ${address} that no known contract has: ${topics[0] ?? data}`);
    return { contract: target.name, event: parsed.name, args: named(parsed.args) };
  });
  const refusalOf = (data: string, to?: Target): Refusal => {
    if (data === '0x') return { error: '', args: {} };
    for (const { abi } of [...to ? [to] : [], ...targets]) {
      const parsed = abi.parseError(data);
      if (parsed) return { error: parsed.name, args: named(parsed.args) };
    }
    throw new Error(`reverted with an error that no known contract has: ${data}`);
  };
  const call = async (request: object) => {
    try {
      return { returned: await chain.rpc('eth_call', [request, 'latest']) as string };
    } catch (error) {
      const data = revertData(error);
      if (data === undefined) throw error;
      return { reverted: data };
    }
  };
  const sendData = async (from: HDNodeWallet, to: Target | null, data: string) => {
    const request = { from: from.address, ...(to === null ? {} : { to: to.address }), data, gas: GAS };
    const hash = await chain.rpc('eth_sendTransaction', [request]);
    const receipt = await chain.receipt<{ status: string; logs: Log[] }>(hash);
    if (receipt.status === '0x1') return receipt.logs;
    const { reverted } = await call(request);
    throw new Error(`the transaction reverted: ${reverted === undefined ? 'only in its own block' : inspect(refusalOf(reverted, to ?? undefined))}`);
  };
  return {
    sendData,
    async send(from: HDNodeWallet, to: Target, method: string, args: Arguments = []): Promise<ContractEvent[]> {
      return events(await sendData(from, to, to.abi.encodeFunctionData(method, args)));
    },
    async read(to: Target, method: string, args: Arguments = []): Promise<unknown> {
      const { returned, reverted } = await call({ to: to.address, data: to.abi.encodeFunctionData(method, args) });
      if (returned === undefined) throw new Error(`${method} reverted: ${reverted}`);
      const result = to.abi.decodeFunctionResult(method, returned);
      return result.length === 1 ? plain(result[0]) : named(result);
    },
    async refusal(from: HDNodeWallet, to: Target, method: string, args: Arguments = []): Promise<Refusal> {
      const { reverted } = await call({ from: from.address, to: to.address, data: to.abi.encodeFunctionData(method, args), gas: GAS });
      if (reverted === undefined) throw new Error(`${to.name}.${method} was not refused`);
      return refusalOf(reverted, to);
    },
  };
}

function named(result: Result): Record<string, unknown> {
  return Object.fromEntries(Object.entries(result.toObject()).map(([name, value]) => [name, plain(value)]));
}

/** A struct as an object, an array as an array, anything else as it is. */
function plain(value: unknown): unknown {
  if (!(value instanceof Result)) return value;
  const values = value.toArray();
  try {
    if (values.length > 0) return named(value);
  } catch {
    // Elements without names: an array.
  }
  return values.map(plain);
}

/** The data of a revert, wherever ethers puts it. */
function revertData(error: unknown): string | undefined {
  const { data, info, error: inner } = error as { data?: unknown; info?: { error?: { data?: unknown } }; error?: { data?: unknown } };
  return [data, inner?.data, info?.error?.data].find((candidate): candidate is string => typeof candidate === 'string' && candidate.startsWith('0x'));
}

export const BOND = 20n * USDC;
export const FAR = 2n ** 64n;
/** A permit that is none. */
export const NO_PERMIT: BondPermit = { deadline: 0n, v: 0, r: `0x${'00'.repeat(32)}`, s: `0x${'00'.repeat(32)}` };

const PROPOSE = fields('ProposeResolution', 'address market,address proposer,bool outcome,uint256 bond,uint256 nonce,uint256 deadline');
const SETTLE = fields('SettleMarket', 'address market,address settler,uint8 winningOutcome,uint256 nonce,uint256 deadline');
const PERMIT = fields('Permit', 'address owner,address spender,uint256 value,uint256 nonce,uint256 deadline');

/** The types' strings as EIP-712 hashes them. */
export const TYPES = {
  propose: TypedDataEncoder.from(PROPOSE).encodeType('ProposeResolution'), settle: TypedDataEncoder.from(SETTLE).encodeType('SettleMarket'),
};

interface ProposeFields { market: string; proposer: string; outcome: boolean; bond: bigint; nonce: bigint; deadline: bigint }
interface SettleFields { market: string; settler: string; winningOutcome: number; nonce: bigint; deadline: bigint }
interface PermitFields { owner: string; spender: string; value: bigint; nonce: bigint; deadline: bigint }

interface ProposalOptions {
  readonly outcome?: boolean;
  readonly deadline?: bigint;
  readonly bondPermit?: BondPermit;
  readonly signed?: Partial<ProposeFields>;
}

type Signer = Pick<HDNodeWallet, 'address' | 'signTypedData'>;

interface BondPermit { readonly deadline: bigint; readonly v: number; readonly r: string; readonly s: string }

export function signedResolutions({ oracleResolver, usdc, read }: Pick<MarketContracts, 'oracleResolver' | 'usdc' | 'read'>) {
  const domain = { name: 'OracleResolver', version: '1', chainId: TEST_CHAIN_ID, verifyingContract: oracleResolver.address };
  const stablecoin = { name: 'USD Coin (test)', version: '2', chainId: TEST_CHAIN_ID, verifyingContract: usdc.address };
  const sign = async (wallet: Signer, types: Record<string, TypedDataField[]>, message: object, of = domain) =>
    Signature.from(await wallet.signTypedData(of, types, message as Record<string, unknown>));
  /** The key's nonce of an account, for a market. */
  const nonceOf = async (account: string, market: Target): Promise<bigint> => {
    const key = await read(oracleResolver, 'nonceKey', [await read(market, 'marketId')]);
    return await read(oracleResolver, 'nonces(address,uint192)', [account, key]) as bigint;
  };
  return {
    domain, nonceOf,

    /** Arguments of proposeWithSig; `signed` changes what is signed, not what is sent. */
    async proposal(wallet: Signer, market: Target, options: ProposalOptions = {}) {
      const { outcome = true, deadline = FAR, bondPermit = NO_PERMIT, signed = {} } = options;
      const message: ProposeFields = {
        market: market.address, proposer: wallet.address, outcome, bond: BOND, nonce: await nonceOf(wallet.address, market), deadline, ...signed,
      };
      const { v, r, s } = await sign(wallet, PROPOSE, message);
      return [market.address, wallet.address, outcome, deadline, v, r, s, bondPermit] as Arguments;
    },

    /** Arguments of settleWithSig; `signed` changes what is signed, not what is sent. */
    async settlement(wallet: Signer, market: Target, { winningOutcome = 0, deadline = FAR, signed = {} as Partial<SettleFields> } = {}) {
      const message: SettleFields = {
        market: market.address, settler: wallet.address, winningOutcome, nonce: await nonceOf(wallet.address, market), deadline, ...signed,
      };
      const { v, r, s } = await sign(wallet, SETTLE, message);
      return [market.address, wallet.address, winningOutcome, deadline, v, r, s] as Arguments;
    },

    async bondPermit(wallet: Signer, { value = BOND, deadline = FAR } = {}): Promise<BondPermit> {
      const nonce = await read(usdc, 'nonces', [wallet.address]) as bigint;
      const message: PermitFields = { owner: wallet.address, spender: oracleResolver.address, value, nonce, deadline };
      const { v, r, s } = await sign(wallet, PERMIT, message, stablecoin);
      return { deadline, v, r, s };
    },

    /** Who a contract takes for the signer when it hashes these fields. */
    proposerOf(message: ProposeFields, [, , , , v, r, s]: Arguments): string {
      return recoverAddress(TypedDataEncoder.hash(domain, PROPOSE, message), { v: v as number, r: r as string, s: s as string });
    },
    settlerOf(message: SettleFields, [, , , , v, r, s]: Arguments): string {
      return recoverAddress(TypedDataEncoder.hash(domain, SETTLE, message), { v: v as number, r: r as string, s: s as string });
    },
  };
}

/** A market that expires now, and who proposes, disputes and settles; the oracle may take this much of the disputer's collateral. */
export async function expiringMarket(
  contracts: MarketContracts, { question, allowance = 10n * BOND }: { readonly question: string; readonly allowance?: bigint },
) {
  const [proposer, disputer, settler] = contracts.traders;
  const expiration = await contracts.now() + 1_000;
  const events = await contracts.send(contracts.admin, contracts.factory, 'createMarket', [id(question), 'Will it rain?', 'In Bergen.', 3, expiration, BOND]);
  const { market, marketId } = events.find(({ event }) => event === 'MarketCreated')!.args as { market: string; marketId: string };
  await contracts.send(disputer, contracts.usdc, 'approve', [contracts.oracle.address, allowance]);
  await contracts.timeIs(expiration);
  return { signed: signedResolutions(contracts), proposer, disputer, settler, market: targetAt('Market', market, marketArtifact), marketId, expiration };
}

/** `address a,bool b` as ethers wants it. */
function fields(name: string, members: string): Record<string, TypedDataField[]> {
  return { [name]: members.split(',').map((member) => ({ type: member.split(' ')[0]!, name: member.split(' ')[1]! })) };
}
