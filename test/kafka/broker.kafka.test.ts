/** The tests' Kafka broker can be killed and started again on the same data, and frozen; that it is real is what the other tests stand on. */
import assert from 'node:assert/strict';
import { Kafka, logLevel } from 'kafkajs';
import type { KafkaBroker } from '../support/kafka-broker.js';
import { sharedBroker } from '../support/shared-broker.js';

describe('kafka: the tests\' broker', () => {
  let broker: KafkaBroker;

  before(async () => { broker = await sharedBroker(); });

  it('has its topics and its ports after kill -9', async () => {
    const { address, pid } = broker;
    const admin = new Kafka({ brokers: [address], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 8 }] });
    await broker.kill();
    await broker.start();
    assert.notEqual(broker.pid, pid);
    assert.equal(broker.address, address);
    await admin.connect();
    assert.ok((await admin.listTopics()).includes('kept'));
    await admin.disconnect();
  });

  it('takes clients by TLS with a password', async () => {
    const { address, ca, username, password } = broker.secured;
    for (const mechanism of ['plain', 'scram-sha-256', 'scram-sha-512'] as const) {
      const sasl = { mechanism, username, password } as { mechanism: 'plain'; username: string; password: string };
      const admin = new Kafka({ brokers: [address], ssl: { ca: [ca] }, sasl, logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      assert.equal((await admin.describeCluster()).brokers[0]?.host, '127.0.0.1');
      await admin.disconnect();
    }
  });
});
