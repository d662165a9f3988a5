/** The front and the processes behind it that come and go: turns, a refused connection, a process that leaves. */
import assert from 'node:assert/strict';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  closeServers, closedPort, codeOf, gotIn, inbox, ORDERS, startFront, startProcess, startWith, type Processes,
} from '../support/front-stage.js';
import { once, Wire } from '../support/wire.js';

describe('service: the front and its processes', () => {
  afterEach(closeServers);

  describe('with several processes of a role', () => {
    it('lets them take turns, each role by itself', async () => {
      const query = [await startProcess('query 1'), await startProcess('query 2')];
      const front = await startFront({ api: [await startProcess('api 1')], query });
      const answered: string[] = [];
      for (const method of ['GET', 'POST', 'GET', 'POST', 'GET', 'GET', 'POST', 'GET']) answered.push(gotIn(await once(front, method, ORDERS)).process);
      assert.deepEqual(answered, ['query 1', 'api 1', 'query 2', 'api 1', 'query 1', 'query 2', 'api 1', 'query 1']);
    });

    it('gives a request to another one when the connection is refused, whole, since nothing of it was sent', async () => {
      const front = await startFront({ api: [await closedPort(), await startProcess('api'), await closedPort()] });
      const body = 'x'.repeat(900_000);
      for (let i = 0; i < 6; i++) {
        const got = gotIn(await once(front, 'POST', ORDERS, { body }));
        assert.deepEqual([got.process, got.bytes], ['api', body.length]);
      }
    });

    it('does not take the connection of another one for the refused one\'s when that lives again', async () => {
      const port = await closedPort();
      const front = await startFront({ api: [port, await startProcess('other')] });
      assert.equal(gotIn(await once(front, 'POST', ORDERS, { body: '{}' })).process, 'other');
      assert.equal(gotIn(await once(front, 'POST', ORDERS, { body: '{}' })).process, 'other');
      await startProcess('reborn', undefined, port);
      const answered = [gotIn(await once(front, 'POST', ORDERS, { body: '{}' })).process, gotIn(await once(front, 'POST', ORDERS, { body: '{}' })).process];
      assert.deepEqual(answered, ['reborn', 'other']);
    });

    it('gives no order to another one that may have been taken', async () => {
      let asked = 0;
      const dying = () => startProcess('dying', (request) => {
        asked += 1;
        request.socket.destroy();
      });
      const answer = await once(await startFront({ api: [await dying(), await dying()] }), 'POST', ORDERS, { body: '{}' });
      assert.deepEqual([codeOf(answer), asked], ['outcome_unknown', 1]);
    });

    it('knows them anew for each request', async () => {
      const processes: Processes = { query: [await startProcess('first')] };
      const front = await startFront(processes);
      assert.equal(gotIn(await once(front, 'GET', ORDERS)).process, 'first');
      processes.query = [await startProcess('second')];
      assert.equal(gotIn(await once(front, 'GET', ORDERS)).process, 'second');
    });
  });

  describe('with a process that leaves', () => {
    it('waits until all that was sent to it is answered, but for streams, and closes the connections that are idle', async () => {
      const answers = inbox<ServerResponse>();
      const sockets = new Set<IncomingMessage['socket']>();
      const port = await startProcess('query', (request, response) => {
        sockets.add(request.socket);
        answers.put(response);
      });
      const { app, port: front } = await startWith({ query: [port], api: [port] });
      const stream = get({ port: front, path: '/api/v1/prices/BTC/stream' });
      stream.on('error', () => undefined);
      const streamed = await answers.take();
      const idle = await Wire.connect(front);
      idle.request('GET', ORDERS);
      (await answers.take()).end('1');
      await idle.answer();
      const busy = await Wire.connect(front);
      busy.request('POST', ORDERS, { body: '{}' });
      const answer = await answers.take();
      const forgotten = app.forget(port, 10_000).then(() => 'forgotten');
      assert.equal(await Promise.race([forgotten, new Promise((resolve) => setTimeout(resolve, 50, 'waits'))]), 'waits');
      const closed = [...sockets].filter((socket) => socket !== streamed.socket).map((socket) => new Promise((resolve) => { socket.once('close', resolve); }));
      answer.setHeader('Connection', 'close').end('2');
      const { headers } = await busy.answer();
      assert.equal(headers['connection'], 'keep-alive', 'the client keeps its connection');
      assert.equal(await forgotten, 'forgotten');
      await Promise.all(closed);
      assert.equal(streamed.destroyed, false);
      for (const wire of [idle, busy]) wire.close();
      stream.destroy();
    });

    it('waits no longer than it may', async () => {
      const asked = inbox<IncomingMessage>();
      const port = await startProcess('api', (request) => { asked.put(request); });
      const { app, port: front } = await startWith({ api: [port] });
      const wire = await Wire.connect(front);
      wire.request('POST', ORDERS, { body: '{}' });
      await asked.take();
      await app.forget(port, 50);
      wire.close();
    });

    it('asks its own clients to close their connections when it leaves itself', async () => {
      const { app, port: front } = await startWith({ query: [await startProcess('query')] });
      assert.equal((await once(front, 'GET', ORDERS)).headers['connection'], 'keep-alive');
      app.leave();
      for (const path of [ORDERS, '/health/live']) assert.equal((await once(front, 'GET', path)).headers['connection'], 'close');
    });
  });
});
