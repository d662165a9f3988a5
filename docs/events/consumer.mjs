/**
 * Has each fill exactly once, whenever it is killed: docs/events.md explains the rule. A line of FILE is what was taken of one partition, with
 * the number of the partition's next message, so both are kept or neither. One process per FILE; after an error it ends, and is to be started again.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { Kafka, logLevel } from 'kafkajs';

const { KAFKA_BROKERS = '127.0.0.1:9092', KAFKA_TOPIC = 'fills.v1', GROUP = 'example', API = 'http://127.0.0.1:8080', FILE = 'fills.ndjson' } = process.env;
const places = new Map(), TYPES = ['MarketOpened', 'FillMatched', 'FillSettled', 'FillFailed', 'ChainAdvanced'];
const kept = readFileSync(FILE, { encoding: 'utf8', flag: 'a+' });
const end = kept.lastIndexOf('\n') + 1; // What follows was being written when the process was killed.
truncateSync(FILE, end);
for (const line of kept.slice(0, end).split('\n').filter(Boolean)) places.set(JSON.parse(line).partition, JSON.parse(line));

async function take({ batch: { partition, messages }, heartbeat }) {
  const taken = [];
  for (const { headers, value } of messages) {
    if (headers['event-id'] === undefined) continue; // It is not the exchange's.
    const seq = Number(headers.seq), digest = `${headers.digest}`, expected = places.get(partition)?.next ?? 0;
    const name = `message ${seq} of partition ${partition}`;
    if (`${headers['event-id']}` !== eventId(`feed:${digest}:${partition}:${seq}`)) throw new Error(`${name} has an event-id that is not its own`);
    if (seq === expected - 1) checkDigest(partition, seq, digest);
    if (!(seq >= expected)) continue; // It was taken before.
    const message = TYPES.some((type) => `${headers.schema}` === `${type}/1`) ? JSON.parse(value) : {};
    if (message.v !== 1) throw new Error(`${name} is ${headers.schema}, v ${message.v}: another version`);
    taken.push(...seq > expected ? await fromHistory(partition, expected, seq, heartbeat) : [], message);
    places.set(partition, { partition, next: seq + 1, digest });
  }
  const fills = taken.filter(({ type }) => type === 'FillMatched');
  if (taken.length > 0) appendFileSync(FILE, `${JSON.stringify({ ...places.get(partition), fills })}\n`, { flush: true });
}

/** A UUIDv5 in the exchange's namespace. */
function eventId(name) {
  const id = createHash('sha1').update('6f1b0e4a9d4f4b7e8a3cb6d0f2c51e77', 'hex').update(name).digest();
  [id[6], id[8]] = [id[6] & 0x0f | 0x50, id[8] & 0x3f | 0x80];
  return id.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The partition's last message comes again, or is found in the history. */
function checkDigest(partition, seq, digest) {
  if (digest === places.get(partition).digest) return;
  throw new Error(`message ${seq} of partition ${partition} was taken with another digest: this is another history`);
}

/** A partition's messages from number `first` to the one before `beyond`, made from the history as the publisher makes them. */
async function fromHistory(partition, first, beyond, heartbeat) {
  const messages = [], chains = new Map();
  for (let seq = 0, page = { next: 0 }; seq < beyond; await heartbeat()) {
    page = await (await fetch(`${API}/api/v1/events?limit=1000&from=${page.next}`)).json();
    if (!page.events?.length) throw new Error(page.error ?? `the history has no message ${seq} of partition ${partition}`);
    for (const { position, digest, outcome: { at, events } } of page.events) for (const event of events) {
      if (event.type === 'MarketOpened') chains.set(event.marketId, event.chainId);
      if (!TYPES.includes(event.type)) continue;
      if (event.type !== 'ChainAdvanced' && Number.parseInt(event.marketId.slice(-8), 16) % 8 !== partition) continue;
      if (seq === first - 1) checkDigest(partition, seq, digest);
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
