/** The AsyncAPI 3.0 document of the fill feed: its topic, its messages with headers and key, and what the publisher and consumers do. */
import { BYTES32 } from '../../../engine/records/hex.js';
import { RETENTION_MS, TOPIC_NAME } from '../kafka/topic.js';
import { encodeMessage, messageSchemas, PARTITIONS } from '../messages.js';
import { examples } from './examples.js';
import { MESSAGE_TYPES, plainSchema, versionOf, type MessageType } from './schemas.js';

type Json = Readonly<Record<string, unknown>>;

const KAFKA_BINDING = '0.5.0';

const INTRODUCTION = 'Every fill of the exchange with what became of it, for settlement workers and anybody else. The messages, their partitions and their numbers are '
  + 'a function of the recorded history (GET /api/v1/events), so a consumer can check each message, and recompute one that it has missed. Numbers that may exceed 2^53 are '
  + 'decimal strings. `docs/events.md` has the rule by which a consumer sees each fill exactly once.';

const PARTITIONING = `${PARTITIONS} partitions, for good. A market's messages are all in one: the last four bytes of the market id as an unsigned integer, modulo ${PARTITIONS}. `
  + 'ChainAdvanced is in every partition. Within a partition the header `seq` counts from 0 without a gap. A message may come more than once, with the same `seq`.';

const decimal = (description: string) => ({ type: 'string', pattern: '^(0|[1-9][0-9]{0,15})$', description });

const HEADERS = {
  'event-id': { type: 'string', format: 'uuid', description: 'A UUID (version 5) of the message: the same for every copy of it, and another for every other message.' },
  'seq': decimal('The message\'s number in its partition: dense from 0.'),
  'position': decimal('The field `position`.'),
  'digest': { type: 'string', pattern: BYTES32.recorded, description: 'The digest of the history up to and including `position`, as GET /api/v1/events shows it there.' },
  'schema': { type: 'string', pattern: '^[A-Za-z]+/[1-9][0-9]*$', description: 'The fields `type` and `v`: FillMatched/1.' },
} as const;
const FILL_HEADER = { fill: decimal('The field `fill`.') };

/** The document as plain JSON values. */
export function asyncapiDocument(): Json {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Prediction exchange: fill feed', version: '1.0.0', description: INTRODUCTION, license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      kafka: {
        host: '{broker}', protocol: 'kafka', description: 'The operators\' Kafka cluster.',
        variables: { broker: { description: 'host:port of one of its brokers.', default: '127.0.0.1:9092' } },
      },
    },
    channels: { fills: channel() },
    operations: {
      publish: operation('send', 'The publisher: the exchange\'s role `feed`. One at a time; another one beside it would only repeat messages.'),
      consume: operation('receive', 'Any consumer. It keeps the next `seq` of each partition with its own data, in one transaction: a lower `seq` is skipped, '
      + 'the expected one is taken, a higher one is a gap, to be healed from GET /api/v1/events.'),
    },
    components: {
      messages: Object.fromEntries(MESSAGE_TYPES.map((type) => [type, message(type)])),
      schemas: Object.fromEntries(MESSAGE_TYPES.map((type) => [type, plainSchema(type)])),
    },
  };
}

function channel(): Json {
  return {
    address: TOPIC_NAME, title: 'Fills', description: PARTITIONING,
    messages: Object.fromEntries(MESSAGE_TYPES.map((type) => [type, { $ref: `#/components/messages/${type}` }])),
    bindings: {
      kafka: {
        topic: TOPIC_NAME, partitions: PARTITIONS, topicConfiguration: { 'cleanup.policy': ['delete'], 'retention.ms': RETENTION_MS }, bindingVersion: KAFKA_BINDING,
      },
    },
  };
}

function operation(action: 'send' | 'receive', summary: string): Json {
  return {
    action, channel: { $ref: '#/channels/fills' }, summary,
    messages: MESSAGE_TYPES.map((type) => ({ $ref: `#/channels/fills/messages/${type}` })),
  };
}

function message(type: MessageType): Json {
  const { properties, description } = messageSchemas[type];
  const headers = { ...HEADERS, ...'fill' in properties ? FILL_HEADER : {} };
  const example = examples[type];
  return {
    name: type, title: `${type}, version ${versionOf(type)}`, summary: description, contentType: 'application/json',
    headers: { type: 'object', required: Object.keys(headers), properties: headers },
    payload: { $ref: `#/components/schemas/${type}` },
    bindings: {
      kafka: {
        key: 'marketId' in properties
          ? { type: 'string', pattern: BYTES32.recorded, description: 'The field `marketId`.' }
          : { type: 'null', description: 'No key: the message is about a chain, and in every partition.' },
        bindingVersion: KAFKA_BINDING,
      },
    },
    examples: [{ name: type, summary: `Number ${example.seq} of partition ${example.partition}.`, headers: encodeMessage(example).headers, payload: example.message }],
  };
}
