/**
 * Has each fill exactly once, whenever it is killed: docs/events.md explains the rule. A line of FILE is what was taken of one partition, with
 * the number of the partition's next message, so both are kept or neither. One process per FILE; after an error it ends, and is to be started again.
 */
import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { Kafka, logLevel } from 'kafkajs';

const { KAFKA_BROKERS = '127.0.0.1:9092', KAFKA_TOPIC = 'fills.v1', GROUP = 'example', API = 'http://127.0.0.1:8080', FILE = 'fills.ndjson' } = process.env;
const next = new Map(), TYPES = ['MarketOpened', 'FillMatched', 'FillSettled', 'FillFailed', 'ChainAdvanced'];
const kept = readFileSync(FILE, { encoding: 'utf8', flag: 'a+' });
const end = kept.lastIndexOf('\n') + 1; // What follows was being written when the process was killed.
truncateSync(FILE, end);
for (const line of kept.slice(0, end).split('\n').filter(Boolean)) next.set(JSON.parse(line).partition, JSON.parse(line).next);

async function take({ batch: { partition, messages }, heartbeat }) {
  const taken = [];
  for (const { headers, value } of messages) {
    const seq = Number(headers.seq), expected = next.get(partition) ?? 0;
    if (!(seq >= expected)) continue; // It was taken before, or is not the exchange's.
    const message = TYPES.some((type) => `${headers.schema}` === `${type}/1`) ? JSON.parse(value) : {};
    if (message.v !== 1) throw new Error(`message ${seq} of partition ${partition} is ${headers.schema}, v ${message.v}: another version`);
    taken.push(...seq > expected ? await fromHistory(partition, expected, seq, heartbeat) : [], message);
    next.set(partition, seq + 1);
  }
  const fills = taken.filter(({ type }) => type === 'FillMatched');
  if (taken.length > 0) appendFileSync(FILE, `${JSON.stringify({ partition, next: next.get(partition), fills })}\n`, { flush: true });
}

/** A partition's messages from number `first` to the one before `beyond`, made from the history as the publisher makes them. */
async function fromHistory(partition, first, beyond, heartbeat) {
  const messages = [], chains = new Map();
  for (let seq = 0, page = { next: 0 }; seq < beyond; await heartbeat()) {
    page = await (await fetch(`${API}/api/v1/events?limit=1000&from=${page.next}`)).json();
    if (!page.events?.length) throw new Error(page.error ?? `the history has no message ${seq} of partition ${partition}`);
    for (const { position, outcome: { at, events } } of page.events) for (const event of events) {
      if (event.type === 'MarketOpened') chains.set(event.marketId, event.chainId);
      if (!TYPES.includes(event.type)) continue;
      if (event.type !== 'ChainAdvanced' && Number.parseInt(event.marketId.slice(-8), 16) % 8 !== partition) continue;
      if (seq >= first && seq < beyond) messages.push({ chainId: chains.get(event.marketId), ...event, v: 1, position, at });
      seq++;
    }
  }
  return messages;
}

const stop = (error) => { console.error(error); process.exit(1); };
const consumer = new Kafka({ brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR }).consumer({ groupId: GROUP, sessionTimeout: 6_000 });
consumer.on('consumer.crash', ({ payload: { error } }) => { stop(error); });
await consumer.connect().then(() => consumer.subscribe({ topics: [KAFKA_TOPIC], fromBeginning: true })).catch(stop);
await consumer.run({ eachBatch: (payload) => take(payload).catch(stop) });
