/** Carries a process's statements to the database, and cuts its session before or after one where that is due. */
import { OutboxUnavailable } from '../../../command/lane/requests.js';
import type { Carry } from '../../harness/memory/database.js';
import type { WorldParts } from './parts.js';
import type { SimProcess } from './process.js';

export function carryFor(process: SimProcess, { weather, strikes }: Pick<WorldParts, 'weather' | 'strikes'>): Carry {
  return (statement, work) => process.request(() => {
    const index = weather.outboxCuts.findIndex((cut) => statement !== 'lock' && (cut.statement === undefined || cut.statement === statement));
    const [cut] = index < 0 ? [] : weather.outboxCuts.splice(index, 1);
    if (cut === undefined) return work();
    strikes.struck(cut.applied ? 'outbox cut after a statement' : 'outbox cut before a statement', `${process.name}, ${statement}`);
    if (statement === 'recordAttempt') strikes.struck('outbox cut during a fee bump');
    if (cut.applied) work();
    throw new OutboxUnavailable('the connection was cut');
  });
}
