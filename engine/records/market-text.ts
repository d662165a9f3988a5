/** A market's question and description for readers: what the contract of a quick market writes in Unix seconds becomes a sentence. */
import type { MarketOpened } from './events.js';

type MarketText = Pick<MarketOpened, 'question' | 'description'>;

const NUMBERS = ' Times are Unix seconds.';
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * The text of a market as it is shown: `BTC up or down, 21 Nov 2026 14:00–14:15 UTC?`. The history keeps the contract's
 * own text, so that everybody can compare both. Other texts are shown as they were recorded.
 */
export function shownText({ question, description, quick }: MarketText & Pick<MarketOpened, 'quick'>): MarketText {
  if (quick === null) return { question, description };
  const { asset, startTime, endTime } = quick;
  if (question !== `${asset} up or down, ${startTime} to ${endTime}?`) return { question, description };
  return {
    question: `${asset} up or down, ${interval(startTime, endTime)}?`,
    description: description.endsWith(NUMBERS) ? description.slice(0, -NUMBERS.length) : description,
  };
}

/** Two times in UTC. The day is said once where both have it, and seconds only where one of the times has some. */
function interval(startS: number, endS: number): string {
  const [start, end] = [new Date(startS * 1_000), new Date(endS * 1_000)];
  const digits = startS % 60 === 0 && endS % 60 === 0 ? 5 : 8;
  const [from, to] = [start, end].map((each) => each.toISOString().slice(11, 11 + digits));
  const [startDay, endDay] = [dayOf(start), dayOf(end)];
  return startDay === endDay ? `${startDay} ${from}–${to} UTC` : `${startDay} ${from} – ${endDay} ${to} UTC`;
}

function dayOf(time: Date): string {
  return `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()]} ${time.getUTCFullYear()}`;
}
