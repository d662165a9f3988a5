/** How the log in EventStoreDB finds its server and is let in: servers that start, clusters and their leaders, TLS, users. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectEventStore } from '../../engine/log/eventstore/client.js';
import { openEventStoreLog, type EventStoreLogOptions } from '../../engine/log/eventstore/eventstore-log.js';
import { parseEventStoreUrl } from '../../engine/log/eventstore/url.js';
import { LogUnavailable, type Log } from '../../engine/log/log.js';
import { makeCertificate } from '../support/certificate.js';
import { openStreams } from '../support/eventstore-streams.js';
import { startEventStoreServer, type EventStoreServer, type EventStoreServerOptions } from '../support/eventstore-server.js';
import { startOn } from '../support/eventstore-process.js';
import { newRecords, placed, readAll, take } from '../support/log-records.js';

let opened: { close(): Promise<void> }[];
beforeEach(() => { opened = []; });
afterEach(async () => { for (const each of opened.reverse()) await each.close(); });

async function open(options: EventStoreLogOptions): Promise<Log> {
  const log = await openEventStoreLog(options);
  opened.push(log);
  return log;
}

async function serve(options: EventStoreServerOptions = {}): Promise<EventStoreServer> {
  const server = await startEventStoreServer(options);
  opened.push(server);
  return server;
}

describe('log: EventStoreDB, one server and clusters', () => {
  it('opens on a server that is starting', async () => {
    const server = await serve();
    let starting = 3;
    server.fault = () => starting-- > 0 ? 'starting' : 'none';
    assert.equal(await (await open({ url: server.url })).append('commands', newRecords(2)), 0);
  });

  it('goes on with the leader that a server names, also from the start: no other server is read', async () => {
    const [follower, leader] = [await serve(), await serve()];
    const records = newRecords(3);
    await (await open({ url: leader.url })).append('commands', records.slice(0, 1));
    follower.fault = () => 'not-leader';
    follower.leader = leader.leader;
    await startOn(follower.url).reached;
    const log = await open({ url: follower.url });
    assert.deepEqual(await readAll(log, 'commands'), placed(0, records.slice(0, 1)));
    assert.equal(await log.append('commands', records.slice(1)), 1);
    assert.equal(await (await open({ url: leader.url })).length('commands'), 3);
  });

  it('does not subscribe to a server that is not the leader', async () => {
    const server = await serve();
    server.fault = () => 'not-leader';
    const store = connectEventStore(parseEventStoreUrl(server.url), { timeoutMs: 10_000 });
    opened.push(store);
    await assert.rejects(take(store.subscribe('commands', 0, new AbortController().signal), 1), { type: 'not-leader' });
  });

  for (const [what, urlOf] of [
    ['found by a name', (a: number) => `esdb+discover://127.0.0.1:${a}?tls=false`],
    ['given by its members', (a: number, b: number) => `esdb://127.0.0.1:${a},127.0.0.1:${b}?tls=false`],
  ] as const) {
    it(`a cluster, ${what}: its leader is asked for, and followed when another one is elected`, async () => {
      const first = await serve();
      const second = await serve({ streams: first.streams });
      const servers = [first, second];
      const elect = (leader: EventStoreServer): void => {
        for (const server of servers) {
          server.leader = { host: '127.0.0.1', port: leader.port };
          server.fault = () => server === leader ? 'none' : 'not-leader';
        }
      };
      elect(second);
      const log = await open({ url: urlOf(first.port, second.port) });
      const abort = new AbortController();
      const records = newRecords(6);
      const followed = take(log.follow('commands', 0, abort.signal), 6);
      assert.equal(await log.append('commands', records.slice(0, 2)), 0);
      elect(first);
      assert.equal(await log.append('commands', records.slice(2, 4)), 2);
      elect(second);
      assert.equal(await log.append('commands', records.slice(4)), 4);
      assert.deepEqual(await readAll(log, 'commands'), placed(0, records));
      assert.deepEqual(await followed, placed(0, records));
      abort.abort();
    });
  }

  it('a cluster that is away or has no leader is an outage that passes', async () => {
    const streams = await openStreams();
    const first = await startEventStoreServer({ streams });
    const { port } = first;
    const log = await open({ url: `kurrentdb+discover://127.0.0.1:${port}?tls=false`, unknownAfterMs: 2_000 });
    assert.equal(await log.append('commands', newRecords(1)), 0);
    await first.close();
    await Promise.allSettled([log.append('commands', newRecords(1)), log.append('outcomes', newRecords(1)), log.length('commands'), log.length('outcomes')]);
    const again = await serve({ port, streams });
    again.hasLeader = false;
    await assert.rejects(log.length('commands'), LogUnavailable);
    again.hasLeader = true;
    assert.equal(await log.length('commands'), 1);
  });
});

describe('log: EventStoreDB with TLS and users', () => {
  const user = { name: 'me', password: 'p@ss word' };
  const login = 'me:p%40ss%20word@';
  let directory: string;
  let server: EventStoreServer;
  let trusted: string;
  before(async () => { directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-tls-')); });
  after(() => rm(directory, { recursive: true, force: true }));
  beforeEach(async () => {
    const certificate = makeCertificate('localhost');
    server = await serve({ certificate, user });
    trusted = join(directory, 'ca.crt');
    await writeFile(trusted, certificate.certificate);
  });

  const urlWith = (given: string, options: string, port = server.port): string => `esdb://${given}localhost:${port}?tls=true${options}`;

  it('writes, reads and follows with the right user and the right certificate', async () => {
    const url = urlWith(login, `&tlsCAFile=${trusted}`);
    await startOn(url).reached;
    const log = await open({ url });
    const abort = new AbortController();
    const records = newRecords(3);
    const followed = take(log.follow('commands', 0, abort.signal), 3);
    for (const [i, record] of records.entries()) assert.equal(await log.append('commands', [record]), i);
    assert.deepEqual(await readAll(log, 'commands'), placed(0, records));
    assert.deepEqual(await followed, placed(0, records));
    abort.abort();
  });

  it('a client certificate without a user is enough: no call names a user', async () => {
    const certificate = makeCertificate('localhost');
    const [certified, key] = [join(directory, 'client.crt'), join(directory, 'client.key')];
    await writeFile(certified, certificate.certificate);
    await writeFile(key, certificate.key);
    const strict = await serve({ certificate, clientCertificate: certificate, user });
    const url = urlWith('', `&tlsCAFile=${certified}&userCertFile=${certified}&userKeyFile=${key}`, strict.port);
    await startOn(url).reached;
    assert.equal(await (await open({ url })).append('commands', newRecords(1)), 0);
  });

  it('finds the leader of a cluster with TLS', async () => {
    const log = await open({ url: `esdb+discover://${login}localhost:${server.port}?tls=true&tlsCAFile=${trusted}` });
    assert.equal(await log.append('commands', newRecords(1)), 0);
  });

  it('a start says so when the user or the password is wrong, or there is none', async () => {
    for (const [wrong, message] of [
      ['me:wrong@', /^the EventStoreDB of LOG_URL \(localhost:.+\) does not let this user in: correct user and password$/],
      ['you:p%40ss%20word@', /does not let this user in: correct user and password$/],
      ['', /cannot be used: the user may not read the stream exchange-(?:commands|outcomes): give it the right \$r .*, or name a user in the URL that has it$/],
    ] as const) {
      const url = urlWith(wrong, `&tlsCAFile=${trusted}`);
      assert.match(await startOn(url).said(), message);
      await assert.rejects(openEventStoreLog({ url }), (error: Error) => !error.message.includes('wrong'));
    }
  });

  it('a start says so when the certificate is not trusted, or is for another host, or only one of the two speaks TLS', async () => {
    const plain = await serve();
    const another = makeCertificate('elsewhere.test');
    const elsewhere = await serve({ certificate: another });
    const file = join(directory, 'elsewhere.crt');
    await writeFile(file, another.certificate);
    for (const [url, message] of [
      [urlWith(login, ''), /has a certificate that is not trusted \(self-signed certificate\): correct tlsCAFile or the host$/],
      [urlWith(login, `&tlsCAFile=${file}`), /has a certificate that is not trusted \(self-signed certificate\): correct tlsCAFile or the host$/],
      [urlWith(login, `&tlsCAFile=${file}`, elsewhere.port), /has a certificate that is not trusted \(Hostname.+elsewhere\.test\): correct tlsCAFile or the host$/],
      [`esdb://${login}localhost:${server.port}?tls=false`, /^waiting for the log at localhost:.+: it does not answer \(.+\)$/],
      [urlWith(login, '', plain.port), /^waiting for the log at localhost:.+: it does not speak TLS \(.+\): if it is meant to be insecure, add tls=false/],
    ] as const) {
      const said = await startOn(url).said();
      assert.match(said, message);
      assert.equal(said.includes('p@ss') || said.includes('p%40ss'), false);
    }
  });
});
