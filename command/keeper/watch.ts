/**
 * Decides which proposed resolutions the keeper looks at, and what follows from what it has seen there. It does no input or output, so the same
 * sequence of calls always gives the same decisions. What was asked of the lane is not remembered here: the outbox lists it.
 */
import { recordId } from '../../engine/records/codec.js';
import type { TrackedRequest } from '../lane/requests.js';
import { Docket, type DocketRules, type Job, type Told } from '../rounds/docket.js';
import { isOver } from '../rounds/lane-rounds.js';

/** A proposed resolution that counts, as the history has it. */
export interface Proposal {
  readonly marketId: string;
  readonly assertionId: string;
  /** When its dispute window ends, in seconds since the Unix epoch. */
  readonly expirationTime: number;
  readonly disputed: boolean;
}

export interface WatchRules extends DocketRules {
  /** How long after the dispute window's end others may settle first, in seconds. */
  readonly graceS: number;
  /** After this time since the dispute window's end a market waits for too long, in seconds. */
  readonly longS: number;
  /** The most proposals per round. */
  readonly looks: number;
}

/** A closed market that is neither resolved nor proposed. */
export interface UnproposedMarket {
  readonly marketId: string;
  /** Unix seconds. */
  readonly expiration: number;
}

/** After thirty days the resolver's administrator can halve a market that nobody has proposed (HALVE_DELAY of OracleResolver). */
const HALVABLE_S = 30 * 86_400;
/** Markets that are named in one alarm. */
const MAX_NAMED = 10;

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

/** The watch over one chain. */
export class Watch {
  readonly #docket: Docket;
  #status: WatchStatus = { due: 0, overdue: 0 };
  /** The halvable markets of the latest round: they have been told. */
  #halvable: ReadonlySet<string> = new Set();

  constructor(private readonly chainId: number, private readonly rules: WatchRules) {
    this.#docket = new Docket(rules);
  }

  status(): WatchStatus {
    return this.#status;
  }

  /** The proposals to look at now, and what is to be told of those that have waited for too long. */
  begin({ proposals, requests, nextBlock, timeS, nowMs }: Round): { readonly looks: readonly Proposal[]; readonly told: readonly Told[] } {
    this.#docket.keep(new Set(proposals.map(({ assertionId }) => assertionId)));
    const due = proposals.filter(({ disputed, expirationTime }) => disputed || timeS >= expirationTime + this.rules.graceS);
    const overdue = due.filter(({ expirationTime }) => timeS >= expirationTime + this.rules.longS);
    this.#status = { due: due.length, overdue: overdue.length };
    const own = (proposal: Proposal) => requestsOf(proposal, requests);
    const told = [
      ...due.flatMap((proposal) => this.#docket.inVain(this.#job(proposal), own(proposal))),
      ...overdue.flatMap((proposal) => this.#waitsLong(proposal, own(proposal))),
    ];
    const looks = due.filter((proposal) => this.#docket.mayLook(proposal.assertionId, own(proposal), { nextBlock, nowMs }));
    return { looks: looks.slice(0, this.rules.looks), told };
  }

  /** What is to be told of markets that nobody has proposed for so long that they may be halved: each once, together in one alarm. */
  unproposed(markets: Iterable<UnproposedMarket>, nowMs: number): readonly Told[] {
    const halvable = [...markets].filter(({ expiration }) => nowMs / 1_000 >= expiration + HALVABLE_S).map(({ marketId }) => marketId);
    const fresh = halvable.filter((marketId) => !this.#halvable.has(marketId));
    this.#halvable = new Set(halvable);
    if (fresh.length === 0) return [];
    const named = fresh.slice(0, MAX_NAMED).join(', ') + (fresh.length > MAX_NAMED ? ` and ${fresh.length - MAX_NAMED} more` : '');
    return [{ level: 'alarm', text: `chain ${this.chainId}: nobody has proposed an outcome for 30 days since the expiration of ${named}. /api/v1/resolution says why; the resolver's `
      + 'administrator can halve such a market' }];
  }

  /** Notes a finding. Returns what is to be told. A proposal that is `ready` is to be asked for with `idOf`. */
  saw(proposal: Proposal, finding: Finding, nowMs: number): readonly Told[] {
    const { assertionId: key } = proposal;
    switch (finding.kind) {
      case 'ready':
        this.#docket.saw(key, finding, nowMs);
        return [];
      case 'settled':
        this.#docket.saw(key, { kind: 'waits', reason: 'the oracle has settled it, and the history has not heard of that' }, nowMs);
        return [];
      case 'undecided':
        this.#docket.saw(key, { kind: 'waits', reason: `it is disputed, and the oracle has not decided: ${finding.reason}` }, nowMs);
        return [];
      case 'refused': {
        const reason = `the oracle refuses to settle it: ${finding.reason}`;
        this.#docket.saw(key, { kind: 'refused', reason }, nowMs);
        return this.#docket.once(this.#job(proposal), 'alarm', `${reason}. Nothing is sent; the keeper looks again with growing pauses`);
      }
    }
  }

  #waitsLong(proposal: Proposal, requests: readonly TrackedRequest[]): readonly Told[] {
    const reason = this.#docket.holdUp(proposal.assertionId, requests);
    if (reason === undefined) return [];
    const days = Math.floor(this.rules.longS / 86_400);
    const text = `it has waited for ${days} days since its dispute window: ${reason}. If the oracle cannot settle it, the resolver's administrator can abandon it`;
    return this.#docket.once(this.#job(proposal), 'alarm', text, 'waits long');
  }

  #job({ assertionId, marketId }: Proposal): Job {
    return { key: assertionId, title: `chain ${this.chainId}, assertion ${assertionId} of market ${marketId}` };
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
