/** An anchor counts unless the auditor passes it over: what the audited exchange says of it, in its history or its settings, is not enough. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { readDescription } from '../../tools/audit/source/described.js';
import { factId } from '../../tools/audit/records/record-ids.js';
import {
  CHAIN_ID, anchored, auditedChain, blockHash, contracts, domain, linesOfHistory, rawEvent, sourceOf, tradedHistory, transaction, auditOf,
  differenceOf, type AuditedHistory,
} from '../support/audited-history.js';
import { newCommand } from '../support/commands.js';

const txHash = transaction(66);
const falseAnchor = (history: AuditedHistory) => ({ ...anchored(history, 3, txHash), args: { position: 3, digest: blockHash(666) } });

/** A history whose operators have passed over an anchor that contradicts it. */
async function passingOver(): Promise<{ history: AuditedHistory; position: number }> {
  const history = await tradedHistory();
  const position = history.records.length;
  const fact = { chainId: CHAIN_ID, block: history.blocks + 1, logIndex: 0 };
  history.add(
    newCommand('PassOverAnchor', { at: 1_800_000_000_000, chainId: CHAIN_ID, txHash, position: '3', digest: blockHash(666), fact }),
    factId(fact, blockHash(fact.block)),
  );
  history.block(falseAnchor(history));
  return { history, position };
}

describe('an audit of a history that passes over an anchor', () => {
  it('finds it, with the chain and without, and passes once the auditor names the transaction', async () => {
    const { history, position } = await passingOver();
    for (const node of [undefined, null]) {
      const { check, place, means } = await differenceOf(history, node === null ? { node } : {});
      deepEqual([check, place], ['anchors', { position, chainId: CHAIN_ID, txHash }]);
      match(means, new RegExp(`--pass-over-anchor ${txHash}`));
    }
    const another = await differenceOf(history, { passedOverAnchors: new Set([transaction(67)]) });
    equal(another.place.txHash, txHash);
    const { passed, notes } = await auditOf(history, { passedOverAnchors: new Set([txHash]) });
    equal(passed, true);
    match(notes.join('\n'), /1 anchors differ from the history, and were passed over/);
  });

  it('takes no word of the service\'s own settings for it, also behind the audited end', async () => {
    const history = await tradedHistory();
    const events = [...history.chainEvents, rawEvent(falseAnchor(history), history.blocks + 1, 0)];
    history.blocks++;
    const says = { cancelAuth: 'required', chains: [{ ...auditedChain, orderDomain: domain, contracts, passOverAnchors: [txHash] }] };
    const source = sourceOf(linesOfHistory(history.records), readDescription(says, 'the service'));
    const { check, place } = await differenceOf(history, { events, source });
    deepEqual([check, place.position, place.txHash], ['anchors', 3, txHash]);
    equal((await auditOf(history, { events, source, passedOverAnchors: new Set([txHash]) })).passed, true);
  });

  it('still finds one that the auditor names and the history does not have', async () => {
    const history = await tradedHistory();
    history.block(falseAnchor(history));
    const { check, place } = await differenceOf(history, { passedOverAnchors: new Set([txHash]) });
    deepEqual([check, place.txHash], ['anchors', txHash]);
  });
});
