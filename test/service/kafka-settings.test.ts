/** The settings about Kafka: brokers, TLS, users, and what has no effect or contradicts itself. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { minInsyncOf } from '../../service/kafka-settings.js';
import { ConfigError, parseConfig, publicConfig, settingsMarkdown } from '../../service/config.js';

const BROKERS = { KAFKA_BROKERS: 'one.example:9092, two.example:9093' };

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    parseConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('service: settings of Kafka', () => {
  it('name a cluster, its topic and its shape', () => {
    const config = parseConfig({ ...BROKERS, KAFKA_TOPIC: 'fills.test', KAFKA_GROUP: 'mine', KAFKA_REPLICATION: '5' });
    assert.deepEqual(config.kafkaBrokers, ['one.example:9092', 'two.example:9093']);
    assert.deepEqual([config.kafkaTopic, config.kafkaGroup, config.kafkaReplication], ['fills.test', 'mine', 5]);
    assert.deepEqual(parseConfig({ KAFKA_BROKERS: '[::1]:9092 127.0.0.1:65535' }).kafkaBrokers, ['[::1]:9092', '127.0.0.1:65535']);
  });

  it('refuse what is no broker, topic or group', () => {
    for (const KAFKA_BROKERS of ['example', 'example:0', 'example:65536', 'kafka://example:9092', 'a:1,a:1', ':9092', 'user@example:9092', '-a:1']) {
      assert.match(problemsOf({ KAFKA_BROKERS })[0] ?? '', /^KAFKA_BROKERS: expected /, KAFKA_BROKERS);
    }
    for (const name of ['.', '..', 'a b', 'a/b', 'x'.repeat(250)]) {
      assert.match(problemsOf({ ...BROKERS, KAFKA_TOPIC: name })[0] ?? '', /^KAFKA_TOPIC: expected /, name);
      assert.match(problemsOf({ ...BROKERS, KAFKA_GROUP: name })[0] ?? '', /^KAFKA_GROUP: expected /, name);
    }
  });

  it('name another topic for each version of the messages, or none for the second', () => {
    assert.equal(parseConfig(BROKERS).kafkaTopicV2, 'fills.v2');
    assert.equal(parseConfig({ ...BROKERS, KAFKA_TOPIC_V2: 'none' }).kafkaTopicV2, 'none');
    const other = 'KAFKA_TOPIC_V2: expected another topic than KAFKA_TOPIC: each version has numbers of its own';
    assert.deepEqual(problemsOf({ ...BROKERS, KAFKA_TOPIC: 'mine', KAFKA_TOPIC_V2: 'mine' }), [other]);
    assert.deepEqual(problemsOf({ ...BROKERS, KAFKA_TOPIC: 'none' }), ['KAFKA_TOPIC: expected the name of a topic; only KAFKA_TOPIC_V2 may be none']);
  });

  it('reach the brokers by TLS where it is asked for, or where there are certificates to check by', () => {
    assert.equal(parseConfig(BROKERS).kafkaSsl, false);
    assert.equal(parseConfig({ ...BROKERS, KAFKA_SSL: 'true' }).kafkaSsl, true);
    assert.equal(parseConfig({ ...BROKERS, KAFKA_SSL: 'false' }).kafkaSsl, false);
    assert.equal(parseConfig({ ...BROKERS, KAFKA_SSL: 'ca.pem' }).kafkaSsl, 'ca.pem');
  });

  it('have a user with a password, which is shown to nobody', () => {
    const user = { ...BROKERS, KAFKA_USERNAME: 'feed', KAFKA_PASSWORD: 'hunter2' };
    const { kafkaUsername, kafkaPassword, kafkaMechanism } = parseConfig(user);
    assert.deepEqual([kafkaUsername, kafkaPassword, kafkaMechanism], ['feed', 'hunter2', 'scram-sha-512']);
    assert.equal(publicConfig(parseConfig(user))['KAFKA_PASSWORD'], '(secret)');
    assert.deepEqual(problemsOf({ ...BROKERS, KAFKA_USERNAME: 'feed' }), ['KAFKA_USERNAME: needs KAFKA_PASSWORD']);
    assert.deepEqual(problemsOf({ ...BROKERS, KAFKA_PASSWORD: 'hunter2' }), ['KAFKA_USERNAME: is missing, since there is a password']);
    assert.deepEqual(problemsOf({ ...user, KAFKA_MECHANISM: 'gssapi' }), ['KAFKA_MECHANISM: expected one of scram-sha-512, scram-sha-256, plain, not "gssapi"']);
  });

  it('show a plain password only to brokers by TLS, or on this machine', () => {
    const plain = { KAFKA_USERNAME: 'feed', KAFKA_PASSWORD: 'hunter2', KAFKA_MECHANISM: 'plain' };
    assert.deepEqual(problemsOf({ ...BROKERS, ...plain }), ['KAFKA_MECHANISM: plain shows the password to the network without KAFKA_SSL']);
    for (const KAFKA_SSL of ['true', 'ca.pem']) assert.deepEqual(problemsOf({ ...BROKERS, ...plain, KAFKA_SSL }), []);
    assert.equal(problemsOf({ ...BROKERS, ...plain, KAFKA_SSL: 'false' }).length, 1);
    assert.deepEqual(problemsOf({ ...plain, KAFKA_BROKERS: '127.0.0.1:9092' }), []);
  });

  it('have no effect without brokers, and are then refused and not logged', () => {
    assert.deepEqual(problemsOf({ KAFKA_TOPIC: 'fills.v1', KAFKA_PASSWORD: 'hunter2' }), ['KAFKA_TOPIC', 'KAFKA_PASSWORD'].map((name) => (
      `${name}: has no effect without KAFKA_BROKERS: unset it, or set KAFKA_BROKERS`)));
    assert.deepEqual(Object.keys(publicConfig(parseConfig({}))).filter((name) => name.startsWith('KAFKA')), ['KAFKA_BROKERS']);
    assert.ok('KAFKA_TOPIC' in publicConfig(parseConfig(BROKERS)));
  });

  it('are all in the page for operators, and no others', () => {
    const names = (text: string) => [...text.matchAll(/^\| `(KAFKA_\w+)` \|/gm)].map(([, name]) => name).sort();
    assert.deepEqual(names(readFileSync('docs/kafka.md', 'utf8')), names(settingsMarkdown()));
  });

  it('have all copies but one in step, and never none', () => {
    assert.deepEqual([1, 2, 3, 5].map(minInsyncOf), [1, 1, 2, 4]);
  });
});
