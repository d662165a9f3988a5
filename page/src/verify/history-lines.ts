/** The recorded history as the exchange streams it, taken apart without trusting what comes. */

/** Of `fetch`, what is needed here; tests give others. */
export type Ask = (url: string, init: RequestInit) => Promise<Response>;

/** One position of the history, with the bytes that the digest covers. */
export interface RecordedEntry {
  readonly position: number;
  readonly command: Uint8Array;
  /** The outcome as text. */
  readonly outcome: string;
  readonly digest: string;
}

export interface HistoryRead {
  /** The newest position when the answer began, as the exchange says. */
  readonly newest: number;
  /** Some entries at a time, in the order in which they come. */
  readonly batches: AsyncIterable<readonly RecordedEntry[]>;
}

/** What came is no history: the exchange, or what is between, is at fault. */
export class UnusableHistory extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'UnusableHistory';
  }
}

/** A command and an outcome have at most 1,000,000 bytes each; the rest of a line is short. */
const MOST_LINE_BYTES = 2_001_000;
/** The exchange sends an empty line every 10 s. */
const SILENT_MS = 30_000;
const NEWLINE = 10;
const POSITION = '{"position":';
const OUTCOME = ',"outcome":{"at":';
const DIGEST = /^,"digest":"(0x[0-9a-f]{64})"\}$/;
const DIGEST_LENGTH = ',"digest":"0x"}'.length + 64;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Asks for the history from a position on. Throws UnusableHistory, and what `ask` throws. */
export async function readHistory(ask: Ask, from: number, signal: AbortSignal): Promise<HistoryRead> {
  const response = await ask(`/api/v1/events?from=${from}`, { headers: { accept: 'application/x-ndjson' }, signal });
  const refused = (what: string): UnusableHistory => {
    response.body?.cancel().catch(() => undefined);
    return new UnusableHistory(what);
  };
  if (!response.ok) throw refused(`the exchange answered with status ${response.status}`);
  const type = response.headers.get('content-type') ?? 'none';
  if (!/^application\/x-ndjson\b/.test(type)) throw refused(`the content type is ${type.slice(0, 80)}, not application/x-ndjson`);
  const header = response.headers.get('x-log-position') ?? '';
  const newest = /^(-1|\d{1,15})$/.test(header) ? Number(header) : NaN;
  if (Number.isNaN(newest)) throw refused('the answer does not say in X-Log-Position where it ends');
  if (response.body === null) throw refused('the answer has no body');
  return { newest, batches: batchesOf(response.body) };
}

/** The whole lines of the body as entries; what is left at its end has to be nothing. */
async function* batchesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly RecordedEntry[], void, undefined> {
  const reader = body.getReader();
  let rest = new Uint8Array(0);
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) break;
      const bytes = joined(rest, value);
      const entries: RecordedEntry[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE, rest.length); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        if (end - start > MOST_LINE_BYTES) throw new UnusableHistory(`a line has more than ${MOST_LINE_BYTES} bytes`);
        if (end > start) entries.push(entryOf(bytes.subarray(start, end)));
        start = end + 1;
      }
      rest = bytes.slice(start);
      if (rest.length > MOST_LINE_BYTES) throw new UnusableHistory(`a line has more than ${MOST_LINE_BYTES} bytes`);
      yield entries;
    }
    if (rest.length > 0) throw new UnusableHistory('the answer breaks off within a line');
  } finally {
    // Whoever stops early lets the connection go.
    reader.cancel().catch(() => undefined);
  }
}

function joined(rest: Uint8Array, added: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(rest.length + added.length);
  bytes.set(rest);
  bytes.set(added, rest.length);
  return bytes;
}

function inTime<T>(waited: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => { reject(new UnusableHistory(`nothing came for ${SILENT_MS / 1_000} seconds`)); }, SILENT_MS);
    waited.then(resolve, reject).finally(() => { clearTimeout(timer); });
  });
}

/** Splits a line without parsing it: the digest covers the very bytes (docs/auditing.md, "The history"). */
function entryOf(line: Uint8Array): RecordedEntry {
  const text = decoder.decode(line);
  const commandStart = text.indexOf(',"command":') + ',"command":'.length;
  const commandEnd = text.indexOf(OUTCOME, commandStart);
  const position = /^\d{1,15}(?=,"id":")/.exec(text.slice(POSITION.length, POSITION.length + 40))?.[0];
  const digest = DIGEST.exec(text.slice(-DIGEST_LENGTH))?.[1];
  if (!text.startsWith(POSITION) || position === undefined || digest === undefined || commandStart < POSITION.length || commandEnd === -1) {
    throw new UnusableHistory(`a line is no entry of a history: ${text.slice(0, 120)}`);
  }
  const isAscii = text.length === line.length;
  const command = isAscii ? line.subarray(commandStart, commandEnd) : new TextEncoder().encode(text.slice(commandStart, commandEnd));
  return { position: Number(position), command, outcome: text.slice(commandEnd + ',"outcome":'.length, -DIGEST_LENGTH), digest };
}
