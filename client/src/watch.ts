/**
 * What happens, as it happens: `GET /api/v1/stream` as an iterator that connects again by itself, from where it was.
 * Each message names the one before it in its channel, so nothing can be missing unseen: where the client cannot prove
 * that nothing is, it says so with a `gap`.
 */
import type { StreamAnswer } from './answers.js';
import { BadArgument, ExchangeError, Refusal, TransportError } from './errors.js';
import { parseJson } from './exact-json.js';
import { mayPass } from './delivery.js';
import { pathOf, positionOf, type Session } from './session.js';
import { EventParser } from './sse.js';
import { refusalOf } from './transport.js';
import { backOffMs, pause } from './waiting.js';

/** A message of a channel; docs/streams.md has all of them. */
export type Message = Exclude<StreamAnswer, { readonly type: 'error' }>;

/** Something of a channel may be missing before the next message. A book has to begin anew then, with its snapshot. */
export interface Gap {
  readonly type: 'gap';
  readonly channel: string;
  /** Everything up to this position has been told; undefined where nothing has. */
  readonly after: number | undefined;
  /** The message that is missing, where one is known to be. */
  readonly missing: number | undefined;
}

export interface WatchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Begins after this log position: -1 tells the whole history. Default: now, books with a snapshot. */
  readonly from?: number | undefined;
  /** A connection on which nothing comes for so long is given up. The exchange shows every 15 s that it is there. */
  readonly silenceMs?: number | undefined;
}

const CHANNELS = 'book:{marketId}, trades:{marketId}, orders:{address}, prices:{asset}, markets';
const SILENCE_MS = 40_000;
/** How many times in a row the exchange may not know a position that it has told. */
const PATIENCE = 3;

/** A piece of the stream that belongs together: the messages of one position, in their order. */
type Burst = Message[];

/** Messages, and gaps; ends with the signal's reason, or with a Refusal that no waiting mends. */
export async function* watch(
  session: Session, channels: readonly string[], options: WatchOptions = {},
): AsyncGenerator<Message | Gap, never> {
  if (channels.length === 0) throw new BadArgument('channels', `are at least one of ${CHANNELS}`);
  const proof = new Proof(channels.map(nameOf), options.from);
  let place = options.from;
  let hasBegun = false;
  let notRecorded = 0;
  for (let failures = 0; ; failures++) {
    try {
      if (hasBegun && place === undefined) {
        hasBegun = false;
        yield* proof.lost();
      }
      for await (const { burst, at, begins } of connection(session, channels, place, options)) {
        if (begins !== undefined) {
          [failures, notRecorded, hasBegun] = [0, 0, true];
          if (place === undefined) proof.beginsAt(begins);
        }
        if (burst !== undefined) for (const message of burst) yield* proof.take(message);
        place = at ?? place;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (error instanceof Refusal && error.code === 'not_recorded_yet' && place !== undefined) {
        // A process that is a moment behind is waited for; else the exchange has another history than the one that has
        // been told, or less of it.
        if (++notRecorded > PATIENCE) {
          yield* proof.lost();
          [place, hasBegun] = [undefined, false];
        }
      } else if (!(error instanceof ExchangeError) || !mayPass(error)) throw error;
      const askedFor = error instanceof Refusal ? error.retryAfterMs ?? 0 : 0;
      await pause(Math.max(askedFor, backOffMs(failures)), options.signal);
    }
  }
}

/** What a connection brings. */
interface Piece {
  /** The position at which it begins; on its first piece. */
  readonly begins?: number;
  readonly burst?: Burst;
  /** Everything up to here has come. */
  readonly at?: number | undefined;
}

/** One connection. Throws when it ends: TransportError, Refusal, or the signal's reason. */
async function* connection(
  session: Session, channels: readonly string[], place: number | undefined,
  { signal, silenceMs = SILENCE_MS }: WatchOptions,
): AsyncGenerator<Piece, never> {
  const { url, fetch } = session.delivery.wire;
  const leaving = new AbortController();
  const leave = (): void => { leaving.abort(signal?.reason); };
  const silence = new Silence(silenceMs, leaving);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', leave, { once: true });
  try {
    const headers: Record<string, string> = { Accept: 'text/event-stream', ...session.minPosition() };
    if (place !== undefined) headers['Last-Event-ID'] = String(place);
    const path = pathOf('/api/v1/stream', { channels: channels.join() });
    const response = await fetch(url + path, { headers, signal: leaving.signal });
    if (!response.ok || response.body === null) throw await refused(response);
    yield { begins: positionOf(response) ?? -1 };
    const parser = new EventParser();
    let burst: Burst = [];
    for await (const text of textOf(response.body, silence)) {
      for (const { id, data } of parser.take(text)) {
        const at = id === undefined ? undefined : Number(id);
        if (data === undefined) {
          yield { at };
          continue;
        }
        const message = parseJson(data) as StreamAnswer;
        if (message.type === 'error') throw new TransportError(`the stream ends: ${message.code}: ${message.error}`);
        burst.push(message);
        if (message.more === true) continue;
        yield { burst, at };
        burst = [];
      }
    }
    throw new TransportError('the stream has ended');
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ExchangeError) throw error;
    throw new TransportError(`the stream broke off: ${String(error)}`, { cause: error });
  } finally {
    silence.end();
    signal?.removeEventListener('abort', leave);
    leaving.abort();
  }
}

async function refused(response: Response): Promise<ExchangeError> {
  const { status, headers } = response;
  const text = await response.text();
  try {
    return refusalOf({ status, headers, body: parseJson(text) });
  } catch (cause) {
    return new TransportError(`the stream was answered with ${status}, but not by the exchange`, { status, cause });
  }
}

async function* textOf(body: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<string> {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  for (;;) {
    silence.begins();
    const { done, value } = await reader.read();
    silence.end();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

/** Gives a connection up on which nothing comes. How long the caller takes for what has come does not count. */
class Silence {
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ms: number, private readonly leaving: AbortController) { this.begins(); }

  begins(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.leaving.abort(new TransportError(`nothing has come for ${this.ms} ms`));
    }, this.ms);
  }

  end(): void { clearTimeout(this.timer); }
}

/** Whether each message is the next one of its channel. */
class Proof {
  /** Of each channel: `last` is the position of its last message, and `upTo` one up to which nothing is missing. */
  private readonly known = new Map<string, { last?: number; upTo?: number }>();

  constructor(private readonly channels: readonly string[], from: number | undefined) {
    for (const channel of channels) this.known.set(channel, from === undefined ? {} : { upTo: from });
  }

  /** Everything from this position on will come: what was before was not asked for. */
  beginsAt(position: number): void {
    for (const channel of this.channels) this.known.set(channel, { upTo: position });
  }

  /** The message, and before it a gap where there is one. */
  * take(message: Message): Generator<Message | Gap> {
    const { channel, position, previous, type } = message;
    const { last, upTo } = this.known.get(channel) ?? {};
    const follows = last === undefined ? upTo !== undefined && previous <= upTo : previous === last;
    const isNext = type === 'snapshot' || follows;
    if (!isNext) yield { type: 'gap', channel, after: last ?? upTo, missing: previous };
    this.known.set(channel, { last: position });
    yield message;
  }

  /** Nothing proves what comes next. */
  * lost(): Generator<Gap> {
    for (const channel of this.channels) {
      const { last, upTo } = this.known.get(channel) ?? {};
      yield { type: 'gap', channel, after: last ?? upTo, missing: undefined };
      this.known.set(channel, {});
    }
  }
}

/** A channel's name as messages have it: hex in lower case, assets in upper case. */
function nameOf(channel: string): string {
  const [kind = '', key] = channel.split(':');
  if (key === undefined) return kind;
  return `${kind}:${kind === 'prices' ? key.toUpperCase() : key.toLowerCase()}`;
}
