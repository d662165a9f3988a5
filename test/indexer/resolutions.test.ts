/** What the indexer says of quick markets that the chain has resolved otherwise than the engine decided. */
import { deepEqual, equal, match } from 'node:assert/strict';
import type { Fact, FactCommand } from '../../command/indexer/facts.js';
import { contradictedResolutions, type ResolutionCheck } from '../../command/indexer/checks/resolutions.js';
import type { QuickDecision, ResolutionTerms, ChainResolution } from '../../command/indexer/checks/chain-resolution.js';
import type { QuickMarket } from '../../engine/run/view.js';
import { newCommand } from '../support/commands.js';

const word = (digit: string) => `0x${digit.repeat(64)}`;
const [MARKET, TX] = [word('9'), word('d')];
const place = { chainId: 7, block: 20, logIndex: 5 };
const decided: QuickDecision = {
  strike: { source: 's', price: '100', publishedAt: 1_000_999 }, end: { source: 's', price: '100', publishedAt: 1_900_000 }, outcome: 0,
};
const terms: ResolutionTerms = { startPrice: '100', startPublishTime: '1000', endPrice: '100', endPublishTime: '1900', winningOutcome: 0 };
const undecided: QuickDecision = { strike: decided.strike, end: undefined, outcome: undefined };

const factOf = (command: FactCommand): Fact => ({ command, blockHash: word('b') });
const about = { at: 1, fact: place, marketId: MARKET };
const paid = (winningOutcome: 0 | 1 = 0) => factOf(newCommand('ResolveMarket', { ...about, winningOutcome }));
const told = (changes: Partial<ResolutionTerms> = {}): ChainResolution[] => [{
  marketId: MARKET, terms: { ...terms, ...changes }, txHash: TX, block: 20, logIndex: 6,
}];

/** What is said, beside an engine that has decided so. */
async function said(
  facts: readonly Fact[], resolutions: readonly ChainResolution[], quick: () => QuickDecision | undefined, changes: Partial<ResolutionCheck> = {},
) {
  const found = await contradictedResolutions({ facts, resolutions }, {
    chain: { chainId: 7 }, cursor: () => ({ nextBlock: 20, nextLog: 0 }), caughtUp: () => Promise.resolve(),
    view: { quickMarket: () => quick() === undefined ? undefined : { marketId: MARKET, quick: quick() } as QuickMarket }, ...changes,
  });
  return [...found];
}

describe('the indexer and resolutions of quick markets', () => {
  it('has nothing to say of one that is as it was decided, of one that was halved, and of other markets', async () => {
    deepEqual(await said([paid()], told(), () => decided), []);
    deepEqual(await said([factOf(newCommand('HalveMarket', about))], [], () => decided), []);
    deepEqual(await said([paid(1)], [], () => undefined), [], 'a market that an oracle resolves');
    deepEqual(await said([], told({ startPrice: '1' }), () => undefined), [], 'a market of somebody else');
  });

  const wrong: readonly (readonly [string, Fact, ChainResolution[], RegExp])[] = [
    ['another strike', paid(), told({ startPrice: '99' }), /by other prices/], ['another time of the strike', paid(), told({ startPublishTime: '1001' }), /by other prices/],
    ['another end price', paid(), told({ endPrice: '101' }), /by other prices/], ['another time of the end price', paid(), told({ endPublishTime: '1901' }), /by other prices/],
    ['another outcome', paid(1), told({ endPrice: '99', winningOutcome: 1 }), /by other prices, or to another outcome/],
    ['a payment that is not what the resolver says', paid(1), told(), /another outcome/], ['no word of the resolver', paid(), [], /was resolved without the prices/],
    ['another market\'s word', paid(), told().map((each) => ({ ...each, marketId: word('8') })), /was resolved without the prices/],
  ];
  for (const [what, fact, resolutions, pattern] of wrong) {
    it(`tells ${what}`, async () => {
      const [[marketId, text] = ['', ''], ...others] = await said([fact], resolutions, () => decided);
      deepEqual([marketId, others], [MARKET, []]);
      match(text, /^chain 7, block 20, event 5: the quick market 0x9+ was resolved /);
      match(text, pattern);
      equal(text.includes(` by transaction ${TX}: `), !pattern.source.includes('without'));
    });
  }

  it('tells one that was resolved before the engine had decided it, also one whose opening is read with it', async () => {
    const early = /was resolved before the history had decided it/;
    match((await said([paid()], told(), () => undecided))[0]![1], early);
    const opened = factOf(newCommand('OpenMarket', {
      ...about, contractAddress: word('c'), expiration: 1_900, chainId: 7, quick: { asset: 'BTC', startTime: 1_000 },
    }));
    match((await said([opened, paid()], told(), () => undefined))[0]![1], early);
  });

  it('waits for the engine where its process has not got to the decision yet', async () => {
    let quick = undecided;
    const caughtUp = () => {
      quick = decided;
      return Promise.resolve();
    };
    deepEqual(await said([paid()], told(), () => quick, { caughtUp }), []);
    quick = undecided;
    equal((await said([paid()], told({ endPrice: '101' }), () => quick, { caughtUp })).length, 1);
  });

  it('does not judge again what is recorded', async () => {
    deepEqual(await said([paid()], told({ startPrice: '1' }), () => decided, { cursor: () => ({ nextBlock: 20, nextLog: 6 }) }), []);
    deepEqual(await said([paid()], told({ startPrice: '1' }), () => decided, { cursor: () => ({ nextBlock: 21, nextLog: 0 }) }), []);
    equal((await said([paid()], told({ startPrice: '1' }), () => decided, { cursor: () => undefined })).length, 1);
  });
});
