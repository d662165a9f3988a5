/** An audit of what traders ask of their orders: each request is signed by its trader, or the exchange said that it need not be. */
import { deepEqual, match } from 'node:assert/strict';
import type { CancelAfter, CancelAll, CancelOrders, ReduceOrder } from '../../engine/records/commands.js';
import { ALL_MARKETS } from '../../engine/records/fields.js';
import type { RequestFields } from '../../command/signing/typed-data.js';
import { CHAIN_ID, traders, tradedHistory, auditOf, differenceOf, type AuditedHistory } from '../support/audited-history.js';
import { newCommand } from '../support/commands.js';

const deadline = '1900000000';
type Request = CancelOrders | CancelAll | CancelAfter | ReduceOrder;

/** The requests of each kind about an order of the first trader's, by their kinds; without the signature. */
function requestsOf(history: AuditedHistory): Request[] {
  const at = 1_800_000_000_000 + history.records.length * 10;
  const { address: trader } = traders[0]!;
  const { outcome } = history.order(0, { price: 1 });
  const [accepted] = outcome.events;
  const orderHash = accepted?.type === 'OrderAccepted' ? accepted.orderHash : '';
  return [
    newCommand('ReduceOrder', { at, orderHash, size: '500000', trader }),
    newCommand('CancelAfter', { at, chainId: CHAIN_ID, trader, seconds: 30 }),
    newCommand('CancelOrders', { at, chainId: CHAIN_ID, trader, orderHashes: [orderHash, `0x${'7'.repeat(64)}`] }),
    newCommand('CancelAll', { at, chainId: CHAIN_ID, trader, marketId: ALL_MARKETS }),
  ];
}

function signedBy(trader: number, history: AuditedHistory, request: Request): Request {
  const signature = traders[trader]!.key.sign(history.prepared.requestDigest({ ...request, deadline } as unknown as RequestFields)).serialized;
  return { ...request, signature, deadline };
}

describe('an audit of requests about orders', () => {
  it('passes signed ones of every kind', async () => {
    const history = await tradedHistory();
    for (const request of requestsOf(history)) history.add(signedBy(0, history, request));
    deepEqual((await auditOf(history, { node: null, threads: 1 })).difference, null);
  });

  for (const kind of ['ReduceOrder', 'CancelAfter', 'CancelOrders', 'CancelAll'] as const) {
    it(`finds a ${kind} that somebody else has signed, one whose fields were changed, and one without a signature`, async () => {
      const changes: ((history: AuditedHistory, request: Request) => Request)[] = [
        (history, request) => signedBy(1, history, request), (history, request) => ({ ...signedBy(0, history, request), deadline: '1900000001' }), (_, request) => request,
      ];
      for (const change of changes) {
        const history = await tradedHistory();
        const request = requestsOf(history).find((each) => each.kind === kind)!;
        history.add(change(history, request));
        const { check, place, what } = await differenceOf(history, { node: null, threads: 1 });
        deepEqual([check, place], ['cancelSignatures', { position: history.records.length - 1 }]);
        match(what, kind === 'ReduceOrder' ? /reduction of order 0x/ : new RegExp(`${kind} of 0x`));
      }
    });
  }
});
