/** What outlives every process: the log's records, the outbox's database, the chain; and what all processes share as pure functions. */
import { computeAddress, hexlify, keccak256 as hashOfEthers } from 'ethers';
import {
  createKeccak256, prepareDomain, type Keccak256, type PreparedDomain,
} from '../../../command/signing/typed-data.js';
import { createSignerRecovery, type SignerRecovery } from '../../../command/signing/recover.js';
import { createLane } from '../../../command/lane/lane.js';
import { createMemoryStore, type MemoryStore } from '../../../engine/log/memory/memory-log.js';
import { SimChain, type SimBlock } from '../chain/chain.js';
import { createBatchReader, ORDER_DOMAIN, type BatchReader, type SimMarket } from '../chain/contracts.js';
import { NODE_URLS } from '../chain/node.js';
import type { Endowment } from '../chain/quick-contracts.js';
import { createMessageTools, type MessageTools } from '../chain/token-contract.js';
import type { PriceWorld } from '../prices/price-world.js';
import { createDatabase, type Database } from '../../harness/memory/database.js';
import { createIntakeTables, type IntakeTables } from '../../harness/memory/intake.js';
import { createOutboxTables, memoryOutbox, type OutboxTables } from '../../harness/memory/outbox.js';
import { goodWeather, type Strikes, type Trace, type Weather } from './weather.js';
import type { SimProcess } from './process.js';
import { createReadModels, type ReadModels } from './read-models.js';
import type { VirtualTime } from './time.js';

/** Compiled WebAssembly and the like: made once per program, in real time. */
export interface Tools {
  readonly keccak256: Keccak256;
  readonly recovery: SignerRecovery;
  readonly domain: PreparedDomain;
  /** That of another settlement contract, for which no order of the history is signed. */
  readonly otherDomain: PreparedDomain;
  readonly batches: BatchReader;
  readonly messages: MessageTools;
}

/** The service's keys, which are nobody's, and their addresses. */
export const KEYS = {
  operator: keyOf('5e'), relayer: keyOf('3b'), quick: keyOf('9a'),
} as const;

function keyOf(byte: string): { readonly privateKey: string; readonly address: string } {
  const privateKey = `0x${byte.repeat(32)}`;
  return { privateKey, address: computeAddress(privateKey).toLowerCase() };
}

export async function prepareTools(): Promise<Tools> {
  const keccak256 = await createKeccak256();
  // Ethers hashes in JavaScript, several times as slowly.
  hashOfEthers.register((data) => hexlify(keccak256(data)));
  const recovery = await createSignerRecovery(keccak256);
  const tools = {
    keccak256, recovery, domain: prepareDomain(keccak256, ORDER_DOMAIN),
    otherDomain: prepareDomain(keccak256, { ...ORDER_DOMAIN, verifyingContract: KEYS.operator.address }),
    batches: createBatchReader({ keccak256, recovery }), messages: createMessageTools({ keccak256, recovery }),
  };
  await warmUp();
  return tools;
}

/** A lane compiles its hash function at its start: the first time takes real time. */
async function warmUp(): Promise<void> {
  const stopped = AbortSignal.abort();
  const database = createDatabase();
  const outbox = memoryOutbox({ database, tables: createOutboxTables(), carry: async (_, work) => work(), now: () => 0 });
  const lane = await createLane({
    chain: { chainId: 1, confirmations: 0 }, rpc: { chainId: 1, request: () => Promise.reject(new Error('none')) }, key: 'none', privateKey: KEYS.operator.privateKey,
    outbox, announce: () => Promise.resolve(), now: () => 0, report: () => undefined, signal: stopped,
  });
  await lane.done;
}

export interface WorldParts {
  readonly tools: Tools;
  readonly time: VirtualTime;
  readonly trace: Trace;
  readonly strikes: Strikes;
  readonly weather: Weather;
  readonly store: MemoryStore;
  readonly database: Database;
  readonly outbox: OutboxTables;
  readonly intake: IntakeTables;
  readonly chain: SimChain;
  readonly markets: ReadonlyMap<string, SimMarket>;
  readonly prices: PriceWorld;
  /** Whether traders relay and propose resolutions in this world. */
  readonly relays: boolean;
  readonly readModels: ReadModels;
  /** Requests to indexers to look at the chain now. */
  readonly advance: Set<{ readonly process: SimProcess; readonly listener: (chainId: number) => void }>;
  /** What watches the world; set once it is made. */
  readonly watch: {
    broadcast(raw: string): void;
    mined(block: SimBlock): void;
    anchored(position: number, digest: string): void;
    resolved(marketId: string, outcome: number): void;
    /** A role got this time to stamp commands with, when its clock had been in doubt for so many milliseconds; 0: it is trusted. */
    stamped(atMs: number, doubtedForMs: number): void;
    /** A process whose clock is in doubt has taken a request. */
    takenInDoubt(process: string, what: string): void;
    /** A process whose settings are another exchange's asks a lane for transactions. */
    askedByForeign(process: string): void;
    /** What a process tells its operator. */
    reported(process: string, text: string): void;
  };
}

export function createWorldParts(
  { endowment, ...given }: Pick<WorldParts, 'tools' | 'time' | 'trace' | 'strikes' | 'markets' | 'prices' | 'relays'> & { readonly endowment: Endowment },
): WorldParts {
  const { tools, time, strikes, markets } = given;
  const nothing = (): void => undefined;
  const watch: WorldParts['watch'] = {
    broadcast: nothing, mined: nothing, anchored: nothing, resolved: nothing, reported: nothing, stamped: nothing, takenInDoubt: nothing,
    askedByForeign: nothing,
  };
  const weather = goodWeather(NODE_URLS.length);
  const database = createDatabase();
  database.losesWakeUp = () => {
    if (weather.losesWakeUps <= 0) return false;
    weather.losesWakeUps -= 1;
    strikes.struck('wake-up lost');
    return true;
  };
  const chain = new SimChain({
    time, recovery: tools.recovery, batches: tools.batches, messages: tools.messages, markets, endowment, events: {
      fillFailed: (reason) => { strikes.struck('fill refused', reason); },
      stopped: (seq) => { strikes.struck('batch stopped', `at fill ${seq}`); },
      reverted: (txHash) => { strikes.struck('transaction reverted', txHash.slice(0, 10)); },
      anchored: (position, digest) => { watch.anchored(position, digest); },
      mined: (block) => { watch.mined(block); },
      resolved: (marketId, outcome) => { watch.resolved(marketId, outcome); },
    },
  });
  const store = createMemoryStore();
  return {
    ...given, store, readModels: createReadModels({ store, time, strikes }), weather, database, chain, watch,
    outbox: createOutboxTables(), intake: createIntakeTables(),
    advance: new Set(),
  };
}
