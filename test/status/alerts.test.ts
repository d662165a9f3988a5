/** The log's alerts: each is said once, after its time, and once that it is over. */
import assert from 'node:assert/strict';
import { reading, type StateTable } from '../../engine/state-table.js';
import { createAlerts } from '../../service/status/alerts.js';

interface Part {
  readonly key: string;
  readonly value: number | undefined;
  readonly cause?: string;
  readonly told?: boolean;
}

const table: StateTable<Part> = {
  labels: { key: ({ key }) => key },
  rows: [{
    name: 'exchange_part', help: 'A part', value: ({ value }) => value, cause: ({ cause }) => cause,
    alerts: [
      { name: 'High', severity: 'critical', when: { above: 5 }, forS: 60, means: 'The part {key} of {process} is at {value}.', todo: 'Look.', selfLogged: ({ told }) => told === true },
      { name: 'None', severity: 'warning', when: { promql: 'max(exchange_part) == 0' }, forS: 0, means: 'There is none.', todo: 'Start one.' },
      { name: 'Low', severity: 'warning', when: { below: -1e6 }, forS: 0, means: '{value:bytes}, {value:duration}, {value:percent} {other}', todo: 'Wait.' },
    ],
  }],
};

async function saidOf(looks: readonly (readonly [atS: number, ...parts: Part[]])[]): Promise<string[]> {
  const said: string[] = [];
  let nowS = 0;
  const look = createAlerts({ report: (level, text) => { said.push(`${nowS} ${level}: ${text}`); }, now: () => nowS * 1_000 });
  for (const [atS, ...parts] of looks) {
    nowS = atS;
    await look([reading(table, () => parts)]);
  }
  return said;
}

const HIGH = 'The part a of this process is at 6.';

describe('service: alerts', () => {
  it('are said once when a value has been too high for long enough, and once that this is over', async () => {
    const a = { key: 'a', value: 6 };
    assert.deepEqual(await saidOf([[0, a], [59, a], [60, a], [65, { ...a, value: 7 }], [70, { ...a, value: 5 }], [75]]), [
      `60 alert: ${HIGH} Look.`, `70 info: over after 70 s: ${HIGH}`,
    ]);
  });

  it('begin anew after each time that all was well, and with each label', async () => {
    const [a, b] = [{ key: 'a', value: 6 }, { key: 'b', value: 6 }];
    assert.deepEqual(await saidOf([[0, a], [30, b], [60, a, b], [90, a, b], [119, a, b]]), ['90 alert: The part b of this process is at 6. Look.']);
  });

  it('name the cause where it is known', async () => {
    const a = { key: 'a', value: 6, cause: 'no node answers.' };
    assert.deepEqual(await saidOf([[0, a], [60, a]]), ['60 alert: The part a of this process is at 6: no node answers. Look.']);
  });

  it('are not said of what the part tells itself, of what is not known, and of what only several processes know', async () => {
    const told = { key: 'a', value: 6, told: true };
    const unknown = { key: 'b', value: undefined };
    assert.deepEqual(await saidOf([[0, told, unknown, { key: 'c', value: 0 }], [90, told, unknown, { key: 'c', value: 0 }]]), []);
  });

  it('have amounts in their units', async () => {
    assert.deepEqual(await saidOf([[0, { key: 'a', value: -2e6 }]]), ['0 alert: -2 MB, -2000000 s, -200000000 %  Wait.']);
  });
});
