/**
 * One connection to an EventStoreDB: the client in use, a time limit on every call, and a new client when the old one was silent or broke.
 *
 * What the client (version 6.2.1) does and this file deals with:
 *
 * - No call ends by itself when nothing comes back, so each has a limit here, and a client that was silent is replaced by a new one.
 * - `batchAppend` keeps one map for all clients of the process: an error of one rejects the appends of all, some never end, and there is no
 *   deadline. A client that says that the server cannot do it takes the classic path.
 * - A failed discovery of a cluster rejects a promise that nobody holds.
 * - `dispose` leaves the connection open.
 * - Clients of one process share a connection, so that the silence of one would be the silence of all: each has its own. One that replaces a
 *   broken one would also share its pause before the next attempt to connect, which begins at a second.
 */
import { readFileSync } from 'node:fs';
import { EventStoreDBClient, type ChannelCredentialOptions } from '@eventstore/db-client';
import { within } from '../../waiting.js';
import { isAnswer, isUnavailable, NoAnswer } from './faults.js';
import { BadEventStoreUrl, type EventStoreAddress } from './url.js';

export interface EventStoreConnection {
  /** The client in use; made when there is none. */
  client(): EventStoreDBClient;
  /** False when the client has been given up: another call over it was not answered, it broke, or the log was closed. */
  isCurrent(client: EventStoreDBClient): boolean;
  /**
   * The work's result. Rejects with NoAnswer when nothing was heard for `timeoutMs`, or when the client is given up for its silence; then
   * `leaving` is called, and the work goes on.
   */
  answered<T>(timeoutMs: number, work: (client: EventStoreDBClient, heard: () => void) => Promise<T>, leaving?: () => void): Promise<T>;
  /** To be called with what ended a stream over the client that `answered` did not run, and with what came over it. */
  failed(client: EventStoreDBClient, error: unknown): void;
  heard(client: EventStoreDBClient): void;
  /** Gives up a client over which something has come, but nothing since then. Times are those of `performance.now()`. */
  dropIfSilentSince(ms: number): void;
  /** Gives up a client over which a call has waited since then, and nothing has come. */
  dropIfWaitingSince(ms: number): void;
  close(): Promise<void>;
}

interface Call {
  readonly sinceMs: number;
  readonly giveUp: () => void;
}

interface InUse {
  readonly client: EventStoreDBClient;
  heardMs: number | undefined;
  readonly calls: Set<Call>;
}

const CLOSE_MS = 2_000;
/** The client's own. */
const KEEP_ALIVE_TIMEOUT_MS = 10_000;
/** How long a member of a cluster may take to say who leads, before another one is asked. The client's own limit is 5 s. */
const GOSSIP_TIMEOUT_S = 2;

/** `restored` is called when something is heard over a client that has replaced another one, for the first time. Throws BadEventStoreUrl. */
export function createConnection(address: EventStoreAddress, restored: () => void): EventStoreConnection {
  const credentials = channelCredentialsOf(address);
  let current: InUse | undefined;
  let isReplacement = false;

  function inUse(): InUse {
    return current ??= { client: newClient(address, credentials), heardMs: undefined, calls: new Set() };
  }

  function heardOver(used: InUse): void {
    const isFirst = used.heardMs === undefined;
    used.heardMs = performance.now();
    if (!isFirst || !isReplacement || used !== current) return;
    isReplacement = false;
    restored();
  }

  function dropSilent(): void {
    const used = current;
    if (used === undefined) return;
    current = undefined;
    isReplacement = true;
    for (const { giveUp } of [...used.calls]) giveUp();
    void end(used.client);
  }

  function failedOver(used: InUse, error: unknown): void {
    if (!isUnavailable(error) || used !== current) return;
    current = undefined;
    isReplacement = true;
    // The client has closed its connection itself; asking it for the connection would make another one.
    void used.client.dispose().catch(() => undefined);
  }

  return {
    client: () => inUse().client,
    isCurrent: (client) => client === current?.client,
    async answered(timeoutMs, work, leaving = () => undefined) {
      const used = inUse();
      const heard = (): void => { heardOver(used); };
      try {
        const result = await limited(used.calls, { timeoutMs, leaving, late: () => { if (used === current) dropSilent(); } }, (refresh) => (
          work(used.client, () => {
            refresh();
            heard();
          })));
        heard();
        return result;
      } catch (error) {
        if (isAnswer(error)) heard();
        else failedOver(used, error);
        throw error;
      }
    },
    failed(client, error) { if (current?.client === client) failedOver(current, error); },
    heard(client) { if (current?.client === client) heardOver(current); },
    dropIfSilentSince(ms) {
      if (current?.heardMs !== undefined && current.heardMs < ms) dropSilent();
    },
    dropIfWaitingSince(ms) {
      if (current?.heardMs === undefined && [...current?.calls ?? []].some(({ sinceMs }) => sinceMs < ms)) dropSilent();
    },
    async close() {
      const used = current;
      current = undefined;
      if (used !== undefined) await within(end(used.client), CLOSE_MS);
    },
  };
}

interface Limit {
  readonly timeoutMs: number;
  /** Called when the work is no longer waited for. */
  readonly leaving: () => void;
  /** Called when the limit has passed. */
  readonly late: () => void;
}

/** The work's result. Rejects with NoAnswer when `refresh` was not called for `timeoutMs`, or when the call, which is among `calls`, is given up. */
async function limited<T>(calls: Set<Call>, { timeoutMs, leaving, late }: Limit, work: (refresh: () => void) => Promise<T>): Promise<T> {
  const sinceMs = performance.now();
  let end: (afterMs: number) => void = () => undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    end = (afterMs) => {
      reject(new NoAnswer(afterMs));
      leaving();
    };
  });
  const call: Call = { sinceMs, giveUp: () => { end(performance.now() - sinceMs); } };
  const timer = setTimeout(() => {
    end(timeoutMs);
    late();
  }, timeoutMs);
  calls.add(call);
  try {
    return await Promise.race([work(() => { timer.refresh(); }), silence]);
  } finally {
    clearTimeout(timer);
    calls.delete(call);
  }
}

/** Parts of the client that its types hide. */
interface Inside {
  handleError: (...given: unknown[]) => Promise<void>;
  getChannel: () => Promise<{ close(): void }>;
  supports: (method: unknown, feature?: unknown) => Promise<boolean>;
}

function newClient({ nodes, discover, user }: EventStoreAddress, credentials: ChannelCredentialOptions): EventStoreDBClient {
  const endpoints = nodes.map(({ host, port }) => ({ address: host, port }));
  const [endpoint] = endpoints;
  if (endpoint === undefined) throw new TypeError('an EventStoreDB without a node');
  const login = user === undefined ? undefined : { username: user.name, password: user.password };
  // Clients with the same settings share one connection, also a dead one, and across the whole process: this one has settings of its own.
  const settings = { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS + Math.random(), gossipTimeout: GOSSIP_TIMEOUT_S };
  const client = !discover
    ? new EventStoreDBClient({ endpoint, keepAliveTimeout: settings.keepAliveTimeout }, credentials, login)
    : endpoints.length === 1
      ? new EventStoreDBClient({ discover: endpoint, ...settings }, credentials, login)
      : new EventStoreDBClient({ endpoints, ...settings }, credentials, login);
  const inside = client as unknown as Inside;
  const handleError = inside.handleError;
  inside.handleError = (...given) => handleError(...given).catch(() => undefined);
  inside.supports = () => Promise.resolve(false);
  return client;
}

function channelCredentialsOf({ tls, tlsCAFile, userCertFile, userKeyFile }: EventStoreAddress): ChannelCredentialOptions {
  if (!tls) return { insecure: true };
  return {
    ...tlsCAFile === undefined ? {} : { rootCertificate: fileOf('tlsCAFile', tlsCAFile) },
    ...userCertFile === undefined || userKeyFile === undefined
      ? {}
      : { userCertFile: fileOf('userCertFile', userCertFile), userKeyFile: fileOf('userKeyFile', userKeyFile) },
  };
}

function fileOf(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new BadEventStoreUrl(`the file of ${option} (${path}) cannot be read (${(error as NodeJS.ErrnoException).code ?? ''})`);
  }
}

async function end(client: EventStoreDBClient): Promise<void> {
  try {
    await client.dispose();
    (await (client as unknown as Inside).getChannel()).close();
  } catch {
    // It had no connection.
  }
}
