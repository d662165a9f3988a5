/** The messages of `fills.v2`: those of `fills.v1` at their places with the same ids and digests, and fills with both signed orders. */
import assert from 'node:assert/strict';
import { decodeCommand } from '../../engine/records/codec.js';
import { createMemoryLog } from '../../engine/log/memory/memory-log.js';
import { encodeMessage, type FillMatchedMessage } from '../../command/feed/messages.js';
import { FEED_START, createSequencer } from '../../command/feed/sequence.js';
import { createSignedEncoder, encodeSigned, type SignedFillMatched } from '../../command/feed/signed-fills.js';
import { NoSuchOrder } from '../../command/feed/signed-orders.js';
import { feedHistory } from '../support/feed-history.js';
import { appendAll } from '../support/log-records.js';

const { outcomes, commands } = feedHistory(2, 2_000);
const sequencer = createSequencer(FEED_START);
const messages = outcomes.flatMap((outcome) => sequencer.take(outcome));
const fills = messages.filter(({ message }) => message.type === 'FillMatched');

async function logWith(records = commands) {
  const log = createMemoryLog();
  await appendAll(log, 'commands', records);
  return log;
}

/** The order's fields but those of a command, and its fee recipient. */
function signedOrderAt(number: number): unknown {
  const order = Object.entries(decodeCommand(commands[number]!.data)).filter(([name]) => !['kind', 'v', 'at'].includes(name));
  return { ...Object.fromEntries(order) as object, makerFeeRecipient: `0x${'0'.repeat(40)}` };
}

describe('the fill feed with signed orders', () => {
  it('has the same messages with the same headers, but that fills have both orders as they were placed', async () => {
    const encoded = await createSignedEncoder(await logWith())(messages);
    assert.equal(encoded.length, messages.length);
    for (const [index, { partition, value, ...rest }] of encoded.entries()) {
      const each = messages[index]!;
      assert.equal(partition, each.partition);
      const { value: first, ...expected } = encodeMessage(each);
      if (each.message.type !== 'FillMatched') {
        assert.deepEqual([rest, String(value)], [expected, String(first)]);
        continue;
      }
      assert.deepEqual(rest, { ...expected, headers: { ...expected.headers, schema: 'FillMatched/2' } });
      const { makerNumber, takerNumber } = each.message;
      assert.deepEqual(JSON.parse(String(value)), {
        ...each.message, v: 2, makerOrder: signedOrderAt(makerNumber), takerOrder: signedOrderAt(takerNumber),
      });
    }
    const orders = encoded.map(({ value }) => JSON.parse(String(value)) as SignedFillMatched)
      .flatMap((message) => (message.type as string) === 'FillMatched' ? [message.makerOrder, message.takerOrder] : []);
    assert.ok(orders.some(({ permit }) => permit !== undefined) && orders.some(({ permit }) => permit === undefined));
  });

  it('has no fill without its orders', async () => {
    const { message } = fills[0]!;
    const { makerNumber } = message as FillMatchedMessage;
    const log = await logWith(commands.slice(0, makerNumber));
    await assert.rejects(createSignedEncoder(log)(fills.slice(0, 1)), NoSuchOrder);
    assert.throws(() => encodeSigned(fills[0]!, new Map()), new RegExp(`order ${makerNumber} of a fill is missing`));
  });
});
