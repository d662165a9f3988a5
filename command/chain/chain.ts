/** What the exchange knows of a chain that it settles on, and the question-and-answer port to its nodes. */

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
  /** A block is final when it has this many blocks on top of it; 0 on a chain that never reorganises. */
  readonly confirmations: number;
  /** Where the contracts begin: no earlier block is read. */
  readonly startBlock: number;
  readonly contracts: Contracts;
  /** Name in the signing domain of orders. */
  readonly domainName: string;
  /** Whether orders are checked against their traders' balances and allowances. */
  readonly exposureCheck: boolean;
  /** A node's JSON-RPC that clients are told of; absent where there is none for them. Holds no secret. */
  readonly publicRpcUrl?: string;
}

/** A chain's nodes, as one: requests go to the first that answers. */
export interface Rpc {
  readonly chainId: number;
  /**
   * JSON-RPC result. Throws RpcError for what the node itself answered, ChainUnavailable when no node answered in time. The
   * caller names the result's type, as the Ethereum JSON-RPC specification does.
   */
  request<T>(method: string, params: readonly unknown[]): Promise<T>;
}

/** The node's own error: the request reached it. `data` is a reverted call's return data, if any. */
export class RpcError extends Error {
  constructor(readonly method: string, readonly code: number, message: string, readonly data: string | undefined) {
    super(`${method}: ${message}`);
    this.name = 'RpcError';
  }
}

/** No node of the chain answered: whether a transaction was taken is unknown. */
export class ChainUnavailable extends Error {
  constructor(chainId: number, detail: string, options?: ErrorOptions) {
    super(`no node of chain ${chainId} answers: ${detail}`, options);
    this.name = 'ChainUnavailable';
  }
}
