/** What must be true of relayed requests and of the keeper: the history, the lane's outbox, the chain and what clients were told say the same. */
import type { Event } from '../../../engine/records/events.js';
import type { Relayed } from '../../../command/relayer/relayer.js';
import type { SimBlock, SimChain } from '../chain/chain.js';
import { unsettled } from '../chain/oracle-contract.js';
import type { SignedRelay } from '../relays/messages.js';
import type { RelayClientWatch } from '../relays/clients.js';
import type { OutboxTables, RequestRow, TransactionRow } from '../../harness/memory/outbox.js';
import type { Broken, Invariant } from './names.js';

/** A request from its record to its end; the same request may come again after it has ended in vain. */
interface Life {
  readonly requestId: string;
  /** What the lane was asked for. */
  readonly rows: RequestRow[];
  /** Undefined while it is open. */
  succeeded: boolean | undefined;
}

export interface RelayCounts {
  readonly recorded: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly keeper: number;
}

const END = 'a relayed request ends as the chain says';
const SAME = 'a repeated relay request gets the same transaction';

interface KnownRelay {
  readonly request: SignedRelay;
  /** Whether the history may have it although nobody answered so. */
  perhaps: boolean;
  /** What the lane was asked for by the latest answer. */
  told: RequestRow | undefined;
}

export class RelaysWatch implements RelayClientWatch {
  private readonly open = new Map<string, Life>();
  private readonly lives: Life[] = [];
  private readonly lifeOf = new Map<RequestRow, Life>();
  /** What clients have asked for. */
  private readonly known = new Map<string, KnownRelay>();
  /** By assertion. */
  private readonly settling = new Map<string, RequestRow[]>();
  private rowsSeen = 0;

  constructor(private readonly parts: { readonly chain: SimChain; readonly outbox: OutboxTables }, private readonly broken: Broken) {}

  take(event: Event): void {
    if (event.type === 'RelayEnded') this.end(event);
    if (event.type !== 'RelayRequested') return;
    const life = { requestId: event.requestId, rows: [], succeeded: undefined };
    this.open.set(event.requestId, life);
    this.lives.push(life);
  }

  /** Looks at what the lane was asked for since the last look. */
  look(): void {
    const { requests } = this.parts.outbox;
    if (requests.size === this.rowsSeen) return;
    for (const row of [...requests.values()].slice(this.rowsSeen)) this.takeRow(row);
    this.rowsSeen = requests.size;
  }

  mined({ state: { carried } }: SimBlock): void {
    for (const [digest, times] of carried) if (times > 1) this.broken('a relayed request is carried out once', `${digest}, ${times} times`);
  }

  asked(request: SignedRelay): void { this.known.set(request.id, { request, perhaps: false, told: undefined }); }

  answered(request: SignedRelay, { txHash, status }: Relayed): void {
    const { broken, lifeOf } = this;
    const known = this.known.get(request.id);
    if (known === undefined) return;
    if (status === 'done') {
      if (request.action !== 'ctf-approval') broken(SAME, `${request.id} is answered with nothing to do`);
      return;
    }
    const row = this.parts.outbox.transactions.find(({ attempts }) => attempts.some((each) => each.txHash === txHash))?.request;
    const life = row === undefined ? undefined : lifeOf.get(row);
    if (life?.requestId !== request.id) return broken(SAME, `${request.id} is answered with ${txHash}, of ${life?.requestId ?? 'nothing'}`);
    const isAnother = known.told !== undefined && known.told !== row && lifeOf.get(known.told)?.succeeded !== false;
    if (isAnother) broken(SAME, `${request.id} is in ${known.told?.id}, and is answered with ${row?.id}`);
    known.told = row;
  }

  unanswered(request: SignedRelay, recorded: 'no' | 'perhaps'): void {
    const known = this.known.get(request.id);
    if (known !== undefined) known.perhaps ||= recorded === 'perhaps';
  }

  unfinished(): string[] {
    const { open, parts: { chain } } = this;
    const waiting = unsettled(chain.head.state);
    return [
      ...open.size === 0 ? [] : [`relayed requests ${[...open.keys()].slice(0, 3).join(', ')} have not ended`],
      ...waiting.length === 0 ? [] : [`nobody settles ${waiting[0]?.assertionId}`],
    ];
  }

  lookAtEnd(): void {
    const recorded = new Set(this.lives.map(({ requestId }) => requestId));
    for (const { request: { id }, perhaps, told } of this.known.values()) {
      if (!perhaps && told === undefined && recorded.has(id)) this.broken('a refused relay request is never recorded', `${id} is in the history`);
    }
  }

  counts(): RelayCounts {
    const { lives, settling } = this;
    return {
      recorded: lives.length, succeeded: lives.filter(({ succeeded }) => succeeded === true).length,
      failed: lives.filter(({ succeeded }) => succeeded === false).length,
      keeper: [...settling.values()].flat().filter(({ status }) => status.kind === 'ended' && !isInVain({ status })).length,
    };
  }

  private takeRow(row: RequestRow): void {
    const { requestId, assertionId } = row.note as { requestId?: string; assertionId?: string };
    if (row.purpose === 'keeper' && assertionId !== undefined) {
      const before = this.settling.get(assertionId) ?? [];
      this.mayFollow(before, row, { invariant: 'the keeper settles an assertion once', what: assertionId });
      this.settling.set(assertionId, [...before, row]);
    }
    if (row.purpose !== 'relay' || requestId === undefined) return;
    const life = this.open.get(requestId);
    if (life === undefined) return this.broken('a relayed request is recorded before it is asked for', `${requestId} is in ${row.id}, and not open in the history`);
    const before = this.lives.filter((each) => each.requestId === requestId).flatMap(({ rows }) => rows);
    this.mayFollow(before, row, { invariant: 'a relayed request is in one transaction at a time', what: requestId });
    life.rows.push(row);
    this.lifeOf.set(row, life);
  }

  /** Only when all earlier ones have ended in vain. */
  private mayFollow(before: readonly RequestRow[], row: RequestRow, { invariant, what }: { invariant: Invariant; what: string }): void {
    const other = before.find((each) => !isInVain(each));
    if (other !== undefined) this.broken(invariant, `${what} is in ${other.id} and ${row.id}`);
  }

  private end({ requestId, txHash, results }: Extract<Event, { type: 'RelayEnded' }>): void {
    const { broken, parts: { outbox } } = this;
    const life = this.open.get(requestId);
    if (life === undefined) return broken('a relayed request ends once', `${requestId} ends, and is not open`);
    this.open.delete(requestId);
    life.succeeded = results.every(({ succeeded }) => succeeded);
    const what = `${requestId} ends ${life.succeeded ? 'well' : `in vain (${results[0]?.reason})`} with ${txHash}`;
    if (txHash === null) {
      const isUnderWay = life.rows.some(({ status: { kind } }) => kind !== 'refused');
      if (isUnderWay || life.succeeded) broken(END, `${what}: the lane ${isUnderWay ? 'has' : 'does not have'} it`);
      return;
    }
    const own = outbox.transactions.find(({ request, attempts }) => (
      request !== undefined && life.rows.includes(request) && attempts.some((each) => each.txHash === txHash)));
    if (own === undefined) return broken(END, `${what}, which is not its transaction`);
    const request = this.known.get(requestId)?.request;
    if (request === undefined) return broken('a refused relay request is never recorded', `nobody asked for ${requestId}`);
    const isSo = this.hasBecomeSo(request, own);
    if (isSo !== undefined && isSo !== life.succeeded) broken(END, `${what}: ${request.action} ${isSo ? 'is' : 'is not'} carried out`);
  }

  /**
   * Whether the chain is as the request asked at the block of its transaction, whoever brought that about. Undefined
   * where that is not to be told.
   */
  private hasBecomeSo(request: SignedRelay, { ending }: TransactionRow): boolean | undefined {
    if (ending?.kind !== 'mined') return undefined;
    const { state } = this.parts.chain.blocks[ending.block] ?? {};
    if (state === undefined) return undefined;
    const { id, action, owner, call: { message } } = request;
    if (ending.succeeded) return state.carried.has(id);
    switch (action) {
      case 'ctf-approval': return state.approved.has(owner) === message['approved'];
      case 'ctf-split':
      case 'ctf-merge': return state.carried.has(id);
      // Whoever has shares again has more to redeem, and another message of the owner may have redeemed these.
      case 'ctf-redemption': return [...state.carried.keys()].some((other) => this.isSameRedemption(other, request)) ? undefined : false;
    }
  }

  private isSameRedemption(id: string, { action, owner, call: { message } }: SignedRelay): boolean {
    const other = this.known.get(id)?.request;
    return other?.action === action && other.owner === owner && other.call.message['conditionId'] === message['conditionId'];
  }
}

/** Whether the request is over without effect. */
function isInVain({ status }: Pick<RequestRow, 'status'>): boolean {
  return status.kind === 'refused' || (status.kind === 'ended' && (status.ending.kind === 'lost' || !status.ending.succeeded));
}
