/** Another client reads the same: Apache Kafka's console consumer shows the messages, headers and keys that the history gives. */
import assert from 'node:assert/strict';
import { ensureTopic } from '../../command/feed/kafka/topic.js';
import { encodeMessage, PARTITIONS } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import { feedHistory } from '../support/feed-history.js';
import { consoleConsumed } from '../support/java-consumer.js';
import { sharedBroker } from '../support/kafka-broker.js';
import { clientTo, newTopic } from '../support/kafka-client.js';

describe('kafka: a consumer in Java', () => {
  it('reads every message at its partition, in order, with key, headers and value', async () => {
    const broker = await sharedBroker();
    const client = clientTo({ brokers: [broker.address] });
    const topic = newTopic();
    const sequencer = createSequencer(FEED_START);
    const messages = feedHistory(5, 2_000).outcomes.flatMap((outcome) => sequencer.take(outcome));
    await ensureTopic(client, { topic, replication: 1, minInsync: 1 });
    for (let i = 0; i < messages.length; i += 200) {
      await client.send(topic, messages.slice(i, i + 200).map((each) => ({ partition: each.partition, ...encodeMessage(each) })));
    }
    await client.close();
    const consumed = await consoleConsumed({ broker: broker.address, topic, count: messages.length });
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
