/** The access to a chain that the roles of one process share: its nodes, the check of its contracts, and the retries while it is unreachable. */
import type { Report } from '../../engine/report.js';
import { pause, retrying, steady } from '../../engine/waiting.js';
import { preparePermits, type Keccak256, type PermitFields } from '../signing/typed-data.js';
import { checkContracts, type Collateral } from './chain-check.js';
import type { Chain, Rpc } from './chain.js';
import { ChainUnavailable } from './chain.js';
import type { ConfiguredChain } from './configured-chain.js';
import type { Fetch } from './http-answer.js';
import { createRpc, WrongChain } from './rpc.js';

export interface ChainAccess {
  readonly chain: Chain;
  readonly configured: ConfiguredChain;
  /** The nodes, for the workers. */
  readonly rpc: Rpc;
  /** The same nodes, for clients' reads. Kept apart from `rpc`: failures of clients' reads do not affect the workers. */
  readonly clientRpc: Rpc;
  readonly report: Report;
  /** Aborts when the process stops, and when the process gives up the chain. */
  readonly signal: AbortSignal;
  /** The stablecoin; undefined until it has been read. */
  collateral(): Collateral | undefined;
  /** The digest of permits to the settlement contract; undefined until the stablecoin has been read. */
  permitDigest(): ((permit: PermitFields) => Uint8Array) | undefined;
  /**
   * Checks the contracts, then does the work. Resolves when both are done. When the chain cannot be reached, logs a warning and resolves at
   * once; check and work are then retried until they succeed. Throws when all nodes are on another chain or the contracts are not those of
   * the settings, and rethrows errors of the work. In a retry, nodes on another chain count as unreachable; after another of these errors
   * the chain is given up with an alert, and the rest of the process continues.
   */
  begin(work: () => Promise<void>): Promise<void>;
  startAttempts(): StartAttempts;
  stop(): Promise<void>;
}

/** The result of the attempts to begin with a chain. */
export interface StartAttempts {
  /** Number of failures in a row, and the reason of the last one. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** Why there are no further attempts; absent while there are. */
  readonly stopped?: string | undefined;
}

/** Time between two attempts to reach a chain that was unreachable at the start. */
const RETRY_MS = 2_000;

export interface ChainPorts {
  readonly keccak256: Keccak256;
  readonly report: Report;
  /** Reaches the nodes. Default: the global one. */
  readonly fetch?: Fetch;
  /** Default: compares the contracts with the settings. */
  readonly check?: typeof checkContracts;
}

export function openChain(configured: ConfiguredChain, { keccak256, report, fetch, check: compare = checkContracts }: ChainPorts): ChainAccess {
  const { chain, rpcUrls, requestTimeoutMs } = configured;
  const stopping = new AbortController();
  const nodes = (told: Report): Rpc => createRpc({
    chainId: chain.chainId, urls: rpcUrls, now: () => Math.round(performance.now()), report: told, signal: stopping.signal,
    ...requestTimeoutMs === undefined ? {} : { timeoutMs: requestTimeoutMs }, ...fetch === undefined ? {} : { fetch },
  });
  const rpc = nodes(report);
  const laterAttempts: Promise<void>[] = [];
  let startAttempts: StartAttempts = { failures: 0 };
  let checked: Promise<Collateral> | undefined;
  let collateral: Collateral | undefined;
  let permitDigest: ReturnType<ChainAccess['permitDigest']>;

  /** Checks the contracts once for all roles of the process. A failed check is repeated at the next call. */
  function check(): Promise<Collateral> {
    checked ??= checkedCollateral({ chain, rpc, report }, compare);
    checked.catch(() => { checked = undefined; });
    return checked;
  }

  async function attempt(work: () => Promise<void>): Promise<void> {
    collateral = await check();
    const { name, version, address: verifyingContract } = collateral;
    const token = { name, version, chainId: chain.chainId, verifyingContract };
    permitDigest ??= preparePermits(keccak256, { token, spender: chain.contracts.settlement });
    await work();
    startAttempts = { failures: 0 };
  }

  async function keepTrying(work: () => Promise<void>): Promise<void> {
    const { signal } = stopping;
    const failed = (error: unknown): void => { startAttempts = { failures: startAttempts.failures + 1, lastError: (error as Error).message }; };
    try {
      await pause(RETRY_MS, signal);
      await retrying(() => attempt(work), { backoff: steady(RETRY_MS), signal, canPass: (error) => error instanceof ChainUnavailable, failed });
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      // Only this chain is given up: orders and other chains are not affected.
      report('alert', `chain ${chain.chainId} is not used until the next start: ${startAttempts.lastError}`);
      startAttempts = { ...startAttempts, stopped: startAttempts.lastError };
      stopping.abort();
    }
  }

  return {
    chain, configured, rpc, clientRpc: nodes(() => undefined), report, signal: stopping.signal,
    collateral: () => collateral,
    permitDigest: () => permitDigest,
    startAttempts: () => startAttempts,
    async begin(work) {
      try {
        await attempt(work);
      } catch (error) {
        if (!(error instanceof ChainUnavailable) || error instanceof WrongChain || stopping.signal.aborted) throw error;
        report('warn', `${error.message}; its fills wait until the chain can be reached`);
        startAttempts = { failures: startAttempts.failures + 1, lastError: error.message };
        laterAttempts.push(keepTrying(work));
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(laterAttempts);
    },
  };
}

/** Checks the contracts, and tells what they cannot do. */
async function checkedCollateral(
  { report, ...checking }: Parameters<typeof checkContracts>[0] & { readonly report: Report }, compare: typeof checkContracts,
): Promise<Collateral> {
  const { collateral, shortcomings } = await compare(checking);
  for (const each of shortcomings) report('warn', each);
  return collateral;
}
