/** The read models in memory, as far as roles ask them: what is recorded is folded when somebody asks. */
import type { RecordedOrder } from '../../../command/orders/order-finder.js';
import type { OrderReads } from '../../../command/orders/role.js';
import type { EndedRelays } from '../../../command/relayer/role.js';
import type { LogRecord } from '../../../engine/log/log.js';
import { decodeOutcome, type CommandOutcome } from '../../../engine/records/codec.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Event } from '../../../engine/records/events.js';
import { pause } from '../../../engine/waiting.js';
import { referencePositions } from '../../reference/positions.js';

export interface MemoryReads extends OrderReads, EndedRelays {
  /** How many outcomes are folded. */
  folded(): number;
}

export interface MemoryReadsOptions {
  /** The outcomes that may be folded by now: those that are recorded, or fewer where the read models are behind. */
  readonly outcomes: () => readonly LogRecord[];
  readonly lookMs?: number;
  /** How long the relayer waits for them. */
  readonly patienceMs?: number;
}

type Order = { -readonly [Field in keyof RecordedOrder]: RecordedOrder[Field] };

interface Relay { readonly txHash: string | null; readonly succeeded: boolean }

interface Tables {
  readonly orders: Map<string, Order>;
  readonly byNumber: Map<number, Order>;
  /** Market ids by contract. */
  readonly markets: Map<string, string>;
  /** By request. */
  readonly relays: Map<string, Relay>;
  readonly outcomes: CommandOutcome[];
}

export function createMemoryReads({ outcomes: recorded, lookMs = 10, patienceMs = 2_000 }: MemoryReadsOptions): MemoryReads {
  const tables: Tables = { orders: new Map(), byNumber: new Map(), markets: new Map(), relays: new Map(), outcomes: [] };
  const { orders, markets, relays, outcomes } = tables;

  function fold(): number {
    for (const { data } of recorded().slice(outcomes.length)) {
      const outcome = decodeOutcome(data);
      for (const event of outcome.events) apply(event, outcomes.length, tables);
      outcomes.push(outcome);
    }
    return outcomes.length;
  }

  /** Whether the position is folded in time. */
  async function reaches(position: number, timeoutMs: number): Promise<boolean> {
    for (const endMs = performance.now() + timeoutMs; fold() <= position; await pause(lookMs)) if (performance.now() >= endMs) return false;
    return true;
  }

  return {
    folded: () => outcomes.length,
    async order(orderHash) {
      fold();
      const order = orders.get(orderHash);
      return order === undefined ? undefined : { ...order };
    },
    async marketId(market) {
      if ('marketId' in market) return market.marketId;
      fold();
      const id = markets.get(market.contractAddress);
      if (id === undefined) throw new RequestError('unknown_market');
      return id;
    },
    async position({ marketId, user }) {
      const position = fold() - 1;
      const held = referencePositions(outcomes);
      const [yes, no] = [0, 1].map((outcome) => held.get(`${marketId} ${user} ${outcome}`));
      return { yesShares: yes?.shares ?? 0n, noShares: no?.shares ?? 0n, totalInvested: (yes?.cost ?? 0n) + (no?.cost ?? 0n), position };
    },
    async waitForPosition(position, { timeoutMs }) {
      if (!await reaches(position, timeoutMs)) throw new RequestError('not_caught_up');
    },
    async ended(requestId) {
      fold();
      const relay = relays.get(requestId);
      return relay === undefined || relay.txHash === null ? undefined : { txHash: relay.txHash, succeeded: relay.succeeded };
    },
    async caughtUp(position) {
      if (!await reaches(position, patienceMs)) throw new RequestError('relay_unavailable', 'the read models are behind');
    },
  };
}

function apply(event: Event, position: number, { orders, byNumber, markets, relays }: Tables): void {
  switch (event.type) {
    case 'MarketOpened': markets.set(event.contractAddress, event.marketId); return;
    case 'OrderAccepted': {
      const { orderNumber, orderHash, marketId, trader, side, size } = event;
      const order: Order = {
        orderNumber, marketId, trader, side, size: BigInt(size), remaining: BigInt(size), status: 'open', closedPosition: null,
      };
      orders.set(orderHash, order);
      byNumber.set(orderNumber, order);
      return;
    }
    case 'FillMatched': case 'FillFailed':
      for (const number of [event.makerNumber, event.takerNumber]) {
        const order = byNumber.get(number)!;
        order.remaining += event.type === 'FillFailed' ? BigInt(event.size) : -BigInt(event.size);
        if (order.remaining === 0n) Object.assign(order, { status: 'filled', closedPosition: position });
      }
      return;
    case 'OrderCancelled':
      Object.assign(byNumber.get(event.orderNumber)!, { status: 'cancelled', remaining: BigInt(event.remaining), closedPosition: position });
      return;
    case 'OrderReinstated': Object.assign(byNumber.get(event.orderNumber)!, { status: 'open', closedPosition: null }); return;
    case 'RelayRequested': relays.set(event.requestId, { txHash: null, succeeded: true }); return;
    case 'RelaySubmitted': relays.set(event.requestId, { txHash: event.txHash, succeeded: true }); return;
    case 'RelayEnded': relays.set(event.requestId, { txHash: event.txHash, succeeded: event.results.every(({ succeeded }) => succeeded) }); return;
    default:
  }
}
