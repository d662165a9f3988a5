/** A chain that the exchange settles on, and the port through which its nodes are asked. */

/** Addresses as lower-case hex. */
export interface Contracts {
  readonly settlement: string;
  readonly conditionalTokens: string;
  /** The stablecoin. */
  readonly collateral: string;
  readonly marketFactory: string;
  readonly oracle: string;
  readonly oracleResolver: string;
  readonly quickResolver: string;
  readonly multicall: string;
}

export interface Chain {
  readonly chainId: number;
  readonly name: string;
  readonly testnet: boolean;
  /** A block is final when this many blocks follow it; 0 on a chain that never reorganises. */
  readonly confirmations: number;
  /** The first block that is read: the contracts were deployed in it. */
  readonly startBlock: number;
  readonly contracts: Contracts;
  /** `name` in the EIP-712 domain of orders. */
  readonly domainName: string;
  /** Whether orders are checked against their traders' balances and allowances. */
  readonly exposureCheck: boolean;
  /**
   * Hashes of transactions whose anchors may differ from the history: a leaked key sent them. Lower-case; absent: none.
   * Each one that is passed over is recorded in the history.
   */
  readonly passOverAnchors?: readonly string[];
  /**
   * The same for fills that are not those which the exchange matched under their numbers: recorded as failed, see
   * `passedOverFill`.
   */
  readonly passOverFills?: readonly string[];
  /** The smallest size of an order, in units of 1e-6 shares; absent: see `minOrderSizeOf`. */
  readonly minOrderSize?: number;
  /** The JSON-RPC URL that clients are given; absent when there is none for them. Must not contain a secret. */
  readonly publicRpcUrl?: string;
}

/**
 * The smallest size of an order in the chain's markets, in units of 1e-6 shares. Any size is good where the settings
 * say nothing.
 */
export function minOrderSizeOf(chain: Pick<Chain, 'minOrderSize'> | undefined): number {
  return chain?.minOrderSize ?? 1;
}

/** A chain's nodes behind one interface: a request goes to the first node that answers. */
export interface Rpc {
  readonly chainId: number;
  /**
   * The JSON-RPC result. Throws RpcError for an error that the node answered, ChainUnavailable when no node answered in
   * time. The caller names the result's type, which the Ethereum JSON-RPC specification gives.
   */
  request<T>(method: string, params: readonly unknown[]): Promise<T>;
  /**
   * For answers that must fit together: all requests of `read` go to one node, and when that node fails, `read` begins
   * again with the next node. Otherwise one node's latest block could make another node's abandoned branch look final.
   * Absent: there is only one node.
   */
  onOneNode?<T>(read: (node: Rpc) => Promise<T>): Promise<T>;
}

/** Reads by one node, see `Rpc.onOneNode`. */
export function onOneNode<T>(rpc: Rpc, read: (node: Rpc) => Promise<T>): Promise<T> {
  return rpc.onOneNode === undefined ? read(rpc) : rpc.onOneNode(read);
}

/** An error that the node answered, so the request reached it. `data` is a reverted call's return data, if any. */
export class RpcError extends Error {
  constructor(readonly method: string, readonly code: number, message: string, readonly data: string | undefined) {
    super(`${method}: ${message}`);
    this.name = 'RpcError';
  }
}

/** No node of the chain answered. A transaction may have been accepted all the same. */
export class ChainUnavailable extends Error {
  constructor(chainId: number, detail: string, options?: ErrorOptions) {
    super(`no node of chain ${chainId} answers: ${detail}`, options);
    this.name = 'ChainUnavailable';
  }
}
