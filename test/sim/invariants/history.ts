/** What the log must be after every step: one engine's outcomes and digests, facts as the final chain has them, holdings as on the chain. */
import { createReferenceEngine } from '../../reference/engine.js';
import { createEngine } from '../../../engine/run/engine.js';
import { decodeCommand, decodeOutcome, formatDigest, type CommandOutcome } from '../../../engine/records/codec.js';
import type { Command } from '../../../engine/records/commands.js';
import type { Event } from '../../../engine/records/events.js';
import { viewOf, type EngineView } from '../../../engine/run/view.js';
import type { Running } from '../world/exchange.js';
import type { WorldParts } from '../world/parts.js';
import type { Broken } from './names.js';
import { watchPrices, type PricesWatch } from './prices.js';
import { RelaysWatch, type RelayCounts } from './relays.js';
import type { SimChain } from '../chain/chain.js';
import { CHAIN, NOBODY, add, type SimMarket } from '../chain/contracts.js';
import { FIRST_COLLATERAL, TRADERS } from '../story/traders.js';

export interface HistoryCounts {
  /** Of fills. */
  readonly matched: number;
  readonly settled: number;
  readonly failed: number;
  readonly commands: number;
  readonly quick: ReturnType<PricesWatch['counts']>;
  readonly relays: RelayCounts;
}

export interface HistoryWatch {
  /** Looks at what the log has since the last look. */
  look(): void;
  /** Whether a replica's digest is the history's. */
  checkReplica(run: Running): void;
  /** A role has got this time, when its clock had been in doubt for so long; 0: it is trusted. */
  stamped(atMs: number, doubtedForMs: number): void;
  outcome(position: number): CommandOutcome | undefined;
  /** The digest up to and with a position. */
  digest(position: number): string | undefined;
  readonly announced: ReadonlySet<string>;
  /** The hashes of all orders that were ever accepted. */
  readonly accepted: ReadonlySet<string>;
  /** The numbers of orders whose cancel was answered. */
  readonly cancelledByClients: Set<number>;
  readonly view: EngineView;
  readonly quick: PricesWatch;
  readonly relays: RelaysWatch;
  /** Fills that were matched and have not ended. */
  unended(): readonly number[];
  /** How many fills were matched, settled and failed; how many commands there were. */
  counts(): HistoryCounts;
}

export function watchHistory({ store, chain, outbox, markets, prices, strikes }: WorldParts, broken: Broken): HistoryWatch {
  const engine = createEngine();
  const view = viewOf(engine);
  const outcomes: CommandOutcome[] = [];
  const digests: string[] = [];
  const [announced, accepted] = [new Set<string>(), new Set<string>()];
  const [cancelledByClients, ids] = [new Set<number>(), new Set<string>()];
  const judge = createJudge(store, broken);
  const doubted = createStamps();
  const ledger = createLedger({ chain, markets, broken });
  const quick = watchPrices({ prices, strikes, broken });
  const relays = new RelaysWatch({ chain, outbox }, broken);
  const checked = new WeakMap<Running, number>();
  let recorded = 0;

  function takeCommand(data: Uint8Array, id: string): void {
    const command = decodeCommand(data);
    const isSubmission = command.kind === 'PlaceOrder' || (command.kind === 'CancelOrder' && command.fact === undefined);
    if (isSubmission && ids.has(id)) broken('nothing is appended twice', `command ${outcomes.length} has the id of an earlier one: ${command.kind} ${command.orderHash}`);
    ids.add(id);
    checkFact(command, chain, broken);
    if (command.kind === 'SubmitSettlement' || command.kind === 'SubmitRelay') announced.add(command.txHash);
    if ((command.kind === 'AdvanceClock' || command.kind === 'RecordPrice') && doubted.has(command.at)) {
      broken('no command is stamped while the clock is in doubt', `${command.kind} at ${command.at}`);
    }
    const { outcome, digest } = engine.step(data, command);
    outcomes.push(outcome);
    digests.push(digest);
    for (const event of outcome.events) {
      if (event.type === 'OrderAccepted') accepted.add(event.orderHash);
      if (event.type === 'FillMatched') {
        const of = [event.makerNumber, event.takerNumber].find((number) => cancelledByClients.has(number));
        if (of !== undefined) broken('a cancelled order is not filled', `order ${of} in fill ${event.fill}`);
      }
      ledger.take(event);
      quick.take(event, view.time);
      relays.take(event);
    }
  }

  return {
    announced, accepted, cancelledByClients, view, quick, relays,
    look() {
      const { commands, outcomes: written } = store.records;
      while (outcomes.length < commands.length) {
        const record = commands[outcomes.length];
        if (record !== undefined) takeCommand(record.data, record.id);
      }
      if (written.length > commands.length) broken('outcomes follow commands', `${written.length} outcomes of ${commands.length} commands`);
      for (; recorded < written.length; recorded++) {
        const { digest } = decodeOutcome(written[recorded]?.data ?? new Uint8Array());
        if (digest !== digests[recorded]) broken('one digest', `outcome ${recorded} was recorded with digest ${digest}, and is ${digests[recorded]}`);
      }
      // What else is broken tells more.
      judge(digests);
    },
    checkReplica(run) {
      const { process, replica, special: { alter } } = run;
      if (replica === undefined || alter !== undefined || replica.view.position === (checked.get(run) ?? 0)) return;
      const { position, digest } = replica.view;
      checked.set(run, position);
      if (formatDigest(digest) !== digests[position - 1]) broken('one digest', `${process.name} has another at position ${position}`);
    },
    stamped: doubted.stamped,
    outcome: (position) => outcomes[position],
    digest: (position) => digests[position],
    unended: () => ledger.unended(),
    counts: () => ({ ...ledger.counts(), commands: outcomes.length, quick: quick.counts(), relays: relays.counts() }),
  };
}

/** The second engine, which decides every recorded command, too. */
function createJudge({ records }: WorldParts['store'], broken: Broken): (digests: readonly string[]) => void {
  const reference = createReferenceEngine();
  let judged = 0;
  return (digests) => {
    for (; judged < digests.length; judged++) {
      const data = records.commands[judged]?.data ?? new Uint8Array();
      const { text, digest } = reference.step(decodeCommand(data), data);
      if (digest !== digests[judged]) broken('two engines agree', `command ${judged}: the second one says ${text}`);
    }
  };
}

/** What is in doubt for less may have been trusted when the time's command was decided on. */
const DOUBTED_MS = 3_000;

/** The times that roles got while their clocks were in doubt, and no role while its clock was trusted. */
function createStamps() {
  const [doubted, trusted] = [new Set<number>(), new Set<number>()];
  return {
    stamped(atMs: number, doubtedForMs: number): void { (doubtedForMs < DOUBTED_MS ? trusted : doubted).add(atMs); },
    has: (atMs: number): boolean => doubted.has(atMs) && !trusted.has(atMs),
  };
}

/** A fact in the history is an event of a block that is final. */
function checkFact(command: Command, { blocks, head }: SimChain, broken: Broken): void {
  if (!('fact' in command) || command.fact === undefined) return;
  const { block, logIndex } = command.fact;
  const log = blocks[block]?.logs[logIndex];
  if (log === undefined) broken('facts are on the chain', `${command.kind} of block ${block}, event ${logIndex}`);
  if (block > head.number - CHAIN.confirmations) broken('facts are final', `${command.kind} of block ${block} while the head is ${head.number}`);
  if ('txHash' in command && command.txHash !== log.txHash) broken('facts are on the chain', `${command.kind} of block ${block} names another transaction`);
}

/** Holdings by the history alone, compared with the chain whenever a block is recorded as a whole. */
function createLedger({ chain, markets, broken }: { chain: SimChain; markets: ReadonlyMap<string, SimMarket>; broken: Broken }) {
  const shares = new Map<string, bigint>();
  const paid = new Map<string, bigint>();
  const sets = createSets();
  const open = new Set<number>();
  const counts = { matched: 0, settled: 0, failed: 0 };

  function end(event: Extract<Event, { type: 'FillSettled' | 'FillFailed' }>): void {
    if (!open.delete(event.fill)) broken('nothing is settled twice', `fill ${event.fill}: ${event.type}`);
  }

  function compare(number: number): void {
    const state = chain.blocks[number]?.state;
    if (state === undefined) return broken('positions equal the chain', `block ${number} is not there`);
    for (const { address } of TRADERS) {
      for (const { marketId, tokens } of [...markets.values(), ...state.quick.values()]) {
        for (const [outcome, token] of tokens.entries()) {
          const [known, has] = [shares.get(`${address} ${marketId} ${outcome}`) ?? 0n, state.shares.get(`${address} ${token}`) ?? 0n];
          if (known !== has) broken('positions equal the chain', `block ${number}: ${address} has ${has} of ${outcome} of ${marketId}, the history says ${known}`);
        }
      }
      const has = (state.collateral.get(address) ?? 0n) + (state.spent.get(address) ?? 0n);
      const known = FIRST_COLLATERAL + (paid.get(address) ?? 0n) + sets.paidTo(address);
      if (known !== has) broken('positions equal the chain', `block ${number}: ${address} has ${has} of the collateral, the history says ${known}`);
    }
  }

  return {
    take(event: Event): void {
      switch (event.type) {
        case 'FillMatched':
          counts.matched += 1;
          open.add(event.fill);
          break;
        case 'FillFailed':
          counts.failed += 1;
          end(event);
          break;
        case 'FillSettled': {
          const { marketId, outcome, buyer, seller, size, cost } = event;
          counts.settled += 1;
          end(event);
          add(shares, `${buyer} ${marketId} ${outcome}`, BigInt(size));
          add(shares, `${seller} ${marketId} ${outcome}`, -BigInt(size));
          add(paid, buyer, -BigInt(cost));
          add(paid, seller, BigInt(cost));
          break;
        }
        case 'SharesTransferred': {
          const { marketId, outcome, from, to, amount } = event;
          sets.move(event);
          if (from !== NOBODY) add(shares, `${from} ${marketId} ${outcome}`, -BigInt(amount));
          if (to !== NOBODY) add(shares, `${to} ${marketId} ${outcome}`, BigInt(amount));
          break;
        }
        case 'PositionRedeemed': sets.redeem(event); break;
        case 'ChainAdvanced': compare(event.block); break;
        default:
      }
    },
    unended: () => [...open],
    counts: () => counts,
  };
}

/** What complete sets and redemptions have paid by the history: shares come into being for collateral, and become collateral again. */
function createSets() {
  /** In halves of a unit: a share of one outcome is half a set. */
  const halves = new Map<string, bigint>();
  /** A redemption's shares are told of first, and what they were worth afterwards. */
  const burnt = new Map<string, bigint>();
  return {
    move({ marketId, from, to, amount, txHash }: Extract<Event, { type: 'SharesTransferred' }>): void {
      if (from === NOBODY) add(halves, to, -BigInt(amount));
      if (to !== NOBODY) return;
      add(halves, from, BigInt(amount));
      add(burnt, `${txHash} ${from} ${marketId}`, BigInt(amount));
    },
    redeem({ marketId, user, payout, txHash }: Extract<Event, { type: 'PositionRedeemed' }>): void {
      const key = `${txHash} ${user} ${marketId}`;
      add(halves, user, 2n * BigInt(payout) - (burnt.get(key) ?? 0n));
      burnt.delete(key);
    },
    paidTo: (address: string): bigint => (halves.get(address) ?? 0n) / 2n,
  };
}
