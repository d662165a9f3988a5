/** What the relayer does is in the history: requests that are taken, submitted and ended, and what the engine still knows of them. */
import { deepEqual, equal, throws } from 'node:assert/strict';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command, RequestRelay } from '../../engine/records/commands.js';
import { createEngine } from '../../engine/run/engine.js';
import { decodeSnapshot, encodeSnapshot } from '../../engine/run/snapshot.js';
import { viewOf } from '../../engine/run/view.js';
import { engines } from '../reference/compared-engines.js';
import { newCommand } from '../support/commands.js';
import { marketId, START_MS, traderAddress, txHash } from '../support/random-commands.js';

const at = START_MS;
const [owner, other] = [traderAddress(1), traderAddress(2)];
const requestId = (n: number) => marketId(900_000 + n);
const claims = [{ marketId: marketId(1), payout: '7', winningOutcome: 1 as const }];

function request(n: number, fields: Partial<RequestRelay> = {}): Command {
  return newCommand('RequestRelay', { at, requestId: requestId(n), chainId: 137, action: 'ctf-redemption', owner, claims, ...fields });
}
const submit = (n: number, hash = txHash(n), chainId = 137): Command => newCommand('SubmitRelay', {
  at, requestId: requestId(n), chainId, txHash: hash,
});
const end = (n: number, hash?: string, chainId = 137) => newCommand('EndRelay', {
  at, requestId: requestId(n), chainId, ...(hash === undefined ? {} : { txHash: hash }), results: [{ succeeded: true }],
});
const rejected = (code: string, n: number) => [{ type: 'CommandRejected', v: 1, code, subject: requestId(n) }];

for (const [name, create] of Object.entries(engines)) {
  describe(`${name} and the relayer's requests`, () => {
    const start = () => {
      const engine = create();
      return (command: Command) => engine.step(command, encodeCommand(command)).outcome.events;
    };

    it('says of a request what is asked, by whom, each transaction, and how it ended', () => {
      const step = start();
      const relay = { v: 1, requestId: requestId(1), chainId: 137, action: 'ctf-redemption', owner, claims };
      deepEqual(step(request(1)), [{ type: 'RelayRequested', ...relay }]);
      deepEqual(step(submit(1, txHash(1))), [{ type: 'RelaySubmitted', ...relay, txHash: txHash(1) }]);
      deepEqual(step(submit(1, txHash(2))), [{ type: 'RelaySubmitted', ...relay, txHash: txHash(2) }]);
      const ended: Command = { ...end(1, txHash(2)), results: [{ succeeded: false, reason: 'reverted' }] };
      deepEqual(step(ended), [{ type: 'RelayEnded', ...relay, txHash: txHash(2), results: [{ succeeded: false, reason: 'reverted' }] }]);
    });

    it('ends a request that was never sent without a transaction', () => {
      const step = start();
      step(request(1, { action: 'usdc-permit', claims: [] }));
      deepEqual(step(end(1)), [{
        type: 'RelayEnded', v: 1, requestId: requestId(1), chainId: 137, action: 'usdc-permit', owner, claims: [], txHash: null,
        results: [{ succeeded: true, reason: null }],
      }]);
    });

    it('takes an open request once, also for another owner, action and chain; and again after the request has ended', () => {
      const step = start();
      step(request(1));
      deepEqual(step(request(1)), rejected('relay_exists', 1));
      deepEqual(step(request(1, { owner: other, action: 'ctf-split', chainId: 1, claims: [] })), rejected('relay_exists', 1));
      step(end(1));
      equal(step(request(1))[0]?.type, 'RelayRequested');
    });

    it('refuses to submit or end a request that is unknown, that is another chain\'s, or that has ended', () => {
      const step = start();
      for (const command of [submit(1), end(1)]) deepEqual(step(command), rejected('unknown_relay', 1));
      step(request(1));
      for (const command of [submit(1, txHash(1), 1), end(1, undefined, 1)]) deepEqual(step(command), rejected('unknown_relay', 1));
      step(end(1));
      for (const command of [submit(1), end(1)]) deepEqual(step(command), rejected('unknown_relay', 1));
    });

    it('writes claims in the schema\'s order of keys, so that the digest does not depend on the writer', () => {
      const step = start();
      const [event] = step(request(1, { claims: [{ winningOutcome: 1, payout: '7', marketId: marketId(1) }] }));
      equal(JSON.stringify((event as { claims: unknown }).claims), JSON.stringify(claims));
    });

    it('has at most 100,000 open requests', () => {
      const step = start();
      for (let n = 0; n < 100_000; n++) step(request(n, { action: 'ctf-split', claims: [] }));
      deepEqual(step(request(100_000)), rejected('too_many_relays', 100_000));
      deepEqual(step(request(5)), rejected('relay_exists', 5));
      step(end(5));
      equal(step(request(100_000))[0]?.type, 'RelayRequested');
    });
  });
}

describe('the records of the relayer\'s requests', () => {
  const results = (count: number, reason = 'x'.repeat(200)) => Array.from({ length: count }, () => ({ succeeded: false, reason }));
  const many = (count: number) => Array.from({ length: count }, () => claims[0]!);

  it('have up to 20 claims and results, and reasons of up to 200 characters', () => {
    encodeCommand(request(1, { claims: many(20) }));
    encodeCommand({ ...end(1), results: results(20) } as Command);
  });

  const malformed: readonly (readonly [string, object, RegExp])[] = [
    ['21 claims', request(1, { claims: many(21) }), /claims must NOT have more than 20 items/],
    ['21 results', { ...end(1), results: results(21) }, /results must NOT have more than 20 items/],
    ['no result', { ...end(1), results: [] }, /results must NOT have fewer than 1 items/],
    ['a longer reason', { ...end(1), results: results(1, 'x'.repeat(201)) }, /reason must NOT have more than 200 characters/],
    ['an action that no endpoint has', { ...request(1), action: 'ctf-burn' }, /action/],
    ['a payout as a number', { ...request(1), claims: [{ ...claims[0], payout: 7 }] }, /payout must be string/],
    ['an end without a hash, said as null', { ...end(1), txHash: null }, /txHash must be string/],
  ];
  for (const [what, command, message] of malformed) {
    it(`are not written with ${what}`, () => { throws(() => encodeCommand(command as Command), { name: 'MalformedRecord', message }); });
  }
});

describe('the view of the relayer\'s requests', () => {
  const engineAfter = (...commands: Command[]) => {
    const engine = createEngine();
    for (const command of commands) engine.step(encodeCommand(command));
    return engine;
  };
  const relay = (n: number, txHashes: string[] = []) => (
    { requestId: requestId(n), chainId: 137, action: 'ctf-redemption', owner, claims, txHashes });

  it('has the open requests of a chain, oldest first, with each transaction once', () => {
    const view = viewOf(engineAfter(
      request(1), request(2), request(3, { chainId: 1 }), submit(1, txHash(1)), submit(1, txHash(2)), submit(1, txHash(1)), request(4), end(2),
    ));
    deepEqual([...view.openRelays(137)], [relay(1, [txHash(1), txHash(2)]), relay(4)]);
    deepEqual([...view.openRelays(1)], [{ ...relay(3), chainId: 1 }]);
    deepEqual(view.relay(requestId(4)), relay(4));
    equal(view.relay(requestId(2)), undefined);
  });

  it('has the latest 100 transactions of a request', () => {
    const hashes = Array.from({ length: 150 }, (_, n) => txHash(n));
    const view = viewOf(engineAfter(request(1), ...hashes.map((hash) => submit(1, hash))));
    deepEqual(view.relay(requestId(1))?.txHashes, hashes.slice(50));
  });

  it('is the same after a restart from a snapshot', () => {
    const restored = decodeSnapshot(encodeSnapshot(engineAfter(request(1), submit(1, txHash(1)), request(2))))!;
    deepEqual([...viewOf(createEngine(restored.state, restored.digest)).openRelays(137)], [relay(1, [txHash(1)]), relay(2)]);
  });
});
