/** What the projection tests share: a log of chosen outcomes, a worker over it, and the tables that it made. */
import { createHash } from 'node:crypto';
import type { Log, NewRecord } from '../../engine/log/log.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { encodeCommand, encodeOutcome, recordId } from '../../engine/run/new-record.js';
import { outcomeText, type CommandOutcome } from '../../engine/records/codec.js';
import type { Event, RelayRequested } from '../../engine/records/events.js';
import type { MarketOutcome } from '../../engine/records/fields.js';
import { projections as catalogue } from '../../projections/catalogue.js';
import { tableNames, type Projection } from '../../projections/projection.js';
import { runProjections, type ProjectionRun, type RunOptions } from '../../projections/runner.js';
import { createReferenceEngine, type ReferenceEngine } from '../reference/engine.js';
import { appendAll } from './log-records.js';
import { onDatabase } from './sql.js';
import { createRandomCommands, crowd, createDice, traderAddress, txHash } from './random-commands.js';
import { relayActions, withOrderControl } from './random-requests.js';

const NOBODY = `0x${'0'.repeat(40)}`;
/** Ids of transactions and assertions that the commands' own never are. */
const OURS = 0x10000000;

/** The same outcomes, some of them with events of a chain added; positions stay as they are. */
function withChainEvents(outcomes: readonly CommandOutcome[], seed: number): CommandOutcome[] {
  const { below } = createDice(seed);
  const markets: string[] = [];
  const fills: number[] = [];
  let issued = OURS;

  const facts: (() => Event[])[] = [
    () => [{
      type: 'SettlementSubmitted', v: 1, chainId: 1, txHash: txHash(below(4) === 0 ? issued : ++issued),
      fills: [...new Set(Array.from({ length: 1 + below(4) }, () => fills[below(fills.length)] ?? 0))],
    }],
    () => {
      const transfer = { type: 'SharesTransferred', v: 1, marketId: market(), from: user(), to: user(), txHash: txHash(++issued) } as const;
      const amount = below(9) === 0 ? String(2n ** 256n - BigInt(1 + below(9))) : String(below(60));
      const outcomes: readonly MarketOutcome[] = below(2) === 0 ? [0, 1] : [below(2) as MarketOutcome];
      return outcomes.map((outcome) => ({ ...transfer, outcome, amount }));
    },
    () => [{ type: 'PositionSynced', v: 1, marketId: market(), user: traderAddress(below(4)), yesShares: String(below(40)), noShares: String(below(40)) }],
    () => [{ type: 'PositionRedeemed', v: 1, marketId: market(), user: traderAddress(below(4)), payout: String(below(1_000)), txHash: txHash(++issued) }],
    () => [{
      type: 'ResolutionProposed', v: 1, marketId: market(), assertionId: txHash(OURS + below(20)), proposer: traderAddress(below(4)),
      outcome: below(2) as MarketOutcome, bond: String(2n ** 256n - 1n), assertionTime: below(2_000_000_000), expirationTime: below(2_000_000_000),
    }],
    () => [{ type: 'ResolutionDisputed', v: 1, marketId: market(), assertionId: txHash(OURS + below(20)), disputer: traderAddress(below(4)) }],
    () => [{ type: 'ResolutionRejected', v: 1, marketId: market(), assertionId: txHash(OURS + below(20)) }],
    () => [{ type: 'MarketResolved', v: 1, marketId: market(), winningOutcome: below(2) as MarketOutcome }],
    () => [{ type: 'MarketTokenized', v: 1, marketId: market(), yesToken: txHash(1), noToken: txHash(2) }],
    () => [{ type: 'NonceFloorRaised', v: 1, chainId: 1, trader: traderAddress(below(4)), belowNonce: String(below(9)) }],
    () => [{ type: 'ChainAdvanced', v: 1, chainId: 1, block: below(1_000), blockHash: txHash(3) }],
    () => [{ type: 'AnchorPassedOver', v: 1, chainId: 1, txHash: txHash(++issued), position: String(below(1_000)), digest: txHash(4) }],
  ];
  const market = () => markets[below(Math.min(3, markets.length))]!;
  const user = () => below(4) === 0 ? NOBODY : traderAddress(below(4));

  return outcomes.map(({ at, events }) => {
    for (const event of events) {
      if (event.type === 'MarketOpened') markets.unshift(event.marketId);
      else if (event.type === 'FillMatched') fills.push(event.fill);
    }
    const paid = events.some(({ type }) => type === 'PositionRedeemed');
    const added = markets.length === 0 || paid || below(3) > 0 ? [] : facts[below(facts.length)]!();
    return { at, events: [...events, ...added] };
  });
}

const ASSETS = ['BTC', 'ETH'] as const;
const HOUR_MS = 3_600_000;

/** The same outcomes, every market of the kind quick with an asset and an interval, and some with events of prices added. */
function withPriceEvents(outcomes: readonly CommandOutcome[], seed: number): CommandOutcome[] {
  const { below } = createDice(seed ^ 0x9e1c);
  const asset = () => ASSETS[below(2)]!;
  const markets: string[] = [];
  const market = () => markets[below(Math.min(4, markets.length))]!;
  let publishedAt = 1_700_000_000_000;
  const price = () => ({ source: below(2) === 0 ? 'pyth' : 'coinbase', price: below(9) === 0 ? String(2n ** 63n - 1n) : String(1 + below(1e9)) });

  const told: (() => Event)[] = [
    () => {
      publishedAt += below(20) === 0 ? HOUR_MS : below(120_000);
      return { type: 'PriceRecorded', v: 1, asset: asset(), rank: below(3), ...price(), publishedAt: publishedAt - below(4) * 400_000 };
    },
    () => ({ type: 'StrikePriceSet', v: 1, marketId: market(), ...price(), publishedAt }),
    () => ({ type: 'EndPriceSet', v: 1, marketId: market(), ...price(), publishedAt }),
    () => ({ type: 'QuickMarketDecided', v: 1, marketId: market(), winningOutcome: below(2) as MarketOutcome }),
    () => ({ type: 'PriceMissed', v: 1, marketId: market(), boundary: below(2) === 0 ? 'start' : 'end' }),
    () => ({ type: 'MarketHalved', v: 1, marketId: market() }),
  ];
  const quick = (event: Event): Event => {
    if (event.type !== 'MarketOpened') return event;
    markets.unshift(event.marketId);
    if (event.marketKind !== 'quick') return event;
    return { ...event, quick: { asset: asset(), startTime: event.expiration - 900, endTime: event.expiration } };
  };

  return outcomes.map(({ at, events }) => {
    const known = events.map(quick);
    return { at, events: markets.length === 0 || below(3) > 0 ? known : [...known, told[below(2) === 0 ? 0 : below(told.length)]!()] };
  });
}

/** Ids of requests and transactions that nobody else uses. */
const OUR_RELAYS = 0x20000000;

/** The same outcomes, some of them with an event of a relayer added. Its users and markets are those that are paid. */
function withRelayEvents(outcomes: readonly CommandOutcome[], seed: number): CommandOutcome[] {
  const { below } = createDice(seed ^ 0x7e1a);
  const markets: string[] = [];
  const open = new Map<string, RelayRequested>();
  const eventOf = (): Event => {
    const requestId = txHash(OUR_RELAYS + below(30));
    const relay = open.get(requestId);
    if (relay === undefined) {
      const requested: RelayRequested = {
        type: 'RelayRequested', v: 1, requestId, chainId: 1, action: relayActions[below(relayActions.length)]!, owner: traderAddress(below(4)),
        claims: Array.from({ length: below(4) }, () => (
          { marketId: markets[below(Math.min(3, markets.length))]!, payout: String(below(1_000)), winningOutcome: below(2) === 0 ? 0 : 1 })),
      };
      open.set(requestId, requested);
      return requested;
    }
    const hash = txHash(OUR_RELAYS + below(1_000));
    if (below(2) === 0) return { ...relay, type: 'RelaySubmitted', txHash: hash };
    open.delete(requestId);
    const results = Array.from({ length: Math.max(1, below(4)) }, () => (
      { succeeded: below(2) === 0, reason: below(2) === 0 ? null : 'a "reason" with \\ and \u0000' }));
    return { ...relay, type: 'RelayEnded', txHash: below(3) === 0 ? null : hash, results };
  };
  return outcomes.map(({ at, events }) => {
    for (const event of events) if (event.type === 'MarketOpened') markets.unshift(event.marketId);
    return { at, events: markets.length === 0 || below(3) > 0 ? events : [...events, eventOf()] };
  });
}

export type Rows = Record<string, Record<string, unknown>[]>;

/** The rows of a table. */
export function rowsOf(rows: Rows, table: string): Record<string, unknown>[] {
  const found = rows[table];
  if (found === undefined) throw new Error(`there is no table ${table}`);
  return found;
}

/** The bytes of an outcome; its digest covers nothing here, since no projection reads it. */
export function outcomeRecord(outcome: CommandOutcome): NewRecord {
  const digest = `0x${createHash('sha256').update(JSON.stringify(outcome)).digest('hex')}`;
  return { id: recordId(digest), data: encodeOutcome(outcomeText(outcome), digest) };
}

/** A log of these outcomes. */
export async function logOf(outcomes: readonly CommandOutcome[]): Promise<Log> {
  const log = createMemoryLog();
  await appendOutcomes(log, outcomes);
  return log;
}

export async function appendOutcomes(log: Log, outcomes: readonly CommandOutcome[]): Promise<void> {
  await appendAll(log, 'outcomes', outcomes.map(outcomeRecord));
}

/** Outcomes of single events, a second apart from `at` on. */
export function outcomesOf(at: number, ...lists: Event[][]): CommandOutcome[] {
  return lists.map((events, n) => ({ at: at + 1_000 * n, events }));
}

/** What an engine answers to a seeded stream of commands that runs into every corner, and what a chain and a relayer tell besides. */
export function randomOutcomes(seed: number, length: number, engine: ReferenceEngine = createReferenceEngine()): CommandOutcome[] {
  const commands = withOrderControl(createRandomCommands(seed, crowd), seed, 30);
  const outcomes = Array.from({ length }, () => {
    const command = commands.next();
    const { outcome } = engine.step(command, encodeCommand(command));
    commands.learn(outcome);
    return outcome;
  });
  return withPriceEvents(withRelayEvents(withChainEvents(outcomes, seed), seed), seed);
}

/** Runs a worker until it has folded as much as `position`; rejects when it stops by itself. */
export async function projectTo(position: number, options: Omit<RunOptions, 'signal' | 'projections' | 'report'> & Partial<RunOptions>): Promise<void> {
  const stop = new AbortController();
  await new Promise<void>((resolve, reject) => {
    const run = startWorker({ ...options, signal: stop.signal, onProgress: (progress) => {
      options.onProgress?.(progress);
      if (progress.position >= position) stop.abort();
    } });
    run.done.then(resolve, reject);
  });
}

/** A worker over the catalogue, with short waits. */
export function startWorker(options: Omit<RunOptions, 'projections' | 'report'> & Partial<RunOptions>): ProjectionRun {
  return runProjections({ projections: catalogue, backoff: { firstMs: 5, longestMs: 20 }, report: () => undefined, ...options });
}

/** The read models before the first outcome: their tables stay, which takes a tenth of the processor time of making them again. */
export async function forgetOutcomes(url: string): Promise<void> {
  await onDatabase(url, (client) => client.query(`do $$ declare name text; begin
    for name in select tablename from pg_tables where schemaname = 'read_models' and tablename not in ('projection', 'checkpoint') loop
      execute format('delete from read_models.%I', name);
    end loop;
    update read_models.checkpoint set position = 0, at_ms = 0;
  end $$`));
}

/** Every row of the projections' tables, in the order of their text; bytea as hex with 0x, exact numbers as strings. */
export async function readTables(url: string, projections: readonly Projection[] = catalogue, schema = 'read_models'): Promise<Rows> {
  return await onDatabase(url, async (client) => {
    const rows: Rows = {};
    for (const table of ['projection', 'checkpoint', ...projections.flatMap(tableNames)]) {
      const result = await client.query<Record<string, unknown>>(`select * from ${schema}.${table} as t order by t::text collate "C"`);
      rows[table] = result.rows.map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [
        column, Buffer.isBuffer(value) ? `0x${value.toString('hex')}` : value,
      ])));
    }
    return rows;
  });
}
