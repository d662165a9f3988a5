/** Planned halts: orders are refused from the first to the last second of one, nothing else is, and the status tells what is to come. */
import assert from 'node:assert/strict';
import { haltsAhead, unlessHalted } from '../../command/orders/planned-halts.js';
import { createTradingStatus } from '../../command/orders/trading-status.js';
import { RequestError } from '../../engine/records/errors.js';
import type { Admit } from '../../engine/running-role.js';

const FROM_S = 1_764_583_200;
const TO_S = FROM_S + 1_800;
const plannedHalts = [{ fromS: TO_S + 100, toS: TO_S + 200, reason: 'the second one' }, { fromS: FROM_S, toS: TO_S, reason: 'a new database' }];

/** The refusal of such a command; undefined when it is admitted. */
function refusal(admit: Admit, what: Parameters<Admit>[0]): RequestError | undefined {
  try {
    admit(what);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RequestError);
    return error;
  }
}

describe('command: planned halts', () => {
  let nowMs = 0;
  const now = () => nowMs;
  const admit = unlessHalted(() => undefined, { plannedHalts, now });
  const status = (): unknown => JSON.parse(createTradingStatus({ view: { position: 8 }, admit, plannedHalts, now })().body);

  it('refuse orders from their beginning to before their end, and say when to come again', () => {
    const codes = [FROM_S * 1_000 - 1, FROM_S * 1_000, TO_S * 1_000 - 1, TO_S * 1_000].map((ms) => {
      nowMs = ms;
      return refusal(admit, 'order')?.code;
    });
    assert.deepEqual(codes, [undefined, 'trading_halted', 'trading_halted', undefined]);
    nowMs = FROM_S * 1_000 + 60_999;
    const { detail, extra, isUnavailable } = refusal(admit, 'order')!;
    assert.deepEqual([detail, extra, isUnavailable], ['until 2025-12-01T10:30:00.000Z: a new database', { retryAfterS: 1_740 }, true]);
  });

  it('refuse nothing else, and admit nothing that is refused without them', () => {
    nowMs = FROM_S * 1_000;
    assert.equal(refusal(admit, 'other'), undefined);
    const full = unlessHalted(() => { throw new RequestError('disk_full'); }, { plannedHalts, now });
    assert.deepEqual([refusal(full, 'order')?.code, refusal(full, 'other')?.code], ['disk_full', 'disk_full']);
  });

  it('are in the status, the next one first, until they are over', () => {
    nowMs = FROM_S * 1_000 - 1;
    const [second, first] = plannedHalts.map(({ fromS: from, toS: to, reason }) => ({ from, to, reason }));
    assert.deepEqual(status(), { status: 'open', reason: null, detail: null, plannedHalts: [first, second] });
    nowMs = FROM_S * 1_000;
    assert.deepEqual(status(), {
      status: 'paused', reason: 'trading_halted', plannedHalts: [first, second],
      detail: 'no orders are taken for some time, as the operator has planned; cancels are. See plannedHalts in /api/v1/status: until 2025-12-01T10:30:00.000Z: a new database',
    });
    nowMs = TO_S * 1_000;
    assert.deepEqual(status(), { status: 'open', reason: null, detail: null, plannedHalts: [second] });
    nowMs = (TO_S + 200) * 1_000;
    assert.deepEqual(haltsAhead({ plannedHalts, now }), []);
  });
});
