/** Ties the lane to the intake: only the process that takes in fills asks for their transactions. */
import type { HeldLaneUser, LaneUser } from '../../lane/requests.js';
import type { Intake } from './intake.js';

/** A lane's user that is held only while this process takes in, and has caught up with the history. */
export function laneOf(intake: Pick<Intake, 'held'>, lane: LaneUser): LaneUser {
  return {
    async hold(standBy) {
      for (;;) {
        const check = await intake.held(standBy.signal);
        const held = await lane.hold(standBy);
        // Another process may have taken over the intake while this one waited for the lane.
        if (isHeld(check)) return guarded(held, check);
        await held.close();
      }
    },
  };
}

function isHeld(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

function guarded(held: HeldLaneUser, check: () => void): HeldLaneUser {
  const checked = <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) => async (...args: Args): Promise<T> => {
    check();
    return await call(...args);
  };
  return {
    ask: checked((requests) => held.ask(requests)), changes: checked(() => held.changes()), list: checked(() => held.list()),
    forget: checked((ids) => held.forget(ids)), state: checked(() => held.state()),
    wait: (signal, timeoutMs) => held.wait(signal, timeoutMs), close: () => held.close(),
  };
}
