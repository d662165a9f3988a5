/**
 * Decides which proposed resolutions the keeper looks at, and what follows from what it has seen there. It does no input or output, so the same
 * sequence of calls always gives the same decisions. What was asked of the lane is not remembered here: the outbox lists it.
 */
import { recordId } from '../../engine/records/codec.js';
import { backoffMs, type Backoff } from '../../engine/waiting.js';
import { isOver, mayTryAgain } from '../lane/lane-rounds.js';
import type { TrackedRequest } from '../lane/requests.js';

/** A proposed resolution that counts, as the history has it. */
export interface Proposal {
  readonly marketId: string;
  readonly assertionId: string;
  /** When its dispute window ends, in seconds since the Unix epoch. */
  readonly expirationTime: number;
  readonly disputed: boolean;
}

export interface WatchRules {
  /** How long after the dispute window's end others may settle first, in seconds. */
  readonly graceS: number;
  /** When to look again at what is not decided, or is settled on the chain and not in the history yet, in milliseconds. */
  readonly againMs: number;
  /** The pauses after the oracle has refused, and after a transaction that ended in vain. */
  readonly backoff: Backoff;
  /** After this time since the dispute window's end a market waits for too long, in seconds. */
  readonly longS: number;
  /** The most proposals per round. */
  readonly looks: number;
}

/** After seven days the resolver's administrator can abandon a proposal that the oracle does not settle. */
export const WATCH_RULES: Omit<WatchRules, 'graceS'> = {
  againMs: 60_000, backoff: { firstMs: 60_000, longestMs: 3_600_000 }, longS: 7 * 86_400, looks: 20,
};

/** What a look at an assertion has found. */
export type Finding
  /** Settled: the history will have it. */
  = | { readonly kind: 'settled' }
    /** A transaction would settle it in the next block. */
    | { readonly kind: 'ready' }
    /** It is disputed, and the oracle does not settle it: nobody has arbitrated, or there is an obstacle. */
    | { readonly kind: 'undecided'; readonly reason: string }
    /** It is not disputed, and the oracle does not settle it. */
    | { readonly kind: 'refused'; readonly reason: string };

/** A request to the lane, of which the outbox keeps the note. */
export interface KeeperNote {
  readonly assertionId: string;
}

/** The note that the outbox returned; undefined when it is not a keeper's. */
export function readKeeperNote(note: unknown): KeeperNote | undefined {
  if (typeof note !== 'object' || note === null) return undefined;
  const { assertionId } = note as Partial<KeeperNote>;
  return typeof assertionId === 'string' ? { assertionId } : undefined;
}

/** What the history, the chain and the outbox have at the moment of a round. */
export interface Round {
  /** Oldest first. */
  readonly proposals: readonly Proposal[];
  /** All requests that the outbox lists. */
  readonly requests: readonly TrackedRequest[];
  /** The history has every fact of the blocks below this one. */
  readonly nextBlock: number;
  /** The chain's time in seconds. */
  readonly timeS: number;
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
}

export interface WatchStatus {
  /** Proposals that others may not settle first any more. */
  readonly due: number;
  /** Proposals that have waited for too long. */
  readonly overdue: number;
}

/** What an operator is told. */
export interface Told {
  readonly level: 'note' | 'trouble' | 'alarm';
  readonly text: string;
}

/** What the watch remembers of an assertion. */
interface Memory {
  readonly notBeforeMs: number;
  /** How often in a row the oracle has refused. */
  readonly refusals: number;
  /** What holds up the settlement; undefined before the first look. */
  readonly reason: string | undefined;
  readonly told: ReadonlySet<string>;
}

const NOTHING: Memory = { notBeforeMs: 0, refusals: 0, reason: undefined, told: new Set() };

/** The watch over one chain. */
export class Watch {
  readonly #memory = new Map<string, Memory>();
  #status: WatchStatus = { due: 0, overdue: 0 };

  constructor(private readonly chainId: number, private readonly rules: WatchRules) {}

  status(): WatchStatus {
    return this.#status;
  }

  /** The proposals to look at now, and what is to be told of those that have waited for too long. */
  begin({ proposals, requests, nextBlock, timeS, nowMs }: Round): { readonly looks: readonly Proposal[]; readonly told: readonly Told[] } {
    const counted = new Set(proposals.map(({ assertionId }) => assertionId));
    for (const assertionId of this.#memory.keys()) if (!counted.has(assertionId)) this.#memory.delete(assertionId);
    const due = proposals.filter(({ disputed, expirationTime }) => disputed || timeS >= expirationTime + this.rules.graceS);
    const overdue = due.filter(({ expirationTime }) => timeS >= expirationTime + this.rules.longS);
    this.#status = { due: due.length, overdue: overdue.length };
    const own = (proposal: Proposal) => requestsOf(proposal, requests);
    const told = [
      ...due.flatMap((proposal) => this.#inVain(proposal, own(proposal))), ...overdue.flatMap((proposal) => this.#waitsLong(proposal, own(proposal))),
    ];
    const { backoff } = this.rules;
    const looks = due.filter((proposal) => (
      nowMs >= this.#of(proposal).notBeforeMs && mayTryAgain(own(proposal), { nextBlock, nowMs, backoff })));
    return { looks: looks.slice(0, this.rules.looks), told };
  }

  /** Notes a finding. Returns what is to be told. A proposal that is `ready` is to be asked for with `idOf`. */
  saw(proposal: Proposal, finding: Finding, nowMs: number): readonly Told[] {
    const memory = this.#of(proposal);
    const { againMs, backoff } = this.rules;
    switch (finding.kind) {
      case 'ready':
        this.#put(proposal, { ...memory, refusals: 0 });
        return [];
      case 'settled':
        this.#put(proposal, { ...memory, notBeforeMs: nowMs + againMs, reason: 'the oracle has settled it, and the history has not heard of that' });
        return [];
      case 'undecided':
        this.#put(proposal, { ...memory, notBeforeMs: nowMs + againMs, reason: `it is disputed, and the oracle has not decided: ${finding.reason}` });
        return [];
      case 'refused': {
        const refusals = memory.refusals + 1;
        const reason = `the oracle refuses to settle it: ${finding.reason}`;
        this.#put(proposal, { ...memory, refusals, notBeforeMs: nowMs + backoffMs(refusals, backoff), reason });
        return this.#once(proposal, 'alarm', `${reason}. Nothing is sent; the keeper looks again with growing pauses`);
      }
    }
  }

  /** Told once of each request whose transaction has not settled the assertion. */
  #inVain(proposal: Proposal, requests: readonly TrackedRequest[]): readonly Told[] {
    return requests.flatMap(({ id, status }) => {
      if (status.kind === 'refused') return this.#once(proposal, 'alarm', `the lane has refused request ${id}: ${status.reason}`);
      if (status.kind !== 'ended') return [];
      const { ending } = status;
      if (ending.kind === 'lost') return this.#once(proposal, 'trouble', `another transaction used the nonce of request ${id}`);
      return ending.succeeded ? [] : this.#once(proposal, 'trouble', `transaction ${ending.txHash} reverted: somebody else may have been first`);
    });
  }

  #waitsLong(proposal: Proposal, requests: readonly TrackedRequest[]): readonly Told[] {
    const last = requests.at(-1)?.status.kind;
    const reason = last === 'waiting' || last === 'sent' ? 'its transaction is on its way' : this.#of(proposal).reason;
    if (reason === undefined) return [];
    const days = Math.floor(this.rules.longS / 86_400);
    const text = `it has waited for ${days} days since its dispute window: ${reason}. If the oracle cannot settle it, the resolver's administrator can abandon it`;
    return this.#once(proposal, 'alarm', text, 'waits long');
  }

  #once(proposal: Proposal, level: Told['level'], text: string, about = text): readonly Told[] {
    const memory = this.#of(proposal);
    if (memory.told.has(about)) return [];
    this.#put(proposal, { ...memory, told: new Set([...memory.told, about]) });
    return [{ level, text: `chain ${this.chainId}, assertion ${proposal.assertionId} of market ${proposal.marketId}: ${text}` }];
  }

  #of({ assertionId }: Proposal): Memory {
    return this.#memory.get(assertionId) ?? NOTHING;
  }

  #put({ assertionId }: Proposal, memory: Memory): void {
    this.#memory.set(assertionId, memory);
  }
}

/** The requests of an assertion, in the order of asking. */
function requestsOf({ assertionId }: Proposal, requests: readonly TrackedRequest[]): readonly TrackedRequest[] {
  return requests.filter(({ note }) => readKeeperNote(note)?.assertionId === assertionId);
}

/**
 * The lane's id of the next request for an assertion: the same in every process and after every restart, so that it is sent once. After a request
 * that ended in vain it is another one: the outbox lists requests until their proposal counts no more.
 */
export function idOf(chainId: number, proposal: Proposal, requests: readonly TrackedRequest[]): string {
  return recordId(`keeper:${chainId}:${proposal.assertionId}:${requestsOf(proposal, requests).length}`);
}

/** Requests that are over and whose proposals count no more. */
export function forgettable({ proposals, requests }: Pick<Round, 'proposals' | 'requests'>): readonly string[] {
  const counted = new Set(proposals.map(({ assertionId }) => assertionId));
  return requests.filter(({ note, status }) => (
    isOver(status) && !counted.has(readKeeperNote(note)?.assertionId ?? ''))).map(({ id }) => id);
}
