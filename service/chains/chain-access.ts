/** A chain as the roles of one process share it: its nodes, the check of its contracts, and what to do while it cannot be reached. */
import type { Chain, Rpc } from '../../command/chain/chain.js';
import { ChainUnavailable } from '../../command/chain/chain.js';
import { createRpc } from '../../command/chain/rpc.js';
import type { Report } from '../../command/chain/report.js';
import type { Keccak256 } from '../../command/signing/keccak.js';
import { preparePermits, type PermitFields } from '../../command/signing/typed-data.js';
import { pause } from '../../engine/waiting.js';
import { checkContracts, type Collateral } from './chain-check.js';
import type { ConfiguredChain } from './configured-chain.js';

export interface ChainAccess {
  readonly chain: Chain;
  readonly configured: ConfiguredChain;
  /** The nodes as the workers use them. */
  readonly rpc: Rpc;
  /** The same nodes for clients' reads, which may exhaust them without the workers' noticing. */
  readonly clientRpc: Rpc;
  readonly report: Report;
  /** Aborts when the process stops, and when the chain is given up. */
  readonly signal: AbortSignal;
  /** Undefined until the stablecoin has been read. */
  collateral(): Collateral | undefined;
  /** The digest of permits to the settlement contract; undefined until the stablecoin has been read. */
  permitDigest(): ((permit: PermitFields) => Uint8Array) | undefined;
  /**
   * Checks the contracts, then does the work. Resolves when that is done, or at once, with a warning, when the chain cannot be reached:
   * both are then tried again until they succeed. Throws when the contracts are not those of the settings, and what the work throws; when
   * that turns out only later, the chain is given up with an alarm, and everything else goes on.
   */
  begin(work: () => Promise<void>): Promise<void>;
  beginning(): Beginning;
  stop(): Promise<void>;
}

/** What came of the tries to begin with a chain. */
export interface Beginning {
  /** In a row, and the last one's reason. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** Why there are no further tries. */
  readonly stopped?: string | undefined;
}

/** Between two tries to reach a chain that could not be reached at the start. */
const RETRY_MS = 2_000;

export function openChain(configured: ConfiguredChain, { keccak256, report }: { keccak256: Keccak256; report: Report }): ChainAccess {
  const { chain, rpcUrls, requestTimeoutMs } = configured;
  const stopping = new AbortController();
  const nodes = (told: Report): Rpc => createRpc({
    chainId: chain.chainId, urls: rpcUrls, now: () => Math.round(performance.now()), report: told, signal: stopping.signal,
    ...requestTimeoutMs === undefined ? {} : { timeoutMs: requestTimeoutMs },
  });
  const rpc = nodes(report);
  const retrying: Promise<void>[] = [];
  let beginning: Beginning = { failures: 0 };
  let checked: Promise<Collateral> | undefined;
  let collateral: Collateral | undefined;
  let permitDigest: ReturnType<ChainAccess['permitDigest']>;

  /** Once for all roles of the process. A failed check is made again. */
  function check(): Promise<Collateral> {
    checked ??= checkContracts({ chain, rpc }).then((found) => found.collateral);
    checked.catch(() => { checked = undefined; });
    return checked;
  }

  async function attempt(work: () => Promise<void>): Promise<void> {
    collateral = await check();
    const { name, version, address: verifyingContract } = collateral;
    const token = { name, version, chainId: chain.chainId, verifyingContract };
    permitDigest ??= preparePermits(keccak256, { token, spender: chain.contracts.settlement });
    await work();
    beginning = { failures: 0 };
  }

  async function keepTrying(work: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      await pause(RETRY_MS, stopping.signal);
      try {
        if (!stopping.signal.aborted) await attempt(work);
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        const { message: lastError } = error as Error;
        beginning = { failures: beginning.failures + 1, lastError };
        if (error instanceof ChainUnavailable) continue;
        // The other chains and the orders have nothing to do with it.
        report('alarm', `chain ${chain.chainId} is given up until the next start: ${lastError}`);
        beginning = { ...beginning, stopped: lastError };
        stopping.abort();
      }
    }
  }

  return {
    chain, configured, rpc, clientRpc: nodes(() => undefined), report, signal: stopping.signal,
    collateral: () => collateral,
    permitDigest: () => permitDigest,
    beginning: () => beginning,
    async begin(work) {
      try {
        await attempt(work);
      } catch (error) {
        if (!(error instanceof ChainUnavailable) || stopping.signal.aborted) throw error;
        report('trouble', `${error.message}; fills wait until it can be reached`);
        beginning = { failures: beginning.failures + 1, lastError: error.message };
        retrying.push(keepTrying(work));
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(retrying);
    },
  };
}
