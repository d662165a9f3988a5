/** Facts into the history: batches and their bounds, one after the other, what is written again after a failure, and an engine that stands. */
import assert from 'node:assert/strict';
import type { Fact, FactCommand } from '../command/chain/facts.js';
import { CursorStands, createFactWriter, type FactWriter } from '../command/chain/fact-writer.js';
import { decodeCommand, encodeCommand, recordId } from '../engine/codec.js';
import { createEngine } from '../engine/engine.js';
import { chainCursor } from '../engine/chain-cursor.js';
import type { NewRecord } from '../engine/log.js';

const CHAIN = 5;
const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;

function fact(block: number, logIndex: number, changes: Partial<FactCommand> = {}): Fact {
  const command = {
    kind: 'CancelOrdersBelow', v: 1, at: 7, chainId: CHAIN, trader: `0x${'a'.repeat(40)}`, belowNonce: String(block * 10_000 + logIndex),
    fact: { chainId: CHAIN, block, logIndex }, ...changes,
  } as FactCommand;
  return { command, blockHash: hash(block) };
}

/** Near the largest there is: each of these characters takes six bytes of JSON. */
function market(logIndex: number): Fact {
  const command: FactCommand = {
    kind: 'OpenMarket', v: 1, at: 7, marketId: hash(logIndex), question: '?', description: '\u0000'.repeat(10_000), category: 'general',
    contractAddress: `0x${'b'.repeat(40)}`, maker: `0x${'c'.repeat(40)}`, expiration: 1_000, chainId: CHAIN, marketKind: 'standard',
    tokens: { yes: hash(1_000 + logIndex), no: hash(2_000 + logIndex) }, fact: { chainId: CHAIN, block: 1, logIndex },
  };
  return { command, blockHash: hash(1) };
}

/** A writer over an engine that decides a batch when its outcome is asked for. */
function harness() {
  const engine = createEngine();
  const written: NewRecord[][] = [];
  const waiting: NewRecord[] = [];
  const reports: string[] = [];
  const steps: string[] = [];
  const parts = {
    append: async (records: readonly NewRecord[]): Promise<number> => {
      steps.push(`append ${records.length}`);
      written.push([...records]);
      waiting.push(...records);
      return engine.state.position + waiting.length - records.length;
    },
    outcomeOf: async (position: number): Promise<unknown> => {
      steps.push(`outcome ${position}`);
      for (const { data } of waiting.splice(0)) engine.step(data);
      return undefined;
    },
  };
  const writer: FactWriter = createFactWriter({
    chainId: CHAIN, cursor: () => chainCursor(engine.state, CHAIN), append: (records) => parts.append(records),
    outcomeOf: (position) => parts.outcomeOf(position), now: () => 7, report: (level, text) => { reports.push(`${level}: ${text}`); },
  });
  return { engine, parts, written, reports, steps, writer, kinds: () => written.flat().map(({ data }) => decodeCommand(data).kind) };
}

describe('facts are written', () => {
  it('in batches of a thousand, each decided before the next, and the range\'s end last', async () => {
    const { writer, written, steps, engine } = harness();
    const facts = Array.from({ length: 2_300 }, (_, i) => fact(1 + Math.floor(i / 1_000), i % 1_000));
    await writer.write(facts, { number: 9, hash: hash(9) });
    assert.deepEqual(steps, ['append 1000', 'outcome 999', 'append 1000', 'outcome 1999', 'append 301', 'outcome 2300']);
    const advance = encodeCommand({ kind: 'AdvanceChain', v: 1, at: 7, chainId: CHAIN, block: 9, blockHash: hash(9) });
    assert.deepEqual(written.flat(), [
      ...facts.map(({ command, blockHash }) => ({
        id: recordId(`chain:5:${blockHash}:${command.fact.logIndex}`), data: encodeCommand(command),
      })),
      { id: recordId(`chain:5:${hash(9)}:end`), data: advance },
    ]);
    assert.deepEqual(chainCursor(engine.state, CHAIN), { nextBlock: 10, nextLog: 0, block: 9, blockHash: hash(9) });
  });

  it('in appends of 900,000 bytes at most', async () => {
    const { writer, written } = harness();
    await writer.write(Array.from({ length: 40 }, (_, i) => market(i)), { number: 1, hash: hash(1) });
    const bytes = written.map((batch) => batch.reduce((sum, { data }) => sum + data.length, 0));
    assert.equal(bytes.length, 3);
    assert.ok(bytes.every((size) => size <= 900_000), String(bytes));
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
    const { writer, parts, kinds, engine } = harness();
    const { append } = parts;
    let appends = 0;
    parts.append = async (records) => ++appends === 2 ? Promise.reject(new Error('no answer')) : await append(records);
    const facts = Array.from({ length: 1_500 }, (_, i) => fact(1, i));
    await assert.rejects(writer.write(facts, { number: 1, hash: hash(1) }), /no answer/);
    assert.equal(kinds().length, 1_000);
    await writer.write(facts, { number: 1, hash: hash(1) });
    assert.equal(kinds().length, 1_501);
    assert.equal(engine.state.position, 1_501);
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

  it('without one that no record can hold, which is told of', async () => {
    const { writer, kinds, reports } = harness();
    const bad = fact(1, 0, { belowNonce: '18446744073709551616' });
    await writer.write([bad, fact(1, 1)], { number: 1, hash: hash(1) });
    assert.deepEqual(kinds(), ['CancelOrdersBelow', 'AdvanceChain']);
    assert.equal(reports.length, 1);
    assert.match(reports[0]!, /^alarm: chain 5, block 1, log 0: CancelOrdersBelow is malformed: .*belowNonce.*; it was left out/);
  });

  it('never again to an engine whose cursor stands', async () => {
    const { writer, parts } = harness();
    parts.outcomeOf = async () => undefined;
    await assert.rejects(writer.write([], { number: 1, hash: hash(1) }), CursorStands);
  });
});
