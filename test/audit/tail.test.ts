/** An audit that waits for records which the chain anchors says so meanwhile, and how far it has read the chain. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import type { Stage } from '../../tools/audit/audit-options.js';
import { CannotAudit } from '../../tools/audit/difference.js';
import { createProgress } from '../../tools/audit/progress.js';
import { decodeCommand } from '../../engine/records/codec.js';
import { linesOfHistory, sourceOf, tradedHistory, auditOf } from '../support/audited-history.js';

describe('an audit whose service does not show yet what the chain anchors', () => {
  /** The history up to its last settlement, whose transaction anchors a later position; the service shows more after some questions. */
  async function behind(questions: number) {
    const history = await tradedHistory();
    const end = history.records.findLastIndex(({ command }) => decodeCommand(command).kind === 'SubmitSettlement') - 1;
    let asked = 0;
    const newLength = () => Promise.resolve(asked++ < questions ? end : history.records.length);
    return { history, end, source: { ...sourceOf(linesOfHistory(history.records.slice(0, end))), newLength } };
  }

  it('tells of the wait, and passes when the records come', async () => {
    const { history, end, source } = await behind(1);
    const told: [Stage, number, number | undefined][] = [];
    const { passed } = await auditOf(history, { source, patienceMs: 60_000, onProgress: (...each) => told.push(each) });
    equal(passed, true);
    const [, , anchored] = told.find(([stage]) => stage === 'tail') ?? [];
    ok(anchored !== undefined && anchored > end, JSON.stringify(told));
    deepEqual(told.filter(([stage]) => stage === 'tail'), [['tail', end, anchored]]);
    deepEqual(told.findLast(([stage]) => stage === 'blocks'), ['blocks', history.blocks, history.blocks]);
  });

  it('ends the wait when it is interrupted', async () => {
    const { history, source } = await behind(Infinity);
    const interrupted = new AbortController();
    const onProgress = (stage: Stage): void => { if (stage === 'tail') interrupted.abort(); };
    await rejects(auditOf(history, { source, patienceMs: 60_000, signal: interrupted.signal, onProgress }), (error: Error) => (
      error instanceof CannotAudit && /^interrupted/.test(error.message)));
  });

  it('shows the first line of a wait at once, also where it is no bar', () => {
    const written: string[] = [];
    createProgress({ sink: { write: (text) => written.push(text) }, nowMs: () => 0, what: 'waiting: records', atOnce: true }).update(3, 5);
    deepEqual(written, ['waiting: records 60 % (3 of 5), 0/s\n']);
  });
});
