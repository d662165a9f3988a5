/**
 * Checks that the contracts on a chain are those of the settings, before anything is signed for them or read from them.
 */
import { Interface, type InterfaceAbi } from 'ethers/abi';
import { TypedDataEncoder } from 'ethers/hash';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { transferProbe } from '../../contracts-abi/transfer-probe.js';
import { signingDomains } from '../signing/signed-actions.js';
import { InconsistentAnswer, readLatest } from './block-range.js';
import { ChainUnavailable, RpcError, type Chain, type Contracts, type Rpc } from './chain.js';

/** The stablecoin; `name` and `version` are those of its signing domain, as permits need them. */
export interface Collateral {
  readonly name: string;
  readonly version: string;
  readonly symbol: string;
  readonly decimals: number;
  /** Lower-case hex. */
  readonly address: string;
}

/** The contracts are not those of the settings. The message lists every difference. */
export class ContractMismatch extends Error {
  constructor(chainId: number, readonly problems: readonly string[]) {
    super(`the contracts on chain ${chainId} are not those of the settings:\n${problems.map((each) => `  ${each}`).join('\n')}\n`
      + 'correct the addresses, settlementDomainName or the RPC URLs in the chains file (CHAINS)');
    this.name = 'ContractMismatch';
  }
}

const VERSIONED = new Interface(['function version() view returns (string)']);
const SETTLEMENT = new Interface(settlement.abi as InterfaceAbi);
const FACTORY = new Interface(marketFactory.abi as InterfaceAbi);
const TOKEN = new Interface(testUsdc.abi as InterfaceAbi);
const RESOLVER = new Interface(oracleResolver.abi as InterfaceAbi);
const PROBE = new Interface(transferProbe.abi as InterfaceAbi);
const DECIMALS = 6;
/** How long a proposed resolution can be disputed on every chain that is not a testnet, in seconds. */
export const DISPUTE_WINDOW_S = 7_200n;
/** What a simulated transfer sends at most: enough for a fee of a hundredth of a percent to show. */
const PROBED_AMOUNT = 1_000_000n;

interface Checking {
  readonly rpc: Rpc;
  readonly fault: (what: string) => void;
}

interface Checked extends Checking {
  readonly chain: Chain;
}

export interface CheckedContracts {
  readonly collateral: Collateral;
  /** What contracts of an earlier version cannot do, in words for the operator; nothing is wrong with the settings. */
  readonly shortcomings: readonly string[];
}

/**
 * Compares code, signing domains and the contracts' references to each other with the settings, and reads the
 * stablecoin. Throws ContractMismatch with all differences. Throws ChainUnavailable when no node answers, or no node
 * that has the contracts' blocks and can execute calls on them: that is not a mismatch, and a later check may succeed.
 */
export async function checkContracts({ chain, rpc: nodes }: { chain: Chain; rpc: Rpc }): Promise<CheckedContracts> {
  const rpc = telling(nodes);
  await checkHead(chain, rpc);
  const problems: string[] = [];
  const checked = { chain, rpc, fault: (what: string) => { problems.push(what); } };
  await checkCode(checked, chain.contracts);
  let collateral: Collateral | undefined;
  if (problems.length === 0) {
    await checkDomains(checked);
    await checkReferences(checked);
    await checkDisputeWindow(checked);
    const { collateral: token, conditionalTokens: holder, settlement: to } = chain.contracts;
    // The conditional tokens hold what complete sets are worth.
    await checkTransferFee(checked, { token, holder, to });
    collateral = await readCollateral(checked, { chainId: chain.chainId, address: token });
  }
  if (collateral === undefined || problems.length > 0) throw new ContractMismatch(chain.chainId, problems);
  return { collateral, shortcomings: await shortcomingsOf(checked) };
}

async function shortcomingsOf({ chain: { chainId, contracts }, rpc }: Checked): Promise<string[]> {
  if (await readView(rpc, RESOLVER, contracts.oracleResolver, 'HALVE_DELAY') !== undefined) return [];
  return [`chain ${chainId}: its oracleResolver is of an earlier version, in which the bond of a market is fixed for good: when the oracle's minimum exceeds it, or the oracle `
    + 'takes the stablecoin no more, the market stays locked. See "Contracts of an earlier version" in docs/deploying.md'];
}

/**
 * What is wrong with a stablecoin that no contract refers to yet; empty when it can be the collateral. `holders` may
 * have some of it: a simulated transfer of theirs shows whether it charges on transfer. Throws ChainUnavailable.
 */
export async function collateralProblems(
  nodes: Rpc, token: string, holders: readonly string[],
): Promise<readonly string[]> {
  const rpc = telling(nodes);
  const problems: string[] = [];
  const checking = { rpc, fault: (what: string) => { problems.push(what); } };
  await checkCode(checking, { collateral: token });
  if (problems.length > 0) return problems;
  await readCollateral(checking, { chainId: nodes.chainId, address: token });
  for (const holder of holders) if (problems.length === 0) await checkTransferFee(
    checking, { token, holder, to: UNUSED },
  );
  return problems;
}

/** An account that nobody has. */
const UNUSED = `0x${'00'.repeat(18)}cafe`;

/**
 * Wraps nodes so that requests give a text or a revert. Any other error becomes ChainUnavailable: the node cannot
 * answer at the moment.
 */
function telling(rpc: Rpc): Rpc {
  const { chainId } = rpc;
  return {
    chainId,
    async request<T>(method: string, params: readonly unknown[]): Promise<T> {
      let answer: unknown;
      try {
        answer = await rpc.request(method, params);
      } catch (error) {
        if (error instanceof RpcError && !isRevert(error)) {
          throw new ChainUnavailable(chainId, error.message, { cause: error });
        }
        throw error;
      }
      if (typeof answer !== 'string') throw new ChainUnavailable(chainId, `${method} did not return a text`);
      return answer as T;
    },
  };
}

/**
 * Whether the contract's code ended the call, by the error codes and texts of geth, erigon, nethermind, besu, reth and
 * anvil.
 */
function isRevert({ method, code, message, data }: RpcError): boolean {
  return method === 'eth_call' && (code === 3 || code === -32_015 || data?.startsWith('0x') === true || EXECUTION.test(message.slice(method.length + 2)));
}

const EXECUTION = /^(execution|revert|vm |evm |invalid (opcode|jump)|stack |out of gas|gas uint64 overflow|return data out of|write protection)/i;

/** Throws ChainUnavailable while the node is syncing: it would show no code at the contracts' addresses. */
async function checkHead({ chainId, startBlock }: Chain, rpc: Rpc): Promise<void> {
  const latest = await readLatest(rpc).catch((error: unknown) => {
    throw error instanceof InconsistentAnswer ? new ChainUnavailable(chainId, error.message, { cause: error }) : error;
  });
  if (latest < startBlock) {
    throw new ChainUnavailable(chainId, `its node is still syncing: its latest block is ${latest}, but the contracts begin at block ${startBlock}`);
  }
}

async function checkCode({ rpc, fault }: Checking, contracts: Partial<Contracts>): Promise<void> {
  await Promise.all(Object.entries(contracts).map(async ([name, address]: [string, string]) => {
    if (await rpc.request<string>('eth_getCode', [address, 'latest']) === '0x') fault(`${name}: there is no contract at ${address}`);
  }));
}

/**
 * Compares the signing domains of the contracts that check users' signatures; the stablecoin's is read, not compared.
 */
async function checkDomains({ chain, rpc, fault }: Checked): Promise<void> {
  const { chainId, contracts, domainName: settlementName } = chain;
  const wanted = signingDomains({ chainId, contracts, settlementName, token: undefined });
  for (const name of ['settlement', 'conditionalTokens', 'oracleResolver'] as const) {
    const found = await domainOf(rpc, SETTLEMENT, contracts[name]);
    if (found === undefined) {
      fault(`${name}: the contract at ${contracts[name]} has no eip712Domain()`);
      continue;
    }
    for (const [field, value] of Object.entries(wanted[name])) {
      const other = found[field as keyof Domain];
      if (other !== value) fault(`${name}: the signing domain's ${field} is ${JSON.stringify(other)}, not ${JSON.stringify(value)}`);
    }
  }
}

/**
 * Checks that the contracts refer to each other: contracts of two deployments would work together until the first
 * settlement.
 */
async function checkReferences({ chain: { contracts }, rpc, fault }: Checked): Promise<void> {
  const references: readonly [keyof Contracts, Interface, string, keyof Contracts][] = [
    ['settlement', SETTLEMENT, 'conditionalTokens', 'conditionalTokens'], ['settlement', SETTLEMENT, 'collateral', 'collateral'],
    ['marketFactory', FACTORY, 'tokens', 'conditionalTokens'], ['marketFactory', FACTORY, 'collateral', 'collateral'],
    ['marketFactory', FACTORY, 'oracle', 'oracle'], ['marketFactory', FACTORY, 'oracleResolver', 'oracleResolver'],
    ['marketFactory', FACTORY, 'quickResolver', 'quickResolver'],
  ];
  await Promise.all(references.map(async ([from, abi, view, to]) => {
    const address = (await readView(rpc, abi, contracts[from], view) as string | undefined)?.toLowerCase();
    if (address !== contracts[to]) fault(`${from}: its ${view}() is ${address ?? 'not there'}, not the ${to} of the settings, ${contracts[to]}`);
  }));
}

async function checkDisputeWindow({ chain: { contracts, testnet }, rpc, fault }: Checked): Promise<void> {
  const found = await readView(rpc, RESOLVER, contracts.oracleResolver, 'disputeWindow') as bigint | undefined;
  if (found === undefined) fault(`oracleResolver: the contract at ${contracts.oracleResolver} has no disputeWindow()`);
  else if (!testnet && found !== DISPUTE_WINDOW_S) fault(`oracleResolver: its dispute window is ${found} s, not ${DISPUTE_WINDOW_S} s: others are for testnets`);
}

/**
 * Simulates a transfer of the collateral from a holder. A token that charges on transfer would leave the conditional
 * tokens short, so that the last redemptions fail. Nothing is concluded while the holder has none, or from a node that
 * cannot simulate.
 */
async function checkTransferFee(
  { rpc, fault }: Checking,
  { token, holder, to }: { readonly token: string; readonly holder: string; readonly to: string },
): Promise<void> {
  let answer: string;
  try {
    const code = await rpc.request<string>('eth_call', [{ data: transferProbe.bytecode }, 'latest']);
    const data = PROBE.encodeFunctionData('probe', [token, to, PROBED_AMOUNT]);
    answer = await rpc.request<string>('eth_call', [{ to: holder, data }, 'latest', { [holder]: { code } }]);
  } catch {
    return;
  }
  const [sent, arrived] = PROBE.decodeFunctionResult('probe', answer).toArray() as [bigint, bigint];
  if (arrived !== sent) fault(`collateral: of ${sent} sent, ${arrived} arrive: a token that charges on transfer cannot be the collateral`);
}

async function readCollateral(
  { rpc, fault }: Checking, { chainId, address }: { readonly chainId: number; readonly address: string },
): Promise<Collateral> {
  const [name, symbol, decimals, separator, version, domain] = await Promise.all([
    readView(rpc, TOKEN, address, 'name'), readView(rpc, TOKEN, address, 'symbol'), readView(rpc, TOKEN, address, 'decimals'),
    readView(rpc, TOKEN, address, 'DOMAIN_SEPARATOR'), readView(rpc, VERSIONED, address, 'version'), domainOf(rpc, TOKEN, address),
  ]);
  if (decimals !== BigInt(DECIMALS)) fault(`collateral: it has ${String(decimals ?? 'no')} decimals, not ${DECIMALS}`);
  if (typeof name !== 'string' || typeof symbol !== 'string') fault(`collateral: the contract at ${address} has no name() or no symbol(), so it is not a token`);
  if (typeof separator !== 'string') fault(`collateral: the contract at ${address} has no DOMAIN_SEPARATOR(), so it takes no permits (ERC-2612)`);
  // ERC-5267 gives the domain. Without it, the domain has the token's name and version(); many tokens omit version()
  // when it is "1".
  const signing = { name: domain?.name ?? String(name), version: domain?.version ?? (typeof version === 'string' ? version : '1') };
  const computed = TypedDataEncoder.hashDomain({ ...signing, chainId, verifyingContract: address });
  if (typeof separator === 'string' && separator !== computed) {
    fault(`collateral: its DOMAIN_SEPARATOR() is not that of name ${JSON.stringify(signing.name)}, version ${JSON.stringify(signing.version)}, chain `
      + `${chainId} and its address, so permits for it could not be signed`);
  }
  return { ...signing, symbol: String(symbol), decimals: DECIMALS, address };
}

interface Domain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: string;
}

/** The signing domain by ERC-5267; undefined when the contract does not implement it. */
async function domainOf(rpc: Rpc, abi: Interface, address: string): Promise<Domain | undefined> {
  const result = await readViews(rpc, abi, address, 'eip712Domain');
  if (result === undefined) return undefined;
  const [, name, version, chainId, verifyingContract] = result as [string, string, string, bigint, string];
  return { name, version, chainId: Number(chainId), verifyingContract: verifyingContract.toLowerCase() };
}

async function readView(rpc: Rpc, abi: Interface, address: string, view: string): Promise<unknown> {
  return (await readViews(rpc, abi, address, view))?.[0];
}

/**
 * The values that a view returns; undefined when the contract does not have the view, or its answer has other types.
 */
async function readViews(
  rpc: Rpc, abi: Interface, address: string, view: string,
): Promise<readonly unknown[] | undefined> {
  let data: string;
  try {
    data = await rpc.request<string>('eth_call', [{ to: address, data: abi.encodeFunctionData(view) }, 'latest']);
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
  try {
    return abi.decodeFunctionResult(view, data).toArray() as unknown[];
  } catch {
    return undefined;
  }
}
