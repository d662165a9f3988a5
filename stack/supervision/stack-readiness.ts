/** The readiness of a whole stack: what each of its processes reports, and which processes are missing. */
import { mergedAnswer, type ReadinessParts } from './merge-readiness.js';
import type { RoleName } from '../../service/roles/role-names.js';
import type { LiveProcess } from './supervisor.js';

/** Longer than a process waits for a silent database (2 s): its answer names the database. */
const ANSWER_WITHIN_MS = 4_000;

type Answering = Pick<LiveProcess, 'role' | 'port' | 'serves' | 'standsBy'>;

export interface Stack {
  /** The role of each process that should run. */
  readonly wanted: readonly string[];
  readonly live: readonly Answering[];
  /** What the supervisor itself reports, of what it has started for all processes. */
  readonly own?: ReadinessParts | undefined;
}

/** The same for one role. */
export function ofRole({ wanted, live, own }: Stack, role: RoleName | undefined): Stack {
  if (role === undefined) return { wanted, live, own };
  const has = (group: string): boolean => group.split('+').includes(role);
  return { wanted: wanted.filter(has), live: live.filter((each) => has(each.role)), own };
}

/** The stack is ready when at least one process per role is ready: requests can be served without the second engine. */
export async function stackReadiness({ wanted, live, own }: Stack): Promise<{ readonly status: number; readonly body: string }> {
  const answers = await Promise.all(live.map(async (process) => ({ role: process.role, health: await ask(process) })));
  const parts = [...new Set(wanted)].flatMap((role): ReadinessParts[] => {
    const ofRole = answers.filter((answer) => answer.role === role).map(({ health }) => health);
    const ready = ofRole.filter(({ reasons }) => reasons.length === 0);
    if (ofRole.length === 0) return [{ reasons: [`no ${role} process runs`] }];
    return ready.length > 0 ? ready : ofRole.map((health) => ({ ...health, reasons: health.reasons.map((reason) => `${role}: ${reason}`) }));
  });
  return mergedAnswer([...new Set(wanted.flatMap((role) => role.split('+')))], own === undefined ? parts : [...parts, own]);
}

async function ask({ port, serves, standsBy }: Answering): Promise<ReadinessParts> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const health = await response.json() as ReadinessParts;
    // A process answers a moment before its word comes, and for a while after it has said that it leaves: no request goes to it then.
    if (health.reasons.length === 0 && serves.length + standsBy.length === 0) return { ...health, reasons: ['the process serves nothing at the moment'] };
    return health;
  } catch {
    return { reasons: ['the process does not answer'] };
  }
}
