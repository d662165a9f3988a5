/** What a start waits for, as readiness and the log say it. */
import assert from 'node:assert/strict';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { createWaits } from '../../service/process/waits.js';

function scene(now?: () => number) {
  const lines: string[] = [];
  const ending = new AbortController();
  const logger = createLogger(parseConfig({}), { write: (line: string) => { lines.push((JSON.parse(line) as { msg: string }).msg); } });
  return { lines, ending, waits: createWaits({ logger, signal: ending.signal, ...now && { now } }) };
}

/** Fails with each of the errors, then succeeds. */
function failing(...errors: readonly string[]): () => Promise<string> {
  const left = [...errors];
  return () => {
    const error = left.shift();
    return error === undefined ? Promise.resolve('there') : Promise.reject(new Error(error));
  };
}

describe('service: what a start waits for', () => {
  it('is a reason until it has come, and a log line when it changes', async () => {
    const { waits, lines } = scene();
    const waiting = waits.until('the log at db:5432/x', failing('it refuses connections', 'it refuses connections', 'it is starting up'), () => true);
    const seen = new Set<string>();
    const looking = setInterval(() => { for (const reason of waits.reasons()) seen.add(reason); }, 5);
    assert.equal(await waiting, 'there');
    clearInterval(looking);
    const texts = ['waiting for the log at db:5432/x: it refuses connections', 'waiting for the log at db:5432/x: it is starting up'];
    assert.deepEqual([...seen], texts);
    assert.deepEqual(lines, [...texts, 'no longer waiting for the log at db:5432/x']);
    assert.deepEqual(waits.reasons(), []);
  });

  it('is told once of each of two reasons that come in turns', async () => {
    const { waits, lines } = scene(() => 0);
    await waits.until('the log', failing('refused', 'no answer', 'refused'), () => true);
    assert.deepEqual(lines, ['waiting for the log: refused', 'waiting for the log: no answer', 'no longer waiting for the log']);
  });

  it('ends with the first error that waiting cannot mend, and with the stop', async () => {
    const { waits, ending } = scene();
    await assert.rejects(waits.until('a', failing('away', 'wrong password'), (error) => (error as Error).message === 'away'), /^Error: wrong password$/);
    const silent = waits.until('b', () => new Promise<never>(() => undefined), () => true);
    ending.abort(new Error('the process stops'));
    await assert.rejects(silent, /^Error: the process stops$/);
    assert.deepEqual(waits.reasons(), []);
  });

  it('comes before what is being done meanwhile', async () => {
    const { waits } = scene();
    let done = (): void => undefined;
    let position = 1;
    const doing = waits.during(() => `at command ${position}`, new Promise<void>((resolve) => { done = resolve; }));
    position = 2;
    assert.deepEqual(waits.reasons(), ['at command 2']);
    const waiting = waits.until('the read models', failing('away'), () => true);
    while (!waits.reasons().includes('waiting for the read models: away')) await new Promise((resolve) => { setImmediate(resolve); });
    assert.deepEqual(waits.reasons(), ['waiting for the read models: away']);
    await waiting;
    assert.deepEqual(waits.reasons(), ['at command 2']);
    done();
    await doing;
    assert.deepEqual(waits.reasons(), []);
  });
});
