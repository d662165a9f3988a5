/** The history for auditors: the bytes as recorded, digests that can be recomputed from the answer alone, pages. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { encodeCommand, encodeOutcome, recordId } from '../../engine/records/codec.js';
import type { Event } from '../../engine/records/events.js';
import type { Log, LogRecord, Stream } from '../../engine/log/log.js';
import { events } from '../../query/events.js';
import { bytes32 } from '../support/read-models.js';

describe('query: events', () => {
  it('shows each command and outcome byte for byte, with its digest', async () => {
    const log = history(1);
    assert.deepEqual(await events(log, {}), {
      body: `{"events":[{"position":0,"id":"${recordId('0')}","command":{"kind":"AdvanceClock","v":1,"at":1000},`
        + `"outcome":{"at":1000,"events":[{"type":"CommandRejected","v":1,"code":"unknown_order","subject":"é \\",\\"digest\\" 0"}]},`
        + `"digest":"${log.digests[0]}"}],"count":1,"next":1}`,
      position: 0, next: 1,
    });
  });

  it('gives all that an auditor needs to recompute every digest from the text of the answer', async () => {
    const log = history(5);
    const { body } = await events(log, { ndjson: true });
    let digest = Buffer.alloc(32);
    const lines = body.split('\n');
    assert.equal(lines.pop(), '');
    assert.equal(lines.length, 5);
    lines.forEach((line, position) => {
      const [, command, outcome, claimed] = /"command":(.*),"outcome":(.*),"digest":"0x([0-9a-f]{64})"\}$/.exec(line) ?? [];
      assert.ok(command !== undefined && outcome !== undefined, line);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(command));
      digest = createHash('sha256').update(digest).update(length).update(command).update(outcome).digest();
      assert.equal(claimed, digest.toString('hex'));
      assert.equal((JSON.parse(line) as { position: number }).position, position);
    });
  });

  it('pages from any position, leaves out commands without an outcome, and ends with an empty page', async () => {
    const log = history(250, 253);
    const pages: [number, number, number, number][] = [];
    let from = 0;
    for (;;) {
      const { body, next, position } = await events(log, { from, limit: 120 });
      const page = JSON.parse(body) as { events: { position: number }[]; count: number; next: number };
      assert.deepEqual([page.count, page.next, position], [page.events.length, next, 249]);
      assert.deepEqual(page.events.map((event) => event.position), page.events.map((_, i) => from + i));
      pages.push([from, page.count, next, position]);
      if (page.count === 0) break;
      from = next;
    }
    assert.deepEqual(pages, [[0, 120, 120, 249], [120, 120, 240, 249], [240, 10, 250, 249], [250, 0, 250, 249]]);
  });

  it('is empty before the first outcome and beyond the end', async () => {
    assert.deepEqual(await events(history(0, 2), {}), { body: '{"events":[],"count":0,"next":0}', position: -1, next: 0 });
    assert.deepEqual(await events(history(3), { from: 9 }), { body: '{"events":[],"count":0,"next":9}', position: 2, next: 9 });
    assert.deepEqual(await events(history(3), { from: 9, ndjson: true }), { body: '', position: 2, next: 9 });
  });

  it('ends a page early rather than hold hundreds of the largest records', async () => {
    const log = history(300);
    const large = Buffer.alloc(900_000, ' ');
    const [first] = log.records.commands;
    assert.ok(first !== undefined);
    const data = Buffer.concat([first.data.subarray(0, -1), large, Buffer.from('}')]);
    log.records.commands = log.records.commands.map((record) => ({ ...record, data }));
    const { next } = await events(log, { limit: 300 });
    assert.equal(next, 100);
  });

  it('refuses to show an outcome that does not end with its digest', async () => {
    const log = history(1);
    log.records.outcomes = log.records.outcomes.map((record) => ({ ...record, data: Buffer.from('{"at":1,"events":[]}') }));
    await assert.rejects(events(log, {}), { name: 'MalformedRecord' });
  });
});

interface History extends Log {
  readonly records: Record<Stream, LogRecord[]>;
  readonly digests: readonly string[];
}

/** A log with so many outcomes, and as many commands or more. */
function history(outcomes: number, commands = outcomes): History {
  const records: Record<Stream, LogRecord[]> = { commands: [], outcomes: [] };
  const digests: string[] = [];
  let digest = Buffer.alloc(32);
  for (let position = 0; position < commands; position++) {
    const command = encodeCommand({ kind: 'AdvanceClock', v: 1, at: 1_000 + position });
    records.commands.push({ position, id: recordId(String(position)), data: command });
    if (position >= outcomes) continue;
    const rejected: Event = { type: 'CommandRejected', v: 1, code: 'unknown_order', subject: `é ","digest" ${position}` };
    const text = JSON.stringify({ at: 1_000 + position, events: [rejected] });
    const length = Buffer.alloc(4);
    length.writeUInt32BE(command.length);
    digest = createHash('sha256').update(digest).update(length).update(command).update(text).digest();
    const recorded = `0x${digest.toString('hex')}`;
    digests.push(recorded);
    records.outcomes.push({ position, id: bytes32(position), data: encodeOutcome(text, recorded) });
  }
  return {
    records, digests,
    length: (stream) => Promise.resolve(records[stream].length),
    read: (stream, from, limit) => Promise.resolve(records[stream].slice(from, from + limit)),
    append: () => assert.fail('a read appends nothing'),
    follow: () => assert.fail('a page needs no follower'),
    close: () => Promise.resolve(),
  };
}
