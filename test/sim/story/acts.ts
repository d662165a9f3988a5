/** What each kind of happening does to the world. */
import { createRandom } from '../../support/random-commands.js';
import { decodeCommand, encodeCommand } from '../../../engine/records/codec.js';
import type { Log } from '../../../engine/log/log.js';
import { BUY, SELL } from '../../../engine/records/fields.js';
import { loseLastCommits } from '../stores/intake.js';
import { PROCESSES, type Alter, type Exchange } from '../world/exchange.js';
import type { WorldParts } from '../world/parts.js';
import { START_MS } from '../world/time.js';
import type { LogFate } from '../world/weather.js';
import type { createClients } from './clients.js';
import type { Happening, HappeningKind } from './happenings.js';
import { MARKETS, TRADERS, cancelAllOnChain, cancelOnChain, resolve, signOrder, spend, transfer, type SignedOrder } from './traders.js';

export interface Scene {
  readonly parts: WorldParts;
  readonly exchange: Exchange;
  readonly clients: ReturnType<typeof createClients>;
  readonly orders: SignedOrder[];
  stalledUntilMs: number;
}

interface Dice {
  below(n: number): number;
  pick<T>(list: readonly T[]): T;
  ms(least: number, most: number): number;
}

function diceOf(seed: number): Dice {
  const random = createRandom(seed);
  return {
    below: (n) => random() % n,
    pick: <T>(list: readonly T[]) => list[random() % list.length] as T,
    ms: (least, most) => least + (most - least) * (random() / 0x1_0000_0000),
  };
}

export function carryOut({ kind, seed }: Happening, scene: Scene): void {
  scene.parts.trace.note(`* ${kind}`);
  ACTS[kind](scene, diceOf(seed), seed);
}

type Act = (scene: Scene, dice: Dice, seed: number) => void;

const LOG_FATES: readonly LogFate[] = ['request lost', 'reply lost', 'duplicated', 'delayed'];
const STATEMENTS = ['ask', 'changes', 'record', 'markOver', 'markBroadcast', 'forget', 'load', 'write intake', 'load intake', 'waiting', undefined] as const;
const anyNode = ({ parts }: Scene, dice: Dice) => dice.pick(parts.weather.nodes);
const later = ({ parts }: Scene, ms: number): number => parts.time.now() + ms;

const ACTS: Readonly<Record<HappeningKind, Act>> = {
  'order': (scene, dice, seed) => { scene.clients.place(newOrder(scene, dice), seed); },
  'order twice': (scene, dice, seed) => { scene.clients.placeTwice(newOrder(scene, dice), seed); },
  'cancel': ({ orders, clients }, dice, seed) => { if (orders.length > 0) clients.cancel(dice.pick(orders.slice(-8)), seed); },
  'transfer': ({ parts }, dice) => {
    const tokens = [...MARKETS.values()].flatMap((market) => market.tokens);
    parts.chain.act(transfer(dice.pick(TRADERS), dice.pick(TRADERS), dice.pick(tokens), BigInt(dice.below(200_000_000))));
  },
  'spend': ({ parts }, dice) => { parts.chain.act(spend(dice.pick(TRADERS), BigInt(1 + dice.below(3)))); },
  'cancel on chain': ({ parts, orders }, dice) => {
    if (orders.length === 0) return;
    const { trader, marketId, hash } = dice.pick(orders);
    parts.chain.act(cancelOnChain(trader, marketId, hash));
  },
  'cancel all on chain': ({ parts, orders }, dice) => { parts.chain.act(cancelAllOnChain(dice.pick(TRADERS), BigInt(1 + dice.below(orders.length + 1)))); },
  'resolve': ({ parts }) => { for (const market of [...MARKETS.values()].slice(1)) parts.chain.act(resolve(market)); },
  'crash'({ exchange, parts: { strikes } }, dice) {
    const name = dice.pick(PROCESSES);
    const underWay = exchange.running.get(name)?.process.underWay ?? 0;
    if (!exchange.crash(name)) return;
    strikes.struck('crash', name);
    if (underWay > 0) strikes.struck('crash in the middle of a request', `${underWay} requests`);
  },
  'engine differs'({ exchange, parts: { store } }, dice) {
    const recorded = store.records.outcomes.length;
    if (recorded > 0) exchange.crash(dice.pick(['front-0', 'front-1']), differingAt(dice.below(recorded)));
  },
  'checker differs'({ exchange, parts: { store } }, dice) {
    exchange.crash(dice.pick(['back-0', 'back-1']), differingAt(store.records.commands.length + dice.below(4)));
  },
  'log outage': (scene, dice) => { scene.parts.weather.logAwayUntilMs = later(scene, dice.ms(500, dice.below(3) === 0 ? 20_000 : 4_000)); },
  'log fate': ({ parts: { weather } }, dice) => { for (let n = dice.below(3); n >= 0; n--) weather.logFates.push(dice.pick(LOG_FATES)); },
  'disk full': (scene, dice) => { scene.parts.weather.diskFullUntilMs = later(scene, dice.ms(500, 8_000)); },
  'slow readers': (scene, dice) => { scene.parts.weather.readersDelayedUntilMs = later(scene, dice.ms(500, 6_000)); },
  'node away': (scene, dice) => { anyNode(scene, dice).awayUntilMs = later(scene, dice.ms(1_000, 12_000)); },
  'all nodes away': (scene, dice) => { for (const node of scene.parts.weather.nodes) node.awayUntilMs = later(scene, dice.ms(1_000, 8_000)); },
  'node loses requests': (scene, dice) => { anyNode(scene, dice).losesRequests += 1 + dice.below(3); },
  'node loses replies': (scene, dice) => { anyNode(scene, dice).losesReplies += 1 + dice.below(3); },
  'node lags': (scene, dice) => { Object.assign(anyNode(scene, dice), { lagBlocks: 1 + dice.below(4), lagUntilMs: later(scene, dice.ms(1_000, 10_000)) }); },
  'node counts wrongly': (scene, dice) => { Object.assign(anyNode(scene, dice), { countsBy: dice.pick([-2, -1, 1, 2, 5]), countsUntilMs: later(scene, dice.ms(1_000, 8_000)) }); },
  'node hides receipts': (scene, dice) => { anyNode(scene, dice).hidesReceiptsUntilMs = later(scene, dice.ms(1_000, 10_000)); },
  'node on stale branch': (scene, dice) => { anyNode(scene, dice).staleUntilMs = later(scene, dice.ms(1_000, 6_000)); },
  'swallow broadcasts': (scene, dice) => { anyNode(scene, dice).swallowsBroadcasts += 1 + dice.below(3); },
  'reorganisation'({ parts: { chain, strikes } }, dice) {
    const drops = dice.below(3);
    const depth = chain.reorganise(1 + dice.below(3), ({ hash }) => {
      if (drops > 0) return false;
      strikes.struck('transaction dropped', hash.slice(0, 10));
      return true;
    });
    if (depth > 0) strikes.struck('reorganisation', `${depth} blocks`);
  },
  'drop transactions'({ parts: { chain, strikes } }) {
    for (const [key, { hash }] of chain.pool) {
      chain.pool.delete(key);
      strikes.struck('transaction dropped', hash.slice(0, 10));
    }
  },
  'revert': ({ parts: { chain } }, dice) => { chain.reverts += 1 + dice.below(2); },
  'stop batch': ({ parts: { chain } }) => { chain.stops += 1; },
  'fees rise': ({ parts: { chain, time, strikes } }, dice) => {
    chain.feeFloor = BigInt(2 + dice.below(6)) * 1_000_000_000n;
    strikes.struck('fees rise', `${chain.feeFloor}`);
    time.after(dice.ms(5_000, 20_000), () => { chain.feeFloor = 0n; });
  },
  'chain stalls': (scene, dice) => {
    scene.stalledUntilMs = later(scene, dice.ms(3_000, 20_000));
    scene.parts.strikes.struck('chain stalls');
  },
  'clock jumps'({ exchange, parts: { time, strikes } }, dice) {
    const run = exchange.running.get(dice.pick(PROCESSES));
    if (run?.process.alive !== true) return;
    run.process.wallAheadMs += dice.pick([-1, 1]) * dice.pick([400, 3_000, 30_000, 3_600_000]);
    strikes.struck('clock jumps', `${run.process.name} by ${run.process.wallAheadMs} ms`);
    time.after(dice.ms(2_000, 20_000), () => { run.process.wallAheadMs = 0; });
  },
  'outbox cut': ({ parts: { weather } }, dice) => { weather.outboxCuts.push({ statement: dice.pick(STATEMENTS), applied: dice.below(2) === 0 }); },
  'cut at fee bump'({ parts: { chain, weather, time } }, dice) {
    weather.outboxCuts.push({ statement: 'recordAttempt', applied: dice.below(2) === 0 });
    chain.feeFloor = 8_000_000_000n;
    time.after(dice.ms(8_000, 20_000), () => { chain.feeFloor = 0n; });
  },
  'outbox restart'({ parts: { database, intake, strikes } }, dice) {
    loseLastCommits(intake, dice.below(4));
    database.restart();
    strikes.struck('outbox restarts');
  },
  'lose wake-ups': ({ parts: { weather } }, dice) => { weather.losesWakeUps += 1 + dice.below(4); },
};

function newOrder({ orders, parts: { tools, time } }: Scene, dice: Dice): SignedOrder {
  const trader = dice.pick(TRADERS);
  const { marketId } = dice.pick([...MARKETS.values()]);
  const order = signOrder(trader, {
    marketId, side: dice.pick([BUY, SELL]), outcome: dice.pick([0, 0, 1] as const), price: 450_000 + 10_000 * dice.below(11),
    size: String(1_000_000 * (1 + dice.below(30))),
    nonce: String(orders.length + 1), expiration: String(Math.floor((START_MS + time.now()) / 1_000) + 90 + dice.below(3_600)),
  }, tools.domain);
  orders.push(order);
  return order;
}

/** A log that gives one command with another time than it has: an engine that reads it computes another history. */
function differingAt(position: number): Alter {
  return (log: Log): Log => ({
    ...log,
    async* follow(stream, from, signal) {
      for await (const batch of log.follow(stream, from, signal)) {
        yield batch.map((record) => {
          if (stream === 'outcomes' || record.position !== position) return record;
          const command = decodeCommand(record.data);
          return { ...record, data: encodeCommand({ ...command, at: command.at + 1 }) };
        });
      }
    },
  });
}
