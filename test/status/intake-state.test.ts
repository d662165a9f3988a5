/** What a settlement process tells of its intake, and of Kafka. */
import { deepEqual } from 'node:assert/strict';
import type { IntakeStatus } from '../../command/settlement/intake.js';
import { intakeStateOf } from '../../command/settlement/role-state.js';

describe('service: the state of the intake', () => {
  const feed = { status: () => ({ problem: 'those of partition 2 have not come', fromLog: 7, repeats: 3, alerts: 2 }) };
  const logFeed = { status: () => undefined };
  const stateOf = (status: IntakeStatus, of: Parameters<typeof intakeStateOf>[1] = feed) => intakeStateOf({ status: () => status }, of, 100);

  it('tells what does not come by Kafka, which stops nothing', () => {
    const status = { standby: false, position: 90, problem: undefined };
    deepEqual(stateOf(status), { standby: false, position: 90, lag: 10, problem: null, kafkaProblem: 'those of partition 2 have not come' });
    deepEqual(stateOf(status, logFeed).kafkaProblem, null);
  });

  it('of a process that stands by tells nothing', () => {
    const status = { standby: true, position: undefined, problem: undefined };
    deepEqual(stateOf(status), { standby: true, position: null, lag: null, problem: null, kafkaProblem: null });
  });
});
