/** The ports of a simulated process: what its roles take, in memory, over the simulated network and on virtual time. */
import { setMaxListeners } from 'node:events';
import { openChain, type ChainAccess } from '../../../command/chain/chain-access.js';
import type { CheckedContracts } from '../../../command/chain/chain-check.js';
import type { Chain, Rpc } from '../../../command/chain/chain.js';
import type { ConfiguredChain } from '../../../command/chain/configured-chain.js';
import { KEEPER_RULES } from '../../../command/keeper/keeper.js';
import type { PreparedDomain } from '../../../command/signing/typed-data.js';
import type { Log } from '../../../engine/log/log.js';
import { recordId } from '../../../engine/run/new-record.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Report } from '../../../engine/report.js';
import { startReplica } from '../../../engine/run/replica.js';
import { startClock, type ProcessClock } from '../../../service/machine/clock.js';
import type { Clock } from '../../../engine/running-role.js';
import { portsOf, type RolePorts } from '../../harness/ports.js';
import { memoryStores } from '../../harness/stores.js';
import { CHAIN } from '../chain/contracts.js';
import { fetchFor, NODE_URLS } from '../chain/node.js';
import { createSimSource, ASSET, QUICK_INTERVAL_S, QUICK_UNTIL_MS, SOURCES } from '../prices/price-world.js';
import { openLogHandle } from './log-handle.js';
import { carryFor } from './carry.js';
import { KEYS, type WorldParts } from './parts.js';
import type { SimProcess } from './process.js';
import { START_MS } from './time.js';

/** What is special about one start of a process. */
export interface Special {
  /** How its log is altered, so that its engine differs. */
  readonly alter?: (log: Log) => Log;
  /** Another signing domain of orders than the history's: a mistake in its settings. */
  readonly domain?: PreparedDomain;
}

export interface OpenOptions extends Special {
  readonly process: SimProcess;
  /** Counts the starts of all processes. */
  readonly start: number;
  /** Whether its replica records outcomes. */
  readonly records: boolean;
  /** Called with an error with which the process must end. */
  readonly fail: (error: unknown) => void;
}

/** Others may settle a proposal first for so long. */
export const KEEPER_GRACE_S = 4;
const [MAX_JUMP_MS, ACCEPT_AFTER_MS, LOOK_MS] = [5_000, 60_000, 1_000];

/** Resolves when the process's replica has caught up with the history. */
export async function openPorts(parts: WorldParts, options: OpenOptions): Promise<RolePorts> {
  const { process, start, alter = (log) => log, records, domain = parts.tools.domain, fail } = options;
  const { store, tools, database, readModels, time } = parts;
  const writerId = `${process.name}:${start}`;
  const log = alter(openLogHandle(store, process, parts));
  const signal = signalOf(process);
  const report = reportFor(process, parts);
  const processClock = await clockOf(process, parts, signal);
  const clock = watched(processClock, parts);
  const replica = await startReplica({ log, signal, ...records ? { record: { writerId } } : {} });
  processClock.compareWith(replica.view);
  replica.done.catch(fail);
  await replica.caughtUp;
  const carry = carryFor(process, parts);
  // The server misses a process some time after its end; what the process had sent is still carried out.
  process.atEnd(() => { time.after(400 + 2_500 * time.random(), () => { database.endOf(carry); }); });
  const stores = { carry, now: () => START_MS + time.now() };
  const foreign = memoryStores(parts, { ...stores, asked: () => { parts.watch.askedByForeign(process.name); } });
  const own = memoryStores(parts, stores);
  let requests = 0;
  return portsOf({
    ...own, log, writerId, replica, clock, report, logLength: () => store.records.commands.length,
    chains: new Map([[CHAIN.chainId, chainOf(process, parts, report)]]), domains: new Map([[CHAIN.chainId, domain]]),
    ...advanceOf(process, parts), keccak256: tools.keccak256, recovery: tools.recovery,
    laneUser: (whose) => (options.domain !== undefined && whose.purpose === 'settlement' ? foreign : own).laneUser(whose),
    policy: { bumpAfterBlocks: 3, bumpAfterMs: 5_000, rebroadcastMs: 8_000, lostAfterMs: 20_000, gapAfterMs: 20_000, maxInFlight: 6 },
    newId: () => recordId(`request:${writerId}:${requests++}`),
    reads: {
      order: (orderHash) => process.request(() => readModels.order(orderHash)),
      marketId: (market) => process.request(() => readModels.marketId(market)),
      position: (of) => process.request(() => readModels.position(of)),
      waitForPosition: (position, patience) => process.request(() => readModels.waitForPosition(position, patience)),
    },
    endedRelays: {
      ended: (requestId) => process.request(() => readModels.ended(requestId)),
      caughtUp: (position) => process.request(() => readModels.caughtUp(position)),
    },
    keeperRules: { ...KEEPER_RULES, graceS: KEEPER_GRACE_S, againMs: 8_000, backoff: { firstMs: 5_000, longestMs: 20_000 } },
    sources: SOURCES.map((name) => createSimSource(name, process, parts)), assets: [ASSET],
    schedule: { get assets() { return time.now() < QUICK_UNTIL_MS ? [ASSET] : []; }, intervalS: QUICK_INTERVAL_S, ahead: 1 },
    admit(what) {
      const doubt = what === 'order' ? clock.doubt() : undefined;
      if (doubt !== undefined) throw new RequestError('clock_untrusted', doubt, [], { retryAfterS: 5 });
    },
  });
}

function chainOf(process: SimProcess, parts: WorldParts, report: Report): ChainAccess {
  const { prices, tools } = parts;
  const configured: ConfiguredChain = {
    chain: CHAIN, rpcUrls: NODE_URLS, operatorKey: KEYS.operator.privateKey, pollMs: 1_000, stalledAfterMs: 120_000, requestTimeoutMs: 3_000,
    maxFeePerGas: 40_000_000_000n,
    ...prices.areTraded ? { quickKey: KEYS.quick.privateKey, quick: KEYS.quick.address } : {},
    ...parts.relays ? { relayerKey: KEYS.relayer.privateKey, relayer: KEYS.relayer.address } : {},
  };
  const access = openChain(configured, {
    keccak256: tools.keccak256, report, check: checkContracts,
    fetch: fetchFor(process, { ...parts, broadcast: (raw) => { parts.watch.broadcast(raw); } }),
  });
  setMaxListeners(100, access.signal);
  process.atEnd(() => { void access.stop(); });
  return access;
}

/** The simulated contracts are those of the settings; only a node has to answer. */
async function checkContracts({ chain, rpc }: { readonly chain: Chain; readonly rpc: Rpc }): Promise<CheckedContracts> {
  await rpc.request('eth_blockNumber', []);
  const collateral = { name: 'USD Coin', version: '2', symbol: 'USDC', decimals: 6, address: chain.contracts.collateral };
  return { collateral, shortcomings: [] };
}

/** Aborts when the process ends. */
function signalOf(process: SimProcess): AbortSignal {
  const ending = new AbortController();
  // All that a process runs hears the one signal.
  setMaxListeners(100, ending.signal);
  process.atEnd(() => { ending.abort(new Error('killed')); });
  return ending.signal;
}

function reportFor(process: SimProcess, { trace, watch }: WorldParts): Report {
  return (level, text) => {
    if (!process.alive) return;
    trace.note(`${process.name}: ${level}: ${text}`);
    watch.reported(process.name, text);
  };
}

async function clockOf(
  process: SimProcess, { time, trace, weather }: WorldParts, signal: AbortSignal,
): Promise<ProcessClock> {
  const clock = await startClock({
    clocks: { wall: () => START_MS + time.now() + process.wallAheadMs, monotonic: () => performance.now(), boot: () => performance.now() },
    bounds: { maxJumpMs: MAX_JUMP_MS, acceptAfterMs: ACCEPT_AFTER_MS }, signal,
    report: (_, __, text) => { trace.note(`${process.name}: ${text}`); },
    async ask() {
      const databaseMs = await process.request(() => time.now() < weather.logAwayUntilMs ? undefined : START_MS + time.now());
      return databaseMs === undefined ? undefined : { databaseMs, monotonicMs: performance.now() };
    },
  });
  const timer = setInterval(() => { void clock.look(); }, LOOK_MS);
  process.atEnd(() => { clearInterval(timer); });
  return clock;
}

/** The clock as the roles take it; whoever watches the world hears of each time that it gives, and for how long it has been in doubt. */
function watched(clock: ProcessClock, { time, watch }: WorldParts): Clock {
  let doubtedSinceMs: number | undefined;
  const doubt = (): string | undefined => {
    const text = clock.doubt();
    doubtedSinceMs = text === undefined ? undefined : doubtedSinceMs ?? time.now();
    return text;
  };
  return {
    doubt,
    now() {
      doubt();
      const at = clock.now();
      watch.stamped(at, doubtedSinceMs === undefined ? 0 : time.now() - doubtedSinceMs);
      return at;
    },
    monotonic: () => performance.now(),
  };
}

/** Requests to the indexers of all processes to look at the chain. */
function advanceOf(process: SimProcess, { advance }: WorldParts): Pick<RolePorts, 'askToAdvance' | 'onAskedToAdvance'> {
  return {
    askToAdvance(chainId) {
      for (const { process: to, listener } of advance) void process.request(() => { if (to.alive) listener(chainId); });
    },
    onAskedToAdvance(listener) { advance.add({ process, listener }); },
  };
}
