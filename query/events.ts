/** `GET /events`: the history byte for byte as recorded, so that an auditor can recompute every digest. */
import { MalformedRecord } from '../engine/records/codec.js';
import { BYTES32 } from '../engine/records/hex.js';
import type { Log, LogRecord } from '../engine/log/log.js';
import type { Answer } from './statement.js';

export const EVENTS_LIMIT = { byDefault: 100, max: 1_000 } as const;

/** A page ends early, after the chunk in which it exceeds this size: a record may have 1 MB. */
const PAGE_BYTES = 8_000_000;
const CHUNK = 100;

/** The part of an outcome record after the text that the digest covers, as `encodeOutcome` writes it. */
const DIGEST = new RegExp(`^,"digest":"(${BYTES32.text})"\\}$`);
const DIGEST_LENGTH = ',"digest":"0x"}'.length + 64;

/** A page of history; `next` is the `from` of the page after it. */
export interface EventsPage extends Answer {
  readonly next: number;
}

/**
 * The commands from position `from` on with their outcomes: `{events, count, next}`, or with `ndjson` one item per line.
 * An item is `{position, id, command, outcome, digest}`, where digest = SHA-256(previous digest, which is 32 zero bytes for the first |
 * uint32be byte length of command | command | outcome), over exactly the bytes shown. Only commands with a recorded outcome are shown.
 * A page may have fewer than `limit` items; only an empty page means the end.
 */
export async function events(
  log: Log, { from = 0, limit = EVENTS_LIMIT.byDefault, ndjson = false }: { from?: number; limit?: number; ndjson?: boolean },
): Promise<EventsPage> {
  const length = await log.length('outcomes');
  const end = Math.min(from + limit, length);
  const items: string[] = [];
  let size = 0;
  for (let next = from; next < end && size < PAGE_BYTES; next = from + items.length) {
    const chunk = Math.min(CHUNK, end - next);
    const [commands, outcomes] = await Promise.all([log.read('commands', next, chunk), log.read('outcomes', next, chunk)]);
    if (commands.length === 0 || outcomes.length === 0) break;
    for (const [i, command] of commands.entries()) {
      const outcome = outcomes[i];
      if (outcome === undefined) break;
      const text = item(command, outcome);
      size += text.length;
      items.push(text);
    }
  }
  const next = from + items.length;
  const body = ndjson
    ? items.map((text) => `${text}\n`).join('')
    : `{"events":[${items.join(',')}],"count":${items.length},"next":${next}}`;
  return { body, position: length - 1, next };
}

function item(command: LogRecord, outcome: LogRecord): string {
  const recorded = textOf(outcome);
  const digest = DIGEST.exec(recorded.slice(-DIGEST_LENGTH))?.[1];
  if (digest === undefined) throw new MalformedRecord(`the outcome at ${outcome.position} does not end with its digest`);
  const text = `${recorded.slice(0, -DIGEST_LENGTH)}}`;
  return `{"position":${command.position},"id":"${command.id}","command":${textOf(command)},"outcome":${text},"digest":"${digest}"}`;
}

function textOf({ data }: LogRecord): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
}
