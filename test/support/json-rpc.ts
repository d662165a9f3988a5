/** Bare JSON-RPC to a chain's node, and a contract there, for tests that are about the chain itself. */
import { Interface, type InterfaceAbi } from 'ethers';

export interface MinedTransaction {
  readonly transactionHash: string;
  readonly blockNumber: string;
}

/** A function that asks the node; rejects with the node's error. */
export function rpcTo(url: string) {
  return async <T>(method: string, params: readonly unknown[]): Promise<T> => {
    const response = await fetch(url, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = await response.json() as { result: T; error?: { message: string } };
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}

/** A contract's views, and its functions as the node's own accounts call them. */
export function contractOn(url: string, address: string, { abi }: { readonly abi: unknown }) {
  const rpc = rpcTo(url);
  const coder = new Interface(abi as InterfaceAbi);
  return {
    async read(view: string, args: readonly unknown[]): Promise<unknown> {
      const data = await rpc<string>('eth_call', [{ to: address, data: coder.encodeFunctionData(view, args) }, 'latest']);
      return coder.decodeFunctionResult(view, data)[0];
    },
    /** Resolves with the receipt once it is mined. */
    async send(from: string, method: string, args: readonly unknown[]): Promise<MinedTransaction> {
      const hash = await rpc<string>('eth_sendTransaction', [{ from, to: address, data: coder.encodeFunctionData(method, args) }]);
      for (;;) {
        const receipt = await rpc<MinedTransaction | null>('eth_getTransactionReceipt', [hash]);
        if (receipt !== null) return receipt;
      }
    },
  };
}
