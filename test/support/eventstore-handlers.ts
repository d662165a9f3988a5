/** The calls of the EventStoreDB test server: append, read in both directions, subscribe, delete, delete for good. */
import {
  status, type Metadata, type sendUnaryData, type ServerReadableStream, type ServerUnaryCall, type ServerWritableStream, type ServiceError,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import pb from '@eventstore/db-client/generated/streams_pb.js';
import { pause } from '../../engine/waiting.js';
import { tombstoneError, tooSlowError, type ServerCall, type ServerFault } from './eventstore-faults.js';
import type { Expected, NewEvent, StoredEvent, Streams, Verdict } from './eventstore-streams.js';

export interface Faults {
  readonly faultOf: (call: ServerCall, metadata: Metadata) => ServerFault;
  /** The error that a faulty call is answered with; undefined when it is carried out, or never answered. */
  readonly refusal: (fault: ServerFault) => Partial<ServiceError> | undefined;
}

type AppendCall = ServerReadableStream<pb.AppendReq, pb.AppendResp>;
type ReadCall = ServerWritableStream<pb.ReadReq, pb.ReadResp>;

const SLOW_MS = 100;
/** A live subscription ends when more events than this wait for the client. */
const LIVE_BUFFER = 32;

export function streamHandlers(streams: Streams, faults: Faults): UntypedServiceImplementation {
  const unimplemented = (call: unknown, reply?: sendUnaryData<never>): void => {
    if (reply !== undefined) reply({ code: status.UNIMPLEMENTED });
    else (call as ReadCall).emit('error', { code: status.UNIMPLEMENTED, details: 'not on this server' });
  };
  return {
    append: ((call: AppendCall, reply: sendUnaryData<pb.AppendResp>) => {
      const requests: pb.AppendReq[] = [];
      call.on('data', (request: pb.AppendReq) => { requests.push(request); });
      call.on('end', () => { void append(streams, faults, { requests, metadata: call.metadata, reply }); });
    }) as UntypedServiceImplementation[string],
    read: ((call: ReadCall) => {
      read(streams, faults, call).catch((error: unknown) => { call.emit('error', error); });
    }) as UntypedServiceImplementation[string],
    batchAppend: unimplemented as UntypedServiceImplementation[string],
    delete: ((call: ServerUnaryCall<pb.DeleteReq, pb.DeleteResp>, reply: sendUnaryData<pb.DeleteResp>) => {
      const answer = new pb.DeleteResp();
      answer.setNoPosition(new shared.Empty());
      void streams.remove(nameFrom(call.request.getOptions()?.getStreamIdentifier())).then(() => { reply(null, answer); });
    }) as UntypedServiceImplementation[string],
    tombstone: ((call: ServerUnaryCall<pb.TombstoneReq, pb.TombstoneResp>, reply: sendUnaryData<pb.TombstoneResp>) => {
      const answer = new pb.TombstoneResp();
      answer.setNoPosition(new shared.Empty());
      void streams.tombstone(nameFrom(call.request.getOptions()?.getStreamIdentifier())).then(() => { reply(null, answer); });
    }) as UntypedServiceImplementation[string],
  };
}

async function append(streams: Streams, { faultOf, refusal }: Faults, { requests, metadata, reply }: {
  requests: readonly pb.AppendReq[]; metadata: Metadata; reply: sendUnaryData<pb.AppendResp>;
}): Promise<void> {
  const options = requests[0]?.getOptions();
  if (options === undefined) {
    reply({ code: status.INVALID_ARGUMENT });
    return;
  }
  const name = nameFrom(options.getStreamIdentifier());
  const fault = faultOf({ method: 'append', stream: name }, metadata);
  const refused = refusal(fault);
  if (fault === 'silence') return;
  if (fault === 'slow') await pause(SLOW_MS);
  if (refused !== undefined && fault !== 'lose-reply') {
    reply(refused);
    return;
  }
  const expected = options.hasRevision() ? Number(options.getRevision()) : options.hasNoStream() ? -1 : options.hasAny() ? 'any' : 'exists';
  const verdict = await streams.append(name, expected, requests.slice(1).map(eventFrom));
  if (fault === 'silence-after') return;
  if (refused !== undefined) reply(refused);
  else if (verdict.kind === 'too large') reply(refusal('too-large') ?? null);
  else if (verdict.kind === 'tombstone') reply(tombstoneError(name));
  else reply(null, appended(expected, verdict));
}

function appended(expected: Expected, verdict: Extract<Verdict, { kind: 'ok' | 'wrong' }>): pb.AppendResp {
  const answer = new pb.AppendResp();
  if (verdict.kind === 'ok') {
    const success = new pb.AppendResp.Success();
    success.setCurrentRevision(String(verdict.revision));
    success.setNoPosition(new shared.Empty());
    answer.setSuccess(success);
    return answer;
  }
  const wrong = new pb.AppendResp.WrongExpectedVersion();
  if (verdict.current < 0) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(String(verdict.current));
  if (typeof expected === 'number' && expected >= 0) wrong.setExpectedRevision(String(expected));
  else wrong.setExpectedNoStream(new shared.Empty());
  answer.setWrongExpectedVersion(wrong);
  return answer;
}

async function read(streams: Streams, { faultOf, refusal }: Faults, call: ReadCall): Promise<void> {
  const options = call.request.getOptions();
  const from = options?.getStream();
  if (options === undefined || from === undefined) throw Object.assign(new Error('not on this server'), { code: status.UNIMPLEMENTED });
  const name = nameFrom(from.getStreamIdentifier());
  const isSubscription = options.hasSubscription();
  const fault = faultOf({ method: isSubscription ? 'subscribe' : 'read', stream: name }, call.metadata);
  const refused = refusal(fault);
  if (fault === 'silence' || fault === 'silence-after') return;
  if (refused !== undefined) throw Object.assign(new Error(refused.details), refused);
  if (fault === 'slow') await pause(SLOW_MS);
  if (streams.isTombstone(name)) throw Object.assign(new Error('a tombstone'), tombstoneError(name));
  const length = streams.length(name);
  if (isSubscription) {
    subscribe(streams, name, { call, next: from.hasStart() ? streams.first(name) : from.hasEnd() ? length : Number(from.getRevision()) + 1 });
    return;
  }
  if (streams.isMissing(name)) {
    const notFound = new pb.ReadResp.StreamNotFound();
    notFound.setStreamIdentifier(from.getStreamIdentifier());
    const answer = new pb.ReadResp();
    answer.setStreamNotFound(notFound);
    call.write(answer);
    call.end();
    return;
  }
  const step = options.getReadDirection() === pb.ReadReq.Options.ReadDirection.FORWARDS ? 1 : -1;
  const first = streams.first(name);
  const asked = from.hasStart() ? 0 : from.hasEnd() ? length - 1 : Number(from.getRevision());
  const count = Number(options.getCount());
  for (let i = 0, at = step === 1 ? Math.max(asked, first) : asked; i < count && at >= first && at < length && !call.cancelled; i++, at += step) {
    if (!call.write(readAnswer(name, at, streams.event(name, at)))) await drained(call);
  }
  call.end();
}

/** Resolves when the call takes more, or is over. */
function drained(call: ReadCall): Promise<void> {
  const ways = ['drain', 'cancelled', 'close'];
  return new Promise((resolve) => {
    const done = (): void => {
      for (const way of ways) call.off(way, done);
      resolve();
    };
    for (const way of ways) call.on(way, done);
  });
}

function subscribe(streams: Streams, name: string, { call, next: first }: { call: ReadCall; next: number }): void {
  const confirmation = new pb.ReadResp.SubscriptionConfirmation();
  confirmation.setSubscriptionId(name);
  const confirmed = new pb.ReadResp();
  confirmed.setConfirmation(confirmation);
  call.write(confirmed);
  let next = first;
  let isFull = false;
  let isCaughtUp = false;
  const pump = (): void => {
    next = Math.max(next, streams.first(name));
    if (isFull && isCaughtUp && streams.length(name) - next > LIVE_BUFFER) {
      unwatch();
      call.emit('error', tooSlowError);
      return;
    }
    while (!isFull && !call.cancelled && next < streams.length(name)) {
      isFull = !call.write(readAnswer(name, next, streams.event(name, next)));
      next += 1;
    }
    if (isFull || isCaughtUp) return;
    isCaughtUp = true;
    const caughtUp = new pb.ReadResp();
    caughtUp.setCaughtUp(new pb.ReadResp.CaughtUp());
    call.write(caughtUp);
  };
  call.on('drain', () => {
    isFull = false;
    pump();
  });
  const unwatch = streams.watch(name, pump);
  call.on('cancelled', unwatch);
  call.on('close', unwatch);
  pump();
}

function readAnswer(name: string, revision: number, { id, type, contentType, data, created, position }: StoredEvent): pb.ReadResp {
  const recorded = new pb.ReadResp.ReadEvent.RecordedEvent();
  const uuid = new shared.UUID();
  uuid.setString(id);
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(name));
  recorded.setId(uuid);
  recorded.setStreamIdentifier(identifier);
  recorded.setStreamRevision(String(revision));
  recorded.setPreparePosition(String(position));
  recorded.setCommitPosition(String(position));
  for (const [key, value] of Object.entries({ type, 'content-type': contentType, created })) recorded.getMetadataMap().set(key, value);
  recorded.setData(data);
  const event = new pb.ReadResp.ReadEvent();
  event.setEvent(recorded);
  event.setCommitPosition(String(position));
  const answer = new pb.ReadResp();
  answer.setEvent(event);
  return answer;
}

function nameFrom(identifier: shared.StreamIdentifier | undefined): string {
  return Buffer.from(identifier?.getStreamName_asU8() ?? []).toString();
}

function eventFrom(request: pb.AppendReq): NewEvent {
  const message = request.getProposedMessage();
  if (message === undefined) throw new TypeError('an append without an event');
  const metadata = message.getMetadataMap();
  return {
    id: message.getId()?.getString() ?? '', type: String(metadata.get('type')), contentType: String(metadata.get('content-type')), data: message.getData_asU8(),
  };
}
