/** What must hold after the crashes, each from two sides: the history, what clients were told, the chain, the API. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Interface, type InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { settlement } from '../../contracts-abi/settlement.js';
import type { Event, FillFailed, FillMatched, FillSettled, RelayEnded, RelayRequested } from '../../engine/records/events.js';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import { createEngine } from '../../engine/run/engine.js';
import { projections } from '../../projections/catalogue.js';
import type { CrashChain } from './crash-chain.js';
import type { CrashRelays, Relayed } from './crash-relays.js';
import type { Acknowledged, CrashTraders } from './crash-traders.js';
import type { Receipt } from './deployed-chain.js';
import { until, within } from './until.js';

interface Entry {
  readonly position: number;
  readonly command: { readonly kind: string; readonly orderHash?: string };
  readonly outcome: { readonly at: number; readonly events: readonly Event[] };
  readonly digest: string;
}

export interface History {
  /** As the service shows it, a line a position. */
  readonly lines: readonly string[];
  readonly entries: readonly Entry[];
}

/** The whole history; `known` is the beginning that need not be read again. */
export async function readHistory(url: string, known: History = { lines: [], entries: [] }): Promise<History> {
  const lines = [...known.lines];
  for (;;) {
    const response = await fetch(`${url}/api/v1/events?from=${lines.length}&limit=1000`, { headers: { Accept: 'application/x-ndjson' } });
    const text = await response.text();
    equal(response.status, 200, text);
    const page = text.split('\n').filter((line) => line !== '');
    lines.push(...page);
    if (page.length === 0) return { lines, entries: [...known.entries, ...lines.slice(known.lines.length).map((line) => JSON.parse(line) as Entry)] };
  }
}

export function eventsOf<T extends Event['type']>({ entries }: Pick<History, 'entries'>, type: T): Extract<Event, { type: T }>[] {
  return entries.flatMap(({ outcome }) => outcome.events).filter((event): event is Extract<Event, { type: T }> => event.type === type);
}

/** Whether every fill has been settled or has failed, and every relayed request has ended. */
export function isSettled(history: History): boolean {
  const count = (type: Event['type']) => eventsOf(history, type).length;
  return count('FillMatched') === count('FillSettled') + count('FillFailed') && count('RelayRequested') === count('RelayEnded');
}

/** Every answer is what the history says, and nothing is twice. */
export function provesAnswers({ entries }: History, { acknowledged, refused, cancelled }: CrashTraders): void {
  entries.forEach(({ position }, i) => { equal(position, i); });
  for (const told of acknowledged.values()) deepEqual(acknowledgementOf(entries[told.position]), told);
  const accepted = eventsOf({ entries }, 'OrderAccepted').map(({ orderHash }) => orderHash);
  equal(new Set(accepted).size, accepted.length, 'no order was accepted twice');
  deepEqual(accepted.filter((hash) => !acknowledged.has(hash)), [], 'every order that was taken was acknowledged in the end');
  deepEqual(accepted.filter((hash) => refused.has(hash)), [], 'no order that was refused was taken');
  const closed = new Set(eventsOf({ entries }, 'OrderCancelled').map(({ orderHash }) => orderHash));
  deepEqual([...cancelled].filter((hash) => !closed.has(hash)), [], 'every order that was said to be cancelled is so');
}

function acknowledgementOf(entry: Entry | undefined): Acknowledged | undefined {
  const [first] = entry?.outcome.events ?? [];
  if (entry === undefined || first?.type !== 'OrderAccepted') return undefined;
  return {
    orderHash: entry.command.orderHash!, position: entry.position,
    matches: entry.outcome.events.filter(({ type }) => type === 'FillMatched').length,
  };
}

interface OrderState { readonly orderHash: string; readonly marketId: string; status: 'open' | 'filled' | 'cancelled'; remaining: bigint }

/**
 * What became of every order, worked out from its events alone: conserved sizes, and the same as the API says. `isOver`: whether no event
 * can have followed on the history in this market.
 */
export async function provesOrders(history: History, url: string, isOver: (marketId: string) => boolean = () => true): Promise<void> {
  const orders = new Map<number, OrderState>();
  for (const event of history.entries.flatMap(({ outcome }) => outcome.events)) follow(orders, event);
  const last = history.entries.length - 1;
  for (const [orderNumber, { orderHash, marketId, status, remaining }] of orders) {
    ok(remaining >= 0n);
    if (!isOver(marketId)) continue;
    const { status: shown, remainingSize } = await get(url, `/api/v1/orders/${orderHash}`, last);
    deepEqual({ orderNumber, status: shown, remaining: String(remainingSize) }, { orderNumber, status, remaining: String(remaining) });
  }
}

function follow(orders: Map<number, OrderState>, event: Event): void {
  switch (event.type) {
    case 'OrderAccepted': {
      orders.set(event.orderNumber, { orderHash: event.orderHash, marketId: event.marketId, status: 'open', remaining: BigInt(event.size) });
      return;
    }
    case 'FillMatched': {
      for (const number of [event.makerNumber, event.takerNumber]) {
        const order = orders.get(number)!;
        equal(order.status, 'open', `order ${number} is open when it is filled`);
        order.remaining -= BigInt(event.size);
        if (order.remaining === 0n) order.status = 'filled';
      }
      return;
    }
    case 'FillFailed': {
      for (const number of [event.makerNumber, event.takerNumber]) orders.get(number)!.remaining += BigInt(event.size);
      return;
    }
    case 'OrderReinstated': orders.get(event.orderNumber)!.status = 'open'; return;
    case 'OrderCancelled': {
      const order = orders.get(event.orderNumber)!;
      equal(order.remaining, BigInt(event.remaining), `what is left of order ${event.orderNumber}`);
      order.status = 'cancelled';
      return;
    }
    default:
  }
}

const SETTLEMENT = new Interface(settlement.abi as InterfaceAbi);

/** The settlement contract's events of this name, in order. */
async function logsOf(chain: CrashChain, name: string) {
  const { contracts, startBlock } = chain.chain;
  const topics = [SETTLEMENT.getEvent(name)!.topicHash];
  const range = { fromBlock: `0x${startBlock.toString(16)}`, toBlock: 'latest' };
  const logs = await chain.rpc('eth_getLogs', [{ address: contracts.settlement, topics, ...range }]) as { transactionHash: string; topics: string[]; data: string }[];
  return logs.map((log) => ({ txHash: log.transactionHash, args: SETTLEMENT.parseLog(log)!.args.toObject() }));
}

/** Every fill of the history ended on the chain exactly once, in just the transaction and way that the history says. */
export async function provesFills(history: History, chain: CrashChain): Promise<void> {
  const matched = eventsOf(history, 'FillMatched');
  deepEqual(matched.map(({ fill }) => fill), matched.map((_, i) => i), 'fill numbers are dense: none is missing, none came twice');
  const onChain = new Map<number, { how: string; txHash: string }>();
  for (const how of ['FillSettled', 'FillFailed']) {
    for (const { txHash, args } of await logsOf(chain, how)) {
      const fill = Number(args['seq']);
      ok(!onChain.has(fill), `fill ${fill} ended on the chain once`);
      onChain.set(fill, { how, txHash });
    }
  }
  const inHistory = new Map<number, { how: string; txHash: string }>();
  for (const event of [...eventsOf(history, 'FillSettled'), ...eventsOf(history, 'FillFailed')]) {
    ok(!inHistory.has(event.fill), `fill ${event.fill} ended in the history once`);
    deepEqual(factsOf(event), factsOf(matched[event.fill]!));
    inHistory.set(event.fill, { how: event.type, txHash: event.txHash });
  }
  const sorted = (fills: typeof onChain) => [...fills].sort(([a], [b]) => a - b);
  deepEqual(sorted(onChain), sorted(inHistory));
  deepEqual([...inHistory.keys()].sort((a, b) => a - b), matched.map(({ fill }) => fill));
  wereSubmitted(history);
}

/** A transaction is in the history before it is broadcast, so before anything comes of it. */
function wereSubmitted({ entries }: History): void {
  const submitted = new Set<string>();
  for (const event of entries.flatMap(({ outcome }) => outcome.events)) {
    if (event.type === 'SettlementSubmitted') for (const fill of event.fills) submitted.add(`${event.txHash} ${fill}`);
    if (event.type !== 'FillSettled' && event.type !== 'FillFailed') continue;
    ok(submitted.has(`${event.txHash} ${event.fill}`), `transaction ${event.txHash} was recorded before fill ${event.fill} ended by it`);
  }
}

function factsOf({ fill, marketId, outcome, price, size, cost, buyer, seller, makerNumber, takerNumber }: FillMatched | FillSettled | FillFailed) {
  return { fill, marketId, outcome, price, size, cost, buyer, seller, makerNumber, takerNumber };
}

/** Shares as the API shows them and collateral as the fills' costs leave it are the chain's balances. */
export async function provesBalances(history: History, chain: CrashChain, url: string): Promise<void> {
  const last = history.entries.length - 1;
  const funds = new Map(chain.funds);
  for (const { buyer, seller, cost } of eventsOf(history, 'FillSettled')) {
    funds.set(buyer, funds.get(buyer)! - BigInt(cost));
    funds.set(seller, funds.get(seller)! + BigInt(cost));
  }
  const opened = new Set(eventsOf(history, 'MarketOpened').map(({ marketId }) => marketId));
  const known = chain.shortMarkets.filter(({ marketId }) => opened.has(marketId));
  for (const { wallet, address } of chain.traders) {
    equal(await chain.usdcOf(wallet), funds.get(address), `collateral of ${address}`);
    for (const market of [...chain.markets, ...known]) {
      const { yesShares, noShares } = await get(url, `/api/v1/positions/${market.address}?user=${address}`, last);
      const { yes, no } = await chain.sharesOf(wallet, market);
      deepEqual({ yes: BigInt(yesShares as number), no: BigInt(noShares as number) }, { yes, no }, `shares of ${address} in ${market.marketId}`);
    }
  }
}

/** Every digest that a batch wrote on the chain is the history's at that position. */
export async function provesAnchors({ entries }: History, chain: CrashChain): Promise<void> {
  const anchors = (await logsOf(chain, 'HistoryAnchored')).map(({ args }) => ({ position: Number(args['position']), digest: String(args['digest']) }));
  ok(anchors.length > 0);
  deepEqual(anchors, anchors.map(({ position }) => ({ position, digest: entries[position]?.digest })));
}

const LINE = /^\{"position":(\d+),"id":"[^"]+","command":(\{.*\}),"outcome":(\{"at":.*\}),"digest":"(0x[0-9a-f]{64})"\}$/;

/** Another engine, from position 0, decides the same; and every digest is that of the very bytes that the service shows. */
export function replays({ lines }: History): void {
  const engine = createEngine();
  let digest = Buffer.alloc(32);
  for (const line of lines) {
    const [, position, command, outcome, shown] = LINE.exec(line)!;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(Buffer.byteLength(command!));
    digest = createHash('sha256').update(digest).update(length).update(command!).update(outcome!).digest();
    equal(`0x${digest.toString('hex')}`, shown, `the digest at ${position}`);
    const step = engine.step(Buffer.from(command!));
    deepEqual({ position: String(step.position), outcome: step.text, digest: step.digest }, { position, outcome, digest: shown });
  }
}

/** The answer to a read that includes the history up to `position`. */
export async function get(url: string, path: string, position: number): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url + path, { headers: { 'X-Min-Log-Position': String(position) } });
  const text = await response.text();
  equal(response.status, 200, `${path}: ${text}`);
  return parseJsonObject(Buffer.from(text));
}

const REBUILD = fileURLToPath(new URL('../../tools/rebuild.js', import.meta.url));

/** Makes the last blocks with events final, and resolves when the service has read them. */
export async function hasReadAll(chain: CrashChain, url: string, confirmations: number): Promise<void> {
  await chain.rpc('anvil_mine', [confirmations]);
  const latest = Number(await chain.rpc('eth_blockNumber'));
  await until(`block ${latest - confirmations} and all before it are read`, async () => {
    const { chains } = await (await fetch(`${url}/health/ready`)).json() as { chains: { finalBlock?: number; lagBlocks: number }[] };
    const state = chains.find(({ finalBlock }) => finalBlock !== undefined);
    return state?.lagBlocks === 0 && state.finalBlock! >= latest - confirmations;
  });
}

/** Each read model, row by row, is what the whole history gives; `settings` say where both are. */
export async function provesReadModels(settings: Readonly<Record<string, string>>): Promise<void> {
  const rebuilding = promisify(execFile)(process.execPath, [REBUILD, 'all'], { env: { PATH: process.env['PATH'], ...settings } });
  const { stdout } = await within('all read models are rebuilt', rebuilding, 120);
  deepEqual(stdout.trim().split('\n').map((line) => line.replace(/from \d+/, 'from all')), projections.map(({ name }) => (
    `${name}: rebuilt from all command outcomes; 0 rows differed from the old read model`)));
}

/** A request from where it is recorded to its end; the same request can come again after it has ended without effect. */
interface Life {
  readonly requested: RelayRequested;
  readonly position: number;
  /** A lane that has died records the transactions that are not broadcast once more. */
  readonly txHashes: Set<string>;
  ended: RelayEnded | undefined;
}

type Mined = ReadonlyMap<string, Receipt>;

/** Every request went its way exactly once, and the history knows every transaction of the relayer's key. */
export async function provesRelays(history: History, { relayed, unsent }: Pick<CrashRelays, 'relayed' | 'unsent'>, chain: CrashChain): Promise<void> {
  const lives = livesOf(history);
  const mined = await minedOf(lives, chain);
  const recorded = lives.map(({ requested }) => requested.requestId);
  deepEqual(recorded.filter((id) => !relayed.has(id) || unsent.has(id)), [], 'only what was asked for, and not what was refused');
  for (const each of relayed.values()) provesRequest(each, lives.filter(({ requested }) => requested.requestId === each.requestId), mined);
  const sent = await chain.rpc('eth_getTransactionCount', [chain.relayer.address, 'latest']);
  equal(mined.size, Number(sent), 'every transaction of the key was recorded before it was sent');
}

function livesOf({ entries }: History): readonly Life[] {
  const lives: Life[] = [];
  const open = new Map<string, Life>();
  for (const { position, outcome: { events } } of entries) {
    for (const event of events) {
      if (event.type !== 'RelayRequested' && event.type !== 'RelaySubmitted' && event.type !== 'RelayEnded') continue;
      const { requestId } = event;
      const life = open.get(requestId);
      equal(life === undefined, event.type === 'RelayRequested', `${event.type} of ${requestId} at ${position}`);
      if (event.type === 'RelayRequested') {
        const begun: Life = { requested: event, position, txHashes: new Set(), ended: undefined };
        open.set(requestId, begun);
        lives.push(begun);
      } else if (event.type === 'RelaySubmitted') {
        life!.txHashes.add(event.txHash);
      } else {
        life!.ended = event;
        open.delete(requestId);
      }
    }
  }
  deepEqual([...open.keys()], [], 'no request is without an end');
  return lives;
}

/** The receipts of what was sent, by hash: of a transaction's replacements one is mined. */
async function minedOf(lives: readonly Life[], chain: CrashChain): Promise<Mined> {
  const mined = new Map<string, Receipt>();
  for (const hash of lives.flatMap(({ txHashes }) => [...txHashes])) {
    ok(!mined.has(hash), `${hash} is of one request`);
    const receipt = await chain.rpc('eth_getTransactionReceipt', [hash]) as Receipt | null;
    if (receipt !== null) mined.set(hash, receipt);
  }
  return mined;
}

/** The chain has taken the request: by one transaction, or by a stranger's. */
function provesRequest({ requestId, action, owner, txHashes, contested }: Relayed, lives: readonly Life[], mined: Mined): void {
  const sent = lives.filter((life) => life.txHashes.size > 0);
  deepEqual([...txHashes].filter((hash) => !sent.some((life) => life.txHashes.has(hash))), [], 'every hash that was told is in the history');
  for (const { requested, txHashes: submitted, ended } of lives) {
    deepEqual([requested.action, requested.owner], [action, owner]);
    const { txHash, results } = ended!;
    const what = `${action} ${requestId}: ${JSON.stringify(results)}`;
    if (submitted.size === 0) {
      equal(txHash, null, what);
      ok(results.every(({ succeeded }) => !succeeded), what);
      continue;
    }
    deepEqual([...submitted].filter((hash) => mined.has(hash)), [txHash], `one transaction was mined: ${what}`);
    if (!contested) equal(mined.get(txHash!)!.status, '0x1', what);
    ok(results.every(({ succeeded }) => succeeded), what);
  }
  if (contested) ok(sent.length <= 1);
  else equal(sent.length, 1, `${action} ${requestId} was sent once`);
}

const TOKENS = new Interface(conditionalTokens.abi as InterfaceAbi);

/** No claim waits; those that failed are the history's; those that succeeded are what the chain paid. */
export async function provesClaims(history: History, chain: CrashChain, url: string): Promise<void> {
  const last = history.entries.length - 1;
  const { pendingClaims } = await get(url, '/api/v1/pending-claims', last);
  deepEqual(pendingClaims, []);
  const ended = eventsOf(history, 'RelayEnded');
  const claims = ended.flatMap(({ owner, txHash, claims: asked, results }) => (
    asked.map(({ marketId, payout }, i) => ({ userAddress: owner, marketId, payout: BigInt(payout), txHash: txHash ?? '', ...results[i] ?? results.at(-1)! }))));
  const { failedClaims } = await get(url, '/api/v1/failed-claims', last) as { failedClaims: readonly Readonly<Record<string, unknown>>[] };
  deepEqual(
    failedClaims.map(({ userAddress, marketId, txHash, reason }) => ({ userAddress, marketId, txHash, reason })).reverse(),
    claims.filter(({ succeeded }) => !succeeded).map(({ userAddress, marketId, txHash, reason }) => ({ userAddress, marketId, txHash, reason })));
  const paid = claims.filter(({ succeeded }) => succeeded).map(({ userAddress, marketId, payout }) => ({ userAddress, marketId, payout }));
  deepEqual(inOrder(paid), inOrder(await payoutsOf(chain)));
}

interface Payout { readonly userAddress: string; readonly marketId: string; readonly payout: bigint }

/** What the chain paid for redeemed shares. */
async function payoutsOf({ chain: { contracts, startBlock }, rpc }: CrashChain): Promise<Payout[]> {
  const topics = [TOKENS.getEvent('PayoutRedemption')!.topicHash];
  const range = { fromBlock: `0x${startBlock.toString(16)}`, toBlock: 'latest' };
  const logs = await rpc('eth_getLogs', [{ address: contracts.conditionalTokens, topics, ...range }]) as { topics: string[]; data: string }[];
  return logs.map((log) => {
    const { redeemer, conditionId, payout } = TOKENS.parseLog(log)!.args.toObject() as { redeemer: string; conditionId: string; payout: bigint };
    return { userAddress: redeemer.toLowerCase(), marketId: conditionId, payout };
  });
}

function inOrder(payouts: readonly Payout[]): Payout[] {
  const key = ({ userAddress, marketId, payout }: Payout) => `${userAddress} ${marketId} ${payout}`;
  return [...payouts].sort((a, b) => key(a) < key(b) ? -1 : 1);
}
