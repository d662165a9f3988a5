/** What a process and the supervisor that started it say to each other. Without a supervisor, a process that leaves gives its proxies time. */
import type { ChildProcess } from 'node:child_process';
import { pause, within } from '../../engine/waiting.js';
import type { Config } from '../config.js';

/** From a process: the roles that it takes requests for, whenever that changes. */
export interface Told {
  readonly serves: readonly string[];
  /** Roles that it has, and whose work another process does. */
  readonly standsBy: readonly string[];
  /** It will end: nothing more is to be sent to it, and it waits to hear FORGOTTEN. */
  readonly leaves: boolean;
}

/** From the supervisor, at the beginning: it hears what the process tells. Another parent with a channel says nothing of the kind. */
const SUPERVISED = 'supervised';
/** From the supervisor: nothing that was sent to the process is unanswered, and nothing more comes. */
const FORGOTTEN = 'forgotten';

export interface Place {
  /** Tells the supervisor, if there is one, when it has changed. */
  tell(told: Omit<Told, 'leaves'>): void;
  /** Says that the process leaves. Resolves when nobody sends requests here any more, at the latest after STOP_GRACE_MS or STOP_TIMEOUT_MS. */
  forgotten(): Promise<void>;
}

type Parent = Pick<NodeJS.Process, 'send' | 'connected' | 'on'>;

export function placeOf(parent: Parent, { stopGraceMs, stopTimeoutMs }: Pick<Config, 'stopGraceMs' | 'stopTimeoutMs'>): Place {
  let last = '';
  let leaves = false;
  let isSupervised = false;
  parent.on('message', (message) => { isSupervised ||= message === SUPERVISED; });
  const say = (told: Told): void => {
    const text = JSON.stringify(told);
    if (text === last || parent.send === undefined || !parent.connected) return;
    last = text;
    // An error means that the supervisor has just ended: then so does this process.
    parent.send(told, undefined, undefined, () => undefined);
  };
  return {
    tell(told) { if (!leaves) say({ ...told, leaves }); },
    async forgotten() {
      leaves = true;
      if (!isSupervised) return pause(stopGraceMs);
      const heard = new Promise<void>((resolve) => {
        parent.on('message', (message) => { if (message === FORGOTTEN) resolve(); });
        parent.on('disconnect', resolve);
      });
      say({ serves: [], standsBy: [], leaves });
      if (parent.connected) await within(heard, stopTimeoutMs);
    },
  };
}

/** Calls the listener with what the process tells, and lets the process know that somebody listens. */
export function hear(child: ChildProcess, listener: (told: Told) => void): void {
  child.send(SUPERVISED, () => undefined);
  child.on('message', (message) => { if (isTold(message)) listener(message); });
}

/** Tells a process that leaves. One that has ended meanwhile does not hear it. */
export function tellForgotten(child: ChildProcess): void {
  if (child.connected) child.send(FORGOTTEN, () => undefined);
}

function isTold(message: unknown): message is Told {
  return typeof message === 'object' && message !== null && 'serves' in message && 'standsBy' in message && 'leaves' in message;
}
