/** Every check of every action at the relayer: its text, its status, and its place among the others. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import type { RelayAction } from '../../engine/records/fields.js';
import { RELAY_ACTIONS } from '../../command/relayer/bodies.js';
import { relayerErrors } from '../../service/api/relayer-errors.js';
import { BOND, NOW_S, ZERO, open, relayScene, validBody, type RelayScene, type Json } from '../support/relay-scene.js';

type Answer = readonly [status: number, code: string, error: string | RegExp];

interface Fault {
  readonly what: string;
  readonly answer: Answer;
  /** Spoils the body, the chain, or both. */
  readonly spoil: (body: Json, scene: RelayScene, action: RelayAction) => void;
  /** The actions that can have it; all when absent. */
  readonly of?: readonly RelayAction[];
}

/** The first item of a batch, else the body itself: where the signature's fields are. */
const signed = (body: Json): Json => (body['redemptions'] as Json[] | undefined)?.[0] ?? body;
const ownerField = (action: RelayAction): string => ({ 'propose-resolution': 'proposer', 'settle-market': 'settler' } as Record<string, string>)[action] ?? 'owner';
const REDEMPTIONS: readonly RelayAction[] = ['ctf-redemption', 'batch-ctf-redemption'];
const SETS: readonly RelayAction[] = ['ctf-split', 'ctf-merge'];
const ELSEWHERE = `0x${'ee'.repeat(20)}`;

/** In the order of checking: each is found although all later ones are there too. */
const LADDER: readonly Fault[] = [
  { what: 'v is no number', answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { signed(body)['v'] = 'x'; } },
  { what: 'an address is cut', answer: [400, 'relay_invalid_address', 'Invalid address format'], spoil: (body, _, action) => { body[ownerField(action)] = '0x12'; } },
  { what: 'r is cut', answer: [400, 'relay_invalid_signature', 'Invalid signature format'], spoil: (body) => { signed(body)['r'] = '0x12'; } },
  { what: 'the chain is another one', answer: [400, 'relay_unknown_chain', 'No relayer configured for chain'], spoil: (body) => { body['chainId'] = 5; } },
  { what: 'the token lacks the scope', answer: [403, 'insufficient_scope', /^Token lacks the scope relay:/], spoil: (_, { state }) => { state.scopes = false; } },
  {
    what: 'a target is another one', answer: [403, 'relay_target_refused', /^the relayer does not send this: /],
    spoil: (body, _, action) => {
      if (action === 'ctf-approval') body['operator'] = ELSEWHERE;
      else if (action === 'usdc-permit') body['spender'] = ELSEWHERE;
      else if (action === 'propose-resolution' || action === 'settle-market') body['marketAddress'] = ELSEWHERE;
      else signed(body)['collateralToken'] = ELSEWHERE;
    },
  },
  {
    what: 'a proposal on a mainnet has no permit of the bond', of: ['propose-resolution'], answer: [400, 'relay_bond_permit_required', /^a proposal on this chain needs the bond's permit/],
    spoil: (body, scene) => {
      scene.state.testnet = false;
      for (const field of ['bondPermitDeadline', 'bondV', 'bondR', 'bondS']) Reflect.deleteProperty(body, field);
      scene.restart();
    },
  },
  { what: 'the deadline is too far', answer: [400, 'relay_deadline_too_far', /^the deadline is too far ahead/], spoil: (body) => { signed(body)['deadline'] = String(NOW_S + 30 * 86_400 + 1); } },
  { what: 'the owner is a contract', answer: [422, 'relay_contract_wallet', /^contract wallets are not supported/], spoil: (_, { state }) => { state.code = '0x6001'; } },
  { what: 's is another one', answer: [400, 'relay_wrong_signer', /the signature is not the owner's of this message.* with the present nonce/], spoil: (body) => { signed(body)['s'] = `0x${'11'.repeat(32)}`; } },
  { what: 'the nonce is used', answer: [409, 'relay_already_used', /^the signature's nonce is used already/], spoil: (_, { state }) => { state.counter += 1n; } },
  { what: 'the owner has no shares', of: REDEMPTIONS, answer: [422, 'relay_would_revert', /there is nothing to redeem/], spoil: (_, { state }) => { state.shares = 0n; } },
  { what: 'gas is too dear', answer: [503, 'relay_unavailable', /gas costs 1001 wei on chain 137, and the relayer offers 1000 at most/], spoil: (_, { state }) => { state.baseFeePerGas = 1_001n; } },
  { what: 'the key is short of gas', answer: [503, 'relay_unavailable', /is short of gas on chain 137/], spoil: (_, { state }) => { state.balance = 1n; } },
  { what: 'the contract refuses', answer: [422, 'relay_would_revert', /the transaction would fail, so it is not sent: .*SomeError\(7\)/], spoil: (_, { state }) => { state.reverts = 'SomeError(7)'; } },
  {
    what: 'orders need what it takes', of: [...SETS, 'propose-resolution'], answer: [409, 'relay_cover_needed', /^open orders or unsettled fills need what this would take away/],
    spoil: (_, { state }) => {
      state.commitments = ([0, 1] as const).map((side) => (
        { orderHash: ZERO, marketId: open.marketId, side, outcome: 0, size: 10n ** 18n, cost: 10n ** 18n }));
    },
  },
  {
    what: 'the owner has used up the gas', answer: [429, 'relay_quota_used', /^the quota of relayed gas is used up.* this owner may use 1 gas per hour/],
    spoil: (_, scene) => {
      scene.state.gasPerOwner = 1n;
      scene.restart();
    },
  },
  { what: 'the lane is stuck', answer: [503, 'relay_unavailable', /^the relayer cannot send at the moment.*: the lane is stuck/], spoil: (_, { state }) => { state.problem = 'the lane is stuck'; } },
];

/** Single faults: field by field. */
const SINGLE: readonly Fault[] = [
  ...['{', '', '[]', '"text"', 'null', '{"chainId":137', '\u00ff'].map((text): Fault => ({
    what: `the body is ${JSON.stringify(text)}`, answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { body['raw'] = text; },
  })),
  ...['chainId', 'deadline', 'v', 'r', 's'].flatMap((field) => [undefined, null, {}, [], true].map((value): Fault => ({
    what: `${field} is ${JSON.stringify(value)}`, answer: [400, 'relay_invalid_body', 'Invalid request body'],
    spoil: (body) => { (field === 'chainId' ? body : signed(body))[field] = value; },
  }))),
  ...[0, -1, 1.5, 2 ** 53, 'x', '0x89'].map((value): Fault => ({
    what: `chainId is ${value}`, answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { body['chainId'] = value; },
  })),
  ...[1_800_000_000, '-1', '1.5', '0x10', '01', String(2n ** 256n)].map((value): Fault => ({
    what: `deadline is ${JSON.stringify(value)}`, answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { signed(body)['deadline'] = value; },
  })),
  ...[2, 26, 29, 255, 1_000].map((value): Fault => ({
    what: `v is ${value}`, answer: [400, 'relay_invalid_signature', 'Invalid signature format'], spoil: (body) => { signed(body)['v'] = value; },
  })),
  ...['r', 's'].flatMap((field) => ['', '0x', `0x${'1'.repeat(63)}`, `0x${'1'.repeat(65)}`, `0x${'g'.repeat(64)}`, '1'.repeat(66)].map((value): Fault => ({
    what: `${field} is ${value.slice(0, 8)} of ${value.length}`, answer: [400, 'relay_invalid_signature', 'Invalid signature format'], spoil: (body) => { signed(body)[field] = value; },
  }))),
  ...['', '0x', 'owner', `0x${'1'.repeat(39)}`, `0x${'g'.repeat(40)}`, '1'.repeat(42)].map((value): Fault => ({
    what: `the owner is ${JSON.stringify(value)}`, answer: [400, 'relay_invalid_address', 'Invalid address format'], spoil: (body, _, action) => { body[ownerField(action)] = value; },
  })),
  { what: 'the owner is a number', answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body, _, action) => { body[ownerField(action)] = 7; } },
  {
    what: 's is in the upper half', answer: [400, 'relay_wrong_signer', /upper half of the curve's order/],
    spoil: (body) => {
      const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
      signed(body)['s'] = `0x${(n - BigInt(String(signed(body)['s']))).toString(16).padStart(64, '0')}`;
    },
  },
  ...[['1'], [], ['3'], ['1', '1'], ['0'], ['1', '2', '2']].slice(1).map((indexSets): Fault => ({
    what: `indexSets are ${JSON.stringify(indexSets)}`, of: REDEMPTIONS, answer: [403, 'relay_target_refused', /indexSets/], spoil: (body) => { signed(body)['indexSets'] = indexSets; },
  })),
  ...[['x'], [1], '1', undefined, [['1']]].map((indexSets): Fault => ({
    what: `indexSets are ${JSON.stringify(indexSets)}`, of: REDEMPTIONS, answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { signed(body)['indexSets'] = indexSets; },
  })),
  { what: 'the parent is not zero', of: REDEMPTIONS, answer: [403, 'relay_target_refused', /parentCollectionId is zero/], spoil: (body) => { signed(body)['parentCollectionId'] = `0x${'1'.repeat(64)}`; } },
  { what: 'the market is not resolved', of: REDEMPTIONS, answer: [403, 'relay_target_refused', /not resolved yet/], spoil: (body) => { Object.assign(signed(body), { conditionId: open.marketId, marketAddress: open.address }); } },
  { what: 'the condition is unknown', of: [...REDEMPTIONS, ...SETS], answer: [403, 'relay_target_refused', /not a known market/], spoil: (body) => { signed(body)['conditionId'] = ZERO; } },
  { what: 'the address is another market\'s', of: REDEMPTIONS, answer: [403, 'relay_target_refused', /marketAddress is not that of the condition/], spoil: (body) => { signed(body)['marketAddress'] = open.address; } },
  { what: 'the amount is 0', of: SETS, answer: [403, 'relay_target_refused', /amount is more than 0/], spoil: (body) => { body['amount'] = '0'; } },
  { what: 'one bond field is missing', of: ['propose-resolution'], answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { delete body['bondV']; } },
  { what: 'the outcome is 2', of: ['settle-market'], answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { body['winningOutcome'] = 2; } },
  { what: 'approved is a text', of: ['ctf-approval'], answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { body['approved'] = 'true'; } },
  { what: 'there are no items', of: ['batch-ctf-redemption'], answer: [400, 'relay_invalid_body', 'Invalid request body'], spoil: (body) => { body['redemptions'] = []; } },
  {
    what: 'there are 21 items', of: ['batch-ctf-redemption'], answer: [413, 'body_too_large', /at most 20 redemptions/],
    spoil: (body) => { body['redemptions'] = Array.from({ length: 21 }, () => signed(body)); },
  },
  { what: 'an item would fail', of: ['batch-ctf-redemption'], answer: [422, 'relay_would_revert', /redemptions\[0\]: /], spoil: (_, { state }) => { state.failingItems = [0]; } },
];

describe('relayer: checks', () => {
  let scene: RelayScene;

  before(async () => { scene = await relayScene(); });
  beforeEach(() => { scene.reset(); });

  async function answerTo(action: RelayAction, body: Json): Promise<readonly [status: number, code: string, error: string]> {
    try {
      const { txHash } = await scene.ask(action, 'raw' in body ? body['raw'] : body);
      return [200, '', txHash];
    } catch (error) {
      assert.ok(error instanceof RequestError, String(error));
      const { status, body: text, headers } = relayerErrors.answer(error);
      assert.equal(headers['X-Error-Code'], error.code);
      const answer = JSON.parse(text) as { success: boolean; error: string };
      assert.deepEqual(Object.keys(answer), ['success', 'error']);
      return [status, error.code, answer.error];
    }
  }

  function assertAnswer([status, code, text]: Awaited<ReturnType<typeof answerTo>>, [wantedStatus, wantedCode, wanted]: Answer): void {
    assert.deepEqual([status, code], [wantedStatus, wantedCode], text);
    if (typeof wanted === 'string') assert.equal(text, wanted);
    else assert.match(text, wanted);
  }

  for (const action of RELAY_ACTIONS) {
    describe(action, () => {
      const faults = LADDER.filter(({ of = RELAY_ACTIONS }) => of.includes(action));

      it('is sent once when nothing is wrong', async () => {
        const [status, , txHash] = await answerTo(action, validBody(action, scene));
        assert.equal(status, 200, txHash);
        assert.match(txHash, /^0x[0-9a-f]{64}$/);
        assert.deepEqual(scene.sent.map(({ note }) => note.action), [action]);
      });

      for (const [i, { what, answer }] of faults.entries()) {
        it(`says first that ${what}`, async () => {
          const body = validBody(action, scene);
          for (const { spoil } of faults.slice(i)) spoil(body, scene, action);
          assertAnswer(await answerTo(action, body), answer);
          assert.deepEqual(scene.sent, []);
        });
      }

      for (const { what, answer, spoil } of SINGLE.filter(({ of = RELAY_ACTIONS }) => of.includes(action))) {
        it(`is refused when ${what}`, async () => {
          const body = validBody(action, scene);
          spoil(body, scene, action);
          assertAnswer(await answerTo(action, body), answer);
          assert.deepEqual(scene.sent, []);
        });
      }

      it('takes v as 0 or 1, hex in capital letters, and numbers as text', async () => {
        const body = validBody(action, scene);
        const part = signed(body);
        Object.assign(body, { chainId: '137' });
        Object.assign(part, { v: Number(part['v']) - 27, r: `0x${String(part['r']).slice(2).toUpperCase()}` });
        assert.equal((await answerTo(action, body))[0], 200);
      });

      it('is refused with a field that is not known, in the body or in an item', async () => {
        for (const partOf of [(whole: Json) => whole, signed]) {
          const body = validBody(action, scene);
          Object.assign(partOf(body), { anything: 1 });
          assertAnswer(await answerTo(action, body), [400, 'relay_invalid_body', 'Invalid request body']);
        }
        assert.deepEqual(scene.sent, []);
      });

      describe('of an account that delegates to a contract', () => {
        beforeEach(() => { scene.state.code = `0xef0100${'12'.repeat(20)}`; });

        it('is answered, since its key still signs, but for a split, which runs its code', async () => {
          const answer = await answerTo(action, validBody(action, scene));
          if (action === 'ctf-split') assertAnswer(answer, [422, 'relay_contract_wallet', /^contract wallets are not supported.*a split runs the code of the account/]);
          else assert.equal(answer[0], 200, answer[2]);
        });

        it('is refused for an hour after a transaction has reverted', async () => {
          scene.state.revertedAtMs = NOW_S * 1_000 - 3_599_000;
          if (action !== 'ctf-split') assertAnswer(await answerTo(action, validBody(action, scene)), [429, 'relay_owner_paused', /^a transaction for this owner reverted/]);
          scene.state.revertedAtMs = NOW_S * 1_000 - 3_600_000;
          if (action !== 'ctf-split') assert.equal((await answerTo(action, validBody(action, scene)))[0], 200);
          Object.assign(scene.state, { code: '0x', revertedAtMs: NOW_S * 1_000 });
          assert.equal((await answerTo(action, validBody(action, scene, { deadline: BigInt(NOW_S + 60) })))[0], 200, 'a key alone is not paused');
        });
      });

      it('is simulated with a price of gas, so that no code sees that nothing is paid', async () => {
        scene.state.revertsWhenPaid = 'Paid()';
        assertAnswer(await answerTo(action, validBody(action, scene)), [422, 'relay_would_revert', /the transaction would fail, so it is not sent: .*Paid\(\)/]);
      });

      it('is refused when the deadline has passed, with the contract\'s own error', async () => {
        const [status, code, text] = await answerTo(action, validBody(action, scene, { deadline: BigInt(NOW_S - 1) }));
        assert.deepEqual([status, code, /ExpiredSignature\(1799999999\)$/.test(text)], [422, 'relay_would_revert', true], text);
      });
    });
  }

  describe('the bond of a proposal', () => {
    const proposed = (bond: bigint) => answerTo('propose-resolution', validBody('propose-resolution', scene, { bond }));

    it('is the one that the resolver asks for at present, and a refusal tells it', async () => {
      scene.state.bond = 3n * BOND;
      const [status, code, text] = await proposed(BOND);
      assert.deepEqual([status, code, scene.sent], [400, 'relay_wrong_signer', []]);
      assert.match(text, /ProposeResolution with the present nonce \d+ and bond 30000000 has the digest/);
      assert.equal((await proposed(3n * BOND))[0], 200);
    });

    it('is the market\'s own at a resolver of an earlier version', async () => {
      scene.state.bond = undefined;
      assert.equal((await proposed(3n * BOND))[0], 400);
      assert.equal((await proposed(BOND))[0], 200);
    });
  });
});
