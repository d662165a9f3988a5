/** Probes: one question for many who ask, and an answer in time whatever the database does. */
import assert from 'node:assert/strict';
import { joined } from '../../engine/waiting.js';
import { createProbe } from '../../service/status/probe.js';

function scene(timeoutMs = 1_000) {
  const set = { nowMs: 0, asked: 0, answer: (): Promise<string> => Promise.resolve('yes') };
  const probe = createProbe({
    timeoutMs, freshMs: 500, now: () => set.nowMs,
    ask: () => {
      set.asked += 1;
      return set.answer();
    },
  });
  return { set, probe };
}

describe('service: a probe', () => {
  it('asks once for a flood of requests, and again when the answer is no longer fresh', async () => {
    const { set, probe } = scene();
    const found = await Promise.all(Array.from({ length: 1_000 }, () => probe.look()));
    assert.ok(found.every((each) => each.answers && each.value === 'yes'));
    await probe.look();
    assert.equal(set.asked, 1);
    set.nowMs = 500;
    await probe.look();
    assert.equal(set.asked, 2);
  });

  it('says that the database is silent, and does not ask again while the first question runs', async () => {
    const { set, probe } = scene(5);
    let answer: (text: string) => void = () => undefined;
    set.answer = () => new Promise((resolve) => { answer = resolve; });
    assert.deepEqual(await probe.look(), { answers: false, error: 'no answer within 5 ms' });
    set.nowMs = 5_000;
    assert.deepEqual(await probe.look(), { answers: false, error: 'no answer within 5 ms' });
    assert.deepEqual([set.asked, probe.sinceSuccessMs()], [1, 5_000]);
    set.nowMs = 6_000;
    const later = probe.look();
    answer('late');
    assert.deepEqual([await later, probe.latest, probe.sinceSuccessMs()], [{ answers: true, value: 'late' }, { answers: true, value: 'late' }, 0]);
  });

  it('tells why a question failed, and asks again', async () => {
    const { set, probe } = scene();
    const cause = new Error('connection refused');
    set.answer = () => Promise.reject(cause);
    assert.deepEqual(await probe.look(), { answers: false, error: 'connection refused', cause });
    Object.assign(set, { nowMs: 600, answer: () => Promise.resolve('back') });
    assert.deepEqual(await probe.look(), { answers: true, value: 'back' });
  });

  it('joined work runs once for all who wait, and again afterwards, also after a failure', async () => {
    let runs = 0;
    const work = joined(async () => {
      runs += 1;
      await Promise.resolve();
      if (runs === 2) throw new Error('no');
      return runs;
    });
    assert.deepEqual(await Promise.all([work(), work()]), [1, 1]);
    await assert.rejects(work());
    assert.equal(await work(), 3);
  });
});
