/** A relayed request ended as the chain says: a success that nothing on the chain supports is found. (Real endings: test/relayer/*.chain.test.ts.) */
import { deepEqual, equal, match, rejects } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeCall } from '../../command/chain/abi.js';
import { recordId } from '../../engine/run/new-record.js';
import type { EndRelay } from '../../engine/records/commands.js';
import { wrongEnding, type RecordedRelay, type MinedTransaction } from '../../tools/audit/chain/ended-relays.js';
import {
  auditedChain, CHAIN_ID, contracts, emptyHistory, nodeOf, traders, transaction, auditOf, differenceOf, type AuditedHistory, type Emitted,
} from '../support/audited-history.js';
import { newCommand } from '../support/commands.js';

const { address: alice } = traders[0]!;
const REQUEST = transaction(800);
const SENT = transaction(801);
const at = 1_800_000_000_000;
const succeeded = [{ succeeded: true }];
const failed = [{ succeeded: false, reason: 'the transaction reverted' }];

const approved = (owner: string): Emitted => ({
  contract: 'conditionalTokens', name: 'ApprovalForAll', txHash: transaction(900), args: { account: owner, operator: contracts.settlement, approved: true },
});

function begin(history: AuditedHistory): void {
  history.add(newCommand('RequestRelay', { at, requestId: REQUEST, chainId: CHAIN_ID, action: 'ctf-approval', owner: alice, claims: [] }));
  history.add(newCommand('SubmitRelay', { at, requestId: REQUEST, chainId: CHAIN_ID, txHash: SENT }), recordId(`relay:${CHAIN_ID}:${SENT}`));
}

function end(history: AuditedHistory, results: EndRelay['results'], txHash: string | undefined = SENT): number {
  return history.add(newCommand('EndRelay', {
    at, requestId: REQUEST, chainId: CHAIN_ID, ...txHash === undefined ? {} : { txHash }, results,
  })).position;
}

/** The chain's node; it has none of the transactions. */
function nodeWithout(history: AuditedHistory) {
  const node = nodeOf(history.chainEvents, history.blocks);
  return {
    chainId: CHAIN_ID,
    request: async <T>(method: string, params: readonly unknown[]) => (
      method === 'eth_getTransactionByHash' || method === 'eth_getTransactionReceipt' ? null as T : await node.request<T>(method, params)),
  };
}

describe('an audit of relayed requests', () => {
  /** One request, which ends as said while the chain has these events. */
  async function ended(results: EndRelay['results'], ...events: readonly Emitted[]): Promise<{ readonly history: AuditedHistory; readonly position: number }> {
    const history = await emptyHistory();
    history.block();
    begin(history);
    history.block(...events);
    const position = end(history, results);
    history.block();
    return { history, position };
  }

  it('finds a success that no event of the chain supports', async () => {
    for (const events of [[], [approved(traders[1]!.address)]]) {
      const { history, position } = await ended(succeeded, ...events);
      const { check, place, what } = await differenceOf(history, { node: nodeWithout(history) });
      deepEqual([check, place.position, place.chainId], ['endedRelays', position, CHAIN_ID]);
      match(what, /succeeded: chain 31337 has no transaction 0x/);
    }
  });

  it('passes a success that somebody else has brought, and failures that the chain does not contradict', async () => {
    for (const [results, ...events] of [[succeeded, approved(alice)], [failed], [failed, approved(traders[1]!.address)]] as const) {
      const { history } = await ended(results, ...events);
      const { difference, checks } = await auditOf(history, { node: nodeWithout(history) });
      deepEqual(difference, null);
      deepEqual(checks.filter(({ name }) => name === 'endedRelays').map(({ status, count }) => [status, count]), [['passed', 1]]);
    }
  });

  it('says without a node that it was not checked', async () => {
    const { history } = await ended(succeeded);
    const { passed, checks } = await auditOf(history, { node: null });
    equal(passed, true);
    deepEqual(checks.filter(({ name }) => name === 'endedRelays').map(({ status }) => status), ['not made']);
  });

  it('remembers an open request in its checkpoint', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-ended-relays-'));
    try {
      // The approval is from long before the request: forgetting where that began would let it count.
      const history = await emptyHistory();
      history.block(approved(alice));
      for (let n = 0; n < 5; n++) history.block();
      begin(history);
      for (let n = 0; n < 7; n++) history.block();
      const position = end(history, succeeded);
      const checkpoint = { path: join(directory, 'checkpoint'), everyRecords: 1 };
      const node = nodeWithout(history);
      const interrupted = new AbortController();
      const onProgress = (_stage: string, done: number): void => { if (done > position - 5) interrupted.abort(); };
      await rejects(auditOf(history, { node, checkpoint, signal: interrupted.signal, onProgress }), /^CannotAudit: interrupted/);
      const { difference, resumedAt } = await auditOf(history, { node, checkpoint });
      deepEqual([difference?.check, difference?.place.position, resumedAt > 3 && resumedAt <= position], ['endedRelays', position, true]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('the ending of a relayed request', () => {
  const ending: RecordedRelay = {
    kind: 'relay', position: 9, requestId: REQUEST, action: 'ctf-approval', owner: alice, claimed: [], txHash: SENT, submitted: [SENT],
    results: [{ succeeded: true, reason: null }], fromBlock: 100 + auditedChain.confirmations, upTo: 200 + auditedChain.confirmations,
  };
  const input = (owner: string) => encodeCall({
    abi: 'conditionalTokens', method: 'setApprovalForAllWithSig',
    args: [owner, contracts.settlement, true, 4_000_000_000n, 27, transaction(1), transaction(2)],
  });
  const own: MinedTransaction = { hash: SENT, block: 150, succeeded: true, logs: [], to: contracts.conditionalTokens, input: input(alice) };

  async function found(mined: MinedTransaction | undefined, changes: Partial<RecordedRelay> = {}): Promise<string | undefined> {
    const difference = await wrongEnding(auditedChain, { ...ending, ...changes }, {
      mined: () => Promise.resolve(mined), state: () => Promise.resolve(undefined),
      tokensOf: () => undefined, marketIdOf: () => Promise.resolve(undefined),
      async* traces() { yield* []; },
    });
    return difference?.what;
  }

  it('rests on its own transaction, mined since the request was taken, that does this for this owner', async () => {
    equal(await found(own), undefined);
    match(await found({ ...own, succeeded: false }) ?? '', /reverted, and nothing else/);
    match(await found({ ...own, input: input(traders[1]!.address) }) ?? '', /does something else, and nothing else/);
    match(await found({ ...own, to: contracts.settlement }) ?? '', /does something else/);
    match(await found({ ...own, block: 99 }) ?? '', /has no transaction/);
    match(await found(undefined, { txHash: null, submitted: [] }) ?? '', /no transaction was sent/);
    match(await found(own, { results: [{ succeeded: false, reason: 'it reverted' }] }) ?? '', /failed, and transaction 0x[0-9a-f]{64} has brought/);
    equal(await found({ ...own, succeeded: false }, { results: [{ succeeded: false, reason: 'it reverted' }] }), undefined);
  });
});
