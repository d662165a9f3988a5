/** `GET /api/v1/status`: whether this exchange takes orders, why not, and when it is planned not to. */
import * as field from '../../engine/records/answer-fields.js';
import { RequestError } from '../../engine/records/errors.js';
import { Type } from '../../engine/records/schema-types.js';
import type { EngineView } from '../../engine/run/view.js';
import type { Admit } from '../../engine/running-role.js';
import { anybody } from '../../service/api/authority.js';
import { defineEndpoint, type Reply } from '../../service/api/endpoint.js';
import { clientText } from '../../service/api/errors.js';
import * as example from '../../service/api/examples.js';
import { problems } from '../../service/api/problems.js';
import { haltsAhead, type HaltParts } from './planned-halts.js';

export interface TradingStatusParts extends HaltParts {
  readonly view: Pick<EngineView, 'position'>;
  /** Throws RequestError while no order is taken. */
  readonly admit: Admit;
}
export type TradingStatusHandler = () => Reply;

export function createTradingStatus({ view, admit, ...halts }: TradingStatusParts): TradingStatusHandler {
  return () => {
    const refusal = refusalOf(admit);
    const state = refusal === undefined
      ? { status: 'open', reason: null, detail: null }
      : { status: 'paused', reason: refusal.code, detail: clientText(refusal) };
    const plannedHalts = haltsAhead(halts).map(({ fromS: from, toS: to, reason }) => ({ from, to, reason }));
    return { body: JSON.stringify({ ...state, plannedHalts }), position: view.position - 1 };
  };
}

/** Why an order is not taken now; undefined while orders are taken. */
function refusalOf(admit: Admit): RequestError | undefined {
  try {
    admit('order');
    return undefined;
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
}

export const getStatus = defineEndpoint({
  id: 'getStatus', role: 'api', method: 'GET', path: '/api/v1/status', tag: 'Service', summary: 'Whether orders are taken',
  description: 'Of the process that answers: `reason` is the code that an order would get. Cancels may be taken while orders are not.',
  parameters: {}, authority: anybody, errorShape: problems,
  answer: {
    description: 'The status.',
    schema: field.answer('TradingStatus', {
      status: field.oneOf(['open', 'paused'], 'open: orders are taken.'),
      reason: field.orNull(Type.String(), 'The code of the error that an order gets; null while orders are taken.'),
      detail: field.orNull(Type.String(), 'The same in words.'),
      plannedHalts: Type.Array(field.answer('PlannedHalt', { from: field.Seconds, to: field.Seconds, reason: Type.String() }), {
        description: 'Times at which no orders are taken, as the operator has planned them: those that are not over, the next one first.',
      }),
    }),
    examples: {
      'open': { status: 'open', reason: null, detail: null, plannedHalts: [] },
      'a halt is planned': {
        status: 'open', reason: null, detail: null,
        plannedHalts: [{ from: example.placedAt + 3_600, to: example.placedAt + 5_400, reason: 'a new version of the database' }],
      },
      'paused': {
        status: 'paused', reason: 'disk_full', plannedHalts: [],
        detail: 'there is no room for the request, which was not taken; send it again as Retry-After says: the disk of DATA_DIR is full',
      },
    },
    headers: { 'X-Log-Position': 'The newest log position that the process knows.' },
  },
  errors: [], limit: 'reads', consistent: false,
}, ({ tradingStatus }: { readonly tradingStatus: TradingStatusHandler }) => () => tradingStatus());
