/** The history for auditors: the bytes as recorded, digests that can be recomputed from the answer alone, pages. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { recordId } from '../../engine/run/new-record.js';
import type { Log } from '../../engine/log/log.js';
import { events as eventsOf, streamEvents, type EventsParams } from '../../query/history/events.js';
import { createTurns } from '../../query/turns.js';
import { recordedHistory as history } from '../support/feed-history.js';

const IMMUTABLE = { 'Cache-Control': 'public, max-age=31536000, immutable' };
const ownOrders = () => assert.fail('nobody asks for a trader');
const events = (log: Log, asked: EventsParams) => eventsOf({ log, ownOrders }, asked);

/** The whole stream as text, and the position that it tells. */
async function streamed(log: Log, asked: EventsParams, now = () => 0): Promise<{ text: string; position: number }> {
  const { lines, position } = await streamEvents({ log, ownOrders, turns: createTurns(1), now }, asked);
  let text = '';
  for await (const piece of lines) text += piece.toString();
  return { text, position };
}

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
    const { text } = await streamed(log, {});
    let digest = Buffer.alloc(32);
    const lines = text.split('\n');
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

  it('is immutable unless it ends where the history does, so that more may come', async () => {
    const kept = async (asked: EventsParams, length = 250) => (await events(history(length, 253), asked)).headers;
    assert.deepEqual(await kept({ limit: 120 }), IMMUTABLE);
    assert.deepEqual(await kept({ from: 240, limit: 10 }), IMMUTABLE, 'full');
    assert.equal(await kept({ from: 240, limit: 11 }), undefined);
    assert.equal(await kept({ from: 250 }), undefined);
    assert.equal(await kept({ filter: { event: 'FillMatched' } }), undefined, 'what comes may match');
    assert.deepEqual(await kept({ limit: 3, filter: { event: 'CommandRejected' } }), IMMUTABLE);
  });

  it('has no more than so many outcomes, as the read models do that know whose orders they are', async () => {
    const log = history(5);
    const { next, position, headers } = await events(log, { length: 3 });
    assert.deepEqual([next, position, headers], [3, 2, undefined]);
    const { lines, position: last } = await streamEvents({ log, ownOrders, turns: createTurns(1), now: () => 0 }, { length: 3 });
    const pieces = [];
    for await (const piece of lines) pieces.push(piece.toString());
    assert.deepEqual([pieces.join('').split('\n').length - 1, last], [3, 2]);
  });

  it('is empty before the first outcome and beyond the end', async () => {
    assert.deepEqual(await events(history(0, 2), {}), { body: '{"events":[],"count":0,"next":0}', position: -1, next: 0 });
    assert.deepEqual(await events(history(3), { from: 9 }), { body: '{"events":[],"count":0,"next":9}', position: 2, next: 9 });
    assert.deepEqual(await streamed(history(3), { from: 9 }), { text: '', position: 2 });
    assert.deepEqual(await streamed(history(0, 2), {}), { text: '', position: -1 });
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

  it('streams from any position to the newest entry at the beginning, or as many entries as asked for', async () => {
    const log = history(1_300);
    const positions = async (asked: EventsParams) => (await streamed(log, asked)).text.split('\n').filter(Boolean)
      .map((line) => (JSON.parse(line) as { position: number }).position);
    const all = Array.from({ length: 1_300 }, (_, i) => i);
    assert.deepEqual(await positions({}), all);
    assert.deepEqual(await positions({ from: 99, limit: 702 }), all.slice(99, 801));
    assert.deepEqual(await positions({ from: 1_299, limit: Number.MAX_SAFE_INTEGER }), [1_299]);
    const { lines } = await streamEvents({ log, ownOrders, turns: createTurns(1), now: () => 0 }, { from: 1_298 });
    log.records.commands.push(...history(1_301).records.commands.slice(-1));
    log.records.outcomes.push(...history(1_301).records.outcomes.slice(-1));
    const pieces = [];
    for await (const piece of lines) pieces.push(piece.toString());
    assert.equal(pieces.join('').split('\n').length, 3);
  });

  it('ends with an error where the log has less than it said', async () => {
    const log = history(700);
    log.records.outcomes.length = 650;
    await assert.rejects(streamed({ ...log, length: () => Promise.resolve(700) }, {}), { name: 'BrokenSequence' });
  });

  it('looks through so much of the history for a filtered page, and says where to go on', async () => {
    const log = history(10_050);
    const filter = { event: 'FillMatched' } as const;
    assert.deepEqual(await events(log, { from: 20, filter }), {
      body: '{"events":[],"count":0,"next":10020}', position: 10_049, next: 10_020, headers: IMMUTABLE,
    });
    assert.deepEqual(await events(log, { from: 10_020, filter }), { body: '{"events":[],"count":0,"next":10050}', position: 10_049, next: 10_050 });
    const found = await events(log, { from: 3, limit: 2, filter: { event: 'CommandRejected' } });
    assert.deepEqual([(JSON.parse(found.body) as { count: number }).count, found.next], [2, 5]);
  });

  it('shows during a long search that it goes on, by empty lines', async () => {
    let nowMs = 0;
    const { text } = await streamed(history(1_300), { filter: { event: 'FillMatched' } }, () => nowMs += 4_000);
    assert.match(text, /^\n+$/);
  });

  it('refuses to show an outcome that does not end with its digest', async () => {
    const log = history(1);
    log.records.outcomes = log.records.outcomes.map((record) => ({ ...record, data: Buffer.from('{"at":1,"events":[]}') }));
    await assert.rejects(events(log, {}), { name: 'MalformedRecord' });
  });
});
