/**
 * A server of EventStoreDB's gRPC protocol for tests, on the client's own generated messages: the part of it that the log uses. It stands in
 * for the real one, which no package brings. The log's suite runs over both; where they differ, this one is wrong.
 */
import { Server, ServerCredentials, type ServiceError, type UntypedServiceImplementation } from '@grpc/grpc-js';
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { refusalOf, type ServerCall, type ServerFault } from './eventstore-faults.js';
import { streamHandlers } from './eventstore-handlers.js';
import { openStreams, type StreamsOptions } from './eventstore-streams.js';

export interface EventStoreServer {
  readonly port: number;
  /** A URL of a log on this server, without TLS. */
  readonly url: string;
  /** Decides about every call. */
  fault: (call: ServerCall) => ServerFault;
  /** The address that `not-leader` and the gossip tell. Default: this server's. */
  leader: { host: string; port: number };
  /** Whether a leader has been elected, as the gossip tells. */
  hasLeader: boolean;
  /** Ends all calls and connections. */
  close(): Promise<void>;
}

export interface EventStoreServerOptions extends StreamsOptions {
  /** Default: any free port. */
  readonly port?: number;
}

const LARGEST_MESSAGE = 17 * 1024 * 1024;

export async function startEventStoreServer({ port = 0, ...options }: EventStoreServerOptions = {}): Promise<EventStoreServer> {
  const streams = await openStreams(options);
  const server = new Server({ 'grpc.max_receive_message_length': LARGEST_MESSAGE });
  const refusal = (fault: ServerFault): Partial<ServiceError> | undefined => refusalOf(fault, running.leader);
  server.addService(streamsService.StreamsService, streamHandlers(streams, { faultOf: (call) => running.fault(call), refusal }));
  server.addService(featuresService.ServerFeaturesService, { getSupportedMethods } satisfies UntypedServiceImplementation);
  server.addService(gossipService.GossipService, {
    read: ((_call: unknown, reply: (error: null, answer: gossip.ClusterInfo) => void) => {
      reply(null, clusterOf(running.leader, running.hasLeader));
    }) as UntypedServiceImplementation[string],
  });
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, taken) => {
      if (error === null) resolve(taken);
      else reject(error);
    });
  });
  const running: EventStoreServer = {
    port: bound, url: `esdb://127.0.0.1:${bound}?tls=false`, fault: () => 'none', leader: { host: '127.0.0.1', port: bound }, hasLeader: true,
    async close() {
      server.forceShutdown();
      await streams.close();
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

function clusterOf({ host, port }: { host: string; port: number }, hasLeader: boolean): gossip.ClusterInfo {
  const endpoint = new gossip.EndPoint();
  endpoint.setAddress(host);
  endpoint.setPort(port);
  const member = new gossip.MemberInfo();
  member.setIsAlive(true);
  member.setState(hasLeader ? gossip.MemberInfo.VNodeState.LEADER : gossip.MemberInfo.VNodeState.UNKNOWN);
  member.setHttpEndPoint(endpoint);
  const answer = new gossip.ClusterInfo();
  answer.addMembers(member);
  return answer;
}
