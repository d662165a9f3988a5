/** Where an audit reads from: interrupted downloads are taken up again or said clearly, and files that are cut off are not taken for whole. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { audit } from '../../tools/audit/audit.js';
import { CannotAudit, Differs } from '../../tools/audit/difference.js';
import { createProgress, duration, progressText } from '../../tools/audit/progress.js';
import { reportText } from '../../tools/audit/report.js';
import { exportHistory } from '../../tools/audit/source/export.js';
import { openFile } from '../../tools/audit/source/file-source.js';
import { openService } from '../../tools/audit/source/service-source.js';
import type { AuditSource } from '../../tools/audit/source/source.js';
import { extent } from '../support/extent.js';
import {
  CHAIN_ID, auditedChain, contracts, domain, linesOfHistory, nodeOf, redecided, sourceOf, tradedHistory, type AuditedHistory,
} from '../support/audited-history.js';

let history: AuditedHistory;
let lines: Buffer[];
let directory: string;
before(async () => {
  history = await tradedHistory();
  lines = linesOfHistory(history.records);
  directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-audit-test-'));
});
after(async () => { await rm(directory, { recursive: true }); });

const config = {
  cancelAuth: 'required', chains: [{ ...auditedChain, orderDomain: domain, contracts, passOverAnchors: [] }],
};

/** A service of the history with pages of five, whose answer number n is as `faults` has it. */
function serviceOf({ all = lines, faults = {} }: { all?: readonly Buffer[]; faults?: Readonly<Record<number, () => Response>> } = {}): {
  readonly fetch: typeof fetch; asked: number;
} {
  const service = {
    asked: 0,
    fetch: ((input: string) => {
      const fault = faults[++service.asked];
      if (fault !== undefined) return Promise.resolve().then(fault);
      const { pathname, searchParams } = new URL(input);
      if (pathname === '/api/v1/config') return Promise.resolve(Response.json(config));
      const from = Number(searchParams.get('from'));
      const page = all.slice(from, from + Math.min(5, Number(searchParams.get('limit'))));
      return Promise.resolve(new Response(page.map((line) => `${line.toString()}\n`).join(''), { headers: { 'x-log-position': String(all.length - 1) } }));
    }) as typeof fetch,
  };
  return service;
}

async function linesIn(source: AuditSource): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of source.lines(0)) found.push(...batch.map(String));
  return found;
}

describe('the history of a service', () => {
  const reports: string[] = [];
  const open = (service: { fetch: typeof fetch }, patienceMs = 2_000) => openService({
    url: 'http://service', fetch: service.fetch, patienceMs, pauseMs: 1, report: (text) => reports.push(text),
  });

  it('comes whole through answers that are cut off, refused for a while, or broken', async () => {
    const cutOff = (): Response => new Response(lines.slice(0, 3).map(String).join('\n').slice(0, -40));
    const broken = (): Response => { throw new TypeError('fetch failed', { cause: new Error('ECONNRESET') }); };
    const limited = (): Response => new Response('slow down', { status: 429, headers: { 'retry-after': '1' } });
    const source = await open(serviceOf({ faults: { 1: broken, 4: cutOff, 5: () => new Response('', { status: 503 }), 7: limited, 9: broken } }));
    deepEqual(await linesIn(source), lines.map(String));
    for (const said of [/503/, /asks to wait for 1 s/, /ends within a line/, /ECONNRESET/]) match(reports.join('\n'), said);
  });

  it('is given up with the position and the reason when the service stays away', async () => {
    const refused = (): Response => { throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }); };
    const faults = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [n + 5, refused]));
    await rejects(open(serviceOf({ faults }), 20).then(linesIn), (error: Error) => {
      ok(error instanceof CannotAudit);
      match(error.message, /does not tell position 10 of its history: fetch failed: connect ECONNREFUSED/);
      return true;
    });
  });

  it('differs when records are gone from its end', async () => {
    const service = serviceOf({ all: lines.slice(0, -2), faults: { 2: () => new Response('', { headers: { 'x-log-position': String(lines.length - 1) } }) } });
    await rejects(open(service, 20).then(linesIn), (error: Error) => {
      ok(error instanceof Differs);
      equal(error.difference.place.position, lines.length - 2);
      return true;
    });
  });

  describe('from a service that sends without an end', () => {
    /** Answers that repeat a piece for as long as somebody reads. */
    function floodOf(piece: string) {
      const flood = { pieces: 0, ended: 0, answer: () => new Response(new ReadableStream({ pull, cancel() { flood.ended++; } })) };
      function pull(controller: ReadableStreamDefaultController): void {
        flood.pieces++;
        controller.enqueue(Buffer.from(piece));
      }
      return flood;
    }
    const MEGABYTE = 'x'.repeat(1 << 20);

    it('is read as far as a page goes, and a record, before the next is asked for', async () => {
      for (const [piece, most] of [[`${MEGABYTE}\n`, 70], [MEGABYTE, 12]] as const) {
        const flood = floodOf(piece);
        const source = await open(serviceOf({ faults: { 3: flood.answer } }));
        for await (const batch of source.lines(0)) {
          ok(batch.length > 0 && flood.pieces <= most, `${flood.pieces} pieces`);
          break;
        }
        equal(flood.ended, 1);
      }
      match(reports.join('\n'), /a line has more than 8000000 bytes/);
    });

    it('is not audited where its other answers do not end', async () => {
      const flood = floodOf(MEGABYTE);
      const faults = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [n + 1, flood.answer]));
      await rejects(open(serviceOf({ faults }), 20), /more than 1000000 bytes/);
      ok(flood.ended > 0 && flood.pieces <= 3 * flood.ended, `${flood.pieces} pieces of ${flood.ended} answers`);
    });
  });

  it('is not audited where something else answers', async () => {
    const page = serviceOf({ faults: { 1: () => Response.json({ hello: 'world' }) } });
    await rejects(open(page), /this is not an answer of GET \/api\/v1\/config/);
    await rejects(open(serviceOf({ faults: { 1: () => new Response('no such page', { status: 404 }) } })), /it answers 404 no such page/);
  });
});

describe('an exported file', () => {
  it('has every line, also compressed, passes an audit, and leaves nothing behind when the export fails', async () => {
    for (const name of ['history.ndjson', 'history.ndjson.gz']) {
      const path = join(directory, name);
      const source = await openService({ url: 'http://service', fetch: serviceOf().fetch });
      equal((await exportHistory(source, path)).records, lines.length);
      const file = await openFile(path);
      deepEqual(await linesIn(file), lines.map(String));
      const { passed, records } = await audit({ source: file, threads: 1, rpcs: new Map([[CHAIN_ID, nodeOf(history.chainEvents, history.blocks)]]) });
      deepEqual({ passed, records }, { passed: true, records: lines.length });
    }
    const dying = serviceOf({ faults: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [n + 5, () => new Response('', { status: 500 })])) });
    const source = await openService({ url: 'http://service', fetch: dying.fetch, patienceMs: 20, pauseMs: 1 });
    await rejects(exportHistory(source, join(directory, 'failed.ndjson')), CannotAudit);
    await rejects(exportHistory(source, directory), (error: Error) => error instanceof CannotAudit && error.message.includes('is no file'));
    deepEqual((await readdir(directory)).filter((name) => name.startsWith('failed')), []);
  });

  it('differs when lines are missing at its end or too many, and cannot be read when it is cut off within one', async () => {
    const path = join(directory, 'whole.ndjson');
    await exportHistory(await openService({ url: 'http://service', fetch: serviceOf().fetch }), path);
    const whole = (await readFile(path)).toString();
    const shorter = `${whole.trimEnd().split('\n').slice(0, -3).join('\n')}\n`;
    const longer = `${whole}${lines[0]!.toString()}\n`;
    for (const [text, position] of [[shorter, lines.length - 3], [longer, lines.length]] as const) {
      await writeFile(path, text);
      const { difference } = await audit({ source: await openFile(path), threads: 0 });
      deepEqual([difference?.check, difference?.place], ['records', { position }]);
    }
    await writeFile(path, whole.slice(0, -50));
    await rejects(openFile(path).then(linesIn), /it ends within a record/);
    const zipped = join(directory, 'cut.ndjson.gz');
    await writeFile(zipped, gzipSync(whole).subarray(0, 2_000));
    await rejects(openFile(zipped).then(linesIn), (error: Error) => error instanceof CannotAudit && error.message.includes('cannot be read beyond position'));
    await rejects(openFile(join(directory, 'nothing')), /cannot be read: ENOENT/);
  });

  it('is read as gzip whatever its name is, and is no history when it is empty', async () => {
    const path = join(directory, 'zipped');
    await exportHistory(await openService({ url: 'http://service', fetch: serviceOf().fetch }), `${path}.gz`);
    await writeFile(path, await readFile(`${path}.gz`));
    deepEqual(await linesIn(await openFile(path)), lines.map(String));
    for (const content of ['', gzipSync('')]) {
      await writeFile(path, content);
      await rejects(openFile(path), (error: Error) => error instanceof CannotAudit && error.message.includes('is empty'));
    }
  });

  it('can be a plain download, whose signing domains somebody must tell', async () => {
    const path = join(directory, 'plain.ndjson.gz');
    await writeFile(path, gzipSync(lines.map((line) => `${line.toString()}\n`).join('')));
    const { passed, checks, notes } = await audit({ source: await openFile(path) });
    equal(passed, true);
    match(checks.find(({ name }) => name === 'orderSignatures')!.reason!, /does not say the signing domains/);
    match(notes.join(), /records may be missing at its end/);
    equal(gunzipSync(await readFile(path)).toString().split('\n').length, lines.length + 1);
  });
});

describe('an audit with a checkpoint', () => {
  const rpcs = () => new Map([[CHAIN_ID, nodeOf(history.chainEvents, history.blocks)]]);

  /** A source that fails at a position. */
  function failingAt(position: number): AuditSource {
    const source = sourceOf(lines);
    return {
      ...source,
      async* lines(from, to) {
        for (let at = from; at < (to ?? lines.length); at++) {
          if (at === position) throw new CannotAudit('the service has gone');
          yield [lines[at]!];
        }
      },
    };
  }

  it('goes on where it was stopped, wherever that was, and counts what one audit at a stretch counts', async () => {
    const { checks: expected } = await audit({ source: sourceOf(lines), threads: 1, rpcs: rpcs() });
    for (const stop of extent({ push: [1, 15, 26], long: [1, 4, 13, 15, 21, 26] })) {
      const path = join(directory, `stop-${stop}`);
      await rejects(audit({ source: failingAt(stop), threads: 1, rpcs: rpcs(), checkpoint: { path } }), /the service has gone/);
      const { passed, checks, resumedAt } = await audit({ source: sourceOf(lines), threads: 1, rpcs: rpcs(), checkpoint: { path } });
      deepEqual({ passed, resumedAt }, { passed: true, resumedAt: stop });
      deepEqual(checks, expected, `stopped at ${stop}`);
    }
  });

  it('refuses a checkpoint of another history, of other checks, and a damaged one', async () => {
    const path = join(directory, 'checkpoint');
    await rejects(audit({ source: failingAt(20), threads: 0, checkpoint: { path } }), /the service has gone/);
    const other = redecided(history.records.map((record, at) => at === 8 ? { ...record, command: Buffer.from(record.command.toString().replace(/"at":\d+/, '"at":1700000000081')) } : record));
    await rejects(audit({ source: sourceOf(linesOfHistory(other)), threads: 0, checkpoint: { path } }),
      /the checkpoint .* is of another history: it has digest 0x.* at position 19/);
    await rejects(audit({ source: sourceOf(lines.slice(0, 10)), threads: 0, checkpoint: { path } }), /no such position/);
    await rejects(audit({ source: sourceOf(lines), threads: 1, checkpoint: { path } }), /it belongs to an audit with other checks/);
    const data = await readFile(path);
    data[data.length >> 1]! ^= 1;
    await writeFile(path, data);
    await rejects(audit({ source: sourceOf(lines), threads: 0, checkpoint: { path } }), /it is damaged; delete it/);
  });

  it('keeps what was checked when it is interrupted', async () => {
    const path = join(directory, 'interrupted');
    const stop = new AbortController();
    const options = { source: sourceOf(lines), threads: 0, checkpoint: { path } };
    const interrupted = audit({ ...options, signal: stop.signal, onProgress: () => { stop.abort(); } });
    await rejects(interrupted, /interrupted at position 7; the same command goes on/);
    equal((await audit({ source: sourceOf(lines), threads: 0, checkpoint: { path } })).resumedAt, 7);
  });
});

describe('an audit that ends well, or never begins', () => {
  it('leaves a checkpoint, from which the next one reads only what is new', async () => {
    const path = join(directory, 'nightly');
    const auditOf = (to: number) => audit({ source: sourceOf(lines.slice(0, to)), threads: 0, checkpoint: { path } });
    deepEqual([(await auditOf(20)).resumedAt, (await auditOf(20)).resumedAt, (await auditOf(lines.length)).resumedAt], [0, 20, 20]);
    const { resumedAt, records, passed } = await auditOf(lines.length);
    deepEqual({ resumedAt, records, passed }, { resumedAt: lines.length, records: lines.length, passed: true });
  });

  it('says that the checkpoint cannot be written before it reads anything', async () => {
    let read = 0;
    const source: AuditSource = { ...sourceOf(lines), lines: (...given) => (read++, sourceOf(lines).lines(...given)) };
    await rejects(audit({ source, threads: 0, checkpoint: { path: join(directory, 'nowhere', 'checkpoint') } }),
      (error: Error) => error instanceof CannotAudit && error.message.includes('cannot be written'));
    equal(read, 0);
  });

  it('stops waiting for a service when it is interrupted', async () => {
    const stop = new AbortController();
    const dead = (() => Promise.resolve(new Response('', { status: 503 }))) as typeof fetch;
    const waiting = openService({ url: 'http://service', fetch: dead, pauseMs: 60_000, patienceMs: 600_000, signal: stop.signal, report: () => { stop.abort(); } });
    await rejects(waiting, (error: Error) => error instanceof CannotAudit && error.message.startsWith('interrupted while'));
  });
});

describe('the report of an audit', () => {
  it('shows what others say without what moves the cursor, hides or adds lines', async () => {
    const evil = Buffer.from('{"position":0,"id":"\u001b[2J\nPASSED (1 s)\u202e\u009b1A');
    const report = await audit({ source: sourceOf([evil]), threads: 0 });
    equal(report.passed, false);
    const text = reportText(report);
    ok(!/[^\P{C}\n]/u.test(text) && !text.includes('\nPASSED'), text);
    match(text, /found: {4}\{"position":0,"id":"\\u\{1b\}\[2J\\u\{a\}PASSED \(1 s\)\\u\{202e\}\\u\{9b\}1A$/m);
  });
});

describe('the progress of an audit', () => {
  it('is a bar with the time left on a terminal, and a line now and then elsewhere', () => {
    equal(progressText({ what: 'records', done: 250_000, total: 1_000_000, doneHere: 250_000, seconds: 5, bar: true }),
      'records [========                      ] 25 % (250,000 of 1,000,000), 50,000/s, 15 s left');
    equal(progressText({ what: 'records', done: 7, total: undefined, doneHere: 7, seconds: 1, bar: true }), 'records 7, 7/s');
    deepEqual([59.6, 61, 3_700, 0].map(duration), ['1 min 0 s', '1 min 1 s', '1 h 1 min', '0 s']);
    for (const [isTTY, shown] of [[true, 3], [false, 1]] as const) {
      const written: string[] = [];
      let now = 0;
      const progress = createProgress({ sink: { isTTY, columns: 100, write: (text) => written.push(text) }, nowMs: () => now, what: 'records' });
      for (const at of [0, 100, 200, 10_100]) {
        now = at;
        progress.update(at, 20_000);
      }
      equal(written.length, shown);
      progress.end();
      equal(written.at(-1)!.endsWith('\n'), !isTTY);
    }
  });
});
