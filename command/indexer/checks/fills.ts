/**
 * Compares the fills that the chain has settled or refused with those that the engine matched, and passes over those
 * that operators have named.
 */
import type { ChainCursor, EngineView, MatchedFill } from '../../../engine/run/view.js';
import type { Chain, Rpc } from '../../chain/chain.js';
import type { Report } from '../../../engine/report.js';
import type { Fact, FactCommand } from '../facts.js';
import { ForeignChain, othersText, senderOf } from '../foreign-chain.js';
import { otherTerms, passedOverFill, type OtherTerms, type ChainFill } from './chain-fill.js';

export interface FillCheck {
  readonly chain: Chain;
  readonly rpc: Rpc;
  readonly cursor: () => ChainCursor | undefined;
  readonly view: Pick<EngineView, 'unsettledFill'>;
  /** Resolves when `view` includes every command that was in the log at the call. */
  readonly caughtUp: () => Promise<void>;
  readonly report: Report;
}

/** A fact that ends a fill. */
interface FillFact extends Fact {
  readonly command: Extract<FactCommand, { readonly kind: 'SettleFill' | 'FailFill' }>;
  readonly fill: ChainFill;
}

/** A fill on the chain that is not the one which the engine matched under its number. */
interface FalseFill {
  readonly fact: FillFact;
  readonly differing: OtherTerms;
}

/**
 * The facts, where a false fill in a transaction that the chain's settings name is recorded as what it is
 * (`passedOverFill`). So is a fill whose number the engine has not given yet, since a fill that gets it in the next
 * moment must not be taken for settled, or has given to a fill of another chain. Throws ForeignChain when another fill
 * is false. Fills before the history's cursor were checked when they were recorded.
 */
export async function checkFills(facts: readonly Fact[], check: FillCheck): Promise<readonly Fact[]> {
  const { chain: { chainId, passOverFills }, view, report } = check;
  const fills = facts.filter(isFillFact);
  const matchOf = ({ command: { fill } }: FillFact) => view.unsettledFill({ chainId, fill });
  if (fills.some((fact) => matchOf(fact) === undefined)) await check.caughtUp();
  // From here on nothing is waited for: what an indexer elsewhere records meanwhile moves the cursor, too.
  const { nextBlock, nextLog } = check.cursor() ?? { nextBlock: 0, nextLog: 0 };
  const isNew = ({ command: { fact: { block, logIndex } } }: Fact) => (
    block > nextBlock || (block === nextBlock && logIndex >= nextLog));
  const unmatched = fills.filter((fact) => isNew(fact) && matchOf(fact) === undefined);
  const falseFills = fills.filter(isNew).flatMap((fact): FalseFill[] => {
    const matched = matchOf(fact);
    const differing = matched === undefined ? undefined : otherTerms(fact.fill.terms, termsOf(matched));
    return differing === undefined ? [] : [{ fact, differing }];
  });
  const named = new Set(passOverFills);
  const [first, ...others] = falseFills.filter(({ fact: { command } }) => !named.has(command.txHash));
  if (first !== undefined) throw await contradiction(first, others, check);
  for (const { fact: { command: { fill, txHash } }, differing } of falseFills) {
    report('warn', `chain ${chainId}: passes over fill ${fill} of transaction ${txHash}, as the chain's settings say: ${textOf(differing)}; the history `
    + 'records that its own fill failed, and the shares that moved');
  }
  if (unmatched.length > 0) report('alert', unmatchedText(chainId, unmatched));
  const passed = new Set<Fact>([...unmatched, ...falseFills.map(({ fact }) => fact)]);
  return facts.flatMap((fact) => isFillFact(fact) && passed.has(fact) ? recorded(fact) : [fact]);
}

function isFillFact(fact: Fact): fact is FillFact {
  return fact.fill !== undefined && (fact.command.kind === 'SettleFill' || fact.command.kind === 'FailFill');
}

function recorded({ command, blockHash, fill }: FillFact): readonly Fact[] {
  return passedOverFill(command, fill).map((each) => ({ command: each, blockHash }));
}

function termsOf({ buyOrder, sellOrder, price, size, cost }: MatchedFill) {
  return { buyOrder, sellOrder, price: String(price), size: String(size), cost: String(cost) };
}

/** The text names this many fills. */
const MAX_NAMED = 20;

function unmatchedText(chainId: number, unmatched: readonly FillFact[]): string {
  const what = 'the chain has settled or refused fills that this history does not have there: their numbers are not given yet, or are those of other fills';
  const named = unmatched.slice(0, MAX_NAMED).map(({ command: { fill, txHash } }) => `${fill} (transaction ${txHash})`).join(', ');
  const rest = unmatched.length > MAX_NAMED ? ` and ${unmatched.length - MAX_NAMED} more` : '';
  return `chain ${chainId}: ${what}: ${named}${rest}. `
    + 'Was the history restored from an old copy, or is the operator\'s key used elsewhere? Fills that get these numbers on this chain cannot be settled';
}

async function contradiction(
  falseFill: FalseFill, others: readonly FalseFill[], { chain, rpc }: FillCheck,
): Promise<ForeignChain> {
  const { fact: { command }, differing } = falseFill;
  const { kind, fill, txHash, fact: { block } } = command;
  const places = others.map(({ fact: { command: each } }) => ({ txHash: each.txHash, block: each.fact.block }));
  const did = `${kind === 'SettleFill' ? 'settled' : 'refused'} fill ${fill} with ${textOf(differing)}`;
  return new ForeignChain(chain, `transaction ${txHash} of ${await senderOf(txHash, rpc)} in block ${block} ${did}`,
    'Look at the sender. If it is an operator of yours, the contracts have settled for another history: give this history its own contracts (a new chain '
    + 'state, or other addresses), or restore the history that belongs to these contracts. If it is not, or if its key has leaked, the fill is false: take '
    + 'the operator role from the sender, then name the transaction in `passOverFills` of this chain in the chains file and restart; the fill that was '
    + `matched is then recorded as failed, since its number is used up, and the shares that moved as moved.${othersText(txHash, places)}`);
}

function textOf({ onChain, matched }: OtherTerms): string {
  return `${JSON.stringify(onChain)}, where the history has matched ${JSON.stringify(matched)}`;
}
