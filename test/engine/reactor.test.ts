/** The reactor, by counts and not by times: holds, rounds, rests, failures of each kind, losses, and its end. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { startReactor, type Reactor, type ReactorOptions } from '../../engine/reactor.js';

/** Lets everything go on that waits for nothing but promises. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => { setImmediate(resolve); });
}

class Lost extends Error {}

describe('engine: reactor', () => {
  let stopping: AbortController;
  let reactor: Reactor<string>;
  let done: string[];
  let reports: string[];
  let rest: () => void;
  beforeEach(() => {
    stopping = new AbortController();
    [done, reports] = [[], []];
  });
  afterEach(async () => {
    stopping.abort();
    rest();
    await reactor.done.catch(() => undefined);
  });

  /** Rounds do what `steps` say, one after the other, and nothing afterwards. */
  function start(steps: (() => unknown)[] = [], options: Partial<ReactorOptions<string>> = {}): void {
    let holds = 0;
    rest = () => undefined;
    reactor = startReactor<string>({
      async hold() {
        done.push('hold');
        return `hold ${++holds}`;
      },
      async round(held) {
        done.push(`round of ${held}`);
        return steps.shift()?.();
      },
      rest: () => new Promise<void>((resolve) => { rest = resolve; }),
      async release(held) { done.push(`release ${held}`); },
      backoff: { firstMs: 1, longestMs: 1 }, who: 'it', report: (level, text) => { reports.push(`${level}: ${text}`); },
      signal: stopping.signal, ...options,
    });
  }
  const fails = (error: Error) => (): never => { throw error; };
  const untilResting = async (rounds: number): Promise<void> => {
    while (done.filter((each) => each.startsWith('round')).length < rounds) await new Promise((resolve) => { setTimeout(resolve, 1); });
    await turns();
  };

  it('holds once, does a round, and rests before the next one', async () => {
    start();
    await turns();
    deepEqual([done, reactor.held()], [['hold', 'round of hold 1'], 'hold 1']);
    rest();
    await turns();
    deepEqual(done, ['hold', 'round of hold 1', 'round of hold 1']);
    deepEqual(reports, []);
  });

  it('does not rest while more is due', async () => {
    start([() => true, () => true]);
    await turns();
    equal(done.length, 4);
  });

  it('tells a failure once while it repeats, and once that it is over; what is held stays', async () => {
    start([fails(new Error('down')), fails(new Error('down')), fails(new Error('gone'))]);
    await untilResting(4);
    deepEqual(reports, ['warn: it waits: down', 'warn: it waits: gone', 'info: it goes on']);
    deepEqual([done.filter((each) => each === 'hold').length, reactor.problem()], [1, undefined]);
  });

  it('shows why it fails', async () => {
    start([fails(new TypeError('x is undefined'))], { backoff: { firstMs: 3_600_000, longestMs: 3_600_000 } });
    await turns();
    equal(reactor.problem(), 'TypeError: x is undefined');
  });

  it('releases what it has lost, and holds anew', async () => {
    start([fails(new Lost('away'))], { isLoss: (error) => error instanceof Lost });
    await untilResting(2);
    deepEqual(done, ['hold', 'round of hold 1', 'release hold 1', 'hold', 'round of hold 2']);
  });

  it('tells what it holds of a failure; when that fails, too, it is lost', async () => {
    const told: string[] = [];
    start([fails(new Error('down')), fails(new Error('down'))], {
      failed: (held) => {
        told.push(held);
        return told.length === 1 ? Promise.resolve() : Promise.reject(new Error('away'));
      },
    });
    await untilResting(3);
    deepEqual([told, done], [['hold 1', 'hold 1'], ['hold', 'round of hold 1', 'round of hold 1', 'release hold 1', 'hold', 'round of hold 2']]);
  });

  it('tries to hold again', async () => {
    let tries = 0;
    start([], { hold: () => ++tries < 3 ? Promise.reject(new Error('away')) : Promise.resolve('held') });
    await untilResting(1);
    deepEqual([done, reports], [['round of held'], ['warn: it waits: away', 'info: it goes on']]);
  });

  it('ends with an error that cannot pass, and releases what it held', async () => {
    start([fails(new Lost('for good'))], { canPass: (error) => !(error instanceof Lost) });
    await rejects(reactor.done, Lost);
    deepEqual([done, reports], [['hold', 'round of hold 1', 'release hold 1'], []]);
  });

  it('stands by while another process has what it waits for, which is no failure', async () => {
    let take: (held: string) => void = () => undefined;
    let tries = 0;
    start([], {
      hold({ standingBy }) {
        if (++tries === 1) return Promise.reject(new Error('away'));
        standingBy();
        return new Promise((resolve) => { take = resolve; });
      },
    });
    while (!reactor.standsBy()) await new Promise((resolve) => { setTimeout(resolve, 1); });
    deepEqual([reactor.held(), reactor.problem(), reports], [undefined, undefined, ['warn: it waits: away', 'info: it stands by: another process does this']]);
    take('held');
    await untilResting(1);
    deepEqual([reactor.standsBy(), reactor.held(), done], [false, 'held', ['round of held']]);
  });

  it('says nothing of failures that belong to the usual work, and raises an alert for those that need one', async () => {
    start([fails(new Lost('overtaken')), fails(new Error('down'))], { level: (error) => error instanceof Lost ? undefined : 'alert' });
    await untilResting(3);
    deepEqual(reports, ['alert: it waits: down', 'info: it goes on']);
  });

  it('ends with an error that cannot pass although it is stopping', async () => {
    start([() => {
      stopping.abort();
      throw new Lost('for good');
    }], { canPass: (error) => !(error instanceof Lost) });
    await rejects(reactor.done, Lost);
  });

  it('ends after its round when the signal aborts, without a word of what that breaks', async () => {
    start([() => {
      stopping.abort();
      throw new Error('aborted');
    }]);
    await reactor.done;
    deepEqual([done, reports, reactor.held()], [['hold', 'round of hold 1', 'release hold 1'], [], undefined]);
  });

  it('a stop ends the pause after a failure', async () => {
    start([fails(new Error('down'))], { backoff: { firstMs: 3_600_000, longestMs: 3_600_000 } });
    await turns();
    stopping.abort();
    await reactor.done;
    equal(done.at(-1), 'release hold 1');
  });
});
