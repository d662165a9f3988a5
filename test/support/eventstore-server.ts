/**
 * A server of EventStoreDB's gRPC protocol for tests, on the client's own generated messages: the part of it that the log uses. It stands in
 * for the real one, which no package brings. The log's suite runs over both; where they differ, this one is wrong.
 */
import { Server, ServerCredentials, type Metadata, type ServiceError, type UntypedServiceImplementation } from '@grpc/grpc-js';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import type { Certificate } from './certificate.js';
import { refusalOf, type ServerCall, type ServerFault } from './eventstore-faults.js';
import { streamHandlers } from './eventstore-handlers.js';
import { openStreams, type Streams, type StreamsOptions } from './eventstore-streams.js';

export interface EventStoreServer {
  readonly port: number;
  /** A URL of a log on this server, without TLS unless the server has a certificate. */
  readonly url: string;
  /** Decides about every call. */
  fault: (call: ServerCall) => ServerFault;
  /** The address that `not-leader` and the gossip tell. Default: this server's. */
  leader: { host: string; port: number };
  /** Whether a leader has been elected, as the gossip tells. */
  hasLeader: boolean;
  readonly streams: Streams;
  /** Ends all calls and connections. */
  close(): Promise<void>;
}

export interface EventStoreServerOptions extends StreamsOptions {
  /** Default: any free port. */
  readonly port?: number;
  /** For `localhost`. Absent: no TLS. */
  readonly certificate?: Certificate | undefined;
  /** With TLS: every client must have this certificate, which is then its user. */
  readonly clientCertificate?: Certificate | undefined;
  /** Absent: everybody may do everything who does not name a user. */
  readonly user?: { readonly name: string; readonly password: string };
  /** Those of another server, which stay open when this one closes. */
  readonly streams?: Streams | undefined;
}

const LARGEST_MESSAGE = 17 * 1024 * 1024;

export async function startEventStoreServer(options: EventStoreServerOptions = {}): Promise<EventStoreServer> {
  const { port = 0, certificate, clientCertificate } = options;
  const streams = options.streams ?? await openStreams(options);
  const server = new Server({ 'grpc.max_receive_message_length': LARGEST_MESSAGE });
  const refusal = (fault: ServerFault): Partial<ServiceError> | undefined => refusalOf(fault, running.leader);
  server.addService(streamsService.StreamsService, streamHandlers(streams, {
    faultOf(call, metadata) {
      const refused = certificate === undefined ? undefined : refusalOfUser(options, metadata);
      if (refused !== undefined) return refused;
      const fault = running.fault(call);
      // A follower refuses only calls that ask for the leader.
      return fault === 'not-leader' && metadata.get('requires-leader')[0] !== 'true' ? 'none' : fault;
    },
    refusal,
  }));
  server.addService(featuresService.ServerFeaturesService, { getSupportedMethods } satisfies UntypedServiceImplementation);
  server.addService(gossipService.GossipService, {
    read: ((_call: unknown, reply: (error: null, answer: gossip.ClusterInfo) => void) => {
      if (running.fault({ method: 'gossip', stream: '' }) !== 'silence') reply(null, clusterOf(running));
    }) as UntypedServiceImplementation[string],
  });
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentialsOf(certificate, clientCertificate), (error, taken) => {
      if (error === null) resolve(taken);
      else reject(error);
    });
  });
  const host = certificate === undefined ? '127.0.0.1' : 'localhost';
  const running: EventStoreServer = {
    port: bound, url: `esdb://${host}:${bound}?tls=${String(certificate !== undefined)}`, streams,
    fault: () => 'none', leader: { host, port: bound }, hasLeader: true,
    async close() {
      server.forceShutdown();
      if (options.streams === undefined) await streams.close();
    },
  };
  return running;
}

/** Says that batchAppend is there, as real servers do: a client that takes that path gets an error, since the log must not. */
const getSupportedMethods = ((_call: unknown, reply: (error: null, answer: features.SupportedMethods) => void) => {
  const answer = new features.SupportedMethods();
  const method = new features.SupportedMethod();
  method.setServiceName('event_store.client.streams.streams');
  method.setMethodName('batchappend');
  answer.setEventStoreServerVersion('23.10.8');
  answer.addMethods(method);
  reply(null, answer);
}) as UntypedServiceImplementation[string];

function credentialsOf(certificate: Certificate | undefined, client: Certificate | undefined): ServerCredentials {
  if (certificate === undefined) return ServerCredentials.createInsecure();
  const keys = [{ cert_chain: Buffer.from(certificate.certificate), private_key: Buffer.from(certificate.key) }];
  return client === undefined ? ServerCredentials.createSsl(null, keys) : ServerCredentials.createSsl(Buffer.from(client.certificate), keys, true);
}

/** A user that is named and not known is refused, also beside a certificate. Nobody may do anything anonymously where there are users. */
function refusalOfUser({ user, clientCertificate }: EventStoreServerOptions, metadata: Metadata): ServerFault | undefined {
  const [authorization] = metadata.get('authorization');
  if (authorization === undefined) return user === undefined || clientCertificate !== undefined ? undefined : 'access-denied';
  const known = user === undefined ? undefined : `Basic ${Buffer.from(`${user.name}:${user.password}`).toString('base64')}`;
  return authorization === known ? undefined : 'unauthenticated';
}

/** This server, and the leader when that is another one, on the same host. */
function clusterOf({ port, leader, hasLeader }: EventStoreServer): gossip.ClusterInfo {
  const { LEADER, FOLLOWER, UNKNOWN } = gossip.MemberInfo.VNodeState;
  const leads = leader.port === port;
  const answer = new gossip.ClusterInfo();
  answer.addMembers(memberOf({ host: leader.host, port }, !hasLeader ? UNKNOWN : leads ? LEADER : FOLLOWER));
  if (!leads) answer.addMembers(memberOf(leader, hasLeader ? LEADER : UNKNOWN));
  return answer;
}

function memberOf({ host, port }: EventStoreServer['leader'], state: gossip.MemberInfo.VNodeState): gossip.MemberInfo {
  const endpoint = new gossip.EndPoint();
  endpoint.setAddress(host);
  endpoint.setPort(port);
  const member = new gossip.MemberInfo();
  member.setIsAlive(true);
  member.setState(state);
  member.setHttpEndPoint(endpoint);
  return member;
}
