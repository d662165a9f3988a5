/** The contracts as the lane's users call them: calldata, views, reasons of reverts, events that tell of endings. */
import { AbiCoder, Interface, type FunctionFragment, type InterfaceAbi } from 'ethers/abi';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { market } from '../../contracts-abi/market.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { multicall3 } from '../../contracts-abi/multicall3.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { isHexBytes } from '../../engine/records/hex.js';

const abis = {
  conditionalTokens: new Interface(conditionalTokens.abi as InterfaceAbi),
  collateral: new Interface(testUsdc.abi as InterfaceAbi),
  oracleResolver: new Interface(oracleResolver.abi as InterfaceAbi),
  marketFactory: new Interface(marketFactory.abi as InterfaceAbi),
  market: new Interface(market.abi as InterfaceAbi), multicall: new Interface(multicall3.abi as InterfaceAbi),
  oracle: new Interface(optimisticOracle.abi as InterfaceAbi),
  settlement: new Interface(settlement.abi as InterfaceAbi),
  quickResolver: new Interface(quickResolver.abi as InterfaceAbi),
} as const;

export type AbiName = keyof typeof abis;

interface AbiFunction {
  readonly fragment: FunctionFragment;
  /** The first 4 bytes of its calldata as hex. */
  readonly selector: string;
}

/** Functions that were called, by ABI and name: ethers searches for a function, and hashes its signature, at every call. */
const functions = new Map<string, AbiFunction>();

function functionOf({ abi, method }: Pick<ContractCall, 'abi' | 'method'>): AbiFunction {
  const name = `${abi} ${method}`;
  let found = functions.get(name);
  if (found === undefined) {
    const fragment = abis[abi].getFunction(method);
    if (fragment === null) throw new Error(`the ABI ${abi} has no function ${method}`);
    functions.set(name, found = { fragment, selector: fragment.selector });
  }
  return found;
}

/** What ethers reads faster than hex, where it is hex. */
function bytesOf(data: string): Uint8Array | string {
  return isHexBytes(data) ? Buffer.from(data.slice(2), 'hex') : data;
}

/**
 * A function of a contract with its arguments. Overloaded functions are named with their types:
 * `nonces(address,uint192)`.
 */
export interface ContractCall {
  readonly abi: AbiName;
  /** Lower-case hex. */
  readonly to: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** The calldata as hex. */
export function encodeCall({ abi, method, args }: Pick<ContractCall, 'abi' | 'method' | 'args'>): string {
  const { fragment: { inputs }, selector } = functionOf({ abi, method });
  return selector + AbiCoder.defaultAbiCoder().encode(inputs, args).slice(2);
}

/**
 * The function that calldata calls, with its arguments by name; undefined when it is none of the contract's, or the
 * data are not its.
 */
export function decodeCall(abi: AbiName, data: string): {
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
} | undefined {
  try {
    const parsed = abis[abi].parseTransaction({ data });
    return parsed === null ? undefined : { method: parsed.name, args: parsed.args.toObject() };
  } catch {
    return undefined;
  }
}

/** What a view returned: its value, or its values when there are several. Throws when the data are not the view's. */
export function decodeResult({ abi, method }: Pick<ContractCall, 'abi' | 'method'>, data: string): unknown {
  const values = abis[abi].decodeFunctionResult(functionOf({ abi, method }).fragment, bytesOf(data));
  return values.length === 1 ? values[0] : values;
}

/** Calldata of `aggregate3`, in which each call may fail for itself. */
export function encodeAggregate(calls: readonly { readonly to: string; readonly data: string }[]): string {
  return encodeCall({ abi: 'multicall', method: 'aggregate3', args: [calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: bytesOf(data) }))] });
}

/** The results of `aggregate3`, in the order of the calls. */
export function decodeAggregate(data: string): readonly { readonly success: boolean; readonly returnData: string }[] {
  return decodeResult({ abi: 'multicall', method: 'aggregate3' }, data) as readonly { success: boolean; returnData: string }[];
}

/** A revert's reason in words: a contract's own error with its arguments, a text, or a panic's number. */
export function reasonOfRevert(data: string | undefined): string {
  if (!isHexBytes(data) || data === '0x') return 'the contract gave no reason';
  for (const abi of Object.values(abis)) {
    const error = abi.parseError(data);
    if (error === null) continue;
    if (error.name === 'Error') return String(error.args[0]);
    return `${error.name}(${error.args.toArray().map(String).join(', ')})`;
  }
  return `an unknown error ${data.slice(0, 10)}`;
}

/** A log as a receipt or eth_getLogs gives it. */
export interface ChainLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/**
 * The topics of an event's logs; `args` are the values of its arguments in their order, null for any and for those that
 * are not indexed.
 */
export function topicsOf(abi: AbiName, event: string, args: readonly unknown[]): (string | null)[] {
  return abis[abi].encodeFilterTopics(event, [...args]) as (string | null)[];
}

/** An event's arguments by name; undefined when the log is not such an event. */
export function decodeLog(
  abi: AbiName, event: string, { topics, data }: ChainLog,
): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed = abis[abi].parseLog({ topics: [...topics], data });
    return parsed?.name === event ? parsed.args.toObject() : undefined;
  } catch {
    return undefined;
  }
}
