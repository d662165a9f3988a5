/** What each kind of event does to the world. */
import { decodeCommand } from '../../../engine/records/codec.js';
import { encodeCommand } from '../../../engine/run/new-record.js';
import type { Log } from '../../../engine/log/log.js';
import { QUICK_INTERVAL_S, type SourceState } from '../prices/price-world.js';
import { loseLastCommits } from '../../harness/memory/intake.js';
import { proposeActs } from '../relays/propose-acts.js';
import { relayActs } from '../relays/relay-acts.js';
import { PROCESSES } from '../world/exchange.js';
import type { Special } from '../world/ports.js';
import { START_MS } from '../world/time.js';
import type { LogFate } from '../world/weather.js';
import type { StoryEvent, StoryEventKind } from './story-events.js';
import { newOrder } from './new-order.js';
import { requestActs } from './requests.js';
import { diceOf, later, type Act, type Dice, type Scene } from './scene.js';
import { MARKETS, TRADERS, cancelAllOnChain, cancelOnChain, resolve, spend, transfer } from './traders.js';

export function carryOut({ kind, seed }: StoryEvent, scene: Scene): void {
  scene.parts.trace.note(`* ${kind}`);
  ACTS[kind](scene, diceOf(seed), seed);
}

const LOG_FATES: readonly LogFate[] = ['request lost', 'reply lost', 'duplicated', 'delayed'];
const STATEMENTS = ['ask', 'changes', 'record', 'markOver', 'markBroadcast', 'forget', 'load', 'write intake', 'load intake', 'waiting', undefined] as const;
const anyNode = ({ parts }: Scene, dice: Dice) => dice.pick(parts.weather.nodes);
const anySource = ({ parts }: Scene, dice: Dice) => dice.pick(Object.values(parts.prices.sources));

/** From a second on, since a price of its beginning may have been told. */
function spanFrom(scene: Scene, ms: number): { fromMs: number; toMs: number } {
  const fromMs = 1_000 * Math.ceil((START_MS + later(scene, 1_000)) / 1_000);
  return { fromMs, toMs: fromMs + ms };
}

function silence(scene: Scene, { silent }: SourceState, ms: number): void {
  silent.push(spanFrom(scene, ms));
  scene.parts.strikes.struck('price source silent');
}

const ACTS: Readonly<Record<StoryEventKind, Act>> = {
  'order': (scene, dice, seed) => { scene.clients.place(newOrder(scene, dice), seed); },
  'order twice': (scene, dice, seed) => { scene.clients.placeTwice(newOrder(scene, dice), seed); },
  'order again': ({ orders, clients }, dice, seed) => { if (orders.length > 0) clients.place(dice.pick(orders.slice(-8)), seed); },
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
  // Of both processes, since one of two stands by.
  'settings of another exchange'({ exchange, parts: { tools } }) { for (const name of ['back-0', 'back-1'] as const) exchange.crash(name, { domain: tools.otherDomain }); },
  'log outage': (scene, dice) => { scene.parts.weather.logAwayUntilMs = later(scene, dice.ms(500, dice.below(3) === 0 ? 20_000 : 4_000)); },
  'log fate': ({ parts: { weather } }, dice) => { for (let n = dice.below(3); n >= 0; n--) weather.logFates.push(dice.pick(LOG_FATES)); },
  'disk full': (scene, dice) => { scene.parts.weather.diskFullUntilMs = later(scene, dice.ms(500, 8_000)); },
  'slow readers': (scene, dice) => { scene.parts.weather.readersDelayedUntilMs = later(scene, dice.ms(500, 6_000)); },
  'node away': (scene, dice) => { anyNode(scene, dice).awayUntilMs = later(scene, dice.ms(1_000, 12_000)); },
  'all nodes away': (scene, dice) => { for (const node of scene.parts.weather.nodes) node.awayUntilMs = later(scene, dice.ms(1_000, 8_000)); },
  'node loses requests': (scene, dice) => { anyNode(scene, dice).losesRequests += 1 + dice.below(3); },
  'node loses replies': (scene, dice) => { anyNode(scene, dice).losesReplies += 1 + dice.below(3); },
  'node lags': (scene, dice) => { Object.assign(anyNode(scene, dice), { lagBlocks: 1 + dice.below(4), lagUntilMs: later(scene, dice.ms(1_000, 10_000)) }); },
  'node counts wrongly'(scene, dice) {
    const node = anyNode(scene, dice);
    const [by, countsUntilMs] = [dice.pick([-2, -1, 1, 2, 5]), later(scene, dice.ms(1_000, 8_000))];
    // What two nodes say is believed, and what they leave out is filled later: never do two of them count too many at once.
    const isAlone = scene.parts.weather.nodes.every((other) => other === node || other.countsBy <= 0 || other.countsUntilMs <= later(scene, 0));
    Object.assign(node, { countsBy: isAlone ? by : -Math.abs(by), countsUntilMs });
  },
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
  'price source away': (scene, dice) => { anySource(scene, dice).awayUntilMs = later(scene, dice.ms(1_000, 25_000)); },
  'prices late': (scene, dice) => { anySource(scene, dice).lateUntilMs = later(scene, dice.ms(2_000, 15_000)); },
  'absurd prices': (scene, dice) => { anySource(scene, dice).absurd.push(spanFrom(scene, dice.ms(1_000, 6_000))); },
  'price source silent': (scene, dice) => { silence(scene, anySource(scene, dice), dice.ms(1_000, 12_000)); },
  'no prices over a boundary'(scene, dice) {
    const boundaryMs = QUICK_INTERVAL_S * 1_000 * Math.ceil(later(scene, 0) / (QUICK_INTERVAL_S * 1_000));
    for (const source of Object.values(scene.parts.prices.sources)) silence(scene, source, boundaryMs - later(scene, 0) + dice.ms(6_000, 20_000));
  },
  ...relayActs, ...proposeActs, ...requestActs,
  'lose wake-ups': ({ parts: { weather } }, dice) => { weather.losesWakeUps += 1 + dice.below(4); },
};

/** A log that gives one command with another time than it has: an engine that reads it computes another history. */
function differingAt(position: number): Special {
  const alter = (log: Log): Log => ({
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
  return { alter };
}
