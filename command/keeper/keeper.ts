/**
 * The keeper of a chain: settles at the oracle, through the lane, what nobody else has settled after a proposal's dispute window or its arbitration.
 * Of the processes with a chain's relayer one is the keeper. What it asks for has no record in the history: the chain's facts tell what came of it.
 */
import { backoffMs, pause } from '../../engine/waiting.js';
import type { Chain } from '../chain/chain.js';
import type { Report } from '../chain/report.js';
import { OutboxUnavailable, type HeldLaneUser, type LaneUser, type TrackedRequest } from '../lane/requests.js';
import { encodeCall, type ContractCall } from '../chain/abi.js';
import { lackOf, type ChainReads } from '../chain/chain-reads.js';
import { forgettable, idOf, Watch, type Finding, type Proposal, type Told, type WatchRules, type WatchStatus } from './watch.js';

export interface KeeperOptions {
  readonly chain: Pick<Chain, 'chainId' | 'contracts'>;
  readonly reads: Pick<ChainReads, 'views' | 'simulate' | 'funds'>;
  /** The lane's user with purpose `keeper`. */
  readonly lane: LaneUser;
  readonly view: KeeperView;
  /** Resolves when the chain is still the one that the history recorded. Awaited before the lane is asked. Throws ChainUnavailable. */
  readonly verify: () => Promise<void>;
  /** The address of the relayer's key, lower-case. */
  readonly relayer: string;
  /** The most that the lane offers, in wei per unit of gas. */
  readonly maxFeePerGas: bigint;
  readonly rules: WatchRules;
  /** How often to look, in milliseconds. */
  readonly pollMs: number;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  readonly report: Report;
}

/** What the keeper reads of the history. */
export interface KeeperView {
  /** The chain's proposals that count, oldest first. */
  proposals(): Iterable<Proposal>;
  /** The history has every fact of the blocks below this one. */
  nextBlock(): number;
}

export interface KeeperStatus extends WatchStatus {
  /** Whether this process is the keeper; if not, another one may be. */
  readonly holds: boolean;
  /** Why it cannot look or send at present; undefined when it can. */
  readonly trouble: string | undefined;
}

export interface Keeper {
  /** Resolves when the keeper has ended. Only `signal` ends it. */
  readonly done: Promise<void>;
  status(): KeeperStatus;
}

const RETRY = { firstMs: 250, longestMs: 60_000 };
/** Several times what the project's oracle needs (docs/performance.md, "Gas"): another oracle may need more. Unused gas is not paid for. */
export const KEEPER_GAS = 600_000n;

/** Starts the keeper. Every failure is reported and retried with growing pauses. */
export function runKeeper(options: KeeperOptions): Keeper {
  const keeper = new RunningKeeper(options);
  return { done: keeper.run(), status: () => keeper.status() };
}

class RunningKeeper {
  private held: HeldLaneUser | undefined;
  private readonly requests = new Map<string, TrackedRequest>();
  private readonly watch: Watch;
  private failure: string | undefined;

  constructor(private readonly options: KeeperOptions) {
    this.watch = new Watch(options.chain.chainId, options.rules);
  }

  status(): KeeperStatus {
    return { ...this.watch.status(), holds: this.held !== undefined, trouble: this.failure };
  }

  async run(): Promise<void> {
    const { signal, report, chain: { chainId }, pollMs } = this.options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const held = this.held ?? await this.hold();
        await this.round(held);
        if (this.failure !== undefined) report('note', `chain ${chainId}: the keeper goes on`);
        this.failure = undefined;
        failures = 0;
        await held.wait(signal, pollMs);
      } catch (error) {
        if (signal.aborted) break;
        const text = error instanceof Error ? error.message : String(error);
        if (text !== this.failure) report('trouble', `chain ${chainId}: the keeper waits: ${text}`);
        this.failure = text;
        if (error instanceof OutboxUnavailable) await this.letGo();
        await pause(backoffMs(++failures, RETRY), signal);
      }
    }
    await this.letGo();
  }

  private async hold(): Promise<HeldLaneUser> {
    // What was asked for is what the outbox lists, whichever process asked.
    this.requests.clear();
    return this.held = await this.options.lane.hold(this.options.signal);
  }

  private async letGo(): Promise<void> {
    const { held } = this;
    this.held = undefined;
    await held?.close();
  }

  private async round(held: HeldLaneUser): Promise<void> {
    for (const request of await held.changes()) this.requests.set(request.id, request);
    const { view, now } = this.options;
    const proposals = [...view.proposals()];
    const requests = [...this.requests.values()];
    await this.forget(held, forgettable({ proposals, requests }));
    // While nothing is proposed the chain is not asked.
    const timeS = proposals.length === 0 ? 0 : await this.time();
    const { looks, told } = this.watch.begin({ proposals, requests, nextBlock: view.nextBlock(), timeS, nowMs: now() });
    this.tell(told);
    for (const proposal of looks) {
      if (this.options.signal.aborted) return;
      const finding = await this.look(proposal);
      this.tell(this.watch.saw(proposal, finding, now()));
      if (finding.kind === 'ready') await this.ask(held, proposal);
    }
  }

  private async forget(held: HeldLaneUser, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await held.forget(ids);
    for (const id of ids) this.requests.delete(id);
  }

  /** The time of the next block: contracts compare their windows with it, not with this machine's clock. */
  private async time(): Promise<number> {
    const { chain: { chainId, contracts: { multicall } }, reads } = this.options;
    const [time] = await reads.views([{ abi: 'multicall', to: multicall, method: 'getCurrentBlockTimestamp', args: [] }], 'pending');
    if (typeof time !== 'bigint') throw new Error(`the time of chain ${chainId} cannot be read`);
    return Number(time);
  }

  /** Asks the oracle for the assertion's state and, if it is not settled, what settling would do in the next block. */
  private async look({ assertionId }: Proposal): Promise<Finding> {
    const { chain: { contracts }, reads, relayer } = this.options;
    const [assertion] = await reads.views([this.onOracle('getAssertion', assertionId)], 'pending') as [{ settled: boolean; disputer: string } | undefined];
    if (assertion?.settled === true) return { kind: 'settled' };
    const data = encodeCall(this.onOracle('settleAssertion', assertionId));
    const answer = await reads.simulate({ from: relayer, to: contracts.oracle, data, gasLimit: KEEPER_GAS });
    if ('returned' in answer) return { kind: 'ready' };
    const disputed = assertion !== undefined && BigInt(assertion.disputer) !== 0n;
    return { kind: disputed ? 'undecided' : 'refused', reason: answer.reverted };
  }

  private async ask(held: HeldLaneUser, proposal: Proposal): Promise<void> {
    const { chain: { chainId, contracts }, reads, relayer, maxFeePerGas, verify, report } = this.options;
    const { assertionId, marketId } = proposal;
    const lack = lackOf(await reads.funds(relayer), { chainId, relayer, maxFeePerGas, gasLimit: KEEPER_GAS });
    if (lack !== undefined) throw new Error(lack);
    await verify();
    const id = idOf(chainId, proposal, [...this.requests.values()]);
    const data = encodeCall(this.onOracle('settleAssertion', assertionId));
    const note = { assertionId };
    await held.ask([{ id, to: contracts.oracle, data, gasLimit: KEEPER_GAS, note }]);
    this.requests.set(id, { id, note, status: { kind: 'waiting' }, txHashes: [], askedAtMs: this.options.now() });
    report('note', `chain ${chainId}: nobody has settled assertion ${assertionId} of market ${marketId}: the keeper does`);
  }

  private onOracle(method: string, assertionId: string): ContractCall {
    return { abi: 'oracle', to: this.options.chain.contracts.oracle, method, args: [assertionId] };
  }

  private tell(told: readonly Told[]): void {
    for (const { level, text } of told) this.options.report(level, text);
  }
}
