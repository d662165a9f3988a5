/** What the EventStoreDB test server can be told to do to a call, and the errors that a real one would answer with. */
import { Metadata, status, type ServiceError } from '@grpc/grpc-js';

/**
 * What happens to a call.
 *
 * - `lose-reply`: it is carried out, and the client is told that the connection broke.
 * - `silence`: nothing is done or answered; `silence-after`: it is carried out, and nothing is answered.
 * - `not-leader`: refused, with the leader's address; `starting`: refused as by a server that is not up yet.
 * - `too-large`, `event-too-large` (from 25.1 on), `access-denied` (a right is missing), `unauthenticated` (wrong user
 *   or password): refused for good.
 * - `slow`: carried out a moment later.
 */
export type ServerFault = 'none' | 'lose-reply' | 'silence' | 'silence-after' | 'not-leader' | 'starting' | 'too-large'
  | 'event-too-large' | 'access-denied' | 'unauthenticated' | 'slow';

export interface ServerCall {
  /** `gossip` tells who leads; of the faults it knows `silence`. */
  readonly method: 'append' | 'read' | 'subscribe' | 'gossip';
  /** `$$NAME` is the metadata of the stream NAME. */
  readonly stream: string;
}

function error(code: status, details: string, trailers: Readonly<Record<string, string>> = {}): Partial<ServiceError> {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  return { code, details, metadata };
}

/** Every call about a stream that was deleted for good is answered with it. */
export function tombstoneError(stream: string): Partial<ServiceError> {
  return error(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, { 'exception': 'stream-deleted', 'stream-name': stream });
}

/** Ends a subscription whose events wait because the client does not take them. */
export const tooSlowError = error(
  status.ABORTED, 'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.');

/** The errors of a real server: the client reads their kind from the trailing metadata. */
export function refusalOf(fault: ServerFault, leader: { host: string; port: number }): Partial<ServiceError> | undefined {
  switch (fault) {
    case 'lose-reply':
      return error(status.UNAVAILABLE, 'Connection dropped');
    case 'not-leader':
      return error(status.NOT_FOUND, 'Leader info available', {
        'exception': 'not-leader', 'leader-endpoint-host': leader.host, 'leader-endpoint-port': String(leader.port),
      });
    case 'starting':
      return error(status.UNAVAILABLE, 'Server Is Not Ready');
    case 'too-large':
      return error(status.INVALID_ARGUMENT, 'Maximum Append Size of 1048576 Exceeded.', { 'exception': 'maximum-append-size-exceeded', 'maximum-append-size': '1048576' });
    case 'event-too-large':
      return error(status.INVALID_ARGUMENT, 'Event with Id: 0, Size: 1012000, exceeds Maximum Append Event Size of 65536.', {
        'exception': 'maximum-append-event-size-exceeded', 'maximum-append-event-size': '65536',
      });
    case 'access-denied':
      return error(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });
    case 'unauthenticated':
      return error(status.UNAUTHENTICATED, 'Unauthenticated');
    case 'none':
    case 'silence':
    case 'silence-after':
    case 'slow':
      return undefined;
  }
}
