/** Compares what the contract says of a fill with the match in the history, and knows fills that the history passes over. Pure. */
import type { Fact } from '../../../command/indexer/facts.js';
import { otherTerms, passedOverFill, type ToldFill } from '../../../command/indexer/checks/told-fill.js';
import type { Difference } from '../difference.js';
import { keyOf, saysTheSame, type RecordedFact } from './recorded-facts.js';

export interface ExpectedFacts {
  readonly facts: readonly Fact[];
  /** The places of the fills that the history passes over, by `keyOf`. */
  readonly passedOver: ReadonlySet<string>;
}

/** The chain's facts as the history has to have them: for a fill that it passes over, the facts that record this. */
export function expectedFacts(told: readonly Fact[], recorded: ReadonlyMap<string, RecordedFact>): ExpectedFacts {
  const passedOver = new Set<string>();
  const facts = told.flatMap((fact) => {
    const { command, blockHash, fill } = fact;
    const ours = recorded.get(keyOf(command.fact));
    if (fill === undefined || ours === undefined || (command.kind !== 'SettleFill' && command.kind !== 'FailFill')) return [fact];
    const instead = passedOverFill(command, fill);
    const own = instead.at(-1);
    if (own === undefined || !saysTheSame(ours, own) || saysTheSame(ours, command)) return [fact];
    passedOver.add(keyOf(command.fact));
    return instead.map((each) => each === own ? { command: each, blockHash, fill } : { command: each, blockHash });
  });
  return { facts, passedOver };
}

export interface FillComparison {
  readonly recorded: RecordedFact;
  readonly told: ToldFill;
  readonly txHash: string;
  /** The history records it as `passedOverFill` does, and not as the contract's event says. */
  readonly isPassedOver: boolean;
  /** The auditor knows that the transaction's fills are false. */
  readonly isNamed: boolean;
  readonly orderHashAt: (position: number) => string | undefined;
}

/** What is wrong; `passed over` for a false fill that history and auditor pass over; undefined for a fill that is as it was matched. */
export function compareFill(
  { recorded: { fill, position }, told, txHash, isPassedOver, isNamed, orderHashAt }: FillComparison,
): Pick<Difference, 'what' | 'means' | 'expected' | 'found'> | 'passed over' | undefined {
  if (fill === null) return undefined;
  const [buyer, seller] = fill.takerSide === 0 ? [fill.takerNumber, fill.makerNumber] : [fill.makerNumber, fill.takerNumber];
  const other = otherTerms(told.terms, {
    buyOrder: orderHashAt(buyer) ?? 'none', sellOrder: orderHashAt(seller) ?? 'none', price: String(fill.price), size: fill.size, cost: fill.cost,
  });
  if (other === undefined) {
    if (!isPassedOver) return undefined;
    return {
      what: `the history calls fill ${fill.fill} failed at position ${position}, and transaction ${txHash} settled or refused it as it was matched`,
      means: 'The history passes over a fill that is not false: its traders were told that nothing came of it.', expected: told.terms, found: 'passed over',
    };
  }
  const isFailed = fill.type === 'FillFailed' && fill.reason === 'unknown' && fill.culprit === 'both';
  if (isNamed && isFailed) return 'passed over';
  const means = 'What was settled is not what the engine matched: the operator, or somebody with the operator\'s key, sent something else under this fill\'s number.';
  return {
    what: `fill ${fill.fill} was matched with other orders, or at another price or size, than the chain settled or refused (transaction ${txHash})`,
    means: isFailed ? `${means} The history passes it over; if you know from elsewhere that it is false, audit with --pass-over-fill ${txHash}.` : means,
    expected: other.told, found: other.matched,
  };
}
