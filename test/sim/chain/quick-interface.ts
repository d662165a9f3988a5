/**
 * An ABI that remembers: ethers hashes the signatures of all functions and events to find one, which took a fifth of a story's time, and codes
 * what processes ask and are told again and again.
 */
import { Interface, type EventFragment, type FunctionFragment, type Result, type TransactionDescription } from 'ethers';

/** So many coded values are kept, and then others. */
const MOST = 5_000;

export class QuickInterface extends Interface {
  readonly #functions = new Map<string, FunctionFragment | null>();
  readonly #events = new Map<string, EventFragment | null>();
  readonly #transactions = new Map<string, TransactionDescription | null>();
  readonly #calls = new Map<string, Result>();
  readonly #results = new Map<string, string>();
  readonly #logs = new Map<string, ReturnType<Interface['encodeEventLog']>>();

  override getFunction(...[key, values]: Parameters<Interface['getFunction']>): FunctionFragment | null {
    if (values !== undefined) return super.getFunction(key, values);
    return found(this.#functions, key, () => super.getFunction(key));
  }

  override getEvent(...[key, values]: Parameters<Interface['getEvent']>): EventFragment | null {
    if (values !== undefined) return super.getEvent(key, values);
    return found(this.#events, key, () => super.getEvent(key));
  }

  override parseTransaction(transaction: { data: string }): TransactionDescription | null {
    return found(this.#transactions, transaction.data, () => super.parseTransaction(transaction));
  }

  override decodeFunctionData(name: string, data: string): Result {
    return found(this.#calls, `${name} ${data}`, () => super.decodeFunctionData(name, data));
  }

  override encodeFunctionResult(fragment: string | FunctionFragment, values: readonly unknown[]): string {
    const name = typeof fragment === 'string' ? fragment : fragment.selector;
    return found(this.#results, textOf(name, values), () => super.encodeFunctionResult(fragment, values));
  }

  override encodeEventLog(name: string, values: readonly unknown[]): ReturnType<Interface['encodeEventLog']> {
    return found(this.#logs, textOf(name, values), () => super.encodeEventLog(name, values));
  }
}

function textOf(name: string, values: readonly unknown[]): string {
  return `${name} ${JSON.stringify(values, (_, value: unknown) => typeof value === 'bigint' ? String(value) : value)}`;
}

function found<T>(known: Map<string, T>, key: string, find: () => T): T {
  const before = known.get(key);
  if (before !== undefined) return before;
  if (known.size >= MOST) known.clear();
  const value = find();
  known.set(key, value);
  return value;
}
