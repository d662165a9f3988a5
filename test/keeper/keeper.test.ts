/** Which jobs the keeper makes of the history's proposals, what its look at the oracle finds, and what it reports of markets without a proposal. */
import { deepEqual, equal } from 'node:assert/strict';
import { encodeCall } from '../../command/chain/abi.js';
import {
  halvableMarkets, KEEPER_GAS, KEEPER_RULES, keeperJobs, type KeeperJobsOptions, type Proposal,
} from '../../command/keeper/keeper.js';
import { CHAIN_ID, contracts } from '../support/relay-scene.js';
import { bytes32 } from '../support/scenario.js';

const END_S = 10_000;
const DAY_S = 86_400;
const [ASSERTION, MARKET] = [bytes32('assertion'), bytes32('market')];
const [NOBODY, SOMEBODY] = [`0x${'00'.repeat(20)}`, `0x${'11'.repeat(20)}`];
const RELAYER = `0x${'e1'.repeat(20)}`;
const proposal = (changes: Partial<Proposal> = {}): Proposal => (
  { marketId: MARKET, assertionId: ASSERTION, expirationTime: END_S, disputed: false, ...changes });

/** The keeper over one proposal, on a chain whose oracle has this assertion, and which settles it unless it reverts. */
function keeper(of: Proposal, { assertion, reverted }: { assertion?: { settled: boolean; disputer: string }; reverted?: string } = {}) {
  return keeperJobs({
    chain: { chainId: CHAIN_ID, contracts }, relayer: RELAYER, rules: { ...KEEPER_RULES, graceS: 30 }, now: () => 0,
    view: { proposals: () => [of], unproposed: () => [], nextBlock: () => 0 },
    reads: {
      views: () => Promise.resolve([assertion]), simulate: () => Promise.resolve(reverted === undefined ? { returned: '0x' } : { reverted }),
    } as Partial<KeeperJobsOptions['reads']> as KeeperJobsOptions['reads'],
  });
}

describe('keeper: jobs', () => {
  it('are due when the time for others is over, a disputed one at once, and overdue seven days after the dispute window', () => {
    const overdue = {
      atS: END_S + 7 * DAY_S, waited: 'for 7 days since its dispute window',
      advice: 'If the oracle cannot settle it, the resolver\'s administrator can abandon it',
    };
    const job = { key: ASSERTION, title: `assertion ${ASSERTION} of market ${MARKET}`, marketId: MARKET, overdue };
    deepEqual(keeper(proposal()).jobs(), [{ ...job, disputed: false, dueAtS: END_S + 30 }]);
    deepEqual(keeper(proposal({ disputed: true })).jobs(), [{ ...job, disputed: true, dueAtS: 0 }]);
  });

  it('are told from their requests\' notes', () => {
    const { keyOf, name } = keeper(proposal());
    deepEqual([name, keyOf({ assertionId: ASSERTION }), keyOf({ fills: [1] }), keyOf(null)], ['keeper', ASSERTION, undefined, undefined]);
  });

  const undisputed = { settled: false, disputer: NOBODY };
  const transaction = {
    to: contracts.oracle, data: encodeCall({ abi: 'oracle', method: 'settleAssertion', args: [ASSERTION] }), gasLimit: KEEPER_GAS,
    note: { assertionId: ASSERTION }, priority: 1,
  };
  for (const [what, of, chain, finding] of [
    ['is settled already', proposal(), { assertion: { settled: true, disputer: NOBODY } }, { kind: 'done' }],
    ['would be settled', proposal(), { assertion: undisputed }, {
      kind: 'ready', transaction, announcement: `nobody has settled assertion ${ASSERTION} of market ${MARKET}: the keeper does`,
    }],
    ['is disputed and not decided', proposal({ disputed: true }), { assertion: undisputed, reverted: 'AssertionNotArbitrated(a)' }, {
      kind: 'waits', reason: 'it is disputed, and the oracle has not decided: AssertionNotArbitrated(a)',
    }],
    ['is disputed, which the history has not heard of', proposal(), { assertion: { settled: false, disputer: SOMEBODY }, reverted: 'no' }, {
      kind: 'waits', reason: 'it is disputed, and the oracle has not decided: no',
    }],
    ['is refused', proposal(), { assertion: undisputed, reverted: 'the bond' }, { kind: 'refused', reason: 'the oracle refuses to settle it: the bond' }],
  ] as [string, Proposal, Parameters<typeof keeper>[1], unknown][]) {
    it(`a look finds that the assertion ${what}`, async () => {
      const { jobs, look } = keeper(of, chain);
      deepEqual(await look(jobs()[0]!), finding);
    });
  }
});

describe('keeper: markets that nobody has proposed', () => {
  const HALVABLE_S = END_S + 30 * DAY_S;
  const markets = (count: number) => Array.from({ length: count }, (_, i) => ({ marketId: bytes32(`unproposed ${i}`), expiration: END_S }));
  const alert = (named: string) => ({
    level: 'alert', text: `chain 5: nobody has proposed an outcome for 30 days since the expiration of ${named}. /api/v1/resolution says why; the resolver's `
      + 'administrator can halve such a market',
  });

  it('are reported once when they may be halved, and anew when one comes again', () => {
    const halvable = halvableMarkets(5);
    const [one, other] = markets(2).map(({ marketId }) => marketId) as [string, string];
    deepEqual(halvable(markets(1), HALVABLE_S * 1_000 - 1), []);
    deepEqual(halvable(markets(1), HALVABLE_S * 1_000), [alert(one)]);
    deepEqual(halvable(markets(2), HALVABLE_S * 1_000), [alert(other)]);
    deepEqual(halvable(markets(2), HALVABLE_S * 1_000), []);
    deepEqual(halvable(markets(1), HALVABLE_S * 1_000), []);
    deepEqual(halvable(markets(2), HALVABLE_S * 1_000), [alert(other)]);
  });

  it('are named up to ten', () => {
    const many = markets(1_000);
    const named = many.slice(0, 10).map(({ marketId }) => marketId).join(', ');
    deepEqual(halvableMarkets(5)(many, HALVABLE_S * 1_000), [alert(`${named} and 990 more`)]);
  });

  it('are reported by the keeper', () => {
    const options = {
      chain: { chainId: 5, contracts }, relayer: RELAYER, rules: { ...KEEPER_RULES, graceS: 30 }, now: () => HALVABLE_S * 1_000,
      view: { proposals: () => [], unproposed: () => markets(1), nextBlock: () => 0 }, reads: {} as KeeperJobsOptions['reads'],
    };
    equal(keeperJobs(options).messages!().length, 1);
  });
});
