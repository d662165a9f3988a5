/**
 * Settles the fills of a chain with Kafka alone: the messages of fills.v2 have the signed orders. docs/events.md explains the rules. FILE has what
 * was taken: a line is part of one partition with the number of its next message, so both are kept or neither. One process per FILE and per key;
 * after an error it ends, and is to be started again. Killed at any time, it settles no fill twice: the contract takes each number once.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, readFileSync, truncateSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Contract, JsonRpcProvider, Wallet, recoverAddress } from 'ethers';
import { Kafka, logLevel } from 'kafkajs';

const { KAFKA_BROKERS = '127.0.0.1:9092', KAFKA_TOPIC = 'fills.v2', GROUP = 'settlement-worker', FILE = 'settlement.ndjson', FIRST_FILL } = process.env;
const { RPC_URL = 'http://127.0.0.1:8545', CHAIN_ID = '31337', SETTLEMENT, PRIVATE_KEY } = process.env;
const BATCH = 20, POLL_MS = 250, SCHEMAS = ['MarketOpened/1', 'FillMatched/2', 'FillSettled/1', 'FillFailed/1', 'ChainAdvanced/1'];
const ABI = [
  'function settleBatch((bytes32 marketId, address trader, uint8 side, uint8 outcome, uint64 price, uint64 size, uint64 nonce, uint64 expiration, '
  + 'address makerFeeRecipient)[] orders, bytes[] signatures, (address owner, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)[] permits, '
  + '(uint64 seq, uint32 buyIndex, uint32 sellIndex, uint64 price, uint64 size)[] fills, uint64 historyPosition, bytes32 historyDigest)',
  'function hashOrder((bytes32 marketId, address trader, uint8 side, uint8 outcome, uint64 price, uint64 size, uint64 nonce, uint64 expiration, '
  + 'address makerFeeRecipient) order) view returns (bytes32)',
  'function isSettled(uint64 seq) view returns (bool)',
];

// What was taken, all of it from the lines of FILE.
const places = new Map(), fills = new Map(), arrived = new Map(), barriers = new Array(8).fill(-1);
let watermark = Number(FIRST_FILL ?? 0), newest = { position: -1 };

function apply({ messages, ...place }) {
  places.set(place.partition, place);
  if (place.position >= newest.position) newest = place;
  for (const message of messages) {
    const { type, fill } = message, isOurs = message.chainId === Number(CHAIN_ID);
    if (type === 'FillMatched' && fill >= watermark) arrived.set(fill, message.position);
    if (type === 'FillMatched' && isOurs && fill >= Number(FIRST_FILL ?? 0)) fills.set(fill, message);
    if (type === 'FillSettled' || type === 'FillFailed') fills.delete(fill);
    if (type === 'ChainAdvanced' && isOurs) barriers[place.partition] = message.block;
  }
  while (arrived.delete(watermark)) watermark++; // All fills below it have come: fill numbers have no gaps.
  // Fill numbers ascend with positions: behind a later fill in every partition, the fill at the watermark comes no more.
  const reached = places.size < barriers.length ? -1 : Math.min(...[...places.values()].map(({ position }) => position));
  if (![...arrived.values()].some((position) => position < reached)) return;
  throw new Error(`fill ${watermark} is missing: FIRST_FILL must be a fill that the topic has, and the same at each start`);
}

const kept = readFileSync(FILE, { encoding: 'utf8', flag: 'a+' });
const end = kept.lastIndexOf('\n') + 1; // What follows was being written when the process was killed.
truncateSync(FILE, end);
for (const line of kept.slice(0, end).split('\n').filter(Boolean)) apply(JSON.parse(line));

function take({ batch: { partition, messages: received } }) {
  const messages = [];
  let { next, digest: last, position } = places.get(partition) ?? {};
  for (const { headers, value } of received) {
    if (headers['event-id'] === undefined) continue; // It is not the exchange's.
    const seq = Number(headers.seq), digest = `${headers.digest}`, name = `message ${seq} of partition ${partition}`;
    if (!Number.isSafeInteger(seq) || `${headers['event-id']}` !== eventId(`feed:${digest}:${partition}:${seq}`)) {
      throw new Error(`${name} has an event-id that is not its own`);
    }
    next ??= FIRST_FILL === undefined ? 0 : seq; // With FIRST_FILL the topic may have lost what was before.
    if (seq === next - 1 && last !== undefined && digest !== last) throw new Error(`${name} was taken with another digest: this is another history`);
    if (seq < next) continue; // It was taken before.
    if (seq > next) throw new Error(`messages ${next} to ${seq - 1} of partition ${partition} are missing: heal them from the history`);
    if (!SCHEMAS.includes(`${headers.schema}`)) throw new Error(`${name} is ${headers.schema}: another version`);
    const message = JSON.parse(value);
    if (message.type !== 'MarketOpened') messages.push(message);
    [next, last, position] = [seq + 1, digest, message.position];
  }
  if (next === undefined || next === places.get(partition)?.next) return;
  const line = { partition, next, position, digest: last, messages };
  appendFileSync(FILE, `${JSON.stringify(line)}\n`, { flush: true });
  apply(line);
}

/** A UUIDv5 in the exchange's namespace. */
function eventId(name) {
  const id = createHash('sha1').update('6f1b0e4a9d4f4b7e8a3cb6d0f2c51e77', 'hex').update(name).digest();
  [id[6], id[8]] = [id[6] & 0x0f | 0x50, id[8] & 0x3f | 0x80];
  return id.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const provider = new JsonRpcProvider(RPC_URL, Number(CHAIN_ID), { staticNetwork: true, cacheTimeout: -1 });
const wallet = new Wallet(PRIVATE_KEY, provider), contract = new Contract(SETTLEMENT, ABI, wallet);
/** The fills that the chain has settled or failed, with a block at which it had. The feed says so later, once the block is final. */
const used = new Map();

/** Settles the first fills that wait, in the order of their numbers. */
async function settle() {
  const final = Math.min(...barriers);
  // Behind a barrier past its block a fill that has not ended is free again: the block is gone.
  for (const [fill, block] of used) if (!fills.has(fill) || block <= final) used.delete(fill);
  const waiting = [...fills.values()].filter(({ fill }) => fill < watermark && !used.has(fill)).sort((a, b) => a.fill - b.fill).slice(0, BATCH);
  if (waiting.length === 0) return;
  const due = await unsettled(waiting);
  if (due.length === 0) return;
  const transaction = await wallet.sendTransaction({
    // Not the pending count: a transaction of a process that was killed is replaced, or this one is refused until the other is mined.
    ...await transactionOf(due), nonce: await provider.getTransactionCount(wallet.address, 'latest'),
  });
  await transaction.wait();
  const [left] = await unsettled(due);
  if (left !== undefined) throw new Error(`transaction ${transaction.hash} left fill ${left.fill} alone: does ${wallet.address} have OPERATOR_ROLE?`);
}

/** Those whose numbers the contract has not used. */
async function unsettled(some) {
  const block = await provider.getBlockNumber();
  const settled = await Promise.all(some.map(({ fill }) => contract.isSettled(fill, { blockTag: block })));
  some.forEach(({ fill }, i) => { if (settled[i]) used.set(fill, block); });
  return some.filter((_, i) => !settled[i]);
}

async function transactionOf(due) {
  const orders = new Map(due.flatMap((fill) => [[fill.makerNumber, fill.makerOrder], [fill.takerNumber, fill.takerOrder]]));
  const numbers = [...orders.keys()], listed = [...orders.values()];
  for (const order of listed) {
    // The chain would fail the fill for ever: a message is not trusted further than its signatures.
    const hash = await contract.hashOrder(order);
    if (recoverAddress(hash, order.signature).toLowerCase() !== order.trader) throw new Error(`order ${order.orderHash} is not signed by its trader`);
  }
  // Only buyers need one; an owner's permits count in the order of their nonces. One that was used before is no error.
  const permits = listed.filter(({ side, permit }) => side === 0 && permit !== undefined).map(({ trader, permit }) => ({ owner: trader, ...permit }))
    .sort((a, b) => Number(BigInt(a.nonce) - BigInt(b.nonce)));
  const batch = due.map(({ fill, takerSide, price, size, makerNumber, takerNumber }) => {
    const [maker, taker] = [numbers.indexOf(makerNumber), numbers.indexOf(takerNumber)];
    return { seq: fill, buyIndex: takerSide === 0 ? taker : maker, sellIndex: takerSide === 0 ? maker : taker, price, size };
  });
  const signatures = listed.map(({ signature }) => signature);
  const call = await contract.settleBatch.populateTransaction(listed, signatures, permits, batch, newest.position, newest.digest);
  // An estimate would be too low: with too little gas the contract leaves fills alone.
  return { ...call, gasLimit: 100_000 + 260_000 * batch.length + 190_000 * permits.length + 8 * call.data.length };
}

const stop = (error) => { console.error(error); process.exit(1); };
const consumer = new Kafka({ brokers: KAFKA_BROKERS.split(','), logLevel: logLevel.ERROR }).consumer({ groupId: GROUP, sessionTimeout: 6_000 });
consumer.on('consumer.crash', ({ payload: { error } }) => { stop(error); });
await consumer.connect().then(() => consumer.subscribe({ topics: [KAFKA_TOPIC], fromBeginning: true })).catch(stop);
await consumer.run({ eachBatch: async (payload) => { try { take(payload); } catch (error) { stop(error); } } }).catch(stop);
for (;;) {
  await settle().catch(stop);
  await sleep(POLL_MS);
}
