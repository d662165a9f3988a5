/** An audit finds a fill that the chain settled otherwise than it was matched, also where the history passes it over, unless the auditor does too. */
import { deepEqual, match } from 'node:assert/strict';
import type { Fact } from '../../command/indexer/facts.js';
import { passedOverFill } from '../../command/indexer/checks/chain-fill.js';
import { audit } from '../../tools/audit/audit.js';
import {
  CHAIN_ID, emptyHistory, fillFailed, fillSettled, linesOfHistory, marketCreated, nodeOf, sharesMoved, sourceOf, traders, transaction,
  type AuditedHistory, type Emitted,
} from '../support/audited-history.js';

const TX = transaction(66);
type Recorded = readonly Pick<Fact, 'command' | 'blockHash'>[];

/** A history with one fill, and a block in which the chain ends it; `record` makes the history's records of the chain's facts. */
async function historyOf(
  events: (history: AuditedHistory) => readonly Emitted[], record: (facts: readonly Fact[]) => Recorded,
): Promise<AuditedHistory> {
  const history = await emptyHistory();
  history.block(marketCreated(0));
  history.order(0, { side: 1 });
  history.order(1, { side: 0 });
  history.blockAs(record, ...events(history));
  return history;
}

async function audited({ records, chainEvents, blocks }: AuditedHistory, named: readonly string[] = []) {
  const { difference, notes, checks } = await audit({
    source: sourceOf(linesOfHistory(records)), threads: 0, rpcs: new Map([[CHAIN_ID, nodeOf(chainEvents, blocks)]]), patienceMs: 0,
    passedOverFills: new Set(named),
  });
  return { difference, notes: notes.filter((note) => /fills on the chain/.test(note)), failed: checks.find(({ name }) => name === 'failedFills')?.count };
}

const altered = (event: Emitted, args: Readonly<Record<string, unknown>>): Emitted => ({ ...event, args: { ...event.args, ...args } });
const moved = sharesMoved({ from: traders[0]!.address, to: traders[1]!.address, token: 10, value: 500_000, txHash: TX });
const falselySettled = (history: AuditedHistory) => [moved, altered(fillSettled(history, 0, TX), { size: 500_000, cost: 250_000 })];
const falselyFailed = (history: AuditedHistory) => [altered(fillFailed(history, 0, TX), { buyOrder: transaction(1) })];
const truly = (history: AuditedHistory) => [moved, fillSettled(history, 0, TX)];

/** As the indexer records what the operators have named. */
const passedOver = (facts: readonly Fact[]): Recorded => facts.flatMap((fact): Recorded => {
  const { command, blockHash, fill } = fact;
  return fill === undefined ? [fact] : passedOverFill(command as Extract<typeof command, { kind: 'FailFill' }>, fill).map((each) => ({ command: each, blockHash }));
});

describe('an audit of fills that the history passes over', () => {
  for (const [what, events, check, place] of [
    ['settled with another size', falselySettled, 'failedFills', { position: 5, fill: 0, block: 2, logIndex: 1 }],
    ['refused for another order', falselyFailed, 'failedFills', { position: 4, fill: 0, block: 2, logIndex: 0 }],
  ] as const) {
    it(`finds one ${what}, and says how to pass it over`, async () => {
      const { difference } = await audited(await historyOf(events, passedOver), [transaction(1)]);
      deepEqual([difference?.check, difference?.place], [check, { ...place, chainId: CHAIN_ID, txHash: TX }]);
      match(difference!.means, new RegExp(`audit with --pass-over-fill ${TX}\\.$`));
    });

    it(`passes over one ${what} that the auditor names, with a note`, async () => {
      const { difference, notes, failed } = await audited(await historyOf(events, passedOver), [TX]);
      deepEqual([difference, failed], [null, 1]);
      deepEqual(notes, [
        `chain ${CHAIN_ID}: 1 fills on the chain are not those that were matched; the history passes them over, and so does this audit (--pass-over-fill)`,
      ]);
    });
  }

  it('finds one that the history takes for the real one, whether it is named or not', async () => {
    const history = await historyOf(falselySettled, (facts) => facts);
    deepEqual((await audited(history)).difference?.check, 'settledFills');
    deepEqual((await audited(history, [TX])).difference?.check, 'settledFills');
  });

  it('finds one that the history passes over though it was settled as it was matched', async () => {
    const { difference } = await audited(await historyOf(truly, passedOver), [TX]);
    match(difference!.what, /the history calls fill 0 failed .* settled or refused it as it was matched/);
  });

  it('finds that the shares which moved are missing', async () => {
    const withoutShares = (facts: readonly Fact[]) => passedOver(facts).filter(({ command }) => command.kind !== 'RecordTransfer');
    const { difference } = await audited(await historyOf(falselySettled, withoutShares), [TX]);
    deepEqual([difference?.check, difference?.place.logIndex], ['chainFacts', 0]);
  });

  it('finds a fill whose number the history had not given, recorded as the indexer does', async () => {
    const early = (history: AuditedHistory) => [moved, altered(fillSettled(history, 0, TX), { seq: 9 })];
    const { difference } = await audited(await historyOf(early, passedOver), [TX]);
    deepEqual([difference?.check, difference?.place.fill], ['failedFills', 9]);
    match(difference!.what, /the history has no such fill that waits for it/);
  });
});
