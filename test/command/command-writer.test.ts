/** Commands into a log that fails in every way: nothing refused is ever written, nothing acknowledged is ever lost. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Submit, Submitted } from '../../command/orders/order-ports.js';
import { createCommandWriter } from '../../command/orders/command-writer.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import { decodeCommand, type CommandOutcome } from '../../engine/records/codec.js';
import type { Command, PlaceOrder } from '../../engine/records/commands.js';
import type { ErrorCode, RequestError } from '../../engine/records/errors.js';
import { BrokenSequence, LogUnavailable, RecordsLost, RecordTooLarge, type Log, type NewRecord } from '../../engine/log/log.js';
import { QueueFull, createGroupCommit } from '../../engine/log/group-commit.js';
import { createMemoryLog, createMemoryStore } from '../../engine/log/memory/memory-log.js';
import { startReplica } from '../../engine/run/replica.js';
import { newCommand } from '../support/commands.js';

const AT = 1_800_000_000_000;
const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;
const trader = (n: number) => `0x${n.toString(16).padStart(40, '0')}`;
const market = hash(0xabc);

/** The nth order: sellers and buyers of one size and price in turn, each of a trader of its own. */
const order = (n: number): PlaceOrder => newCommand('PlaceOrder', {
  at: AT, orderHash: hash(n), marketId: market, trader: trader(n), side: n % 2 === 0 ? 0 : 1, outcome: 0, price: 500_000, size: '10',
  nonce: '1', expiration: '1800003600', signature: `0x${'11'.repeat(65)}`,
});

const openMarket: Command = newCommand('OpenMarket', {
  at: AT, marketId: market, contractAddress: trader(1), maker: trader(2), expiration: 1_800_086_400, chainId: 1,
});

const never = () => new Promise<never>(() => undefined);
const outcome: CommandOutcome = { at: AT, events: [] };

async function failure(submitted: Promise<Submitted>): Promise<RequestError> {
  return submitted.then(() => assert.fail('it was answered'), (error: unknown) => error as RequestError);
}

describe('a command writer', () => {
  const writer = (
    append: (signal?: AbortSignal) => Promise<number>, outcomeOf: (position: number) => Promise<CommandOutcome> = never,
    answerWithinMs = 60_000,
  ) => createCommandWriter({ commits: { append: (_, signal) => append(signal), appendAll: (_, signal) => append(signal) }, outcomeOf, writerId: 'w', answerWithinMs }).submit;

  it('answers with the position and the outcome at it', async () => {
    const submit = writer(() => Promise.resolve(41), (position) => Promise.resolve({ at: position, events: [] }));
    assert.deepEqual(await submit(order(1)), { position: 41, outcome: { at: 41, events: [] } });
  });

  const faults: readonly [string, unknown, ErrorCode][] = [
    ['a full queue', new QueueFull(10), 'overloaded'],
    ['a log that cannot be reached', new LogUnavailable(false), 'unavailable'],
    ['a log on a full disk', new LogUnavailable(false, { cause: Object.assign(new Error('could not extend file'), { code: '53100' }) }), 'disk_full'],
    ['a log that did not answer', new LogUnavailable(true), 'outcome_unknown'],
    ['a log that has lost records', new RecordsLost('many'), 'unavailable'],
    ['a log that contradicts itself, and may have the command', new BrokenSequence('commands', 2, 1), 'internal'],
  ];
  for (const [name, fault, code] of faults) {
    it(`says ${code} for ${name}`, async () => {
      assert.equal((await failure(writer(() => Promise.reject(fault as Error))(order(1)))).code, code);
    });
  }

  it('says outcome_unknown when the engine stops, and when an answer takes too long, in the log or in the engine', async () => {
    const stopped = await failure(writer(() => Promise.resolve(1), () => Promise.reject(new Error('stopped')))(order(1)));
    const slowLog = await failure(writer(never, never, 1)(order(1)));
    const slowEngine = await failure(writer(() => Promise.resolve(1), never, 1)(order(1)));
    assert.deepEqual([stopped.code, slowLog.code, slowEngine.code], ['outcome_unknown', 'outcome_unknown', 'outcome_unknown']);
  });

  it('says outcome_unknown, and why, for a command that may be among those that the log has lost', async () => {
    const ids: string[] = [];
    const { submit } = createCommandWriter({
      commits: { append: ({ id }) => Promise.resolve(ids.push(id)), appendAll: never }, writerId: 'w', answerWithinMs: 60_000,
      outcomeOf(position, id) {
        assert.deepEqual([position, id], [1, ids[0]], 'it asks for its own command');
        return Promise.reject(new RecordsLost('many'));
      },
    });
    const { code, detail } = await failure(submit(order(1)));
    assert.deepEqual([code, detail], ['outcome_unknown', 'the log has lost records, and the exchange stops until they are back, perhaps this request']);
  });

  it('says that a command was withdrawn only when its append was', async () => {
    const gone = new AbortController();
    gone.abort();
    const withdrawn = writer((signal) => Promise.reject(signal!.reason as Error));
    assert.equal((await failure(withdrawn(order(1), gone.signal))).code, 'overloaded');
    const sent = writer(() => Promise.reject(new LogUnavailable(true)));
    assert.equal((await failure(sent(order(1), gone.signal))).code, 'outcome_unknown');
    const taken = writer(() => Promise.resolve(1), () => Promise.resolve(outcome));
    assert.deepEqual(await taken(order(1), gone.signal), { position: 1, outcome });
  });

  it('does not hide a defect behind a code, and writes nothing malformed', async () => {
    const tooLarge = new RecordTooLarge(2_000_000);
    assert.equal(await failure(writer(() => Promise.reject(tooLarge))(order(1))), tooLarge);
    const submit = writer(() => assert.fail('it was appended'));
    assert.equal((await failure(submit({ ...order(1), size: '-1' }))).name, 'MalformedRecord');
  });

  it('gives every submission an id of its own, in every process', async () => {
    const ids = new Set<string>();
    for (const writerId of ['one', 'two']) {
      const commits = { append: ({ id }: NewRecord) => { ids.add(id); return Promise.resolve(0); }, appendAll: never };
      const { submit } = createCommandWriter({ commits, outcomeOf: () => Promise.resolve(outcome), writerId, answerWithinMs: 1_000 });
      await submit(order(1));
      await submit(order(1));
    }
    assert.equal(ids.size, 4);
  });
});

/** What the log does with an append: all that can happen to one, seen from here. */
type Fate = 'written' | 'refused' | 'written, answer lost' | 'lost';
const fates: readonly Fate[] = ['written', 'written', 'refused', 'written, answer lost', 'lost'];

/** A log over the same store whose appends meet the given fates in turn, and then succeed. */
function unreliable(log: Log, script: readonly Fate[]): Log {
  const left = [...script];
  return {
    ...log,
    async append(stream, records, expected) {
      await new Promise(setImmediate);
      switch (left.shift() ?? 'written') {
        case 'written': return log.append(stream, records, expected);
        case 'refused': throw new LogUnavailable(false);
        case 'lost': throw new LogUnavailable(true);
        case 'written, answer lost':
          await log.append(stream, records, expected);
          throw new LogUnavailable(true);
      }
    },
  };
}

interface Attempt {
  readonly orderHash: string;
  readonly result: Submitted | ErrorCode;
}

async function attempt(submit: Submit, command: PlaceOrder, signal?: AbortSignal): Promise<Attempt> {
  const result = await submit(command, signal).catch((error: unknown) => (error as RequestError).code);
  return { orderHash: command.orderHash, result };
}

/** Sends orders in bursts, some of whose senders go away, and then those again of which nobody knows, until all is known. */
async function storm(script: readonly Fate[], bursts: readonly (readonly boolean[])[]) {
  const store = createMemoryStore();
  const log = createMemoryLog(store);
  const stop = new AbortController();
  await log.append('commands', [{ id: recordId('market'), data: encodeCommand(openMarket) }]);
  const replica = await startReplica({ log, signal: stop.signal, record: { writerId: 'test' } });
  const commits = createGroupCommit({ log: unreliable(log, script), stream: 'commands', maxQueued: 4, maxBatch: 3 });
  const { submit } = createCommandWriter({ commits, outcomeOf: replica.outcomeOf, writerId: 'w', answerWithinMs: 60_000 });
  const attempts: Attempt[] = [];
  let n = 0;
  for (const burst of bursts) {
    const sent = burst.map((leaves) => {
      const gone = new AbortController();
      const sending = attempt(submit, order(n++), gone.signal);
      if (leaves) gone.abort();
      return sending;
    });
    attempts.push(...await Promise.all(sent));
  }
  for (const { orderHash, result } of [...attempts]) {
    let last = result;
    while (last === 'outcome_unknown') {
      const again = await attempt(submit, order(Number(orderHash)));
      attempts.push(again);
      last = again.result;
    }
  }
  await commits.drain();
  stop.abort();
  await replica.done;
  const recorded = store.records.commands.map(({ data }) => decodeCommand(data));
  return { attempts, recorded, outcomes: await Promise.all(recorded.map((_, position) => replica.outcomeOf(position))) };
}

describe('orders into a log that fails', () => {
  it('are never both refused and written, never lost once acknowledged, and never taken twice', async () => {
    const seen = new Set<string>();
    await fc.assert(fc.asyncProperty(
      fc.array(fc.constantFrom(...fates), { maxLength: 12 }),
      fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 }),
      async (script, bursts) => {
        const { attempts, recorded, outcomes } = await storm(script, bursts);
        const accepted = outcomes.flatMap(({ events }) => events)
          .flatMap((event) => event.type === 'OrderAccepted' ? [event.orderHash] : []);
        assert.equal(new Set(accepted).size, accepted.length, 'no order is taken twice');
        const known = new Map<string, Attempt['result'][]>();
        for (const { orderHash, result } of attempts) known.set(orderHash, [...known.get(orderHash) ?? [], result]);
        for (const [orderHash, results] of known) {
          const copies = recorded.filter((command) => command.kind === 'PlaceOrder' && command.orderHash === orderHash).length;
          const answers = results.filter((result) => typeof result !== 'string');
          const unknown = results.filter((result) => result === 'outcome_unknown').length;
          assert.ok(answers.length <= copies && copies <= answers.length + unknown, `${orderHash}: ${copies} records for ${JSON.stringify(results)}`);
          for (const result of results) seen.add(typeof result === 'string' ? result : result.outcome.events[0]!.type);
          for (const { position, outcome: told } of answers) {
            assert.equal((recorded[position] as PlaceOrder).orderHash, orderHash);
            assert.deepEqual(told, outcomes[position]);
          }
        }
      },
    ), { numRuns: 150 });
    assert.deepEqual([...seen].sort(), ['OrderAccepted', 'OrderRepeated', 'outcome_unknown', 'overloaded', 'unavailable']);
  });
});
