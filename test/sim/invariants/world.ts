/** What must be true of the world after every step: what clients were told, what the chain holds, what the outbox records. */
import type { SimBlock } from '../chain/chain.js';
import { CHAIN, emptyContracts } from '../chain/contracts.js';
import { beginning, FIRST_SHARES, TRADERS, type SignedOrder } from '../story/traders.js';
import { decodeCommand } from '../../../engine/records/codec.js';
import { ALL_MARKETS } from '../../../engine/records/fields.js';
import type { Relayed } from '../../../command/relayer/relayer.js';
import type { SignedRelay } from '../relays/messages.js';
import type { RelayClientWatch } from '../relays/clients.js';
import type { ClientWatch } from '../story/clients.js';
import type { RequestWatch } from '../story/request-clients.js';
import type { OutboxTables, TransactionRow } from '../../harness/memory/outbox.js';
import type { Exchange } from '../world/exchange.js';
import type { WorldParts } from '../world/parts.js';
import { START_MS } from '../world/time.js';
import type { Broken, Invariant } from './names.js';
import { watchHistory, type HistoryWatch } from './history.js';

/** An invariant does not hold. */
export class InvariantBroken extends Error {
  constructor(readonly invariant: Invariant, detail: string) {
    super(`broken: ${invariant}: ${detail}`);
    this.name = 'InvariantBroken';
  }
}

export interface Inspector extends ClientWatch, RelayClientWatch {
  readonly history: HistoryWatch;
  /** After every step. Throws InvariantBroken. */
  look(): void;
  /** What is not over yet; empty when the service has done everything. */
  unfinished(): string[];
  /** When everything is over. Throws InvariantBroken. */
  lookAtEnd(): void;
}

export function inspect(parts: WorldParts, exchange: Exchange): Inspector {
  let found: InvariantBroken | undefined;
  const broken: Broken = (invariant, detail) => {
    found ??= new InvariantBroken(invariant, detail);
    throw found;
  };
  const history = watchHistory(parts, broken);
  const acknowledged = new Map<string, number>();
  /** Answered as accepted in a batch, which gives no positions. */
  const inBatches = new Set<string>();
  const tries = new Map<string, { order: SignedOrder; perhaps: boolean }>();
  const late = new Set<string>();
  const checkOutbox = outboxCheck(parts, broken);
  const checkAcknowledged = acknowledgedCheck(parts, history, broken);

  watchArriving(parts, history, broken);

  return {
    history,
    accepted: guarded(({ hash }: SignedOrder, position: number) => {
      history.look();
      const before = acknowledged.get(hash);
      if (before !== undefined && before !== position) broken('an order is accepted once', `${hash} at positions ${before} and ${position}`);
      acknowledged.set(hash, position);
      checkAcknowledged(hash, position);
    }),
    refused(order, written, code) {
      if (code === 'too_late') late.add(order.hash);
      const known = tries.get(order.hash);
      tries.set(order.hash, { order, perhaps: written === 'perhaps' || known?.perhaps === true });
    },
    cancelled: guarded(({ hash }: SignedOrder) => {
      history.look();
      const order = history.view.order(hash);
      if (order?.status !== 'cancelled') broken('a cancelled order is not filled', `the cancel of ${hash} was answered, and the order is ${order?.status}`);
      else history.cancelledByClients.add(order.orderNumber);
    }),
    ...requestWatch({ history, acknowledged, inBatches, broken }),
    answered: guarded((request: SignedRelay, answer: Relayed) => {
      history.look();
      history.relays.look();
      history.relays.answered(request, answer);
    }),
    asked(request) { history.relays.asked(request); },
    unanswered(request, recorded) { history.relays.unanswered(request, recorded); },
    look() {
      history.look();
      history.relays.look();
      for (const run of exchange.living()) history.checkReplica(run);
      checkOutbox();
      if (found !== undefined) throw found;
    },
    unfinished: () => unfinished(parts, exchange, history),
    lookAtEnd() {
      for (const [hash, position] of acknowledged) checkAcknowledged(hash, position);
      for (const { order: { hash }, perhaps } of tries.values()) {
        if (!perhaps && !acknowledged.has(hash) && !inBatches.has(hash) && history.view.order(hash) !== undefined) broken('a refused order is not written', `${hash} is in the history`);
      }
      for (const hash of late) if (history.accepted.has(hash)) broken('a late order is never accepted', `${hash} was told to be too late, and was accepted`);
      history.relays.lookAtEnd();
      checkMined(parts, broken);
    },
  };
}

/** What clients hear of requests about several orders. */
function requestWatch({ history, acknowledged, inBatches, broken }: {
  history: HistoryWatch; acknowledged: ReadonlyMap<string, number>; inBatches: Set<string>; broken: Broken;
}): Pick<RequestWatch, 'acceptedInBatch' | 'acknowledgedOf' | 'allCancelled'> {
  return {
    acceptedInBatch: guarded(({ hash }: SignedOrder) => {
      history.look();
      if (!history.accepted.has(hash)) broken('no acknowledged order is lost', `${hash} of a batch was acknowledged, and is not in the history`);
      inBatches.add(hash);
    }),
    acknowledgedOf({ trader, marketId }) {
      return [...acknowledged].flatMap(([hash, number]) => {
        const order = history.view.order(hash);
        return order?.trader === trader.address && (marketId === ALL_MARKETS || order.marketId === marketId) ? [number] : [];
      });
    },
    allCancelled: guarded((numbers: readonly number[], before: number) => {
      history.look();
      for (const number of numbers) if (number < before) history.cancelledByClients.add(number);
    }),
  };
}

/** As `errorText` speaks of them. */
const PROGRAM_FAULT = /\b(?:Eval|Range|Reference|Syntax|Type|URI)Error: /;

/** What nodes, blocks and processes tell as it happens. */
function watchArriving(parts: WorldParts, history: HistoryWatch, broken: Broken): void {
  const { chain, outbox, watch } = parts;
  const checkBlock = blockCheck(parts, broken);
  Object.assign(watch, {
    mined: guarded((block: SimBlock) => {
      checkBlock(block);
      history.relays.mined(block);
    }),
    anchored: guarded((position: number, digest: string) => {
      if (history.digest(position) !== digest) broken('one digest', `the chain has ${digest} at position ${position}, the history ${history.digest(position)}`);
    }),
    resolved: guarded((marketId: string, outcome: number) => {
      history.look();
      const decided = history.quick.outcome(marketId);
      if (decided !== outcome) broken('a quick market is resolved as it was decided', `${marketId}: ${outcome} on the chain, ${decided} decided`);
    }),
    stamped(atMs: number, doubtedForMs: number) { history.stamped(atMs, doubtedForMs); },
    takenInDoubt: guarded((process: string, what: string) => { broken('no request is taken while the clock is in doubt', `${process}: ${what}`); }),
    askedByForeign: guarded((process: string) => { broken('no fill is asked for with the settings of another exchange', process); }),
    reported: guarded((process: string, text: string) => {
      if (PROGRAM_FAULT.test(text)) broken('no report is of a fault in the program', `${process}: ${text}`);
    }),
    broadcast: guarded((raw: string) => {
      const { hash, batch, call } = chain.decode(raw);
      history.look();
      if (!isRecorded(outbox, hash)) broken('sign, store, then send', `${hash} is sent, and not in the outbox`);
      if ((batch !== undefined || call?.kind === 'tokens') && !history.announced.has(hash)) broken('announced before it is sent', `${hash} is sent, and not in the history`);
    }),
  });
}

const isRecorded = ({ transactions }: OutboxTables, hash: string): boolean => (
  transactions.some(({ attempts }) => attempts.some(({ txHash }) => txHash === hash)));

/** The first break is kept, wherever it is noticed: the program under test may swallow errors. */
function guarded<Args extends unknown[]>(check: (...args: Args) => void): (...args: Args) => void {
  return (...args) => {
    try {
      check(...args);
    } catch (error) {
      if (!(error instanceof InvariantBroken)) throw error;
    }
  };
}

/** An order that was answered as accepted is in the log, where the client was told. */
function acknowledgedCheck({ store }: WorldParts, history: HistoryWatch, broken: Broken): (hash: string, position: number) => void {
  return (hash, position) => {
    const record = store.records.commands[position];
    const command = record === undefined ? undefined : decodeCommand(record.data);
    if (command?.kind !== 'PlaceOrder' || command.orderHash !== hash) broken('no acknowledged order is lost', `${hash} was acknowledged at position ${position}, which has ${command?.kind}`);
    if (history.outcome(position)?.events[0]?.type !== 'OrderAccepted') broken('no acknowledged order is lost', `${hash} was acknowledged, and the engine answers ${history.outcome(position)?.events[0]?.type}`);
  };
}

/** Conservation in every block, and nothing of ours on the chain that the outbox does not have. */
function blockCheck({ outbox, markets }: WorldParts, broken: Broken): (block: SimBlock) => void {
  const total = (of: ReadonlyMap<string, bigint>): bigint => [...of.values()].reduce((sum, each) => sum + each, 0n);
  const first = emptyContracts();
  beginning(first, 0);
  const collateral = total(first.collateral) + total(first.escrow);
  return ({ number, state, transactions }) => {
    if (number === 0) return;
    const given = BigInt(TRADERS.length * state.quick.size) * FIRST_SHARES;
    if (total(state.collateral) + total(state.spent) + total(state.escrow) !== collateral + given) broken('conservation', `collateral in block ${number}`);
    for (const { marketId, tokens } of [...markets.values(), ...state.quick.values()]) {
      const supplies = tokens.map((token) => TRADERS.reduce((sum, { address }) => sum + (state.shares.get(`${address} ${token}`) ?? 0n), 0n));
      const winner = state.resolved.get(marketId);
      const covered = winner === undefined ? supplies : supplies.slice(winner, winner + 1);
      if (covered.some((supply) => supply !== state.escrow.get(marketId))) broken('conservation', `shares of ${marketId} in block ${number}`);
    }
    for (const balances of [state.collateral, state.shares, state.escrow]) for (const [key, has] of balances) if (has < 0n) broken('conservation', `${key} has ${has}`);
    for (const { hash } of transactions) {
      if (!isRecorded(outbox, hash)) broken('sign, store, then send', `${hash} is not in the outbox`);
    }
  };
}

/** What the outbox records: nonces without a gap, endings that are final, each fill in one request at a time. */
function outboxCheck({ outbox, chain }: WorldParts, broken: Broken): () => void {
  const ended = new Set<TransactionRow>();
  let outboxSeen = -1;

  /** What the lane tells of a transaction is final: no reorganisation takes it back. */
  function checkEnding({ nonce, ending }: TransactionRow): void {
    if (ending?.kind !== 'mined') return;
    const { txHash, block, succeeded } = ending;
    const receipt = chain.blocks[block]?.receipts.get(txHash);
    if (receipt?.succeeded !== succeeded) broken('an ending is final', `nonce ${nonce}: ${txHash} is told to be mined in block ${block}, and is not`);
    if (block > chain.head.number - CHAIN.confirmations) broken('an ending is final', `nonce ${nonce}: block ${block} is told of while the head is ${chain.head.number}`);
  }

  return () => {
    const seen = outbox.changes + outbox.requests.size + outbox.transactions.length;
    if (seen === outboxSeen) return;
    outboxSeen = seen;
    for (const nonces of noncesOf(outbox).values()) {
      [...nonces].sort((a, b) => a - b).forEach((nonce, i) => { if (nonce !== i) broken('no nonce gap', `nonce ${i} was never recorded, and ${nonce} was`); });
    }
    for (const transaction of outbox.transactions) {
      if (transaction.ending === undefined || ended.has(transaction)) continue;
      ended.add(transaction);
      checkEnding(transaction);
    }
    checkRequests(outbox, broken);
  };
}

/** At the end every recorded nonce is used. */
function checkMined({ chain, outbox }: WorldParts, broken: Broken): void {
  for (const [address, nonces] of noncesOf(outbox)) {
    const mined = chain.head.counts.get(address) ?? 0;
    if (mined !== nonces.size) broken('no nonce gap', `${address}: ${mined} transactions are mined, ${nonces.size} nonces recorded`);
  }
}

/** By the address of a key. */
function noncesOf({ transactions }: OutboxTables): Map<string, Set<number>> {
  const nonces = new Map<string, Set<number>>();
  for (const { address, nonce } of transactions) nonces.set(address, (nonces.get(address) ?? new Set()).add(nonce));
  return nonces;
}

/** What is under way is asked for once: each fill, and each quick market's creation and resolution. */
function checkRequests({ requests }: OutboxTables, broken: Broken): void {
  const asked = new Map<string, string>();
  for (const { id, purpose, note, status, forgotten } of requests.values()) {
    if (forgotten || status.kind === 'ended' || status.kind === 'refused' || purpose === 'relay' || purpose === 'keeper') continue;
    const { fills = [], kind, marketId } = note as { fills?: readonly number[]; kind?: string; marketId?: string };
    for (const key of purpose === 'settlement' ? fills.map((fill) => `fill ${fill}`) : [`${kind} ${marketId}`]) {
      const invariant = purpose === 'settlement' ? 'a fill is in one request at a time' : 'a quick market is in one request at a time';
      if (asked.has(key)) broken(invariant, `${key} is in ${asked.get(key)} and ${id}`);
      asked.set(key, id);
    }
  }
}

function unfinished({ store, outbox, chain, time }: WorldParts, exchange: Exchange, history: HistoryWatch): string[] {
  const found: string[] = [];
  const { commands, outcomes } = store.records;
  if (exchange.living().length < exchange.running.size) found.push('a process is away');
  if (outcomes.length < commands.length) found.push(`${commands.length - outcomes.length} outcomes are not recorded`);
  for (const { process: { name }, replica } of exchange.living()) if (replica?.view.position !== commands.length) found.push(`${name} is at command ${replica?.view.position} of ${commands.length}`);
  const fills = history.unended();
  if (fills.length > 0) found.push(`fills ${fills.slice(0, 5).join(', ')} have not ended`);
  const open = outbox.transactions.filter(({ ending }) => ending === undefined);
  if (open.length > 0) found.push(`nonces ${open.slice(0, 5).map(({ nonce }) => nonce).join(', ')} are open`);
  const waiting = [...outbox.requests.values()].filter(({ status: { kind } }) => kind === 'waiting' || kind === 'sent');
  if (waiting.length > 0) found.push(`${waiting.length} requests wait`);
  found.push(...history.relays.unfinished(), ...history.quick.unfinished(START_MS + time.now()));
  const block = history.view.cursor(CHAIN.chainId)?.block ?? -1;
  const final = chain.final?.number ?? 0;
  if (block < final - 20) found.push(`block ${block} is recorded, ${final} is final`);
  return found;
}
