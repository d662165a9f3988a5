/** Which observations are accepted: a table of short stories, each observation with its verdict. */
import { deepEqual, equal, throws } from 'node:assert/strict';
import { chooseAmongPast, createChoice, type Choice, type ChoiceOptions, type Reason } from '../../command/prices/choice.js';
import type { Observation, SourceName } from '../../command/prices/observation.js';
import { BOUNDARY_MS } from '../support/price-scene.js';

const SOURCES = ['pyth', 'coinbase', 'binance'] as const satisfies SourceName[];
const SHORT = { p: 'pyth', c: 'coinbase', b: 'binance', s: 'simulated' } as const;

interface HeardPrice {
  readonly from: keyof typeof SHORT;
  /** When it comes, in seconds after the start. */
  readonly at: number;
  /** In USD, whole. */
  readonly price: number;
  /** When it was published, in seconds after the start; without, when it comes. */
  readonly published?: number;
  readonly asset?: string;
}

type Line = readonly [HeardPrice, 'accepted' | Reason];

const observationOf = ({ from, at, price, published = at, asset = 'BTC' }: HeardPrice): Observation => (
  { asset, source: SHORT[from], priceE8: BigInt(price) * 10n ** 8n, publishedAtMs: BOUNDARY_MS + published * 1_000 });

const choiceOf = (options: Partial<ChoiceOptions> = {}): Choice => createChoice({ sources: SOURCES, startedAtMs: BOUNDARY_MS, ...options });

/** Hears each line and compares its verdict, with the line's number. */
function holds(lines: readonly Line[], options: Partial<ChoiceOptions> = {}): void {
  const choice = choiceOf(options);
  const verdicts = lines.map(([heard]) => choice.observe(observationOf(heard), BOUNDARY_MS + heard.at * 1_000));
  deepEqual(verdicts.map((verdict, n) => [n, lines[n]![0], verdict.accepted ? 'accepted' : verdict.because]), lines.map(([heard, expected], n) => [n, heard, expected]));
}

/** One line per second from `first` to `last`, all with the same verdict. */
function each(first: number, last: number, heard: Omit<HeardPrice, 'at'>, verdict: Line[1]): Line[] {
  return Array.from({ length: last - first + 1 }, (_, n) => [{ ...heard, at: first + n }, verdict]);
}

const inOrder = (...lines: readonly Line[]): Line[] => [...lines].sort(([a], [b]) => a.at - b.at);

describe('prices: the choice', () => {
  it('takes the first observation of each second, and none of an earlier second', () => {
    holds([
      [{ from: 'p', at: 0.1, price: 1000 }, 'unwitnessed'], [{ from: 'p', at: 0.2, price: 1001 }, 'accepted'], [{ from: 'p', at: 0.9, price: 1002 }, 'second_taken'],
      [{ from: 'p', at: 1, price: 1003 }, 'accepted'], [{ from: 'p', at: 2, price: 1003, published: 1.5 }, 'second_taken'], [{ from: 'p', at: 2.1, price: 1003 }, 'accepted'],
    ]);
  });

  it('keeps assets apart', () => {
    holds([
      [{ from: 'p', at: 0, price: 1000 }, 'unwitnessed'], [{ from: 'p', at: 0, price: 60, asset: 'ETH' }, 'unwitnessed'],
      [{ from: 'p', at: 1, price: 1000 }, 'accepted'], [{ from: 'p', at: 1, price: 60, asset: 'ETH' }, 'accepted'],
    ]);
  });

  it('goes on after a restart where the history ends', () => {
    const last = [{ asset: 'BTC', priceE8: 1000n * 10n ** 8n, publishedAtMs: BOUNDARY_MS - 1_000 }];
    holds([
      [{ from: 'p', at: 0, price: 1000, published: -0.5 }, 'second_taken'], [{ from: 'p', at: 0.1, price: 1100, published: 0 }, 'jump'],
      [{ from: 'p', at: 0.2, price: 1001 }, 'accepted'], [{ from: 'p', at: 0.3, price: 1001, asset: 'ETH' }, 'unwitnessed'],
    ], { last });
  });

  describe('by time', () => {
    const begun: Line[] = [[{ from: 'p', at: 0, price: 1000 }, 'unwitnessed'], [{ from: 'p', at: 1, price: 1000 }, 'accepted']];

    it('drops what was published more than ten seconds ago', () => {
      holds([...begun, [{ from: 'p', at: 12, price: 1000, published: 1.999 }, 'old'], [{ from: 'p', at: 12, price: 1000, published: 2 }, 'accepted']]);
    });

    it('drops what is published more than a second ahead', () => {
      holds([...begun, [{ from: 'p', at: 2, price: 1000, published: 3.001 }, 'ahead'], [{ from: 'p', at: 2, price: 1000, published: 3 }, 'accepted']]);
    });

    it('drops what is not published after the one before of the same source', () => {
      holds([
        ...begun, [{ from: 'p', at: 2, price: 1000, published: 1 }, 'repeated'], [{ from: 'p', at: 2, price: 1000, published: 0.9 }, 'backwards'],
        [{ from: 'p', at: 3, price: 1000 }, 'accepted'],
      ]);
    });

    it('is not blocked by a clock that was wrong once', () => {
      holds([...begun, [{ from: 'p', at: 2, price: 1000, published: 9_000 }, 'ahead'], [{ from: 'p', at: 3, price: 1000 }, 'accepted']]);
    });
  });

  describe('of the source', () => {
    it('gives the best one five seconds at the start, then takes the next', () => {
      holds([
        [{ from: 'c', at: 0, price: 1000 }, 'unwitnessed'], ...each(1, 5, { from: 'c', price: 1000 }, 'standby'), [{ from: 'c', at: 5.001, price: 1000 }, 'accepted'],
      ]);
    });

    it('falls back when the better one is silent for more than five seconds, to whoever speaks, then to the best that has spoken all the time', () => {
      holds(inOrder(
        [{ from: 'p', at: 0, price: 1000 }, 'unwitnessed'], ...each(1, 9, { from: 'p', price: 1000 }, 'accepted'),
        ...each(1, 14, { from: 'b', price: 1000 }, 'standby'), [{ from: 'b', at: 15, price: 1000 }, 'accepted'], ...each(16, 20, { from: 'b', price: 1000 }, 'standby'),
        ...each(1, 14, { from: 'c', price: 1000 }, 'standby'), [{ from: 'c', at: 15.1, price: 1000 }, 'second_taken'], ...each(16, 20, { from: 'c', price: 1000 }, 'accepted'),
      ));
    });

    it('counts repeated, old and absurd observations as silence', () => {
      for (const bad of [{ published: 2, price: 1000 }, { published: -20, price: 1000 }, { price: 2000 }]) {
        const verdict = 'published' in bad ? bad.published === 2 ? 'repeated' : 'old' : 'jump';
        holds(inOrder(
          [{ from: 'p', at: 0, price: 1000 }, 'unwitnessed'], ...each(1, 2, { from: 'p', price: 1000 }, 'accepted'), ...each(3, 9, { from: 'p', ...bad }, verdict),
          ...each(1, 7, { from: 'c', price: 1000 }, 'standby'), ...each(8, 9, { from: 'c', price: 1000 }, 'accepted'),
        ));
      }
    });

    it('returns to the better one once that has been steady for ten seconds', () => {
      holds(inOrder(
        [{ from: 'c', at: 4, price: 1000 }, 'unwitnessed'], ...each(6, 29, { from: 'c', price: 1000 }, 'accepted'),
        ...each(20, 29, { from: 'p', price: 1000 }, 'standby'), ...each(30, 33, { from: 'p', price: 1000 }, 'accepted'), ...each(30, 33, { from: 'c', price: 1000 }, 'standby'),
      ));
    });

    it('does not return to one that was silent or absurd in between', () => {
      for (const between of [each(26, 29, { from: 'b', price: 1000 }, 'standby'), each(26, 26, { from: 'p', price: 2000 }, 'jump')]) {
        const again = between.length === 4 ? 31 : 27;
        holds(inOrder(
          [{ from: 'c', at: 4, price: 1000 }, 'unwitnessed'], ...each(6, again + 9, { from: 'c', price: 1000 }, 'accepted'),
          ...each(20, 25, { from: 'p', price: 1000 }, 'standby'), ...between, ...each(again, again + 9, { from: 'p', price: 1000 }, 'standby'),
          [{ from: 'p', at: again + 10, price: 1000 }, 'accepted'],
        ));
      }
    });

    it('returns at once when the one in use falls silent', () => {
      holds(inOrder(
        [{ from: 'c', at: 4, price: 1000 }, 'unwitnessed'], ...each(6, 20, { from: 'c', price: 1000 }, 'accepted'),
        ...each(19, 25, { from: 'p', price: 1000 }, 'standby'), [{ from: 'p', at: 26, price: 1000 }, 'accepted'],
      ));
    });

    it('says which one is in use', () => {
      const choice = choiceOf();
      const hear = (heard: HeardPrice): unknown => choice.observe(observationOf(heard), BOUNDARY_MS + heard.at * 1_000);
      equal(choice.inUse('BTC'), 'pyth');
      hear({ from: 'c', at: 6, price: 1000 });
      hear({ from: 'c', at: 7, price: 1000 });
      deepEqual([choice.inUse('BTC'), choice.inUse('ETH')], ['coinbase', 'pyth']);
    });
  });

  describe('by the median', () => {
    const begun: Line[] = [
      [{ from: 'p', at: 0, price: 1000 }, 'unwitnessed'], [{ from: 'p', at: 1, price: 1000 }, 'accepted'],
    ];

    it('takes a move of five per cent, not of more', () => {
      holds([...begun, [{ from: 'p', at: 2, price: 1051 }, 'jump'], [{ from: 'p', at: 3, price: 949 }, 'jump'], [{ from: 'p', at: 4, price: 1050 }, 'accepted']]);
    });

    it('of one source is the last accepted price: an absurd price is dropped, the next one is good', () => {
      holds([...begun, [{ from: 'p', at: 2, price: 10 }, 'jump'], [{ from: 'p', at: 3, price: 1001 }, 'accepted']]);
    });

    it('of one source lets a new level in when nothing has been accepted for more than thirty seconds, and a second price confirms it', () => {
      holds([...begun, ...each(2, 31, { from: 'p', price: 1060 }, 'jump'), ...each(32, 35, { from: 'p', price: 1060 }, 'accepted')]);
      holds([
        ...begun, [{ from: 'p', at: 40, price: 5000 }, 'unwitnessed'], [{ from: 'p', at: 41, price: 1060 }, 'jump'], [{ from: 'p', at: 42, price: 1061 }, 'accepted'],
      ]);
    });

    it('of two sources lets a move in that both have made, and drops it before', () => {
      holds([
        ...begun, [{ from: 'c', at: 1, price: 1000 }, 'standby'], [{ from: 'p', at: 2, price: 1060 }, 'jump'], [{ from: 'c', at: 2, price: 1060 }, 'standby'],
        [{ from: 'p', at: 3, price: 1061 }, 'accepted'], [{ from: 'c', at: 3, price: 1000 }, 'jump'],
      ]);
    });

    it('of three sources is what two of them say', () => {
      holds([
        ...begun, [{ from: 'c', at: 1, price: 1000 }, 'standby'], [{ from: 'b', at: 1, price: 1000 }, 'standby'], [{ from: 'p', at: 2, price: 1500 }, 'jump'],
        [{ from: 'c', at: 2, price: 1500 }, 'standby'], [{ from: 'b', at: 2, price: 1000 }, 'jump'], [{ from: 'p', at: 3, price: 1500 }, 'accepted'],
      ]);
    });

    it('is not enough: a price between two others that are far away agrees with nobody', () => {
      holds([
        ...begun, [{ from: 'c', at: 2, price: 6000 }, 'jump'], [{ from: 'b', at: 2, price: 4000 }, 'jump'], [{ from: 'p', at: 2, price: 5000 }, 'jump'],
        [{ from: 'p', at: 3, price: 1000 }, 'jump'], [{ from: 'b', at: 3, price: 1001 }, 'standby'], [{ from: 'p', at: 4, price: 1000 }, 'accepted'],
      ]);
    });

    it('does not count sources that are silent', () => {
      holds([
        ...begun, [{ from: 'c', at: 1, price: 1000 }, 'standby'], [{ from: 'b', at: 1, price: 1000 }, 'standby'], [{ from: 'b', at: 2, price: 1060 }, 'jump'],
        [{ from: 'p', at: 6.5, price: 1060 }, 'accepted'],
      ]);
    });

    it('of the first prices of two sources believes the better one when they differ', () => {
      holds([
        [{ from: 'c', at: 0, price: 1500 }, 'unwitnessed'], [{ from: 'p', at: 0, price: 1000 }, 'jump'], [{ from: 'c', at: 1, price: 1500 }, 'standby'],
        [{ from: 'p', at: 1, price: 1000 }, 'accepted'], [{ from: 'c', at: 2, price: 1500 }, 'jump'], [{ from: 'p', at: 2, price: 1000 }, 'accepted'],
      ]);
    });
  });

  it('marks as degraded what the source itself gives a confidence of more than half a per cent', () => {
    const choice = choiceOf({ last: [{ asset: 'BTC', priceE8: 1000n, publishedAtMs: BOUNDARY_MS - 1_000 }] });
    const degraded = [undefined, 0n, 5n, 6n].map((confidenceE8, n) => choice.observe({
      asset: 'BTC', source: 'pyth', priceE8: 1000n, publishedAtMs: BOUNDARY_MS + n * 1_000, ...confidenceE8 === undefined ? {} : { confidenceE8 },
    }, BOUNDARY_MS + n * 1_000)).map((verdict) => verdict.accepted && verdict.degraded);
    deepEqual(degraded, [false, false, false, true]);
  });

  it('is among sources that belong together, and hears no others', () => {
    throws(() => choiceOf({ sources: ['simulated', 'pyth'] }), /cannot be mixed/);
    throws(() => choiceOf({ sources: [] }), /needs a source/);
    throws(() => choiceOf().observe(observationOf({ from: 's', at: 0, price: 1 }), BOUNDARY_MS), /simulated is not among the sources pyth, coinbase, binance/);
    holds([[{ from: 's', at: 0, price: 1000 }, 'unwitnessed'], ...each(1, 3, { from: 's', price: 1000 }, 'accepted')], { sources: ['simulated'] });
  });
});

describe('prices: the choice for a gap', () => {
  const past = (...heard: readonly HeardPrice[]): string[] => chooseAmongPast(heard.map(observationOf), { sources: SOURCES, startedAtMs: BOUNDARY_MS })
    .map(({ observation: { source, publishedAtMs } }) => `${source} ${(publishedAtMs - BOUNDARY_MS) / 1_000}`);

  it('takes the one price of the best source when another witnesses for it, then the others', () => {
    const candles = Array.from({ length: 9 }, (_, at): HeardPrice => ({ from: 'b', at, price: 1000 }));
    deepEqual(past({ from: 'p', at: 0, price: 1001 }, ...candles.reverse()), ['pyth 0', 'binance 6', 'binance 7', 'binance 8']);
    deepEqual(past({ from: 'p', at: 0, price: 1001 }), []);
    deepEqual(past({ from: 'p', at: 0, price: 1100 }, { from: 'b', at: 0, price: 1000 }), []);
  });

  it('is the same as if everything had come in its time', () => {
    deepEqual(past({ from: 'p', at: 1, price: 1000 }, { from: 'p', at: 0, price: 1000 }, { from: 'p', at: 2, price: 1000 }), ['pyth 1', 'pyth 2']);
  });
});
