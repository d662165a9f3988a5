/** The development chain as other processes see it: no block that a crash could take, everything else as the node says it, whatever fails. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { createRpc } from '../../command/chain/rpc.js';
import { createBell } from '../../engine/waiting.js';
import { keepChain, latestBlock, type ChainKeeper } from '../../stack/chain/chain-keeper.js';
import { serveHeldChain, type HeldChain, type HeldChainOptions } from '../../stack/chain/held-chain.js';
import { testChain, type TestChain } from '../support/chain.js';
import { until, within } from '../support/until.js';

describe('held chain', () => {
  let chain: TestChain;
  let open: { close(): Promise<unknown> }[];

  before(async () => { chain = await testChain(); });
  beforeEach(() => { open = []; });
  afterEach(async () => { for (const each of open.reverse()) await each.close(); });
  after(() => chain.stop());

  /** The state of the keeper is what the test says. */
  function keeperAt(kept: { block: number }): HeldChainOptions['keeper'] {
    return { keptBlock: () => kept.block, keptSoon: () => Promise.resolve(kept.block) };
  }

  async function serve(options: Partial<HeldChainOptions> = {}): Promise<HeldChain> {
    const held = await serveHeldChain({ nodeUrl: chain.url, keeper: keeperAt({ block: 0 }), ...options });
    open.push(held);
    return held;
  }

  /** A node that answers as the listener says. */
  async function fakeNode(listener: RequestListener): Promise<{ url: string; server: Server }> {
    const server = createServer(listener);
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    open.push({ close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections(); }) });
    return { url: urlOf(server), server };
  }

  const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const headers = { 'content-type': 'application/json' };
  const post = (url: string, body: unknown) => fetch(url, {
    method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const call = (method: string, params: unknown[] = [], id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params });
  const answerOf = async (url: string, body: unknown) => await (await post(url, body)).json() as unknown;
  const resultOf = async (url: string, method: string, params: unknown[] = []) => {
    const { result } = await answerOf(url, call(method, params)) as { result: unknown };
    return result;
  };
  const rpcAt = (url: string) => createRpc({ chainId: 31_337, urls: [url], now: () => performance.now(), report: () => undefined });

  describe('before a node', () => {
    before(() => chain.rpc('anvil_mine', ['0x5']));

    it('has the kept block for its latest, and all else as it is', async () => {
      const kept = { block: 3 };
      const { url } = await serve({ keeper: keeperAt(kept) });
      const numberOf = async (tag: string) => (await resultOf(url, 'eth_getBlockByNumber', [tag, false]) as { number: string }).number;
      const latest = await chain.rpc('eth_blockNumber') as string;
      assert.deepEqual([await resultOf(url, 'eth_blockNumber'), await numberOf('latest'), await numberOf('0x5')], ['0x3', '0x3', '0x5']);
      kept.block = Number(latest) + 1;
      assert.equal(await resultOf(url, 'eth_blockNumber'), latest, 'never beyond the node\'s own');
      assert.equal(await resultOf(url, 'eth_chainId'), '0x7a69');
    });

    it('answers batches, each request by its own rule and id', async () => {
      const { url } = await serve({ keeper: keeperAt({ block: 2 }) });
      const batch = [
        call('eth_chainId', [], 'a'), call('eth_blockNumber', [], 7), call('eth_getBlockByNumber', ['latest', false], null),
        call('eth_getBlockByNumber', ['0x4', false], 9), call('eth_nothing', [], 10),
      ];
      const answers = await answerOf(url, batch) as { id: unknown; result?: string | { number: string }; error?: { code: number } }[];
      const shown = answers.map(({ id, result, error }) => [id, typeof result === 'object' ? result.number : result ?? error?.code]);
      assert.deepEqual(shown, [['a', '0x7a69'], [7, '0x2'], [null, '0x2'], [9, '0x4'], [10, -32_601]]);
    });

    it('hands on the node\'s errors as they are: code, message and a revert\'s data', async () => {
      const { url } = await serve();
      // PUSH4 0xdeadbeef, MSTORE at 0, REVERT with its four bytes.
      const revert = call('eth_call', [{ data: '0x63deadbeef6000526004601cfd' }, 'latest'], 5);
      const refused = await answerOf(url, revert) as { error: { code: number; data: string } };
      assert.deepEqual([refused.error.code, refused.error.data], [3, '0xdeadbeef']);
      for (const body of [revert, call('eth_nothing', []), call('eth_getBlockByNumber', ['0xzz'])]) {
        assert.deepEqual(await answerOf(url, body), await answerOf(chain.url, body));
      }
    });

    it('refuses requests that are not JSON-RPC without asking the node, and serves the next one', async () => {
      const { url } = await serve();
      const refusal = async (answer: Promise<Response>) => {
        const response = await answer;
        const { error } = await response.json() as { error: { code: number } };
        return [response.status, error.code];
      };
      assert.deepEqual(await refusal(post(url, '{"jsonrpc":')), [400, -32_700]);
      assert.deepEqual(await refusal(post(url, '')), [400, -32_700]);
      assert.deepEqual(await refusal(fetch(url)), [405, -32_600]);
      assert.deepEqual(await refusal(fetch(url, { method: 'POST', body: JSON.stringify(call('eth_chainId')) })), [415, -32_600]);
      assert.deepEqual(await refusal(post(url, JSON.stringify(call('x'.repeat(9 * 1024 * 1024))))), [413, -32_600]);
      for (const body of [null, 7, 'text', {}, [], [call('eth_chainId'), 'no call']]) {
        const answers = await Promise.all([url, chain.url].map(async (to) => {
          const response = await post(to, JSON.stringify(body));
          return [response.status, await response.text()];
        }));
        assert.deepEqual(answers[0], answers[1], JSON.stringify(body));
      }
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.on('error', () => undefined).end('this is not HTTP\r\n\r\n');
      await within('the connection is closed', once(socket.resume(), 'close'));
      assert.equal(await resultOf(url, 'eth_chainId'), '0x7a69');
    });

    it('answers request after request on one connection', async () => {
      const { url } = await serve();
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      const body = JSON.stringify(call('eth_chainId'));
      let heard = '';
      socket.setEncoding('utf8').on('data', (text: string) => { heard += text; });
      for (let asked = 1; asked <= 3; asked++) {
        socket.write(`POST / HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
        await until(`answer ${asked}`, () => heard.split('0x7a69').length > asked || undefined);
      }
      socket.destroy();
    });
  });

  describe('whose node or client fails', () => {
    it('is a node that does not answer, and answers again with it', async () => {
      let status = 200;
      const { url: nodeUrl, server } = await fakeNode((_, response) => {
        response.writeHead(status, headers).end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x9' }));
      });
      const { url } = await serve({ nodeUrl, keeper: keeperAt({ block: 4 }) });
      assert.equal(await resultOf(url, 'eth_blockNumber'), '0x4');
      status = 503;
      assert.equal((await post(url, call('eth_chainId'))).status, 503);
      status = 200;
      const { port } = server.address() as AddressInfo;
      server.closeAllConnections();
      await new Promise((resolve) => { server.close(resolve); });
      const dead = await post(url, call('eth_chainId'));
      assert.deepEqual([dead.status, await dead.json()], [502, {
        jsonrpc: '2.0', id: null, error: { code: -32_603, message: `the development chain does not answer: connect ECONNREFUSED 127.0.0.1:${port}` },
      }]);
      await assert.rejects(rpcAt(url).request('eth_chainId', []), { name: 'ChainUnavailable' });
      await new Promise<void>((resolve) => { server.listen(port, '127.0.0.1', resolve); });
      assert.equal(await resultOf(url, 'eth_chainId'), '0x9');
    });

    it('says so when the node takes too long, or cannot be asked for its latest block', async () => {
      const { url: nodeUrl } = await fakeNode(() => undefined);
      const { url } = await serve({ nodeUrl, timeoutMs: 50 });
      const late = await post(url, call('eth_chainId'));
      assert.deepEqual([late.status, (await late.json() as { error: { message: string } }).error.message],
        [502, 'the development chain does not answer: no answer within 50 ms']);
      const broken = await serve({ keeper: { keptBlock: () => 0, keptSoon: () => Promise.reject(new Error('gone')) } });
      assert.equal((await post(broken.url, call('eth_blockNumber'))).status, 502);
      assert.equal((await post(broken.url, call('eth_chainId'))).status, 200);
    });

    it('gives up at the node what a client no longer waits for, and a body that never ends', async () => {
      const asked = createBell();
      const dropped = createBell();
      const { url: nodeUrl } = await fakeNode((_, response) => {
        response.once('close', () => { dropped.ring(); });
        asked.ring();
      });
      const { url } = await serve({ nodeUrl });
      const leaving = new AbortController();
      const { signal } = new AbortController();
      const arrival = asked.wait(signal, 10_000);
      const gone = fetch(url, { method: 'POST', headers, body: JSON.stringify(call('eth_chainId')), signal: leaving.signal });
      assert.equal(await arrival, 'rung');
      const drop = dropped.wait(signal, 10_000);
      leaving.abort();
      await assert.rejects(gone);
      assert.equal(await drop, 'rung');
      const half = httpRequest(url, { method: 'POST', headers: { ...headers, 'content-length': 100 } });
      half.on('error', () => undefined).write('{"json');
      await within('a connection for half a request', once(half, 'socket'));
      half.destroy();
      assert.equal((await fetch(url)).status, 405);
    });

    it('closes while requests are under way', async () => {
      const asked = createBell();
      const { url: nodeUrl } = await fakeNode(() => { asked.ring(); });
      const held = await serve({ nodeUrl });
      const arrival = asked.wait(new AbortController().signal, 10_000);
      const cut = assert.rejects(post(held.url, call('eth_chainId')));
      await arrival;
      await held.close();
      await held.close();
      await cut;
    });
  });

  describe('and its keeper', () => {
    let keeper: ChainKeeper;
    let writes: number;
    /** Holds up the next write until it is opened. */
    let gate: Promise<unknown>;
    let failing: boolean;
    let lines: string[];

    async function keep(keepEveryMs: number): Promise<string> {
      writes = 0;
      lines = [];
      gate = Promise.resolve();
      failing = false;
      keeper = keepChain({
        url: chain.url, kept: await latestBlock(chain.url), keepEveryMs, log: (line) => { lines.push(line); },
        write: async () => {
          await gate;
          if (failing) throw new Error('the disk is full');
          writes += 1;
        },
      });
      open.push({ close: () => keeper.stop() });
      return (await serve({ keeper })).url;
    }

    const mined = async () => {
      await chain.rpc('evm_mine');
      return await chain.rpc('eth_blockNumber') as string;
    };

    it('shows a caller its own block at once, by one write for all who ask', async () => {
      const url = await keep(1_000_000);
      assert.equal(await resultOf(url, 'eth_blockNumber'), await chain.rpc('eth_blockNumber'));
      assert.equal(writes, 0, 'nothing is written while nothing happens');
      const block = await mined();
      assert.deepEqual(await Promise.all(Array.from({ length: 5 }, () => resultOf(url, 'eth_blockNumber'))), Array(5).fill(block));
      assert.equal(writes, 1);
    });

    it('rests between two writes, however often it is asked, and shows the kept block meanwhile', async () => {
      await keep(1_000_000);
      const held = await serve({ keeper, keptWithinMs: 20 });
      const first = await mined();
      await until('the first block is kept', async () => await resultOf(held.url, 'eth_blockNumber') === first);
      await mined();
      for (let asked = 0; asked < 5; asked++) assert.equal(await resultOf(held.url, 'eth_blockNumber'), first);
      assert.equal(writes, 1);
    });

    it('shows no block before its state is on disk', async () => {
      const before = await chain.rpc('eth_blockNumber');
      await keep(10);
      const held = await serve({ keeper, keptWithinMs: 30 });
      const opened = createBell();
      gate = opened.wait(new AbortController().signal, 10_000);
      const block = await mined();
      assert.equal(await resultOf(held.url, 'eth_blockNumber'), before);
      opened.ring();
      await until(`block ${String(block)} is shown`, async () => await resultOf(held.url, 'eth_blockNumber') === block || undefined);
    });

    it('goes on with what is kept while writes fail, and says why', async () => {
      const before = await chain.rpc('eth_blockNumber');
      await keep(10);
      failing = true;
      const held = await serve({ keeper, keptWithinMs: 30 });
      const block = await mined();
      assert.equal(await resultOf(held.url, 'eth_blockNumber'), before);
      await assert.rejects(keeper.keep(), /the disk is full/);
      assert.equal(lines[0], 'the development chain\'s state could not be kept: the disk is full');
      failing = false;
      await until(`block ${String(block)} is shown`, async () => await resultOf(held.url, 'eth_blockNumber') === block || undefined);
    });
  });
});
