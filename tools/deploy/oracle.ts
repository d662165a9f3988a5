/** Checks an oracle that is there already: it is UMA's Optimistic Oracle V3, and takes the collateral and the bond. */
import {
  AbiCoder, Interface, ZeroAddress, ZeroHash, encodeBytes32String, formatUnits, toUtf8Bytes, type InterfaceAbi,
} from 'ethers';
import { RpcError, type Rpc } from '../../command/chain/chain.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { knownChain } from './known-chains.js';

/** A call that anybody may send. */
export interface Call {
  readonly to: string;
  readonly data: string;
}

/** Bonds in base units of the collateral, as decimal texts. */
export interface OracleBonds {
  /** The least bond of a proposal now. */
  readonly minimum: string;
  /** What it will be after `sync`; only UMA's own oracle has it. */
  readonly minimumAfterSync?: string;
  /** `syncUmaParams` for the collateral: brings UMA's present final fee to the oracle, which asks for it only then. */
  readonly sync?: Call;
}

export interface OracleCheck {
  readonly rpc: Rpc;
  readonly deployer: string;
  readonly oracle: string;
  readonly collateral: string;
  readonly disputeWindowS: bigint;
  /** The bond that markets will have, in base units; absent: the default. */
  readonly bond: bigint | undefined;
  readonly say: (line: string) => void;
}

/** Of a market whose creator names none, unless the oracle asks for more: 10 of the stablecoin. */
export const DEFAULT_BOND = 10_000_000n;
/** The factory takes no larger one, unless the oracle asks for more: 100,000 of the stablecoin. */
const MAX_BOND = 100_000_000_000n;

const ORACLE = new Interface(optimisticOracle.abi as InterfaceAbi);
/** What only UMA's own oracle has. */
const UMA = new Interface([
  'function syncUmaParams(bytes32 identifier, address currency)', 'function finder() view returns (address)',
  'function burnedBondPercentage() view returns (uint256)',
  'function getImplementationAddress(bytes32 name) view returns (address)',
  'function computeFinalFee(address currency) view returns (uint256)',
]);
const ONE = 10n ** 18n;

/** What is wrong with the oracle or the bond; empty when both can be used. */
export async function oracleProblems(check: OracleCheck): Promise<string[]> {
  const { rpc, oracle, collateral, say } = check;
  const code = await rpc.request<string>('eth_getCode', [oracle, 'latest']);
  if (code === '0x') return [`--oracle: there is no contract at ${oracle}`];
  const missing = await missingFunctions(check);
  if (missing.length > 0) {
    return missing.map((method) => `--oracle: the contract at ${oracle} has no ${method}() of UMA's Optimistic Oracle V3`);
  }
  const known = knownChain(rpc.chainId)?.oracle;
  if (known !== undefined && known.toLowerCase() !== oracle.toLowerCase()) {
    say(`--oracle: ${oracle} is not the one that UMA publishes for this chain, ${known}: make sure that it is meant`);
  }
  const bonds = await oracleBonds(rpc, oracle, collateral);
  const bond = bondOfMarkets(bonds, check.bond);
  const stale = staleText(bonds);
  if (stale !== undefined) say(stale);
  return await bondProblems(check, bonds, bond);
}

/** The bond that markets are to have: as asked for, else the default, or what the oracle asks for where that is more. */
export function bondOfMarkets(bonds: OracleBonds, asked: bigint | undefined): bigint {
  const needed = neededOf(bonds);
  return asked ?? (needed > DEFAULT_BOND ? needed : DEFAULT_BOND);
}

/** What the oracle asks for now, and what it would ask for after `syncUmaParams`. */
export async function oracleBonds(rpc: Rpc, oracle: string, collateral: string): Promise<OracleBonds> {
  const view = viewOf(rpc);
  const minimum = await view(ORACLE, oracle, 'getMinimumBond', collateral) as bigint | undefined ?? 0n;
  const finder = await view(UMA, oracle, 'finder') as string | undefined;
  if (finder === undefined) return { minimum: String(minimum) };
  const identifier = await view(ORACLE, oracle, 'defaultIdentifier');
  const sync = { to: oracle, data: UMA.encodeFunctionData('syncUmaParams', [identifier, collateral]) };
  const store = await view(UMA, finder, 'getImplementationAddress', encodeBytes32String('Store')) as string | undefined;
  const fee = store === undefined ? undefined : await view(UMA, store, 'computeFinalFee', collateral) as bigint | undefined;
  const burned = await view(UMA, oracle, 'burnedBondPercentage') as bigint | undefined ?? 0n;
  const isTold = fee !== undefined && burned > 0n;
  return { minimum: String(minimum), sync, ...isTold ? { minimumAfterSync: String(fee * ONE / burned) } : {} };
}

/** Says that the oracle does not know UMA's present fee; undefined when it does, or does not tell. */
export function staleText({ minimum, minimumAfterSync, sync }: OracleBonds): string | undefined {
  if (sync === undefined || minimumAfterSync === undefined || minimumAfterSync === minimum) return undefined;
  const [now, after] = [bondText(minimum), bondText(minimumAfterSync)];
  return `the oracle does not know UMA's present final fee: it asks for a bond of ${now} now, and of ${after} after syncUmaParams. `
    + `Anybody may call it, and somebody should before outcomes are proposed: to ${sync.to} with data ${sync.data}`;
}

/** An amount of the stablecoin, such as 10 or 2.5. */
export function bondText(baseUnits: bigint | string): string {
  return formatUnits(baseUnits, 6).replace(/\.0$/, '');
}

function neededOf({ minimum, minimumAfterSync = '0' }: OracleBonds): bigint {
  return [BigInt(minimum), BigInt(minimumAfterSync)].reduce((a, b) => a > b ? a : b);
}

async function bondProblems(check: OracleCheck, bonds: OracleBonds, bond: bigint): Promise<string[]> {
  const { rpc, deployer, oracle, collateral, disputeWindowS } = check;
  const needed = neededOf(bonds);
  if (bond < needed) return [`--bond: ${bondText(bond)} is less than the oracle asks for, which is ${bondText(needed)}`];
  if (bond > MAX_BOND && bond > needed) {
    return [`--bond: ${bondText(bond)} is more than a market may have, which is ${bondText(MAX_BOND)}`];
  }
  // As the resolver will assert, but without the bond: the oracle looks at currency, identifier and bond before that.
  const identifier = await viewOf(rpc)(ORACLE, oracle, 'defaultIdentifier');
  const claim = toUtf8Bytes('The outcome is YES');
  const { refusal = '' } = await ask(rpc, { from: deployer, to: oracle, data: ORACLE.encodeFunctionData('assertTruth', [
    claim, deployer, ZeroAddress, ZeroAddress, disputeWindowS, collateral, bond, identifier, ZeroHash,
  ]) });
  const reason = reasonIn(refusal);
  if (reason === undefined) return [];
  if (/too ?low/i.test(reason)) {
    return [`--bond: the oracle finds ${bondText(bond)} too low (${reason}): give more. What it asks for may have changed: `
      + 'anybody may call its syncUmaParams, and getMinimumBond tells it then'];
  }
  if (!/unsupported/i.test(reason)) return [];
  return [`--oracle: it refuses assertions with a bond in the collateral ${collateral}: ${reason}`];
}

/** The functions of the oracle that the resolver or its users need, and that are not there. */
async function missingFunctions({ rpc, deployer, oracle, collateral }: OracleCheck): Promise<string[]> {
  const missing: string[] = [];
  for (const [method, ...args] of [['defaultIdentifier'], ['getMinimumBond', collateral], ['getAssertion', ZeroHash]] as const) {
    if (await viewOf(rpc)(ORACLE, oracle, method, ...args) === undefined) missing.push(method);
  }
  // These refuse an assertion that is not there, with a reason; a function that is not there has none.
  for (const method of ['settleAssertion', 'settleAndGetAssertionResult', 'disputeAssertion']) {
    const data = ORACLE.encodeFunctionData(method, [ZeroHash, ...method === 'disputeAssertion' ? [deployer] : []]);
    const { refusal = '' } = await ask(rpc, { from: deployer, to: oracle, data });
    if (reasonIn(refusal) === undefined) missing.push(method);
  }
  return missing;
}

interface Answer {
  readonly data?: string;
  /** The data of a revert; empty where there are none. */
  readonly refusal?: string;
}

async function ask(rpc: Rpc, call: Call & { readonly from?: string }): Promise<Answer> {
  try {
    return { data: await rpc.request<string>('eth_call', [call, 'latest']) };
  } catch (error) {
    if (error instanceof RpcError) return { refusal: error.data ?? '' };
    throw error;
  }
}

/** The first value that a function returns; undefined when there is no such function. */
function viewOf(rpc: Rpc) {
  return async (abi: Interface, to: string, method: string, ...args: readonly unknown[]): Promise<unknown> => {
    const { data = '0x' } = await ask(rpc, { to, data: abi.encodeFunctionData(method, args) });
    try {
      return abi.decodeFunctionResult(method, data)[0] as unknown;
    } catch {
      return undefined;
    }
  };
}

/** The text of a revert, or the name of its typed error; undefined for an empty one. */
function reasonIn(data: string): string | undefined {
  if (data.length <= 2) return undefined;
  if (data.startsWith('0x08c379a0')) return String(AbiCoder.defaultAbiCoder().decode(['string'], `0x${data.slice(10)}`)[0]);
  return ORACLE.parseError(data)?.name ?? data;
}
