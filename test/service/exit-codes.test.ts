/** The exit code that keeps a process from being started again: after a log that has lost records, too. */
import { deepEqual } from 'node:assert/strict';
import { ForeignFeed } from '../../command/feed/fill-feed.js';
import { ForeignIntake } from '../../command/settlement/intake.js';
import { BrokenSequence, LogUnavailable, RecordsLost } from '../../engine/log/log.js';
import { ForeignReadModels } from '../../projections/same-log.js';
import { CannotStart } from '../../engine/cannot-start.js';
import { isBadConfiguration } from '../../service/exit-codes.js';

describe('service: exit codes', () => {
  const fromThread = Object.assign(new Error('the log has lost records'), { name: 'RecordsLost' });
  const errors: readonly [Error, boolean][] = [
    [new RecordsLost('two'), true], [fromThread, true], [new BrokenSequence('commands', 2, 1), true], [new ForeignReadModels('two outcomes'), true],
    [new ForeignFeed('two'), true], [new ForeignIntake('two'), true], [new CannotStart('wrong', { hopeless: true }), true],
    [new CannotStart('full', { hopeless: false }), false], [new LogUnavailable(true), false], [new Error('else'), false],
  ];
  it('a log that has lost records is not gone on with by a restart', () => {
    deepEqual(errors.map(([error]) => isBadConfiguration(error)), errors.map(([, isFinal]) => isFinal));
  });
});
