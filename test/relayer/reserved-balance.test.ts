/** The relayer carries nothing that takes away what its owner's open orders and unsettled fills need. */
import assert from 'node:assert/strict';
import { RequestError } from '../../engine/records/errors.js';
import { BUY, NO, SELL, YES, type RelayAction } from '../../engine/records/fields.js';
import type { Commitment } from '../../engine/run/view.js';
import { relayerErrors } from '../../service/api/relayer-errors.js';
import { BOND, contracts, lowerCase, open, owner, relayScene, validBody, type RelayScene, type Json } from '../support/relay-scene.js';

const hash = (n: number) => `0x${String(n).padStart(64, '0')}`;
const buys = (cost: bigint, n = 1): Commitment => ({ orderHash: hash(n), marketId: open.marketId, side: BUY, outcome: YES, size: 2n * cost, cost });
const sells = (
  size: bigint, { outcome = YES, marketId = open.marketId, n = 1 }: { outcome?: 0 | 1; marketId?: string; n?: number } = {},
): Commitment => (
  { orderHash: hash(n), marketId, side: SELL, outcome, size, cost: size / 2n });

describe('relayer: cover', () => {
  let scene: RelayScene;
  before(async () => { scene = await relayScene(); });
  beforeEach(() => { scene.reset(); });

  const bodies: Record<string, () => readonly [RelayAction, Json]> = {
    'revoke the approval': () => {
      const fields = { owner: lowerCase(owner), operator: contracts.settlement, approved: false };
      scene.state.approved = true;
      const deadline = 1_800_003_600n;
      return ['ctf-approval', { chainId: 137, ...fields, ...scene.sign('ctf-approval', { ...fields, deadline }).fields }];
    },
    'an allowance of 5': () => ['usdc-permit', validBody('usdc-permit', scene)],
    'propose without a permit': () => {
      const body = validBody('propose-resolution', scene);
      return ['propose-resolution', Object.fromEntries(Object.entries(body).filter(([name]) => !name.startsWith('bond')))];
    },
    'a permit for another spender': () => {
      const fields = { owner: lowerCase(owner), spender: contracts.conditionalTokens };
      const { fields: signed } = scene.sign('usdc-permit', { ...fields, value: 5n, deadline: 1_800_003_600n });
      return ['usdc-permit', { chainId: 137, ...fields, value: '5', ...signed }];
    },
    'split 5': () => ['ctf-split', validBody('ctf-split', scene)],
    'merge 5': () => ['ctf-merge', validBody('ctf-merge', scene)],
    'propose': () => ['propose-resolution', validBody('propose-resolution', scene)],
    'redeem': () => ['ctf-redemption', validBody('ctf-redemption', scene)],
    'settle': () => ['settle-market', validBody('settle-market', scene)],
  };

  interface Case {
    readonly has?: Partial<Pick<RelayScene['state'], 'allowance' | 'shares' | 'collateral'>>;
    readonly needs: readonly Commitment[];
    /** What the orders need; absent: it is sent. */
    readonly refused?: string;
  }

  const cases: Record<keyof typeof bodies, readonly Case[]> = {
    'revoke the approval': [
      { needs: [] }, { needs: [buys(9n)] },
      { needs: [sells(1n)], refused: `they need the approval of the settlement contract; orders ${hash(1)}` },
    ],
    'an allowance of 5': [
      { has: { allowance: 6n }, needs: [buys(5n)] }, { has: { allowance: 4n }, needs: [buys(5n)] }, { has: { allowance: 9n }, needs: [sells(9n)] },
      { has: { allowance: 4n }, needs: [buys(6n)], refused: `they need an allowance of 6, and 5 would be left; orders ${hash(1)}` },
      { has: { allowance: 9n }, needs: [buys(2n), buys(4n, 2)], refused: `they need an allowance of 6, and 5 would be left; orders ${hash(1)}, ${hash(2)}` },
    ],
    'a permit for another spender': [
      { has: { allowance: 6n }, needs: [buys(6n)] },
      {
        has: { allowance: 4n }, needs: [buys(6n)],
        refused: `they need an allowance of 6 by a permit with the nonce that this would use up; sign a permit for the settlement contract first; orders ${hash(1)}`,
      },
    ],
    'split 5': [
      { has: { collateral: 9n }, needs: [buys(4n)] }, { has: { collateral: 4n }, needs: [sells(9n)] },
      { has: { collateral: 9n }, needs: [buys(5n)], refused: `they need 5 of the collateral, and 4 would be left; orders ${hash(1)}` },
      { has: { collateral: 3n }, needs: [buys(1n)], refused: `they need 1 of the collateral, and 0 would be left; orders ${hash(1)}` },
    ],
    'merge 5': [
      { has: { shares: 9n }, needs: [sells(4n), sells(4n, { outcome: NO }), sells(9n, { marketId: hash(9) }), buys(9n)] },
      { has: { shares: 4n }, needs: [] },
      { has: { shares: 9n }, needs: [sells(5n)], refused: `they need 5 YES shares of market ${open.marketId}, and 4 would be left; orders ${hash(1)}` },
      {
        has: { shares: 9n }, needs: [1, 2, 3, 4, 5, 6, 7].map((n) => sells(1n, { outcome: NO, n })),
        refused: `they need 7 NO shares of market ${open.marketId}, and 4 would be left; orders ${[1, 2, 3, 4, 5].map(hash).join(', ')} and 2 more`,
      },
    ],
    'propose': [
      { has: { collateral: BOND + 4n, allowance: 4n }, needs: [buys(4n)] },
      { has: { collateral: BOND + 4n, allowance: 5n }, needs: [buys(5n)], refused: `they need 5 of the collateral, and 4 would be left; orders ${hash(1)}` },
      {
        has: { collateral: BOND + 5n, allowance: 4n }, needs: [buys(5n)],
        refused: `they need an allowance of 5 by a permit with the nonce that this would use up; sign a permit for the settlement contract first; orders ${hash(1)}`,
      },
    ],
    'propose without a permit': [{ has: { collateral: BOND + 5n, allowance: 4n }, needs: [buys(5n)] }],
    'redeem': [{ needs: [buys(9n), sells(9n)] }],
    'settle': [{ needs: [buys(9n), sells(9n)] }],
  };

  for (const [what, each] of Object.entries(cases)) {
    for (const [i, { has = {}, needs, refused }] of each.entries()) {
      it(`${what}, case ${i + 1}: ${refused === undefined ? 'is sent' : 'is refused'}`, async () => {
        Object.assign(scene.state, has, { commitments: needs });
        const [action, body] = bodies[what]!();
        const answer = await scene.ask(action, body).catch((error: unknown) => error);
        if (refused === undefined) {
          assert.equal((answer as { status: string }).status, 'pending', String(answer));
          return;
        }
        assert.ok(answer instanceof RequestError, JSON.stringify(answer));
        const { status, body: text } = relayerErrors.answer(answer);
        assert.equal(status, 409);
        assert.equal((JSON.parse(text) as { error: string }).error,
          `open orders or unsettled fills need what this would take away; cancel the orders, or wait until the fills are settled: ${refused}`);
        assert.deepEqual(scene.sent, []);
      });
    }
  }

  it('does not count fills that the chain has settled, of whose block the history does not know', async () => {
    Object.assign(scene.state, { shares: 9n, commitments: [{ ...sells(5n), fill: 7 }, { ...sells(4n, { n: 2 }), fill: 8 }] });
    const [action, body] = bodies['merge 5']!();
    scene.state.settledFills = [8];
    await assert.rejects(scene.ask(action, body), { code: 'relay_cover_needed', message: /need 5 YES shares .* orders 0x0{63}1$/ });
    scene.state.settledFills = [7];
    assert.equal((await scene.ask(action, body)).status, 'pending');
  });

  it('is checked again by the history that has the request: an order that came in between counts', async () => {
    scene.state.shares = 9n;
    const [action, body] = bodies['merge 5']!();
    await scene.ask(action, body);
    const { recheck } = scene.sent[0]!;
    await recheck();
    scene.state.commitments = [sells(5n)];
    await assert.rejects(recheck(), { code: 'relay_cover_needed' });
  });

  it('is checked again by the newest balances: those of before may have been taken meanwhile', async () => {
    Object.assign(scene.state, { shares: 9n, commitments: [sells(4n)] });
    const [action, body] = bodies['merge 5']!();
    await scene.ask(action, body);
    const { recheck } = scene.sent[0]!;
    await recheck();
    scene.state.shares = 8n;
    await assert.rejects(recheck(), { code: 'relay_cover_needed', message: /and 3 would be left/ });
  });

  it('counts what the owner\'s other requests take on their way to a block, and not what the newest block has', async () => {
    await scene.ask(...bodies['propose']!());
    const { note: proposal } = scene.sent[0]!;
    assert.equal(proposal.collateral, String(BOND));
    const split = { ...proposal, goals: [{ kind: 'split', owner: lowerCase(owner), marketId: open.marketId, amount: '3' }] as const, nonces: [['space', '5']] as const, collateral: '3' };
    Object.assign(scene.state, { collateral: BOND + 3n + 5n + 9n, commitments: [buys(10n)], inFlight: [proposal, split] });
    const splitting = () => scene.ask(...bodies['split 5']!());
    await assert.rejects(splitting(), { code: 'relay_cover_needed', message: /they need 10 of the collateral, and 9 would be left/ });
    scene.state.inFlight = [proposal, { ...split, nonces: [['space', '4']] }];
    assert.equal((await splitting()).status, 'pending');
  });
});
