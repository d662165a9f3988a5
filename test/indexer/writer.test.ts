/** Facts into the history: batches and their bounds, one after the other, what is written again after a failure, and an engine that stands. */
import assert from 'node:assert/strict';
import type { Fact, FactCommand } from '../../command/indexer/facts.js';
import { CursorStands, createFactWriter, type FactWriter } from '../../command/indexer/fact-writer.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import { decodeCommand, type CommandOutcome } from '../../engine/records/codec.js';
import { createEngine } from '../../engine/run/engine.js';
import { viewOf } from '../../engine/run/view.js';
import { MAX_APPEND_BYTES, type NewRecord } from '../../engine/log/log.js';
import { newCommand } from '../support/commands.js';

const CHAIN = 5;
const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;

function fact(block: number, logIndex: number, changes: Partial<FactCommand> = {}): Fact {
  const command = newCommand('CancelOrdersBelow', {
    at: 7, chainId: CHAIN, trader: `0x${'a'.repeat(40)}`, belowNonce: String(block * 10_000 + logIndex),
    fact: { chainId: CHAIN, block, logIndex }, ...changes,
  }) as FactCommand;
  return { command, blockHash: hash(block) };
}

/** Near the largest there is: each of these characters takes six bytes of JSON. */
function market(logIndex: number): Fact {
  const command: FactCommand = newCommand('OpenMarket', {
    at: 7, marketId: hash(logIndex), question: '?', description: '\u0000'.repeat(10_000), contractAddress: `0x${'b'.repeat(40)}`,
    maker: `0x${'c'.repeat(40)}`, expiration: 1_000, chainId: CHAIN, tokens: { yes: hash(1_000 + logIndex), no: hash(2_000 + logIndex) },
    fact: { chainId: CHAIN, block: 1, logIndex },
  });
  return { command, blockHash: hash(1) };
}

/** A writer over an engine that decides a batch when an outcome of it is asked for. */
function harness() {
  const engine = createEngine();
  const view = viewOf(engine);
  const written: NewRecord[][] = [];
  const waiting: NewRecord[] = [];
  const outcomes = new Map<number, CommandOutcome>();
  const reports: string[] = [];
  const steps: string[] = [];
  const parts = {
    append: async (records: readonly NewRecord[]): Promise<number> => {
      steps.push(`append ${records.length}`);
      written.push([...records]);
      waiting.push(...records);
      return view.position + waiting.length - records.length;
    },
    outcomeOf: async (position: number): Promise<CommandOutcome> => {
      if (waiting.length > 0) steps.push(`outcome ${position}`);
      for (const { data } of waiting.splice(0)) outcomes.set(view.position, engine.step(data).outcome);
      return outcomes.get(position)!;
    },
  };
  const writer: FactWriter = createFactWriter({
    chainId: CHAIN, cursor: () => view.cursor(CHAIN), append: (records) => parts.append(records),
    outcomeOf: (position) => parts.outcomeOf(position), now: () => 7, report: (level, text) => { reports.push(`${level}: ${text}`); },
  });
  return { engine, view, parts, written, reports, steps, writer, kinds: () => written.flat().map(({ data }) => decodeCommand(data).kind) };
}

describe('facts are written', () => {
  it('in batches of a thousand, each decided before the next, and the range\'s end last', async () => {
    const { writer, written, steps, view } = harness();
    const facts = Array.from({ length: 2_300 }, (_, i) => fact(1 + Math.floor(i / 1_000), i % 1_000));
    await writer.write(facts, { number: 9, hash: hash(9) });
    assert.deepEqual(steps, ['append 1000', 'outcome 999', 'append 1000', 'outcome 1999', 'append 301', 'outcome 2300']);
    const advance = encodeCommand(newCommand('AdvanceChain', { at: 7, chainId: CHAIN, block: 9, blockHash: hash(9) }));
    assert.deepEqual(written.flat(), [
      ...facts.map(({ command, blockHash }) => ({
        id: recordId(`chain:5:${blockHash}:${command.fact.logIndex}`), data: encodeCommand(command),
      })),
      { id: recordId(`chain:5:${hash(9)}:end`), data: advance },
    ]);
    assert.deepEqual(view.cursor(CHAIN), { nextBlock: 10, nextLog: 0, block: 9, blockHash: hash(9) });
  });

  it('in appends of as many bytes as the log takes', async () => {
    const { writer, written } = harness();
    await writer.write(Array.from({ length: 40 }, (_, i) => market(i)), { number: 1, hash: hash(1) });
    const bytes = written.map((batch) => batch.reduce((sum, { data }) => sum + data.length, 0));
    assert.equal(bytes.length, 3);
    assert.ok(bytes.every((size) => size <= MAX_APPEND_BYTES), String(bytes));
    assert.equal(written.flat().length, 41);
  });

  it('from the engine\'s cursor on', async () => {
    const { writer, kinds, written } = harness();
    await writer.write([fact(3, 0), fact(3, 1)], { number: 3, hash: hash(3) });
    await writer.write([fact(3, 0), fact(3, 1), fact(4, 0)], { number: 4, hash: hash(4) });
    assert.deepEqual(kinds(), ['CancelOrdersBelow', 'CancelOrdersBelow', 'AdvanceChain', 'CancelOrdersBelow', 'AdvanceChain']);
    await writer.write([], { number: 6, hash: hash(6) });
    assert.equal(written.at(-1)!.length, 1);
  });

  it('no further when an append fails, and again then', async () => {
    const { writer, parts, kinds, view } = harness();
    const { append } = parts;
    let appends = 0;
    parts.append = async (records) => ++appends === 2 ? Promise.reject(new Error('no answer')) : await append(records);
    const facts = Array.from({ length: 1_500 }, (_, i) => fact(1, i));
    await assert.rejects(writer.write(facts, { number: 1, hash: hash(1) }), /no answer/);
    assert.equal(kinds().length, 1_000);
    await writer.write(facts, { number: 1, hash: hash(1) });
    assert.equal(kinds().length, 1_501);
    assert.equal(view.position, 1_501);
  });

  it('once, though the outcome was not heard of', async () => {
    const { writer, parts, steps, kinds } = harness();
    const { outcomeOf } = parts;
    parts.outcomeOf = () => Promise.reject(new Error('not there yet'));
    await assert.rejects(writer.write([fact(1, 0)], { number: 1, hash: hash(1) }), /not there yet/);
    await assert.rejects(writer.write([fact(1, 0)], { number: 1, hash: hash(1) }), /not there yet/);
    parts.outcomeOf = outcomeOf;
    await writer.write([fact(1, 0), fact(2, 0)], { number: 2, hash: hash(2) });
    assert.deepEqual(steps, ['append 2', 'outcome 1', 'append 2', 'outcome 3']);
    assert.deepEqual(kinds(), ['CancelOrdersBelow', 'AdvanceChain', 'CancelOrdersBelow', 'AdvanceChain']);
  });

  describe('with what the engine refuses', () => {
    const head = { at: 7 };
    const place = (logIndex: number) => ({ fact: { chainId: CHAIN, block: 2, logIndex } });
    const [marketId, txHash] = [hash(5), hash(6)];
    const trader = `0x${'a'.repeat(40)}`;
    const noted: FactCommand[] = [
      newCommand('CancelOrder', { ...head, orderHash: hash(9), marketId, trader, ...place(1) }),
      newCommand('CancelOrder', { ...head, orderHash: hash(10), marketId, trader, ...place(2) }),
      newCommand('CancelOrdersBelow', { ...head, chainId: CHAIN, trader, belowNonce: '0', ...place(3) }),
      newCommand('RecordTransfer', {
        ...head, chainId: CHAIN, from: trader, to: trader, txHash, items: [{ token: hash(1), amount: '1' }], ...place(4),
      }),
      newCommand('RecordRedemption', { ...head, marketId, user: trader, payout: '1', txHash, ...place(5) }),
      newCommand('RecordDispute', { ...head, marketId, assertionId: hash(7), disputer: trader, ...place(6) }),
      newCommand('ResolveMarket', { ...head, marketId, winningOutcome: 0, ...place(7) }),
    ];
    const write = async (commands: readonly FactCommand[]) => {
      const { writer, reports, view } = harness();
      await writer.write([market(0), ...commands.map((command) => ({ command, blockHash: hash(2) }))], { number: 2, hash: hash(2) });
      assert.equal(view.position, commands.length + 2);
      return reports;
    };

    it('as one note, where anybody can cause it on the chain', async () => {
      assert.deepEqual(await write(noted), [
        'info: chain 5: up to block 2, facts were ignored that do not concern this exchange: 2 CancelOrder (unknown_order), 1 CancelOrdersBelow (nonce_cancelled), '
        + '1 RecordTransfer (unknown_token), 1 RecordRedemption (unknown_market), 1 RecordDispute (unknown_market), 1 ResolveMarket (unknown_market)',
      ]);
    });

    const alerting: readonly (readonly [FactCommand, string])[] = [
      [newCommand('SettleFill', {
        ...head, fill: 3, txHash, ...place(8),
      }), 'SettleFill as unknown_fill: 3. The chain settled a fill that the history does not have'],
      [newCommand('FailFill', { ...head, fill: 4, txHash, reason: 'overfill', culprit: 'both', ...place(8) }),
        'FailFill as unknown_fill: 4. The chain settled a fill that the history does not have'],
      [{ ...market(0).command, ...place(8) }, `OpenMarket as market_exists: ${hash(0)}. A market with this id or these tokens exists already`],
    ];
    for (const [command, said] of alerting) {
      it(`as an alert with its place: ${command.kind}`, async () => {
        const [alert, ...rest] = await write([...noted, command]);
        assert.ok(alert!.startsWith(`alert: chain 5, block 2, event 8: the history refused ${said}`), alert);
        assert.deepEqual(rest, await write(noted));
      });
    }

    it('as ten alerts and the number of the others, however many there are', async () => {
      const facts = Array.from({ length: 25 }, (_, i): FactCommand => newCommand('SettleFill', { ...head, fill: i, txHash, ...place(i) }));
      const reports = await write(facts);
      assert.equal(reports.length, 11);
      assert.equal(reports.at(-1), 'alert: chain 5: the history refused 15 more facts up to block 2');
    });

    it('once, though the outcomes were not heard of at first', async () => {
      const { writer, parts, reports, view } = harness();
      const { outcomeOf } = parts;
      const fill = { command: newCommand('SettleFill', { ...head, fill: 3, txHash, ...place(8) }) as FactCommand, blockHash: hash(2) };
      const write = () => writer.write([fill], { number: 2, hash: hash(2) });
      parts.outcomeOf = () => Promise.reject(new Error('not there yet'));
      await assert.rejects(write(), /not there yet/);
      assert.deepEqual(reports, []);
      parts.outcomeOf = outcomeOf;
      await write();
      await write();
      assert.equal(reports.length, 1);
      assert.equal(view.position, 4);
    });

    it('not at all, when it is a fact that another process has recorded', async () => {
      const { writer, parts, reports, engine, view } = harness();
      const { append } = parts;
      parts.append = async (records) => {
        for (const { data } of records) engine.step(data);
        return await append(records);
      };
      await writer.write([{ command: noted[0]!, blockHash: hash(2) }], { number: 2, hash: hash(2) });
      assert.deepEqual([reports, view.position], [[], 4]);
    });
  });

  it('without a fact that is too large for a record, which is reported', async () => {
    const { writer, kinds, reports } = harness();
    const bad = fact(1, 0, { belowNonce: '18446744073709551616' });
    await writer.write([bad, fact(1, 1)], { number: 1, hash: hash(1) });
    assert.deepEqual(kinds(), ['CancelOrdersBelow', 'AdvanceChain']);
    assert.equal(reports.length, 1);
    assert.match(reports[0]!, /^alert: chain 5, block 1, event 0: CancelOrdersBelow is malformed: .*belowNonce.*; the event was not recorded/);
  });

  it('never again to an engine whose cursor stands', async () => {
    const { writer, parts } = harness();
    parts.outcomeOf = async () => undefined as never;
    await assert.rejects(writer.write([], { number: 1, hash: hash(1) }), CursorStands);
  });
});
