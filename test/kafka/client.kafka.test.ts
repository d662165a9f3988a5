/** The Kafka client against a real broker: a message comes back as it was sent, an outage is waited for, and closing ends all. */
import assert from 'node:assert/strict';
import type { OutgoingRecord } from '../../command/feed/kafka/client.js';
import { ensureTopic } from '../../command/feed/kafka/topic.js';
import type { KafkaBroker } from '../support/kafka-broker.js';
import { clientTo, contentOf, newTopic } from '../support/kafka-client.js';
import { sharedBroker } from '../support/shared-broker.js';
import { startTcpProxy } from '../support/proxies.js';
import { until } from '../support/until.js';

const ONE = { replication: 1, minInsync: 1 };

const message = (partition: number, text: string): OutgoingRecord => ({ partition, key: null, value: Buffer.from(text), headers: { seq: text } });

describe('kafka: the client', () => {
  let broker: KafkaBroker;
  const closing: (() => Promise<void>)[] = [];
  const open = (access: Parameters<typeof clientTo>[0] = { brokers: [broker.address] }) => {
    const client = clientTo(access);
    closing.push(() => client.close());
    return client;
  };

  before(async () => { broker = await sharedBroker(); });
  afterEach(async () => { for (const close of closing.splice(0).reverse()) await close(); });

  it('brings a message back from its partition, with its headers', async () => {
    const client = open();
    const topic = newTopic();
    assert.equal(await ensureTopic(client, { topic, ...ONE }), true);
    await client.send(topic, [message(3, 'a'), message(7, 'b'), message(3, 'c')]);
    const content = await contentOf(client, topic);
    assert.deepEqual(content.map(({ partition, offset, value, headers }) => [partition, offset, value.toString(), String(headers['seq'])]).sort(), [
      [3, '0', 'a', 'a'], [3, '1', 'c', 'c'], [7, '0', 'b', 'b'],
    ]);
    assert.deepEqual(client.told, []);
  });

  it('hands over the batches of several partitions at once', async () => {
    const client = open();
    const topic = newTopic();
    await ensureTopic(client, { topic, ...ONE });
    await client.send(topic, [message(0, 'a'), message(3, 'b'), message(7, 'c')]);
    const partitions = new Set<number>();
    void client.read({ topic, group: topic, handle: async ({ partition }, alive) => {
      partitions.add(partition);
      await until('the others have come', async () => {
        await alive();
        return partitions.size === 3;
      });
      return true;
    } });
    await until('all have come', () => partitions.size === 3);
  });

  it('reaches a cluster by TLS with a user and a password, and says why a wrong one does not', async () => {
    const { address, ca, username, password } = broker.secured;
    for (const mechanism of ['plain', 'scram-sha-256', 'scram-sha-512'] as const) {
      const client = open({ brokers: [address], tls: { ca }, user: { mechanism, username, password } });
      assert.equal(await ensureTopic(client, { topic: newTopic(), ...ONE }), true);
    }
    const wrong = open({ brokers: [address], tls: { ca }, user: { mechanism: 'scram-sha-512', username, password: 'not-this-one' } });
    await assert.rejects(ensureTopic(wrong, { topic: newTopic(), ...ONE }), /authentication/i);
    assert.ok(wrong.told.every((line) => !line.includes('not-this-one')));
    const untrusting = open({ brokers: [address], tls: {}, user: { mechanism: 'plain', username, password } });
    void ensureTopic(untrusting, { topic: newTopic(), ...ONE }).catch(() => undefined);
    await until('the certificate is refused', () => untrusting.told.length > 0);
    assert.match(untrusting.told[0] ?? '', /^warn: Kafka: .*self-signed certificate/);
  });

  it('sends once the broker is back what was sent while it was away, once, and tells the outage once', async () => {
    const client = open();
    const topic = newTopic();
    await ensureTopic(client, { topic, ...ONE });
    await client.send(topic, [message(0, 'before')]);
    await broker.kill();
    const sent = client.send(topic, [message(0, 'during')]);
    await until('the outage is noticed', () => client.problem() !== undefined);
    await broker.start();
    await sent;
    await client.send(topic, [message(0, 'after')]);
    assert.equal(client.problem(), undefined);
    assert.deepEqual((await contentOf(client, topic)).map(({ value }) => value.toString()), ['before', 'during', 'after']);
    assert.deepEqual(client.told.map((line) => line.replace(/Kafka: .*/, 'Kafka: …')), ['warn: Kafka: …', 'info: Kafka answers again']);
  });

  it('closes while a send and a consumer wait for a broker that is away, and nothing is tried again', async () => {
    const client = open();
    const topic = newTopic();
    await ensureTopic(client, { topic, ...ONE });
    const read = client.read({ topic, group: topic, handle: () => Promise.resolve(true) });
    await client.send(topic, [message(0, 'a')]);
    await broker.kill();
    const sent = client.send(topic, [message(0, 'b')]);
    await until('the outage is noticed', () => client.problem() !== undefined);
    await client.close();
    await read;
    await assert.rejects(sent);
    await broker.start();
  });

  it('notices a connection on which nothing comes any more, and goes on by another one', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: broker.proxied.port }, broker.proxied.via);
    closing.push(() => proxy.close());
    const client = open({ brokers: [`127.0.0.1:${broker.proxied.via}`], requestTimeoutMs: 1_000 });
    const topic = newTopic();
    await ensureTopic(client, { topic, ...ONE });
    await client.send(topic, [message(0, 'before')]);
    // What is on its way arrives nowhere, and no end of the connection is told.
    proxy.fate = () => 'withhold';
    const sent = client.send(topic, [message(0, 'during')]);
    await until('the outage is noticed', () => client.problem() !== undefined);
    proxy.fate = () => 'pass';
    await sent;
    const direct = open();
    assert.deepEqual((await contentOf(direct, topic)).map(({ value }) => value.toString()), ['before', 'during']);
  });
});
