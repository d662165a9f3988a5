/** The question of a quick market as readers see it, and of every other market as it was recorded. */
import { deepEqual } from 'node:assert/strict';
import { shownText } from '../../engine/records/market-text.js';

const TWO_PM = Date.UTC(2026, 10, 21, 14) / 1_000;
const DESCRIPTION = 'YES wins when the price at the end is not below the price at the start.';
/** As the market factory writes it. */
const recorded = (asset: string, startTime: number, endTime: number) => ({
  question: `${asset} up or down, ${startTime} to ${endTime}?`, description: `${DESCRIPTION} Times are Unix seconds.`, quick: { asset, startTime, endTime },
});
const shown = (startTime: number, endTime: number, asset = 'BTC') => shownText(recorded(asset, startTime, endTime));

describe('engine: the text of a market', () => {
  const intervals: readonly (readonly [what: string, start: number, end: number, text: string])[] = [
    ['a quarter of an hour', TWO_PM, TWO_PM + 900, '21 Nov 2026 14:00–14:15 UTC'],
    ['a day that has one digit', TWO_PM - 20 * 86_400, TWO_PM - 20 * 86_400 + 900, '1 Nov 2026 14:00–14:15 UTC'],
    ['an end at midnight', TWO_PM + 35_100, TWO_PM + 36_000, '21 Nov 2026 23:45 – 22 Nov 2026 00:00 UTC'],
    ['the end of a year', Date.UTC(2027, 0, 1) / 1_000 - 300, Date.UTC(2027, 0, 1) / 1_000 + 600, '31 Dec 2026 23:55 – 1 Jan 2027 00:10 UTC'],
    ['the same hour of the next day', TWO_PM, TWO_PM + 86_400, '21 Nov 2026 14:00 – 22 Nov 2026 14:00 UTC'],
    ['seconds', TWO_PM + 25, TWO_PM + 50, '21 Nov 2026 14:00:25–14:00:50 UTC'],
    ['an end within a minute', TWO_PM, TWO_PM + 90, '21 Nov 2026 14:00:00–14:01:30 UTC'],
  ];
  for (const [what, start, end, text] of intervals) {
    it(`says the times of a quick market in a sentence: ${what}`, () => {
      deepEqual(shown(start, end), { question: `BTC up or down, ${text}?`, description: DESCRIPTION });
    });
  }

  it('names the asset', () => {
    deepEqual(shown(TWO_PM, TWO_PM + 900, 'ETH').question, 'ETH up or down, 21 Nov 2026 14:00–14:15 UTC?');
  });

  it('is as recorded where another contract has written it, or nobody needs another one', () => {
    const own = recorded('BTC', TWO_PM, TWO_PM + 900);
    const text = ({ question, description }: typeof own) => ({ question, description });
    for (const other of [
      { ...own, question: 'Higher?' }, { ...own, question: `BTC up or down, ${TWO_PM} to ${TWO_PM + 901}?` }, { ...own, question: `ETH up or down, ${TWO_PM} to ${TWO_PM + 900}?` },
    ]) deepEqual(shownText(other), text(other));
    deepEqual(shownText({ ...own, quick: null }), text(own), 'a standard market may ask anything');
    deepEqual(shownText({ ...own, description: 'Another.' }).description, 'Another.');
  });
});
