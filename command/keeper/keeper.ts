/**
 * The keeper of a chain: settles at the oracle, through the lane, what nobody else has settled after a proposal's dispute window or its arbitration.
 * Of the processes with a chain's relayer one is the keeper. What it asks for has no record in the history: the chain's facts tell what came of it.
 */
import type { Chain } from '../chain/chain.js';
import type { Report } from '../../engine/report.js';
import { tell } from '../rounds/docket.js';
import { runLaneRounds, type HeldRequests, type RoundsStatus } from '../rounds/lane-rounds.js';
import type { LaneUser } from '../lane/requests.js';
import { encodeCall, type ContractCall } from '../chain/abi.js';
import { lackOf, timeOfNextBlock, type ChainReads } from '../chain/chain-reads.js';
import { forgettable, idOf, Watch, type Finding, type Proposal, type UnproposedMarket, type WatchRules, type WatchStatus } from './watch.js';

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
  /** The chain's closed standard markets that are neither resolved nor proposed. */
  unproposed(): Iterable<UnproposedMarket>;
  /** The history has every fact of the blocks below this one. */
  nextBlock(): number;
}

export type KeeperStatus = WatchStatus & RoundsStatus;

export interface Keeper {
  /** Resolves when the keeper has ended. Only `signal` ends it. */
  readonly done: Promise<void>;
  status(): KeeperStatus;
}

/** Several times what the project's oracle needs (docs/performance.md, "Gas"): another oracle may need more. Unused gas is not paid for. */
export const KEEPER_GAS = 600_000n;
/** Before users' requests, which the same key sends: what the keeper settles pays everybody in the market. */
const KEEPER_PRIORITY = 1;

/** Starts the keeper. Every failure is reported and retried with growing pauses. */
export function runKeeper(options: KeeperOptions): Keeper {
  const { chain: { chainId }, lane, pollMs, now, signal, report, rules } = options;
  const watch = new Watch(chainId, rules);
  const keeper = new KeeperRound(options, watch);
  const rounds = runLaneRounds({
    lane, pollMs, now, signal, report, who: `chain ${chainId}: the keeper`, round: (requests) => keeper.work(requests),
  });
  return { done: rounds.done, status: () => ({ ...watch.status(), ...rounds.status() }) };
}

class KeeperRound {
  constructor(private readonly options: KeeperOptions, private readonly watch: Watch) {}

  async work(requests: HeldRequests): Promise<void> {
    const { view, now } = this.options;
    const proposals = [...view.proposals()];
    tell(this.watch.unproposed(view.unproposed(), now()), this.options.report);
    await requests.forget(forgettable({ proposals, requests: requests.list() }));
    // While nothing is proposed the chain is not asked.
    const timeS = proposals.length === 0 ? 0 : await timeOfNextBlock(this.options.reads, this.options.chain);
    const { looks, told } = this.watch.begin({ proposals, requests: requests.list(), nextBlock: view.nextBlock(), timeS, nowMs: now() });
    tell(told, this.options.report);
    for (const proposal of looks) {
      if (this.options.signal.aborted) return;
      const finding = await this.look(proposal);
      tell(this.watch.saw(proposal, finding, now()), this.options.report);
      if (finding.kind === 'ready') await this.ask(requests, proposal);
    }
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

  private async ask(requests: HeldRequests, proposal: Proposal): Promise<void> {
    const { chain: { chainId, contracts }, reads, relayer, maxFeePerGas, verify, report } = this.options;
    const { assertionId, marketId } = proposal;
    const lack = lackOf(await reads.funds(relayer), { chainId, address: relayer, whose: 'the relayer', maxFeePerGas, gasLimit: KEEPER_GAS });
    if (lack !== undefined) throw new Error(lack);
    await verify();
    const id = idOf(chainId, proposal, requests.list());
    const data = encodeCall(this.onOracle('settleAssertion', assertionId));
    await requests.ask({ id, to: contracts.oracle, data, gasLimit: KEEPER_GAS, note: { assertionId }, priority: KEEPER_PRIORITY });
    report('note', `chain ${chainId}: nobody has settled assertion ${assertionId} of market ${marketId}: the keeper does`);
  }

  private onOracle(method: string, assertionId: string): ContractCall {
    return { abi: 'oracle', to: this.options.chain.contracts.oracle, method, args: [assertionId] };
  }
}
