/** One Kafka broker for a mocha run. */
import { startBroker, type KafkaBroker } from './kafka-broker.js';

let shared: Promise<KafkaBroker> | undefined;

/** The broker of this mocha run, started by the first file that asks. Tests have topics of their own in it. */
export function sharedBroker(): Promise<KafkaBroker> {
  shared ??= startBroker();
  return shared;
}

after('stop the Kafka broker', async () => {
  const broker = await shared?.catch(() => undefined);
  shared = undefined;
  await broker?.stop();
});
