/** One request is one transaction: at once, again, after its end; what is so already; nonces of batches; quotas. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import type { RelayAction } from '../../engine/records/fields.js';
import { RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { laneIdOf } from '../../command/relayer/note.js';
import { createQuota, WINDOW_MS } from '../../command/relayer/quota.js';
import {
  BOND, CHAIN_ID, NOW_S, ZERO, contracts, lowerCase, open, owner, relayScene, stranger, won, validBody, type RelayScene,
} from '../support/relay-scene.js';

const codeOf = async (answer: Promise<unknown>): Promise<string> => answer.then(() => 'taken', (error: unknown) => {
  assert.ok(error instanceof RequestError, String(error));
  return error.code;
});

describe('relayer: one request, one transaction', () => {
  let scene: RelayScene;

  before(async () => { scene = await relayScene(); });
  beforeEach(() => { scene.reset(); });

  for (const action of RELAY_ACTIONS) {
    it(`${action}: ten at once and another one later have the same transaction`, async () => {
      const body = validBody(action, scene);
      const answers = await Promise.all(Array.from({ length: 10 }, () => scene.ask(action, body)));
      answers.push(await scene.ask(action, body));
      assert.equal(new Set(answers.map(({ txHash }) => txHash)).size, 1);
      assert.equal(scene.sent.length, 1);
    });

    it(`${action}: after its end and a restart the read model gives its transaction, by the nonce before`, async () => {
      const body = validBody(action, scene);
      const { txHash } = await scene.ask(action, body);
      scene.state.ended.set(scene.sent[0]!.note.requestId, { txHash, succeeded: true });
      scene.state.counter += action === 'batch-ctf-redemption' ? 1n : 1n;
      scene.restart();
      assert.deepEqual(await scene.ask(action, body), { txHash, status: 'confirmed' });
      scene.state.ended.clear();
      assert.equal(await codeOf(scene.ask(action, body)), 'relay_already_used');
      scene.state.counter += 1n;
      assert.equal(await codeOf(scene.ask(action, body)), 'relay_wrong_signer');
      assert.equal(scene.sent.length, 1);
    });

    it(`${action}: a restart finds the read model behind: the repeat waits for it, and is asked for again if that takes too long`, async () => {
      const body = validBody(action, scene);
      const { txHash } = await scene.ask(action, body);
      scene.state.counter += 1n;
      Object.assign(scene.state, { approved: true, allowance: 5n });
      scene.restart();
      scene.state.endedByNow = undefined;
      assert.equal(await codeOf(scene.ask(action, body)), 'relay_unavailable');
      scene.state.endedByNow = new Map([[scene.sent[0]!.note.requestId, { txHash, succeeded: true }]]);
      assert.deepEqual(await scene.ask(action, body), { txHash, status: 'confirmed' });
      assert.equal(scene.sent.length, 1);
    });

    it(`${action}: what ended in vain is not sent again, however often it comes, but a message with another deadline is`, async () => {
      const body = validBody(action, scene);
      const { txHash } = await scene.ask(action, body);
      scene.state.ended.set(scene.sent[0]!.note.requestId, { txHash, succeeded: false });
      scene.restart();
      for (let i = 0; i < 6; i++) assert.equal(await codeOf(scene.ask(action, body)), 'relay_in_vain');
      assert.equal(scene.sent.length, 1);
      assert.notEqual((await scene.ask(action, validBody(action, scene, { deadline: BigInt(NOW_S + 3_601) }))).txHash, txHash);
      assert.equal(scene.sent.length, 2);
    });

    it(`${action}: somebody else's signature is refused, and so is one of another chain's counter`, async () => {
      assert.equal(await codeOf(scene.ask(action, validBody(action, scene, { by: stranger }))), 'relay_wrong_signer');
      assert.equal(await codeOf(scene.ask(action, validBody(action, scene, { counter: 9n }))), 'relay_wrong_signer');
    });
  }

  const reached: readonly [RelayAction, (scene: RelayScene) => void][] = [
    ['ctf-approval', ({ state }) => { state.approved = true; }],
    ['usdc-permit', ({ state }) => { state.allowance = 5n; }],
    ['propose-resolution', ({ state }) => { state.proposal = { assertionId: `0x${'77'.repeat(32)}`, proposer: owner.address, outcome: true }; }],
  ];
  for (const [action, reach] of reached) {
    it(`${action}: what is so already is done without a transaction, by whichever nonce`, async () => {
      const body = validBody(action, scene);
      reach(scene);
      assert.deepEqual(await scene.ask(action, body), { txHash: '', status: 'done' });
      scene.state.counter += 1n;
      assert.deepEqual(await scene.ask(action, body), { txHash: '', status: 'done' });
      assert.deepEqual(scene.sent, []);
    });
  }

  it('settle-market: a resolved market is done when the outcome is the one that was asked for', async () => {
    const settle = (winningOutcome: bigint) => ({
      chainId: CHAIN_ID, marketAddress: won.address, settler: lowerCase(owner), winningOutcome: Number(winningOutcome),
      ...scene.sign('settle-market', {
        market: won.address, settler: lowerCase(owner), winningOutcome, deadline: BigInt(NOW_S + 60),
      }, { nonceOf: won.marketId }).fields,
    });
    assert.deepEqual(await scene.ask('settle-market', settle(0n)), { txHash: '', status: 'done' });
    scene.state.reverts = 'MarketAlreadyResolved(7)';
    assert.equal(await codeOf(scene.ask('settle-market', settle(1n))), 'relay_would_revert');
  });

  describe('batches', () => {
    const item = (counter: bigint, indexSets: bigint[]) => {
      const fields = { collateralToken: contracts.collateral, parentCollectionId: ZERO, conditionId: won.marketId };
      const message = { owner: lowerCase(owner), ...fields, indexSets, deadline: BigInt(NOW_S + 60) };
      return { ...fields, indexSets: indexSets.map(String), marketAddress: won.address, ...scene.sign('ctf-redemption', message, { nonceOf: won.marketId, counter }).fields };
    };
    const batch = (...redemptions: object[]) => ({ chainId: CHAIN_ID, owner: lowerCase(owner), redemptions });

    it('have consecutive nonces where two items are of one condition, and a claim per item', async () => {
      await scene.ask('batch-ctf-redemption', batch(item(5n, [1n]), item(6n, [2n])));
      assert.deepEqual(scene.sent[0]!.claims, [
        { marketId: won.marketId, payout: '7000000', winningOutcome: 0 }, { marketId: won.marketId, payout: '0', winningOutcome: 0 },
      ]);
      assert.deepEqual(scene.sent[0]!.note.nonces.map(([, nonce]) => BigInt(nonce) % 2n ** 64n), [5n, 6n]);
      assert.equal(scene.sent[0]!.gasLimit, 600_000n);
    });

    it('are refused with the same nonce twice, in the wrong order, and where one item is used', async () => {
      assert.equal(await codeOf(scene.ask('batch-ctf-redemption', batch(item(5n, [1n]), item(5n, [2n])))), 'relay_wrong_signer');
      assert.equal(await codeOf(scene.ask('batch-ctf-redemption', batch(item(6n, [1n]), item(5n, [2n])))), 'relay_wrong_signer');
      assert.equal(await codeOf(scene.ask('batch-ctf-redemption', batch(item(4n, [1n]), item(6n, [2n])))), 'relay_already_used');
      assert.equal(await codeOf(scene.ask('batch-ctf-redemption', batch(item(5n, [1n]), item(6n, [1n])))), 'relay_would_revert');
    });

    it('are repeated as a whole', async () => {
      const body = batch(item(5n, [1n]), item(6n, [2n]));
      const { txHash } = await scene.ask('batch-ctf-redemption', body);
      scene.state.ended.set(scene.sent[0]!.note.requestId, { txHash, succeeded: true });
      scene.state.counter = 7n;
      scene.restart();
      assert.deepEqual(await scene.ask('batch-ctf-redemption', body), { txHash, status: 'confirmed' });
      scene.state.counter = 6n;
      assert.equal(await codeOf(scene.ask('batch-ctf-redemption', body)), 'relay_already_used', 'a stranger has brought the first item alone');
    });
  });

  it('tells the operator what it lacks, and that it sends again', async () => {
    scene.state.balance = 1n;
    const body = validBody('ctf-approval', scene);
    assert.equal(await codeOf(scene.ask('ctf-approval', body)), 'relay_unavailable');
    scene.state.balance = 10n ** 18n;
    await scene.ask('ctf-approval', body);
    assert.deepEqual(scene.lacks, [`the relayer's key 0x${'e1'.repeat(20)} is short of gas on chain 137`, undefined]);
  });

  it('pins the bond: a signature over another bond is another message', async () => {
    const signed = scene.sign('propose-resolution', {
      market: open.address, proposer: lowerCase(owner), outcome: true, bond: BOND + 1n, deadline: BigInt(NOW_S + 60),
    }, { nonceOf: open.marketId }).fields;
    const body = { chainId: CHAIN_ID, marketAddress: open.address, proposer: lowerCase(owner), outcome: true, ...signed };
    assert.equal(await codeOf(scene.ask('propose-resolution', body)), 'relay_wrong_signer');
  });

  it('gives the quota back for what was not sent', async () => {
    scene.state.gasPerOwner = 130_000n;
    scene.restart();
    scene.state.problem = 'the lane is stuck';
    const body = validBody('ctf-approval', scene);
    for (let i = 0; i < 3; i++) assert.equal(await codeOf(scene.ask('ctf-approval', body)), 'relay_unavailable');
    scene.state.problem = undefined;
    assert.equal(await codeOf(scene.ask('ctf-approval', body)), 'taken');
    scene.state.counter += 1n;
    assert.equal(await codeOf(scene.ask('ctf-approval', validBody('ctf-approval', scene))), 'relay_quota_used');
  });
});

describe('relayer: quotas of gas', () => {
  it('count per owner and per token, within an hour', () => {
    let nowMs = 0;
    const quota = createQuota({ gasPerOwner: 10n, gasPerToken: 15n }, () => nowMs);
    const take = (ownerName: string, token: string, gas: bigint) => { quota.take({ owner: ownerName, token, gas }); };
    take('a', 't', 10n);
    assert.throws(() => { take('a', 't', 1n); }, /this owner may use 10 gas per hour, and has 0 left of 1 needed/);
    assert.throws(() => { take('b', 't', 6n); }, /this token may use 15 gas per hour/);
    take('b', 't', 5n);
    take('b', 'u', 5n);
    quota.giveBack({ owner: 'a', token: 't', gas: 10n });
    take('a', 't', 10n);
    nowMs = WINDOW_MS - 1;
    assert.throws(() => { take('a', 'v', 1n); }, ({ extra }: RequestError) => extra['retryAfterS'] === 1);
    nowMs = WINDOW_MS;
    take('a', 't', 10n);
  });
});

describe('relayer: the lane\'s id of a request', () => {
  it('is a UUID of the request and of the position of its command', () => {
    const requestId = `0x${'ab'.repeat(32)}`;
    const ids = [laneIdOf({ requestId, position: 1 }), laneIdOf({ requestId, position: 2 }), laneIdOf({ requestId, position: 1 })];
    assert.equal(ids[0], ids[2]);
    assert.notEqual(ids[0], ids[1]);
    for (const each of ids) assert.match(each, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
