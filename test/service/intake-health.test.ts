/** What a settlement process tells of its intake, and of Kafka. */
import { deepEqual } from 'node:assert/strict';
import type { IntakeStatus } from '../../command/settlement/intake.js';
import { intakeHealth, kafkaFigures } from '../../service/roles/settlement.js';

describe('the health of the intake', () => {
  const feed = { status: () => ({ trouble: 'those of partition 2 have not come', fromLog: 7, repeats: 3, alarms: 2 }) };
  const logFeed = { status: () => undefined };
  const healthOf = (status: IntakeStatus, of: Parameters<typeof intakeHealth>[1] = feed) => intakeHealth({ status: () => status }, of, 100);

  it('tells what does not come by Kafka, which stops nothing', () => {
    const status = { standby: false, position: 90, trouble: undefined };
    deepEqual(healthOf(status), { standby: false, position: 90, lag: 10, trouble: null, kafkaTrouble: 'those of partition 2 have not come' });
    deepEqual(healthOf(status, logFeed).kafkaTrouble, null);
  });

  it('of a process that stands by tells nothing', () => {
    const status = { standby: true, position: undefined, trouble: undefined };
    deepEqual(healthOf(status), { standby: true, position: null, lag: null, trouble: null, kafkaTrouble: null });
  });

  it('counts what was taken from the log and what was wrong, where the feed comes by Kafka', async () => {
    const read = async (of: Parameters<typeof kafkaFigures>[0]) => await Promise.all(kafkaFigures(of).map((figure) => figure.read()));
    deepEqual(await read(feed), [7, 2]);
    deepEqual(await read(logFeed), [[], []]);
  });
});
