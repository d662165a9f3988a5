/** The settlement's lane is held only by the process that takes in fills: also when that changes while it waits, and while it holds. */
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { laneOf } from '../../command/settlement/intake/owned-lane.js';
import { OutboxUnavailable, type HeldLaneUser } from '../../command/lane/requests.js';

describe('settlement: a lane that only who takes in fills holds', () => {
  let calls: string[];
  /** The session whose intake is lost; no session so far when it is 0. */
  let lost: number;
  const never = new AbortController().signal;

  beforeEach(() => { [calls, lost] = [[], 0]; });

  /** Sessions of the lane and of the intake, by number. `meanwhile` happens while the process waits for the lane. */
  function owned(meanwhile: (session: number) => void = () => undefined) {
    let [intakes, lanes] = [0, 0];
    return laneOf(
      {
        held() {
          const session = ++intakes;
          return Promise.resolve(() => { if (session <= lost) throw new OutboxUnavailable('this process no longer takes in fills'); });
        },
      },
      {
        hold() {
          const session = ++lanes;
          meanwhile(session);
          const called = <T>(name: string, answer: T) => () => {
            calls.push(`${name} ${session}`);
            return Promise.resolve(answer);
          };
          return Promise.resolve({
            ask: called('ask', undefined), changes: called('changes', []), list: called('list', []), forget: called('forget', undefined),
            state: called('state', undefined), wait: called('wait', 'rung' as const), close: called('close', undefined),
          } satisfies HeldLaneUser);
        },
      },
    );
  }

  it('waits again, and lets the lane go, when another process took over the intake while this one waited for the lane', async () => {
    const held = await owned((session) => { lost = session < 3 ? session : 2; }).hold({ signal: never, standingBy: () => undefined });
    deepEqual(calls, ['close 1', 'close 2']);
    await held.list();
    equal(calls.at(-1), 'list 3');
  });

  it('asks nothing of the lane once another process takes in', async () => {
    const held = await owned().hold({ signal: never, standingBy: () => undefined });
    for (const call of [() => held.ask([]), () => held.changes(), () => held.list(), () => held.forget([]), () => held.state()]) await call();
    const whileHeld = ['ask 1', 'changes 1', 'list 1', 'forget 1', 'state 1'];
    deepEqual(calls, whileHeld);
    lost = 1;
    for (const call of [() => held.ask([]), () => held.changes(), () => held.list(), () => held.forget([]), () => held.state()]) {
      await rejects(call, OutboxUnavailable);
    }
    deepEqual(calls, whileHeld);
    await held.close();
    equal(calls.at(-1), 'close 1');
  });
});
