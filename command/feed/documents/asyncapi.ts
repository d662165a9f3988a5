/**
 * The AsyncAPI 3.0 document of the fill feed: its topics, their messages with headers and key, and what the publisher
 * and consumers do.
 */
import { BYTES32 } from '../../../engine/records/hex.js';
import { RETENTION_MS, SIGNED_TOPIC_NAME, TOPIC_NAME } from '../kafka/topic-shape.js';
import { PARTITIONS } from '../messages.js';
import { encodedExamples, type EncodedExample } from './examples.js';
import { MESSAGE_NAMES, MESSAGE_TYPES, SIGNED_NAMES, plainSchema, publishedMessages, type MessageName } from './schemas.js';

type Json = Readonly<Record<string, unknown>>;

const KAFKA_BINDING = '0.5.0';

const INTRODUCTION = 'Every fill of the exchange with what became of it, for settlement workers and anybody else. The messages, their partitions and their numbers are '
  + 'a function of the recorded history (GET /api/v1/events), so a consumer can check each message, and recompute one that it has missed. Numbers that may exceed 2^53 are '
  + 'decimal strings. `docs/events.md` has the rule by which a consumer sees each fill exactly once.';

const PARTITIONING = `${PARTITIONS} partitions, for good. A market's messages are all in one: the last four bytes of the market id as an unsigned integer, modulo ${PARTITIONS}. `
  + 'ChainAdvanced is in every partition. Within a partition the header `seq` counts from 0 without a gap. A message may come more than once, with the same `seq`.';

interface Channel {
  readonly name: string;
  readonly topic: string;
  readonly title: string;
  readonly description: string;
  readonly messages: readonly MessageName[];
  readonly publish: string;
  readonly consume: string;
}

const CHANNELS: readonly Channel[] = [
  { name: 'fills', topic: TOPIC_NAME, title: 'Fills', description: PARTITIONING, messages: MESSAGE_TYPES, publish: 'publish', consume: 'consume' },
  {
    name: 'signedFills', topic: SIGNED_TOPIC_NAME, title: 'Fills with their signed orders', messages: SIGNED_NAMES, publish: 'publishSigned', consume: 'consumeSigned',
    description: `The messages of ${TOPIC_NAME} at the same places with the same event-id, but FillMatched is of version 2: it has both signed orders. `
      + `Operators may leave this topic out. ${PARTITIONING}`,
  },
];

const decimal = (description: string) => ({ type: 'string', pattern: '^(0|[1-9][0-9]{0,15})$', description });

const HEADERS = {
  'event-id': {
    type: 'string', format: 'uuid',
    description: 'A UUID (version 5) of the message, made from digest, partition and number: the same for every copy of it, and another for every other message.',
  },
  'seq': decimal('The message\'s number in its partition: dense from 0.'),
  'position': decimal('The field `position`.'),
  'digest': { type: 'string', pattern: BYTES32.recorded, description: 'The digest of the history up to and including `position`, as GET /api/v1/events shows it there.' },
  'schema': { type: 'string', pattern: '^[A-Za-z]+/[1-9][0-9]*$', description: 'The fields `type` and `v`: FillMatched/1.' },
} as const;
const FILL_HEADER = { fill: decimal('The field `fill`.') };

export interface AsyncapiDocument {
  readonly info: { readonly title: string; readonly description: string; readonly [more: string]: unknown };
  readonly servers: Json;
  readonly channels: Json;
  readonly operations: Json;
  readonly components: { readonly messages: Json; readonly schemas: Json };
  readonly [more: string]: unknown;
}

/** The document as plain JSON values. */
export function asyncapiDocument(): AsyncapiDocument {
  const examples = encodedExamples();
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Prediction exchange: fill feed', version: '1.1.0', description: INTRODUCTION, license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      kafka: {
        host: '{broker}', protocol: 'kafka', description: 'The operators\' Kafka cluster.',
        variables: { broker: { description: 'host:port of one of its brokers.', default: '127.0.0.1:9092' } },
      },
    },
    channels: Object.fromEntries(CHANNELS.map((each) => [each.name, channel(each)])),
    operations: Object.fromEntries(CHANNELS.flatMap((each) => [
      [each.publish, operation('send', each, 'The publisher: the exchange\'s role `feed`. One at a time; another one beside it would only repeat messages.')],
      [each.consume, operation('receive', each, 'Any consumer. It checks that `event-id` is that of the message\'s digest, partition and number. It keeps the next `seq` '
      + 'and the last `digest` of each partition with its own data, in one transaction: a lower `seq` is skipped, the expected one is taken, a higher one is a '
      + 'gap, to be healed from GET /api/v1/events. It stops at another `event-id`, and where its last message comes again, or is in the history, with another '
      + '`digest`.')],
    ])),
    components: {
      messages: Object.fromEntries(MESSAGE_NAMES.map((name) => [name, message(name, examples[name])])),
      schemas: Object.fromEntries(MESSAGE_NAMES.map((name) => [name, plainSchema(name)])),
    },
  };
}

function channel({ topic, title, description, messages }: Channel): Json {
  return {
    address: topic, title, description,
    messages: Object.fromEntries(messages.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
    bindings: {
      kafka: {
        topic, partitions: PARTITIONS, topicConfiguration: { 'cleanup.policy': ['delete'], 'retention.ms': RETENTION_MS }, bindingVersion: KAFKA_BINDING,
      },
    },
  };
}

function operation(action: 'send' | 'receive', { name: channelName, messages }: Channel, summary: string): Json {
  return {
    action, channel: { $ref: `#/channels/${channelName}` }, summary,
    messages: messages.map((name) => ({ $ref: `#/channels/${channelName}/messages/${name}` })),
  };
}

function message(name: MessageName, { partition, seq, headers: exampleHeaders, value }: EncodedExample): Json {
  const { properties, description } = publishedMessages[name];
  const headers = { ...HEADERS, ...'fill' in properties ? FILL_HEADER : {} };
  return {
    name, title: name, summary: description, contentType: 'application/json',
    headers: { title: `${name}Headers`, type: 'object', required: Object.keys(headers), properties: headers },
    payload: { $ref: `#/components/schemas/${name}` },
    bindings: {
      kafka: {
        key: 'marketId' in properties
          ? { type: 'string', pattern: BYTES32.recorded, description: 'The field `marketId`.' }
          : { type: 'null', description: 'No key: the message is about a chain, and in every partition.' },
        bindingVersion: KAFKA_BINDING,
      },
    },
    examples: [{ name, summary: `Number ${seq} of partition ${partition}.`, headers: exampleHeaders, payload: JSON.parse(value.toString()) as Json }],
  };
}
