/** The rights that docs/kafka.md asks for are enough and none too many: users with these alone, at a broker that allows nothing else. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { AclEntry } from 'kafkajs';
import { publish } from '../../command/feed/kafka/publisher.js';
import { createTopicWatch } from '../../command/feed/kafka/topic-watch.js';
import { ensureTopic } from '../../command/feed/kafka/topic.js';
import { createLogFeed } from '../../command/feed/log-feed.js';
import { encodeMessages } from '../../command/feed/messages.js';
import type { KafkaBroker } from '../support/kafka-broker.js';
import { clientTo, type ReportingClient } from '../support/kafka-client.js';
import { sharedBroker } from '../support/shared-broker.js';
import { kafkaScene, memoryCheckpoints, type KafkaScene } from '../support/kafka-scene.js';
import { until, within } from '../support/until.js';

interface DocumentedAcl {
  readonly user: 'publisher' | 'settlement' | 'outsider';
  readonly operation: 'CREATE' | 'DESCRIBE_CONFIGS' | 'READ' | 'WRITE';
  readonly resource: 'TOPIC' | 'GROUP';
}

const PAGE = new URL('../../../docs/kafka.md', import.meta.url);

/** One per user, operation and kind of resource. */
function documentedAcls(): readonly DocumentedAcl[] {
  const commands = readFileSync(PAGE, 'utf8').replaceAll(/\\\n\s*/g, '').split('\n').filter((line) => line.startsWith('kafka-acls.sh '));
  return commands.flatMap((command) => {
    const [, user] = /--allow-principal User:(\w+)/.exec(command) ?? [];
    const [, resource] = /--(topic|group) /.exec(command) ?? [];
    return [...command.matchAll(/--operation (\w+)/g)].map(([, operation = '']) => ({
      user, operation: operation.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase(), resource: resource?.toUpperCase(),
    } as DocumentedAcl));
  });
}

type User = DocumentedAcl['user'];

/** Kafka's numbers, which kafkajs does not export to modules. */
const ANY = 1;
const ALL = { resourceType: ANY, resourcePatternType: ANY, operation: ANY, permissionType: ANY } as const;
const ALLOW = 3;
const LITERAL = 3;
const RESOURCES = { TOPIC: 2, GROUP: 3 } as const;
const OPERATIONS = { READ: 3, WRITE: 4, CREATE: 5, DESCRIBE_CONFIGS: 10 } as const;

describe('kafka: the documented rights', () => {
  let broker: KafkaBroker;
  let scene: KafkaScene;
  const closing: (() => Promise<void>)[] = [];

  before(async () => { broker = await sharedBroker(); });
  beforeEach(async () => {
    scene = kafkaScene({ seed: 31, outcomes: 600, brokers: () => [broker.address] });
    await scene.grow(600);
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
    await scene.client().administer((admin) => admin.deleteAcls({ filters: [ALL] }));
    await aclsAre(0);
    await scene.close();
  });

  const acls = async (): Promise<number> => {
    const { resources } = await scene.client().administer((admin) => admin.describeAcls(ALL));
    return resources.reduce((sum, resource) => sum + resource.acls.length, 0);
  };
  /** Resolves when the broker has heard of so many ACLs from its controller. */
  const aclsAre = (count: number) => until(`the broker has ${count} ACLs`, async () => await acls() === count);

  /** A client of a user who has the documented rights on the scene's topic and group, but for those that are left out. */
  async function clientOf(user: User, leavesOut: (acl: DocumentedAcl) => boolean = () => false): Promise<ReportingClient> {
    const acl = documentedAcls().filter((each) => each.user === user && !leavesOut(each)).map((each): AclEntry => ({
      principal: `User:${user}`, host: '*', permissionType: ALLOW, resourcePatternType: LITERAL,
      operation: OPERATIONS[each.operation], resourceType: RESOURCES[each.resource], resourceName: scene.topic.topic,
    }));
    const before = await acls();
    await scene.client().administer((admin) => admin.createAcls({ acl }));
    await aclsAre(before + acl.length);
    const { address, ca, password } = broker.secured;
    const client = clientTo({ brokers: [address], tls: { ca }, user: { mechanism: 'plain', username: user, password } });
    closing.push(() => client.close());
    return client;
  }

  /** Publishes all of the history and looks at the topic; what it says of the topic. */
  async function published(client: ReportingClient): Promise<readonly string[]> {
    const stopping = new AbortController();
    const told: string[] = [];
    const report = (level: string, text: string): void => { told.push(`${level}: ${text}`); };
    const steps = publish({
      client, topic: scene.topic, encode: encodeMessages, checkpoints: memoryCheckpoints(), logFeed: createLogFeed(scene.log), log: scene.log,
      report, signal: stopping.signal,
    });
    const publishing = (async () => { for await (const { position } of steps) if (position === 600) break; })();
    await within(() => `all of the history is in the topic (the publisher has said: ${told.join('; ')})`, publishing);
    stopping.abort(new Error('the test stops it'));
    const looking = new AbortController();
    await createTopicWatch({ client, topic: scene.topic, everyMs: 0, report: (level, text) => {
      report(level, text);
      looking.abort();
    } }).watch(AbortSignal.any([looking.signal, AbortSignal.timeout(300)]));
    return told;
  }

  it('let the publisher make its topic, publish and look at it', async () => {
    assert.deepEqual(await published(await clientOf('publisher')), [`info: the Kafka topic ${scene.topic.topic} is made`]);
  });

  it('let the publisher do without the right to make a topic that is there, and say once that it may not describe its options', async () => {
    await ensureTopic(scene.client(), scene.topic);
    assert.deepEqual(await published(await clientOf('publisher', ({ operation }) => operation !== 'WRITE')), [
      `warn: the options of the Kafka topic ${scene.topic.topic} are not checked: this user needs the right DescribeConfigs on the topic`,
    ]);
  });

  it('are needed by the publisher: CREATE to make its topic, which it says, and WRITE to send', async () => {
    await assert.rejects(published(await clientOf('publisher', ({ operation }) => operation === 'CREATE')), /^TopicRefused: .* this user may not make it: /);
    await ensureTopic(scene.client(), scene.topic);
    const client = await clientOf('settlement', ({ resource }) => resource === 'GROUP');
    await assert.rejects(client.send(scene.topic.topic, [{ partition: 0, key: null, value: Buffer.from('no'), headers: {} }]), /authorization failed/i);
  });

  for (const user of ['settlement', 'outsider'] as const) {
    it(`let a consumer read: ${user}`, async () => {
      scene.publisher();
      const client = await clientOf(user);
      const follower = scene.follower({ open: () => client, idleMs: 60_000 });
      await follower.hasAll();
      assert.equal(follower.feed.status().fromLog, 0);
    });

    for (const needed of ['TOPIC', 'GROUP'] as const) {
      it(`are needed by a consumer: ${user}, ${needed}`, async () => {
        await ensureTopic(scene.client(), scene.topic);
        const client = await clientOf(user, ({ resource }) => resource === needed);
        const read = client.read({ topic: scene.topic.topic, group: scene.topic.topic, handle: () => Promise.resolve(true) });
        await assert.rejects(read, needed === 'TOPIC' ? /authorized/i : /^KafkaJSGroupCoordinatorNotFound/);
      });
    }
  }
});
