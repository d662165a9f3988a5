/** Another client reads the same: Apache Kafka's console consumer shows the messages, headers and keys that the history gives. */
import assert from 'node:assert/strict';
import { encodeMessage, PARTITIONS } from '../../command/feed/messages.js';
import { consoleConsumed } from '../support/java-consumer.js';
import { sharedBroker } from '../support/shared-broker.js';
import { kafkaScene } from '../support/kafka-scene.js';

describe('kafka: a consumer in Java', () => {
  it('reads every message at its partition, in order, with key, headers and value', async () => {
    const broker = await sharedBroker();
    const scene = kafkaScene({ seed: 5, outcomes: 2_000, brokers: () => [broker.address] });
    await scene.grow(2_000);
    scene.publisher();
    const messages = scene.expected();
    const consumed = await consoleConsumed({ broker: broker.address, topic: scene.topic.topic, count: messages.length });
    await scene.close();
    assert.equal(new Set(messages.map(({ message }) => message.type)).size, 5);
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const expected = messages.filter((each) => each.partition === partition).map((each) => {
        const { key, headers, value } = encodeMessage(each);
        return { partition, key: key ?? 'null', headers: { ...headers }, value: value.toString() };
      });
      assert.deepEqual(consumed.filter((each) => each.partition === partition), expected);
    }
  });
});
