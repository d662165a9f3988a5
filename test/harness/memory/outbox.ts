/** The outbox in memory: the lane's and its users' ports over one set of tables. It promises what Postgres does: one contract holds both. */
import type { LaneTransaction } from '../../../command/lane/open-transactions.js';
import { purposesOf, type HeldLane, type LaneKey, type Outbox } from '../../../command/lane/outbox.js';
import type { TransactionEnding, HeldLaneUser, HeldRequest, LaneUser, LaneUserKey, Purpose, RequestStatus, TrackedRequest } from '../../../command/lane/requests.js';
import type { Carry, Database, MemorySession } from './database.js';

export interface RequestRow extends HeldRequest {
  readonly chainId: number;
  readonly key: string;
  readonly number: number;
  readonly askedAtMs: number;
  status: RequestStatus;
  change: number;
  forgotten: boolean;
  data: string;
  note: unknown;
}

export interface TransactionRow {
  readonly chainId: number;
  readonly address: string;
  readonly nonce: number;
  readonly request: RequestRow | undefined;
  readonly attempts: { readonly txHash: string; raw: string; readonly fees: LaneTransaction['attempts'][number]['fees']; broadcast: boolean }[];
  ending: TransactionEnding | undefined;
}

interface LaneRow {
  address: string;
  blockGasLimit: bigint | undefined;
  problem: { readonly text: string; readonly sinceMs: number } | undefined;
  seenAtMs: number;
}

export interface OutboxTables {
  readonly requests: Map<string, RequestRow>;
  readonly transactions: TransactionRow[];
  readonly lanes: Map<string, LaneRow>;
  changes: number;
}

export function createOutboxTables(): OutboxTables {
  return { requests: new Map(), transactions: [], lanes: new Map(), changes: 0 };
}

export interface OutboxParts {
  readonly database: Database;
  readonly tables: OutboxTables;
  readonly carry: Carry;
  /** Milliseconds since the Unix epoch, by the database's clock. */
  readonly now: () => number;
  readonly standByMs?: number;
  /** Called whenever a user asks for something. */
  readonly asked?: () => void;
}

/** What JSON keeps of a note. */
const copied = (note: unknown): unknown => JSON.parse(JSON.stringify(note ?? null)) as unknown;
const open = ({ ending }: TransactionRow): boolean => ending === undefined;

export function memoryOutbox(parts: OutboxParts): Outbox {
  const { database, carry, standByMs } = parts;
  return {
    async hold(lane, standBy) {
      const { chainId, key, address } = lane;
      const session = await database.open({
        ...standBy, carry, ...standByMs === undefined ? {} : { standByMs },
        locks: [`lane:${chainId}:${key}`, `lane:${chainId}:${address}`], hears: `asked:${chainId}:${key}`,
      });
      return heldLane(session, lane, parts);
    },
  };
}

function heldLane(session: MemorySession, { chainId, key, address }: LaneKey, parts: OutboxParts): HeldLane {
  const { tables, now } = parts;
  const own = (): TransactionRow[] => tables.transactions.filter((each) => each.chainId === chainId && each.address === address);
  const openAt = (nonce: number) => own().find((each) => each.nonce === nonce && open(each));
  const tell = (purposes: Iterable<Purpose>): void => { for (const purpose of purposes) session.wake(`told:${chainId}:${purpose}`); };
  const changed = (row: RequestRow | undefined): void => { if (row !== undefined) row.change = ++tables.changes; };
  return {
    bell: session.bell,
    check: () => { session.check(); },
    load: () => session.query('load', () => ({
      open: own().filter(open).sort((a, b) => a.nonce - b.nonce).map(readTransaction),
      nextNonce: own().reduce((next, { nonce }) => Math.max(next, nonce + 1), 0), earlier: 0,
      formerAddresses: formersOf(tables, { chainId, key, address }),
    })),
    former: (other) => heldLane(session, { chainId, key, address: other }, parts),
    waiting: (limit) => session.query('waiting', () => [...tables.requests.values()]
      .filter((row) => row.chainId === chainId && row.key === key && row.status.kind === 'waiting')
      .sort((a, b) => (b.priority ?? 0) - (a.priority ?? 0) || a.number - b.number).slice(0, limit).map(readRequest)),
    async refuse(refusals) {
      await session.query('refuse', () => {
        for (const { request: { id }, reason } of refusals) changed(refused(tables.requests.get(id), reason));
      });
      tell(new Set(refusals.map(({ request }) => request.purpose)));
    },
    async record(transactions) {
      await session.query('record', () => {
        checkRecord(transactions, { isOpen: (nonce) => openAt(nonce) !== undefined, isAsked: (id) => tables.requests.has(id) });
        for (const { nonce, request, attempts: [first] } of transactions) {
          if (first === undefined) continue;
          const row = request === undefined ? undefined : tables.requests.get(request.id);
          tables.transactions.push({ chainId, address, nonce, request: row, attempts: [{ ...first, broadcast: false }], ending: undefined });
          if (row !== undefined) row.status = { kind: 'sent' };
          changed(row);
        }
      });
      tell(purposesOf(transactions));
    },
    async recordAttempt(transaction, attempt) {
      await session.query('recordAttempt', () => {
        const row = openAt(transaction.nonce);
        row?.attempts.push({ ...attempt, broadcast: false });
        changed(row?.request);
      });
      tell(purposesOf([transaction]));
    },
    markBroadcast: (txHashes) => session.query('markBroadcast', () => {
      for (const { attempts } of own().filter(open)) for (const each of attempts) each.broadcast ||= txHashes.includes(each.txHash);
    }),
    async markOver(endings, purposes) {
      await session.query('markOver', () => {
        for (const { nonce, ending } of endings) {
          const row = openAt(nonce);
          if (row !== undefined) end(row, ending);
          changed(row?.request);
        }
      });
      tell(purposes);
    },
    publish: ({ blockGasLimit, problem }) => session.query('publish', () => {
      const before = tables.lanes.get(`${chainId}:${key}`);
      tables.lanes.set(`${chainId}:${key}`, {
        address, blockGasLimit: blockGasLimit ?? before?.blockGasLimit, seenAtMs: now(),
        problem: problem === undefined ? undefined : { text: problem, sinceMs: before?.problem?.sinceMs ?? now() },
      });
    }),
    close: () => closed(session),
  };
}

/** What the database's keys do not let in: then it takes none of them. */
function checkRecord(transactions: readonly LaneTransaction[], { isOpen, isAsked }: {
  readonly isOpen: (nonce: number) => boolean; readonly isAsked: (id: string) => boolean;
}): void {
  const nonces = new Set<number>();
  for (const { nonce, request } of transactions) {
    if (isOpen(nonce) || nonces.has(nonce)) throw new Error(`nonce ${nonce} is open`);
    if (request !== undefined && !isAsked(request.id)) throw new Error(`nobody has asked for ${request.id}`);
    nonces.add(nonce);
  }
}

/** The row, refused; undefined when the lane has taken it. */
function refused(row: RequestRow | undefined, reason: string): RequestRow | undefined {
  return row?.status.kind === 'waiting' ? Object.assign(row, { status: { kind: 'refused', reason } as const }) : undefined;
}

function end(row: TransactionRow, ending: TransactionEnding): void {
  row.ending = ending;
  for (const attempt of row.attempts) attempt.raw = '';
  if (row.request !== undefined) Object.assign(row.request, { status: { kind: 'ended', ending }, data: '' });
}

function formersOf({ transactions }: OutboxTables, { chainId, key, address }: LaneKey): string[] {
  const former = transactions.filter((each) => (
    each.request?.chainId === chainId && each.request.key === key && each.address !== address && open(each)));
  return [...new Set(former.map((each) => each.address))];
}

function closed(session: MemorySession): Promise<void> {
  session.end();
  return Promise.resolve();
}

function readRequest({ id, purpose, priority, to, data, gasLimit, note }: RequestRow): HeldRequest {
  return { id, purpose, priority: priority ?? 0, to, data, gasLimit, note: copied(note) };
}

function readTransaction({ nonce, request, attempts }: TransactionRow): LaneTransaction {
  return { nonce, request: request === undefined ? undefined : readRequest(request), attempts: attempts.map((each) => ({ ...each })) };
}

export function memoryLaneUser(parts: OutboxParts, whose: LaneUserKey): LaneUser {
  const { database, carry, standByMs } = parts;
  return {
    async hold(standBy) {
      const session = await database.open({
        ...standBy, carry, locks: [`lane-user:${whose.chainId}:${whose.purpose}`], hears: `told:${whose.chainId}:${whose.purpose}`,
        ...standByMs === undefined ? {} : { standByMs },
      });
      return heldUser(session, whose, parts);
    },
  };
}

function heldUser(session: MemorySession, { chainId, key, purpose }: LaneUserKey, { tables, now, asked }: OutboxParts): HeldLaneUser {
  let seenChange = -1;
  let seenRings = -1;
  const own = (): RequestRow[] => [...tables.requests.values()].filter((row) => (
    row.chainId === chainId && row.key === key && row.purpose === purpose && !row.forgotten));
  const tracked = (row: RequestRow): TrackedRequest => ({
    id: row.id, note: copied(row.note), status: row.status, askedAtMs: row.askedAtMs,
    txHashes: tables.transactions.flatMap(({ request, attempts }) => request === row ? attempts.map(({ txHash }) => txHash) : []),
  });
  return {
    async ask(requests) {
      if (requests.length > 0) asked?.();
      await session.query('ask', () => {
        for (const { id, priority = 0, to, data, gasLimit, note } of requests) {
          if (tables.requests.has(id)) continue;
          tables.requests.set(id, {
            id, priority, to, data, gasLimit, note: copied(note), chainId, key, purpose, number: tables.requests.size, askedAtMs: now(), change: 0,
            status: { kind: 'waiting' }, forgotten: false,
          });
        }
      });
      session.wake(`asked:${chainId}:${key}`);
    },
    async changes() {
      seenRings = session.bell.rung();
      const rows = await session.query('changes', () => own().filter(({ change }) => change > seenChange).map((row) => [row.change, tracked(row)] as const));
      seenChange = rows.reduce((most, [change]) => Math.max(most, change), Math.max(0, seenChange));
      return rows.map(([, each]) => each);
    },
    list: () => session.query('list', () => own().map(tracked)),
    forget: (ids) => session.query('forget', () => {
      for (const row of own()) {
        if (ids.includes(row.id) && (row.status.kind === 'refused' || row.status.kind === 'ended')) Object.assign(row, { forgotten: true, data: '', note: null });
      }
    }),
    state: () => session.query('state', () => {
      const row = tables.lanes.get(`${chainId}:${key}`);
      return row === undefined ? undefined : { ...row };
    }),
    async wait(signal, timeoutMs) {
      if (session.bell.rung() !== seenRings) return 'rung';
      return session.bell.wait(signal, timeoutMs);
    },
    close: () => closed(session),
  };
}
