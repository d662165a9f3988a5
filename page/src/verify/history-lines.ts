/** The recorded history as the exchange streams it, taken apart without trusting what comes. */

/** Of `fetch`, what is needed here; tests give others. */
export type Ask = (url: string, init: RequestInit) => Promise<Response>;

/** One position of the history, with the bytes that the digest covers. */
export interface RecordedEntry {
  readonly position: number;
  readonly command: Recorded;
  readonly outcome: Recorded;
  readonly digest: string;
}

/** A part of a line, as bytes and as the same bytes' text. */
export interface Recorded {
  readonly data: Uint8Array;
  readonly text: string;
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
const POSITION = /^\{"position":(\d{1,15}),"id":"/;
const POSITION_LENGTH = '{"position":,"id":"'.length + 15;
const COMMAND = ',"command":';
const OUTCOME_KEY = ',"outcome":';
const OUTCOME = `${OUTCOME_KEY}{"at":`;
const DIGEST = ',"digest":"';
const DIGEST_LENGTH = `${DIGEST}0x"}`.length + 64;

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

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
      const [first, end] = [value.indexOf(NEWLINE) + 1, value.lastIndexOf(NEWLINE) + 1];
      const begun = joined(rest, value.subarray(0, first > 0 ? first : value.length));
      rest = first > 0 ? value.slice(end) : begun;
      if (rest.length > MOST_LINE_BYTES) throw tooLong();
      if (first > 0) yield [...entriesOf(begun), ...entriesOf(value.subarray(first, end))];
    }
    if (rest.length > 0) throw new UnusableHistory('the answer breaks off within a line');
  } finally {
    // Whoever stops early lets the connection go.
    reader.cancel().catch(() => undefined);
  }
}

/**
 * The entries of whole lines. All of them are decoded at once: a browser takes longer to begin with a text than to go on
 * with it. Where a character has several bytes, text and bytes have other places, and each line is decoded by itself.
 */
function entriesOf(bytes: Uint8Array): RecordedEntry[] {
  const text = decoder.decode(bytes);
  const isAscii = text.length === bytes.length;
  const entries: RecordedEntry[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    if (end - start > MOST_LINE_BYTES) throw tooLong();
    if (end > start) entries.push(isAscii ? entryWithin({ bytes, text, start, end }) : entryOf(bytes.subarray(start, end)));
    start = end + 1;
  }
  return entries;
}

const tooLong = (): UnusableHistory => new UnusableHistory(`a line has more than ${MOST_LINE_BYTES} bytes`);

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

/** A line whose text has the same places as its bytes, unless these have characters of several bytes. */
function entryOf(line: Uint8Array): RecordedEntry {
  const text = decoder.decode(line);
  const entry = entryWithin({ bytes: line, text, start: 0, end: text.length });
  if (text.length === line.length) return entry;
  const { position, command, outcome, digest } = entry;
  return { position, command: encoded(command), outcome: encoded(outcome), digest };
}

const encoded = ({ text }: Recorded): Recorded => ({ data: encoder.encode(text), text });

interface Line {
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Splits a line without parsing it: the digest covers the very bytes (docs/auditing.md, "The history"). */
function entryWithin({ bytes, text, start, end }: Line): RecordedEntry {
  const digestStart = end - DIGEST_LENGTH;
  const commandStart = text.indexOf(COMMAND, start) + COMMAND.length;
  const commandEnd = text.indexOf(OUTCOME, commandStart);
  const position = POSITION.exec(text.slice(start, start + POSITION_LENGTH))?.[1];
  const isWhole = commandStart >= COMMAND.length && commandEnd !== -1 && commandEnd < digestStart;
  if (position === undefined || !isWhole || !text.startsWith(DIGEST, digestStart) || !text.startsWith('"}', end - 2)) {
    throw new UnusableHistory(`a line is no entry of a history: ${text.slice(start, Math.min(end, start + 120))}`);
  }
  const part = (from: number, to: number): Recorded => ({ data: bytes.subarray(from, to), text: text.slice(from, to) });
  return {
    position: Number(position), command: part(commandStart, commandEnd),
    outcome: part(commandEnd + OUTCOME_KEY.length, digestStart), digest: text.slice(digestStart + DIGEST.length, end - 2),
  };
}
