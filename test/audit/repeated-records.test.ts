/** A record that the history has twice, and an id that two records have: both are found, and a repeated record is called one. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkedRecordId } from '../../engine/run/new-record.js';
import { decodeCommand } from '../../engine/records/codec.js';
import type { Command } from '../../engine/records/commands.js';
import { openIdStore } from '../../tools/audit/records/id-store.js';
import { audit } from '../../tools/audit/audit.js';
import {
  lineOf, linesOfHistory, redecided, redigested, sourceOf, tradedHistory, auditOf, differenceOf, type AuditedHistory, type HistoryRecord,
} from '../support/audited-history.js';

let history: AuditedHistory;
before(async () => { history = await tradedHistory(); });

const positionsOf = (kind: Command['kind']) => history.records.flatMap(({ command }, position) => decodeCommand(command).kind === kind ? [position] : []);
/** The record of position `at` once more, after so many others. */
const again = (at: number, later = 1): HistoryRecord[] => history.records.toSpliced(at + later, 0, history.records[at]!);

describe('an audit of a history with a record a second time', () => {
  for (const [how, forge] of [
    ['its digests as they were', (records: HistoryRecord[]) => records], ['digests computed anew', redigested], ['outcomes and digests computed anew', redecided],
  ] as const) {
    it(`names both positions, with ${how}`, async () => {
      const at = positionsOf('PlaceOrder')[3]!;
      const { check, place, what } = await differenceOf(history, { records: forge(again(at, 4)), node: null });
      deepEqual([check, place], ['records', { position: at + 4 }]);
      match(what, new RegExp(`the record at position ${at + 4} is the record of position ${at} a second time`));
    });
  }

  it('names both positions where the lines say the old ones', async () => {
    const lines = linesOfHistory(history.records).toSpliced(9, 0, lineOf(history.records[7]!, 7));
    const { difference } = await audit({ source: sourceOf(lines), threads: 0 });
    deepEqual([difference?.check, difference?.place.position], ['records', 9]);
    match(difference!.what, /the record at position 9 is the record of position 7 a second time/);
  });

  it('names a repeated transaction, too, where something differs', async () => {
    const at = positionsOf('SubmitSettlement')[0]!;
    const { what } = await differenceOf(history, { records: again(at), node: null });
    match(what, new RegExp(`the record at position ${at + 1} is the record of position ${at} a second time`));
  });

  it('passes what a writer may say again, since it could not know that it was recorded', async () => {
    for (const kind of ['SubmitSettlement', 'AdvanceChain', 'RecordPrice', 'SettleFill'] as const) {
      const { difference } = await auditOf(history, { records: redecided(again(positionsOf(kind)[0]!)), node: null });
      deepEqual(difference, null, kind);
    }
  });
});

describe('an audit of a history with an id twice', () => {
  it('finds an order with the id of another one', async () => {
    const [first, , third] = positionsOf('PlaceOrder') as [number, number, number];
    const records = history.records.map((record, position) => position === third ? { ...record, id: history.records[first]!.id } : record);
    const { check, place, what } = await differenceOf(history, { records, node: null });
    deepEqual([check, place], ['ids', { position: third }]);
    match(what, new RegExp(`positions ${first} and ${third} have the same id`));
  });

  it('finds it also where a checkpoint lies between the two, and keeps no file but its own', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-audit-test-'));
    try {
      const path = join(directory, 'checkpoint');
      const [first] = positionsOf('PlaceOrder') as [number];
      const last = positionsOf('AdvanceClock').at(-1)!;
      const records = history.records.map((record, position) => position === last ? { ...record, id: history.records[first]!.id } : record);
      const before = await audit({ source: sourceOf(linesOfHistory(records.slice(0, 20))), threads: 0, checkpoint: { path } });
      equal(before.passed, true);
      const { difference, resumedAt } = await audit({ source: sourceOf(linesOfHistory(records)), threads: 0, checkpoint: { path } });
      deepEqual([resumedAt, difference?.check, difference?.place], [20, 'ids', { position: last }]);
      deepEqual((await readdir(directory)).sort(), ['checkpoint', 'checkpoint.ids']);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('the store of ids', () => {
  let directory: string;
  before(async () => { directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-audit-test-')); });
  after(async () => { await rm(directory, { recursive: true }); });
  const idOf = (n: number) => checkedRecordId(`store:${n}`);

  it('finds all pairs in several passes, by their second position, and not those that may repeat', () => {
    const store = openIdStore({ path: join(directory, 'many'), length: 0, keep: false, perPass: 1_000 });
    for (let n = 0; n < 40_000; n++) store.add(idOf(n % 39_990), n % 39_990 === 5);
    const pairs = store.repeated();
    deepEqual(pairs, [0, 1, 2, 3, 4, 6, 7, 8, 9].map((n) => [n, 39_990 + n]));
    deepEqual([store.find(idOf(5)), store.find(idOf(100)), store.find(idOf(50_000))], [[5, 39_995], [100], []]);
    store.close();
  });

  it('holds one id many times', () => {
    const store = openIdStore({ path: join(directory, 'same'), length: 0, keep: false, perPass: 100 });
    for (let n = 0; n < 5_000; n++) store.add(idOf(7), false);
    deepEqual(store.repeated(), [[0, 1]]);
    store.close();
  });

  it('goes on in its file, from any position that it has', () => {
    const path = join(directory, 'kept');
    const first = openIdStore({ path, length: 0, keep: true });
    for (let n = 0; n < 30; n++) first.add(idOf(n), false);
    first.close();
    const second = openIdStore({ path, length: 20, keep: true });
    second.add(idOf(3), false);
    second.add(idOf(25), false);
    deepEqual(second.repeated(), [[3, 20]]);
    second.close();
  });
});
