/** The documented settlement worker: it settles the fills of an exchange that has no role settlement, with Kafka and the chain alone. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Interface, id, type InterfaceAbi } from 'ethers';
import type { OutgoingRecord, TopicRecord } from '../../command/feed/kafka/client.js';
import { ensureTopic } from '../../command/feed/kafka/topic.js';
import type { SignedFillMatched } from '../../command/feed/signed-fills.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { recordId } from '../../engine/run/new-record.js';
import { deployedChain, type DeployedChain, type DeployedMarket } from '../support/deployed-chain.js';
import { startExample, type ExampleProcess } from '../support/example-consumer.js';
import { ONE, assertAnchored, assertPositionsAreBalances, caughtUp, eventsOf, permitOf, settled } from '../support/exchange-on-chain.js';
import { alice, bob, carol, exchangeStack, type ExchangeStack } from '../harness/exchange.js';
import type { KafkaBroker } from '../support/kafka-broker.js';
import { clientTo, contentOf, newTopic } from '../support/kafka-client.js';
import { sharedBroker } from '../support/shared-broker.js';
import { until } from '../support/until.js';

const CONTRACT = new Interface(settlement.abi as InterfaceAbi);

describe('kafka: the example settlement worker', function () {
  this.timeout(120_000);
  let node: DeployedChain;
  let market: DeployedMarket;
  let exchange: ExchangeStack;
  let broker: KafkaBroker;
  let directory: string;
  const topics = [newTopic(), newTopic()] as const;
  const running = new Set<ExampleProcess>();

  before(async () => {
    [broker, node] = await Promise.all([sharedBroker(), deployedChain()]);
    directory = mkdtempSync(join(tmpdir(), 'settlement-worker-'));
    market = await node.createMarket({ question: 'Will it rain?' });
    await node.fund(alice);
    await node.mint(alice, BigInt(100 * ONE));
    await node.equip(bob, { shares: BigInt(100 * ONE), market });
    await node.send(node.operator, 'settlement', 'grantRole', [id('OPERATOR_ROLE'), node.accounts[5]!.address]);
    const configured = { chain: node.chain, rpcUrls: [node.url], operatorKey: node.accounts[9]!.privateKey, pollMs: 50, stalledAfterMs: Infinity };
    exchange = await exchangeStack({
      ROLES: 'api,query,engine,projections,indexer,feed', KAFKA_BROKERS: broker.address, KAFKA_TOPIC: topics[0], KAFKA_TOPIC_V2: topics[1], KAFKA_REPLICATION: '1',
    }, [configured]);
    await caughtUp(exchange, node);
  });
  after(async () => {
    for (const worker of running) await worker.kill();
    await exchange.close();
    await node.stop();
    rmSync(directory, { recursive: true });
  });

  function start(settings: Record<string, string> = {}): ExampleProcess {
    const worker = startExample('settlement-worker.mjs', {
      KAFKA_BROKERS: broker.address, KAFKA_TOPIC: topics[1], GROUP: topics[1], FILE: join(directory, 'settlement.ndjson'), RPC_URL: node.url,
      CHAIN_ID: String(node.chain.chainId), SETTLEMENT: node.chain.contracts.settlement, PRIVATE_KEY: node.accounts[5]!.privateKey, ...settings,
    });
    running.add(worker);
    return worker;
  }

  /** The numbers of the fills for which the contract has emitted the event, in the chain's order. */
  async function numbersOf(event: 'FillSettled' | 'FillFailed'): Promise<number[]> {
    const logs = await node.rpc('eth_getLogs', [{
      address: node.chain.contracts.settlement, fromBlock: '0x0', topics: [CONTRACT.getEvent(event)!.topicHash],
    }]) as { topics: string[]; data: string }[];
    return logs.map((log) => Number((CONTRACT.parseLog(log)!.args.toObject() as { seq: bigint }).seq));
  }

  const order = { outcome: 0, price: 500_000 };
  const sell = (size: number) => exchange.place(bob, { ...order, marketId: market.marketId, side: 1, size: size * ONE });
  const buy = (size: number, wallet = alice, changes = {}) => (
    exchange.place(wallet, { ...order, marketId: market.marketId, side: 0, size: size * ONE }, changes));

  it('settles every fill once, in order, with signed orders and permits from Kafka, killed in between', async () => {
    await sell(20);
    // Alice has allowed nothing: her permit travels with the order.
    await buy(1, alice, await permitOf(exchange, node, { trader: alice }));
    await buy(2);
    const first = start();
    await until('the first fills are settled', async () => (await numbersOf('FillSettled')).length === 2);
    await buy(3);
    await buy(3, carol);
    await first.kill();
    await buy(4);
    start();
    // The worker sees the endings only when the exchange's feed has them.
    const { position } = await sell(1);
    await buy(1);
    const last = await settled(exchange, position);
    assert.deepEqual([await numbersOf('FillSettled'), await numbersOf('FillFailed')], [[0, 1, 2, 4, 5], [3]]);
    assert.deepEqual((await eventsOf(exchange, 'FillSettled', last)).map(({ fill }) => fill), [0, 1, 2, 4, 5]);
    assert.deepEqual((await eventsOf(exchange, 'FillFailed', last)).map(({ fill, reason }) => [fill, reason]), [[3, 'buyer_insufficient_balance']]);
    await assertAnchored(exchange, node, last);
    await assertPositionsAreBalances(exchange, { node, market, traders: [alice, bob, carol], position: last });
    for (const worker of running) await worker.kill();
  });

  /** What becomes of a message in a copy of the topic; undefined: it is left out. */
  type Change = (record: OutgoingRecord) => OutgoingRecord | readonly OutgoingRecord[] | undefined;

  /** A topic with the exchange's messages, changed or left out. */
  async function copy(change: Change): Promise<{ KAFKA_TOPIC: string; GROUP: string; FILE: string }> {
    const topic = newTopic();
    const client = clientTo({ brokers: [broker.address] });
    await ensureTopic(client, { topic, replication: 1, minInsync: 1 });
    const textsOf = (headers: TopicRecord['headers']) => Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, String(text)]));
    const content = await contentOf(client, topics[1]);
    const records = content.map(({ partition, value, headers }) => ({ partition, key: null, value, headers: textsOf(headers) }));
    await client.send(topic, records.flatMap((record) => change(record) ?? []));
    await client.close();
    return { KAFKA_TOPIC: topic, GROUP: topic, FILE: join(directory, `${topic}.ndjson`) };
  }

  it('ends at what is forged or missing, and begins in the middle where it is told with which fill', async () => {
    const { position } = await buy(1);
    await caughtUp(exchange, node);
    const client = clientTo({ brokers: [broker.address] });
    const isFill = (record: Pick<OutgoingRecord | TopicRecord, 'headers'>) => String(record.headers['schema']) === 'FillMatched/2' && String(record.headers['fill']) === '6';
    await until('the fill is published', async () => (await contentOf(client, topics[1])).some(isFill));
    await client.close();
    const forged = await copy((record) => isFill(record) ? { ...record, headers: { ...record.headers, digest: `0x${'12'.repeat(32)}` } } : record);
    // Anybody can compute an event-id, also for what is no number.
    const numberless = await copy((record) => isFill(record)
      ? { ...record, headers: { ...record.headers, 'seq': 'none', 'event-id': recordId(`feed:${record.headers['digest']}:${record.partition}:NaN`) } }
      : record);
    const digest = `0x${'34'.repeat(32)}`;
    const otherHistory = await copy((record) => isFill(record)
      ? [record, { ...record, headers: {
          ...record.headers, digest, 'event-id': recordId(`feed:${digest}:${record.partition}:${record.headers['seq']}`),
        } }]
      : record);
    const unsigned = await copy((record) => {
      if (!isFill(record)) return record;
      const message = JSON.parse(record.value.toString()) as SignedFillMatched;
      const takerOrder = { ...message.takerOrder, signature: message.makerOrder.signature };
      return { ...record, value: Buffer.from(JSON.stringify({ ...message, takerOrder })) };
    });
    const isLate: Change = (record) => Number(record.headers['position']) >= position ? record : undefined;
    const late = await copy(isLate);
    for (const [settings, why] of [
      [forged, /message \d+ of partition \d has an event-id that is not its own/],
      [numberless, /message NaN of partition \d has an event-id that is not its own/], [unsigned, /order 0x[0-9a-f]{64} is not signed by its trader/],
      [otherHistory, /message \d+ of partition \d was taken with another digest: this is another history/],
      [late, /messages 0 to \d+ of partition \d are missing/],
    ] as const) {
      const { code, output } = await start(settings).ended;
      assert.equal(code, 1, output);
      assert.match(output, why);
    }
    assert.ok(!(await numbersOf('FillSettled')).includes(6));
    start({ ...late, FIRST_FILL: '6' });
    await until('the fill is settled', async () => (await numbersOf('FillSettled')).includes(6));
    // Once every partition is past it, a fill that the topic does not have is not waited for in silence.
    await until('every partition has a barrier behind the fill', async () => {
      const reader = clientTo({ brokers: [broker.address] });
      const behind = (await contentOf(reader, topics[1])).filter(({ headers }) => (
        String(headers['schema']) === 'ChainAdvanced/1' && Number(String(headers['position'])) > position));
      await reader.close();
      return new Set(behind.map(({ partition }) => partition)).size === 8;
    });
    const { code, output } = await start({ ...await copy(isLate), FIRST_FILL: '5' }).ended;
    assert.equal(code, 1, output);
    assert.match(output, /fill 5 is missing: FIRST_FILL must be a fill that the topic has, and the same at each start/);
  });
});
