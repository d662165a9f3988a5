/** Which quick markets there should be at which time, and their ids. */
import { deepEqual, equal, notEqual } from 'node:assert/strict';
import { id, solidityPackedKeccak256 } from 'ethers';
import { idsOf, marketsAhead, scheduledTerms, type QuickMarketTerms } from '../../command/quick/terms.js';
import { createKeccak256, type Keccak256 } from '../../command/signing/typed-data.js';

const T = 1_800_000_000;
const schedule = { assets: ['BTC', 'ETH'], intervalS: 900, ahead: 1 };
const starts = (secondsAfter: number, changes: Partial<typeof schedule> = {}) => (
  scheduledTerms({ ...schedule, ...changes }, (T + secondsAfter) * 1_000).map(({ asset, startTime, endTime }) => `${asset} ${startTime - T} ${endTime - T}`));

describe('quick markets: which there should be', () => {
  for (const [what, after, wanted] of [
    ['at a boundary, the one that begins and the next', 0, ['BTC 0 900', 'ETH 0 900', 'BTC 900 1800', 'ETH 900 1800']],
    ['while a third of its time is left, the one that runs', 600, ['BTC 0 900', 'ETH 0 900', 'BTC 900 1800', 'ETH 900 1800']],
    ['then only those ahead', 601, ['BTC 900 1800', 'ETH 900 1800']],
    ['and so to its end', 899, ['BTC 900 1800', 'ETH 900 1800']],
    ['before the boundary of the test, those of the interval before it', -1, ['BTC 0 900', 'ETH 0 900']],
  ] as const) {
    it(what, () => { deepEqual(starts(after), wanted); });
  }

  it('are as many ahead as the schedule says, and none without assets', () => {
    deepEqual(starts(0, { assets: ['BTC'], ahead: 3 }), ['BTC 0 900', 'BTC 900 1800', 'BTC 1800 2700', 'BTC 2700 3600']);
    deepEqual(starts(0, { assets: [] }), []);
  });

  it('are made two minutes ahead, and two at least', () => {
    deepEqual([900, 61, 60, 59, 25, 20].map(marketsAhead), [2, 2, 2, 3, 5, 6]);
  });

  it('start at multiples of the interval, whatever it is', () => {
    for (const intervalS of [20, 60, 77, 900, 86_400]) {
      for (const { startTime, endTime } of scheduledTerms({ ...schedule, intervalS }, T * 1_000 + 123)) {
        deepEqual([startTime % intervalS, endTime - startTime], [0, intervalS]);
      }
    }
  });
});

describe('quick markets: their ids', () => {
  let keccak256: Keccak256;
  const quickResolver = `0x${'ab'.repeat(20)}`;
  const terms: QuickMarketTerms = { asset: 'BTC', startTime: T, endTime: T + 900 };

  before(async () => { keccak256 = await createKeccak256(); });

  it('are the question\'s hash and the condition that the contracts make of it', () => {
    const questionId = id(`prediction-exchange/quick/137/BTC/${T}/${T + 900}`);
    const marketId = solidityPackedKeccak256(['address', 'bytes32', 'uint256'], [quickResolver, questionId, 2]);
    deepEqual(idsOf(terms, { keccak256, chainId: 137, quickResolver }), { questionId, marketId });
  });

  it('differ by chain, asset, start and end, and by nothing else', () => {
    const naming = { keccak256, chainId: 137, quickResolver };
    const { questionId } = idsOf(terms, naming);
    equal(idsOf({ ...terms }, { ...naming, quickResolver: `0x${'cd'.repeat(20)}` }).questionId, questionId);
    for (const other of [{ ...terms, asset: 'ETH' }, { ...terms, startTime: T + 1 }, { ...terms, endTime: T + 901 }]) notEqual(idsOf(other, naming).questionId, questionId);
    notEqual(idsOf(terms, { ...naming, chainId: 1 }).questionId, questionId);
  });
});
