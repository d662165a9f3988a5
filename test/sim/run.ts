/** One run of the simulation: a story on a new world, invariants after every step, and an end in which everything has to come to rest. */
import { carryOut } from './story/acts.js';
import { createClients } from './story/clients.js';
import { hasRelays, storyOf, type StoryEvent } from './story/story-events.js';
import { beginning, FIRST_SHARES, MARKETS, TRADERS } from './story/traders.js';
import type { Scene } from './story/scene.js';
import { createRelayClients } from './relays/clients.js';
import type { HistoryCounts } from './invariants/history.js';
import { inspect, InvariantBroken, type Inspector } from './invariants/world.js';
import { Exchange, PROCESSES } from './world/exchange.js';
import { createStrikes, createTrace, clearUp, type Fault } from './world/weather.js';
import { createPriceWorld } from './prices/price-world.js';
import { createWorldParts, type Tools, type WorldParts } from './world/parts.js';
import { installVirtualTime } from './world/time.js';

export interface RunOptions {
  readonly tools: Tools;
  readonly seed: number;
  /** The number of events of the seed's story. */
  readonly steps: number;
  /** Another story than the seed's. */
  readonly story?: readonly StoryEvent[];
  readonly print?: (line: string) => void;
}

export interface RunResult {
  readonly seed: number;
  /** What broke; undefined when nothing did. */
  readonly broken: Error | undefined;
  /** Of the whole trace. */
  readonly hash: string;
  readonly latest: readonly string[];
  readonly strikes: ReadonlyMap<Fault, number>;
  readonly virtualMs: number;
  readonly turns: number;
  readonly counts: HistoryCounts;
}

/** The time for everything to come to rest once the faults have stopped. */
const REST_WITHIN_MS = 240_000;

export async function runSeed({ tools, seed, steps, story = storyOf(seed, steps), print }: RunOptions): Promise<RunResult> {
  const time = installVirtualTime(seed);
  const trace = createTrace(() => time.now(), print);
  const strikes = createStrikes((line) => { trace.note(line); });
  const parts = createWorldParts({
    tools, time, trace, strikes, markets: MARKETS, prices: createPriceWorld(seed), relays: hasRelays(seed),
    endowment: { traders: TRADERS.map(({ address }) => address), shares: FIRST_SHARES },
  });
  const exchange = new Exchange(parts);
  const inspector = inspect(parts, exchange);
  let broken: Error | undefined;
  const crashed = (error: unknown): void => { broken ??= error as Error; };
  process.on('unhandledRejection', crashed);
  try {
    await play({ parts, exchange, inspector, story, isBroken: () => broken });
  } catch (error) {
    broken ??= error as Error;
  } finally {
    for (const { process: each } of exchange.running.values()) each.kill();
    process.off('unhandledRejection', crashed);
    time.restore();
  }
  if (broken !== undefined) trace.note(broken.message);
  return {
    seed, broken, hash: trace.hash(), latest: trace.latest(), strikes: strikes.counts(), virtualMs: time.now(), turns: time.turns,
    counts: inspector.history.counts(),
  };
}

async function play({ parts, exchange, inspector, story, isBroken }: {
  parts: WorldParts; exchange: Exchange; inspector: Inspector; story: readonly StoryEvent[]; isBroken: () => Error | undefined;
}): Promise<void> {
  const { time, trace, chain, weather, prices } = parts;
  const clients = createClients(parts, exchange, inspector);
  const relays = createRelayClients(parts, exchange, inspector);
  const scene: Scene = { parts, exchange, clients, relays, orders: [], stalledUntilMs: 0 };
  let ended: Error | undefined;
  exchange.failed = (name, error) => {
    if (MAY_END.test(error.message)) return;
    ended ??= new InvariantBroken('no process ends by itself', `${name}: ${error.stack}`);
  };
  chain.act(beginning);
  for (let i = 0; i < 5; i++) chain.mine();
  mineOn(scene);
  for (const name of PROCESSES) exchange.start(name);
  const stepped = (): void => {
    inspector.look();
    const error = isBroken() ?? ended;
    if (error !== undefined) throw error;
  };
  for (const storyEvent of story) {
    await time.run({ until: () => false, endMs: storyEvent.atMs, stepped });
    carryOut(storyEvent, scene);
  }
  trace.note('* the faults stop');
  clearUp(weather);
  prices.clearUp(time.now());
  parts.readModels.behindUntilMs = 0;
  Object.assign(chain, { reverts: 0, stops: 0, feeFloor: 0n });
  scene.stalledUntilMs = 0;
  for (const { process: each } of exchange.living()) each.wallAheadMs = 0;
  for (const { special, process: each } of exchange.living()) {
    if (special.alter !== undefined || special.domain !== undefined) exchange.crash(each.name as typeof PROCESSES[number]);
  }
  const underWay = (): number => clients.underWay() + relays.underWay();
  const isOver = (): boolean => underWay() === 0 && inspector.unfinished().length === 0;
  let lookedAt = 0;
  await time.run({ endMs: time.now() + REST_WITHIN_MS, stepped, until: () => ++lookedAt % 64 === 0 && isOver() });
  if (!isOver()) throw new InvariantBroken('everything comes to rest', [...inspector.unfinished(), `${underWay()} clients wait`].join('; '));
  inspector.lookAtEnd();
}

/** What a process may end with and be started again: its log was away at the start, or its clock was wrong. */
const MAY_END = /the log cannot be reached|the log did not answer|the clock of this machine is/;
const [BLOCK_LEAST_MS, BLOCK_MOST_MS] = [600, 2_000];

function mineOn(scene: Scene): void {
  const { time, chain } = scene.parts;
  time.after(BLOCK_LEAST_MS + (BLOCK_MOST_MS - BLOCK_LEAST_MS) * time.random(), () => {
    if (time.now() >= scene.stalledUntilMs) chain.mine(1 + time.below(6));
    mineOn(scene);
  });
}
