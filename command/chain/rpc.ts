/**
 * JSON-RPC over HTTP to a chain's nodes: asks the first healthy node, then the next when it fails, and never a node of
 * another chain.
 */
import { quantityOf } from '../../engine/records/hex.js';
import { within } from '../../engine/waiting.js';
import { ChainUnavailable, RpcError, type Rpc } from './chain.js';
import type { Fetch } from './http-answer.js';
import { createNode, NodeFailed, type RpcNode } from './rpc-node.js';
import type { Report } from '../../engine/report.js';

export interface RpcOptions {
  readonly chainId: number;
  /** In order of preference; http or https. They may contain secrets: only their hosts are ever shown. */
  readonly urls: readonly string[];
  /** The time limit of one request to one node, its body included. Default 10 s. */
  readonly timeoutMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly report: Report;
  readonly fetch?: Fetch;
  /** How long a node is not asked after the first, second, … failure in a row; the last value repeats. */
  readonly restMs?: readonly number[];
  /** How long a node that is on another chain is not asked. */
  readonly wrongChainRestMs?: number;
  readonly maxResponseBytes?: number;
  /** When it aborts, open requests and all later ones fail with ChainUnavailable. */
  readonly signal?: AbortSignal;
}

/** A node's health, for operators. */
export interface NodeHealth {
  readonly host: string;
  /**
   * `unused`: not asked yet. `resting`: failed, and is asked again later. `wrong chain`: excluded until its chain id is
   * right.
   */
  readonly state: 'unused' | 'healthy' | 'resting' | 'wrong chain';
  /** Why the node is not healthy; undefined when it did not fail. */
  readonly failure: string | undefined;
}

export interface ChainRpc extends Rpc {
  /** The nodes in order of preference. */
  nodes(): readonly NodeHealth[];
  /**
   * The results of all nodes that give one, for decisions that must not depend on a single node; with `withinMs`, of
   * those that do so in that time. Never throws.
   */
  each<T>(method: string, params: readonly unknown[], withinMs?: number): Promise<readonly T[]>;
}

/** All nodes are on another chain: the settings are wrong, or the chain was replaced. */
export class WrongChain extends ChainUnavailable {
  constructor(readonly expected: number, readonly found: number, host: string) {
    super(expected, `${host} is on chain ${found} and not on chain ${expected}: correct the chain's RPC URLs or its chain id in the chains file (CHAINS)`);
    this.name = 'WrongChain';
  }
}

const TIMEOUT_MS = 10_000;
const REST_MS = [250, 500, 1_000, 2_000, 5_000, 10_000];
const WRONG_CHAIN_REST_MS = 30_000;
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/**
 * The nodes of a chain behind one interface. A request goes to the first node that is not resting, and to the next one
 * when it fails. While all nodes rest, a request fails at once. Throws an error for invalid settings.
 */
export function createRpc(options: RpcOptions): ChainRpc {
  const {
    chainId, urls, timeoutMs = TIMEOUT_MS, maxResponseBytes = MAX_RESPONSE_BYTES, fetch: fetcher = fetch, signal,
  } = options;
  if (urls.length === 0) throw new Error(`chain ${chainId} has no RPC URL: give it at least one`);
  const nodes = urls.map((url) => superviseNode(
    createNode({ url, timeoutMs, maxResponseBytes, fetch: fetcher, signal }), options,
  ));

  async function onOneNode<T>(read: (node: Rpc) => Promise<T>): Promise<T> {
    const failures: NodeFailed[] = [];
    for (const { ask } of nodes) {
      try {
        return await read({
          chainId, request: async <R>(method: string, params: readonly unknown[]) => await ask(method, params) as R,
        });
      } catch (error) {
        if (!(error instanceof NodeFailed)) throw error;
        failures.push(error);
      }
    }
    const wrong = failures
      .flatMap(({ foundChainId, host }) => foundChainId === undefined ? [] : { foundChainId, host });
    const [first] = wrong;
    if (first !== undefined && wrong.length === failures.length) {
      throw new WrongChain(chainId, first.foundChainId, first.host);
    }
    throw new ChainUnavailable(chainId, failures.map((failure) => failure.message).join('; '));
  }

  return {
    chainId,
    nodes: () => nodes.map((node) => node.health()),
    async each<T>(method: string, params: readonly unknown[], withinMs = Infinity): Promise<readonly T[]> {
      const results: T[] = [];
      const asked = Promise.allSettled(
        nodes.map(async (node) => { results.push(await node.ask(method, params) as T); }),
      );
      await (withinMs === Infinity ? asked : within(asked, withinMs));
      return [...results];
    },
    request: <T>(method: string, params: readonly unknown[]) => onOneNode((node) => node.request<T>(method, params)),
    onOneNode,
  };
}

interface SupervisedNode {
  /** Throws NodeFailed, also while the node rests; RpcError. */
  ask(method: string, params: readonly unknown[]): Promise<unknown>;
  health(): NodeHealth;
}

/** Lets a node rest after a failure, and checks its chain id before the first request and after each rest. */
function superviseNode(node: RpcNode, options: RpcOptions): SupervisedNode {
  const { chainId, now, report, restMs = REST_MS, wrongChainRestMs = WRONG_CHAIN_REST_MS } = options;
  let failure: NodeFailed | undefined;
  let failures = 0;
  let restsUntil = -Infinity;
  let verified: Promise<void> | undefined;
  let healthy = false;

  /** Requests that were open when the node failed count as one failure together. */
  function failed(error: NodeFailed, verification: Promise<void> | undefined): void {
    if (verified !== verification) return;
    verified = undefined;
    healthy = false;
    const wrong = error.foundChainId !== undefined;
    restsUntil = now() + (wrong ? wrongChainRestMs : restMs[Math.min(failures, restMs.length - 1)] ?? 0);
    failures += 1;
    if (error.message !== failure?.message) {
      report(wrong ? 'alert' : 'warn', wrong ? `${error.message}, not on ${chainId}: it is not used` : `chain ${chainId}: ${error.message}`);
    }
    failure = error;
  }

  async function verify(): Promise<void> {
    const answer = await node.request('eth_chainId', []).catch((error: unknown) => {
      throw error instanceof RpcError ? new NodeFailed(node.host, error.message) : error;
    });
    const found = quantityOf(answer);
    if (found === undefined) throw new NodeFailed(node.host, 'eth_chainId is not a number');
    if (found !== chainId) throw new NodeFailed(node.host, `is on chain ${found}`, { foundChainId: found });
    healthy = true;
    if (failure !== undefined) report('info', `chain ${chainId}: ${node.host} answers again`);
    failure = undefined;
  }

  async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    if (failure !== undefined && now() < restsUntil) throw failure;
    const verification = verified ??= verify();
    try {
      await verification;
      const result = await node.request(method, params);
      if (verified === verification) failures = 0;
      return result;
    } catch (error) {
      if (error instanceof NodeFailed && !error.onlyThisRequest) failed(error, verification);
      throw error;
    }
  }

  return {
    ask,
    health() {
      const state = healthy ? 'healthy' : failure === undefined ? 'unused' : failure.foundChainId === undefined ? 'resting' : 'wrong chain';
      return { host: node.host, state, failure: failure?.message };
    },
  };
}
