/** JSON-RPC to several nodes under faults: what is a node's failure, what is its answer, and who is asked next. */
import assert from 'node:assert/strict';
import { ChainUnavailable, RpcError } from '../../command/chain/chain.js';
import { createRpc, WrongChain, type ChainRpc, type RpcOptions } from '../../command/chain/rpc.js';
import { testChain, TEST_CHAIN_ID, type TestChain } from '../support/chain.js';
import { answering, startRpcProxy, type RpcFate, type RpcProxy } from '../support/proxies.js';

const SECRET = 'k3y-that-nobody-sees';
const OTHER_CHAIN = answering({ result: '0x1' });

describe('chain: JSON-RPC under faults', () => {
  let chain: TestChain;
  let first: RpcProxy;
  let second: RpcProxy;
  let nowMs: number;
  let reports: string[];

  before(async () => { chain = await testChain(); });
  after(() => chain.stop());

  beforeEach(async () => {
    [first, second] = await Promise.all([startRpcProxy(chain.url), startRpcProxy(chain.url)]);
    nowMs = 1_000;
    reports = [];
  });

  afterEach(() => Promise.all([first.close(), second.close()]));

  function open(options: Partial<RpcOptions> = {}): ChainRpc {
    return createRpc({
      chainId: TEST_CHAIN_ID, urls: [first.url, second.url], timeoutMs: 5_000, now: () => nowMs, restMs: [100, 1_000],
      report: (level, text) => { reports.push(`${level}: ${text}`); }, ...options,
    });
  }

  /** The first node meets this with everything but its chain id. */
  function meet(fate: RpcFate): void {
    first.fate = ({ method }) => method === 'eth_chainId' ? 'pass' : fate;
  }

  const block = (rpc: ChainRpc) => rpc.request<string>('eth_blockNumber', []);

  it('asks the first node only, and its chain id only once', async () => {
    const rpc = open();
    assert.deepEqual(await Promise.all([block(rpc), block(rpc)]), ['0x0', '0x0']);
    assert.equal(await block(rpc), '0x0');
    assert.deepEqual([first.calls, second.calls], [['eth_chainId', 'eth_blockNumber', 'eth_blockNumber', 'eth_blockNumber'], []]);
    assert.deepEqual(rpc.nodes(), [
      { host: first.host, state: 'healthy', failure: undefined }, { host: second.host, state: 'unused', failure: undefined },
    ]);
  });

  it('each of them answers where that is asked for; those that fail are left out', async () => {
    const rpc = open();
    assert.deepEqual(await rpc.each('eth_blockNumber', []), ['0x0', '0x0']);
    meet('drop');
    assert.deepEqual(await rpc.each('eth_blockNumber', []), ['0x0']);
    second.fate = () => 'drop';
    assert.deepEqual(await rpc.each('eth_blockNumber', []), []);
  });

  it('answers that must fit together come from one node; when it fails, all of them from the next', async () => {
    const rpc = open();
    const read = () => rpc.onOneNode?.(async (node) => [await node.request('eth_blockNumber', []), await node.request('eth_gasPrice', [])]);
    first.fate = ({ method }) => method === 'eth_gasPrice' ? 'drop' : 'pass';
    assert.equal((await read())?.length, 2);
    assert.deepEqual([first.calls, second.calls], [
      ['eth_chainId', 'eth_blockNumber', 'eth_gasPrice'], ['eth_chainId', 'eth_blockNumber', 'eth_gasPrice'],
    ]);
    second.fate = () => 'drop';
    await assert.rejects(read() ?? Promise.resolve(), ChainUnavailable);
    nowMs += 2_000;
    const revert = rpc.onOneNode?.((node) => node.request('eth_call', [{ to: `0x${'00'.repeat(20)}`, value: '0x1', from: `0x${'11'.repeat(20)}` }, 'latest']));
    first.fate = () => 'pass';
    await assert.rejects(revert ?? Promise.resolve(), RpcError);
  });

  it('null is an answer', async () => {
    assert.equal(await open().request('eth_getTransactionReceipt', [`0x${'00'.repeat(32)}`]), null);
  });

  const FAILURES: readonly (readonly [string, RpcFate, string])[] = [
    ['a connection that breaks', 'drop', 'cannot be reached (UND_ERR_SOCKET)'],
    ['an answer that is lost', 'lose', 'cannot be reached (UND_ERR_SOCKET)'],
    ['HTTP 429', { status: 429, body: '{}' }, 'answers HTTP 429'],
    ['HTTP 503', { status: 503, body: 'gone' }, 'answers HTTP 503'],
    ['HTTP 401', { status: 401, body: '{}' }, 'answers HTTP 401'],
    ['malformed JSON', { body: '{"jsonrpc":"2.0",' }, 'does not answer in JSON-RPC to eth_blockNumber (HTTP 200)'],
    ['a page of HTML', { status: 404, body: '<html>' }, 'does not answer in JSON-RPC to eth_blockNumber (HTTP 404)'],
    ['no body', { body: '' }, 'does not answer in JSON-RPC to eth_blockNumber (HTTP 200)'],
    ['a list', { body: '[]' }, 'does not answer in JSON-RPC to eth_blockNumber (HTTP 200)'],
    ['neither result nor error', answering({}), 'does not answer in JSON-RPC to eth_blockNumber (HTTP 200)'],
    ['another request\'s id', { body: '{"jsonrpc":"2.0","id":99,"result":"0x7"}' }, 'does not answer in JSON-RPC to eth_blockNumber (HTTP 200)'],
    ['an error without a code', answering({ error: { message: 'no' } }), 'does not answer in JSON-RPC to eth_blockNumber (HTTP 200)'],
    ['a body beyond the bound', { body: 'x'.repeat(5_000) }, 'answers eth_blockNumber with more than 4096 bytes'],
    ['a rate limit', answering({ error: { code: -32005, message: 'daily request count exceeded' } }),
      'cannot serve eth_blockNumber: daily request count exceeded'],
    ['an internal error', answering({ error: { code: -32603, message: 'Internal error' } }), 'cannot serve eth_blockNumber: Internal error'],
  ];

  for (const [name, fate, detail] of FAILURES) {
    it(`${name}: the next node is asked, and the failed one rests, is checked and comes back`, async () => {
      const rpc = open({ maxResponseBytes: 4_096 });
      meet(fate);
      assert.equal(await block(rpc), '0x0');
      assert.deepEqual(rpc.nodes()[0], { host: first.host, state: 'resting', failure: `${first.host} ${detail}` });
      nowMs += 99;
      assert.equal(await block(rpc), '0x0');
      assert.deepEqual([first.calls.length, second.calls.length], [2, 3], 'it was asked while it rests');
      meet('pass');
      nowMs += 1;
      assert.equal(await block(rpc), '0x0');
      assert.deepEqual([first.calls.slice(2), second.calls.length], [['eth_chainId', 'eth_blockNumber'], 3]);
      assert.deepEqual(reports, [`warn: chain ${TEST_CHAIN_ID}: ${first.host} ${detail}`, `info: chain ${TEST_CHAIN_ID}: ${first.host} answers again`]);
    });
  }

  it('an answer that does not come in time: the next node', async () => {
    const rpc = open({ timeoutMs: 3_000 });
    meet('hang');
    assert.equal(await block(rpc), '0x0');
    assert.deepEqual(reports, [`warn: chain ${TEST_CHAIN_ID}: ${first.host} gave no answer within 3000 ms`]);
  });

  it('is broken off by its signal, with whatever is under way; no node is blamed for it, and none is asked any more', async () => {
    const stopping = new AbortController();
    const rpc = open({ timeoutMs: 3_600_000, signal: stopping.signal });
    await block(rpc);
    const arrived = new Promise<void>((resolve) => {
      first.fate = () => {
        resolve();
        return 'hang';
      };
    });
    const asked = [block(rpc), block(rpc)];
    await arrived;
    stopping.abort();
    const unavailable = new ChainUnavailable(TEST_CHAIN_ID, `${first.host} is not waited for any more; ${second.host} is not waited for any more`);
    for (const each of [...asked, block(rpc)]) await assert.rejects(each, unavailable);
    assert.deepEqual([second.calls, reports, rpc.nodes()[0]!.state], [[], [], 'healthy']);
  });

  /** What geth answers while it is behind, has just been started, or does not keep what is that old. */
  const INABILITIES: readonly (readonly [number, string])[] = [
    [-32000, 'header not found'], [-32000, 'historical state 0x1234 is not available'], [-32000, 'pending block is not available'],
    [4444, 'pruned history unavailable'], [-32000, 'transaction indexing is in progress'], [-32602, 'block range extends beyond current head block'],
  ];

  for (const [code, message] of INABILITIES) {
    it(`a node that cannot serve a request (${message}): the next one answers it, the node goes on`, async () => {
      const rpc = open();
      first.fate = ({ method }) => method === 'eth_call' ? answering({ error: { code, message } }) : 'pass';
      assert.equal(await rpc.request('eth_call', [{ to: `0x${'11'.repeat(20)}` }, 'latest']), '0x');
      await block(rpc);
      assert.deepEqual(first.calls, ['eth_chainId', 'eth_call', 'eth_blockNumber']);
      assert.deepEqual(reports, []);
    });
  }

  const ANSWERS: readonly (readonly [number, string, unknown, string | undefined])[] = [
    [3, 'execution reverted: header not found', '0x08c379a0', '0x08c379a0'],
    [-32000, 'execution reverted', { data: '0xabcd', message: 'reverted' }, '0xabcd'],
    [-32603, 'execution reverted: rate limit exceeded', undefined, undefined],
    [-32000, 'nonce too low', undefined, undefined],
    [-32003, 'insufficient funds for gas * price + value', undefined, undefined],
    [-32005, 'query returned more than 10000 results', undefined, undefined],
    [-32601, 'the method eth_nothing does not exist', undefined, undefined],
    [-32603, 'something that we do not know', undefined, undefined],
  ];

  for (const [code, message, data, returned] of ANSWERS) {
    it(`is the chain's answer: ${code} ${message}`, async () => {
      const rpc = open();
      meet(answering({ error: { code, message, data } }));
      await assert.rejects(rpc.request('eth_x', []), new RpcError('eth_x', code, message, returned));
      assert.deepEqual([rpc.nodes()[0]!.state, second.calls, reports], ['healthy', [], []]);
    });
  }

  it('a real revert is RpcError, an HTTP 400 that carries one too', async () => {
    const rpc = open();
    const bad = rpc.request('eth_sendRawTransaction', ['0x02']);
    await assert.rejects(bad, (error: unknown) => error instanceof RpcError && error.method === 'eth_sendRawTransaction');
    meet({ ...answering({ error: { code: -32602, message: 'invalid params' } }), status: 400 });
    await assert.rejects(block(rpc), new RpcError('eth_blockNumber', -32602, 'invalid params', undefined));
    assert.deepEqual(second.calls, []);
  });

  it('more logs than the bound are the caller\'s to ask less of', async () => {
    meet({ body: ' '.repeat(5_000) });
    await assert.rejects(open({ maxResponseBytes: 4_096 }).request('eth_getLogs', [{}]), (error: unknown) => error instanceof RpcError && error.code === -32005);
  });

  describe('chain ids', () => {
    it('a node on another chain is never asked anything else, and comes back when it is right', async () => {
      const rpc = open({ wrongChainRestMs: 5_000 });
      first.fate = () => OTHER_CHAIN;
      assert.equal(await block(rpc), '0x0');
      assert.equal(await block(rpc), '0x0');
      assert.deepEqual(first.calls, ['eth_chainId']);
      assert.deepEqual(reports, [`alert: ${first.host} is on chain 1, not on ${TEST_CHAIN_ID}: it is not used`]);
      assert.equal(rpc.nodes()[0]!.state, 'wrong chain');
      first.fate = () => 'pass';
      nowMs += 5_000;
      await block(rpc);
      assert.deepEqual(first.calls, ['eth_chainId', 'eth_chainId', 'eth_blockNumber']);
    });

    it('a node that comes back on another chain is excluded', async () => {
      const rpc = open();
      await block(rpc);
      first.fate = () => 'drop';
      await block(rpc);
      first.fate = () => OTHER_CHAIN;
      nowMs += 100;
      await block(rpc);
      assert.deepEqual([rpc.nodes()[0]!.state, first.calls.slice(2)], ['wrong chain', ['eth_blockNumber', 'eth_chainId']]);
    });

    it('all on another chain: an error with both ids, and it is ChainUnavailable', async () => {
      first.fate = second.fate = () => OTHER_CHAIN;
      await assert.rejects(block(open()), (error: unknown) => error instanceof WrongChain && error instanceof ChainUnavailable
        && error.expected === TEST_CHAIN_ID && error.found === 1 && error.message.includes('on chain 1 and not on chain 31337'));
      assert.deepEqual([first.calls, second.calls], [['eth_chainId'], ['eth_chainId']]);
    });

    it('one node on another chain and one down do not prove wrong settings', async () => {
      first.fate = () => OTHER_CHAIN;
      second.fate = () => 'drop';
      await assert.rejects(block(open()), (error: unknown) => error instanceof ChainUnavailable && !(error instanceof WrongChain));
    });

    it('a chain id that is not a number, or refused, is a failure', async () => {
      first.fate = () => answering({ result: 'mainnet' });
      second.fate = () => answering({ error: { code: -32601, message: 'no such method' } });
      await assert.rejects(block(open()), new ChainUnavailable(TEST_CHAIN_ID,
        `${first.host} eth_chainId is not a number; ${second.host} eth_chainId: no such method`));
    });
  });

  describe('all nodes down', () => {
    it('fails at once while they rest; rests grow with each failure and end with an answer', async () => {
      const rpc = open({ urls: [first.url] });
      first.fate = () => 'drop';
      const fails = (asked: number) => assert.rejects(block(rpc), ChainUnavailable).then(() => { assert.equal(first.calls.length, asked); });
      await fails(1);
      await fails(1);
      nowMs += 100;
      await fails(2);
      nowMs += 999;
      await fails(2);
      nowMs += 1;
      await fails(3);
      first.fate = () => 'pass';
      nowMs += 1_000;
      assert.equal(await block(rpc), '0x0');
      first.fate = () => 'drop';
      await fails(6);
      nowMs += 100;
      await fails(7);
    });

    it('requests that fail together are one failure', async () => {
      const rpc = open({ urls: [first.url] });
      await block(rpc);
      first.fate = () => 'drop';
      const results = await Promise.allSettled([block(rpc), block(rpc), block(rpc)]);
      assert.deepEqual(results.map(({ status }) => status), ['rejected', 'rejected', 'rejected']);
      first.fate = () => 'pass';
      nowMs += 100;
      assert.equal(await block(rpc), '0x0');
      assert.equal(reports.length, 2);
    });

    it('a server that is not there', async () => {
      const rpc = open({ urls: ['http://127.0.0.1:1'] });
      await assert.rejects(block(rpc), /no node of chain 31337 answers: 127\.0\.0\.1:1 cannot be reached/);
    });
  });

  it('shows hosts, never what a URL holds', async () => {
    const url = new URL(first.url);
    url.username = 'user-name';
    url.password = `${SECRET}-1`;
    url.pathname = `/v3/${SECRET}-2`;
    url.search = `?key=${SECRET}-3`;
    const rpc = open({ urls: [url.href] });
    await block(rpc);
    assert.equal(first.headers['authorization'], `Basic ${Buffer.from(`user-name:${SECRET}-1`).toString('base64')}`);
    meet(answering({ error: { code: -32000, message: `project ${SECRET}-2 of ${SECRET}-3 has none` } }));
    const failures = [await block(rpc).catch((error: unknown) => error)];
    meet('drop');
    failures.push(await block(rpc).catch((error: unknown) => error));
    assert.match(String(failures), /project \(secret\) of \(secret\) has none/);
    const told = JSON.stringify([failures.map((error) => [String(error), (error as Error).stack]), reports, rpc.nodes()]);
    assert.ok(!told.includes(SECRET) && !told.includes('user-name'), told);
  });

  it('shows none of it in another spelling either: decoded, as the header has it, or with signs that encode nothing', async () => {
    const rpc = open({ urls: [`http://user%40name:p%2Fss%20word@${first.host}/k%2By%21of%3Dmine/100%25%zz?key=a%20b%2Bc%2Fd`] });
    await block(rpc);
    const header = String(first.headers['authorization']).slice('Basic '.length);
    assert.equal(Buffer.from(header, 'base64').toString(), 'user@name:p/ss word');
    const spellings = ['user%40name', 'user@name', 'p%2Fss%20word', 'p/ss word', 'k%2By%21of%3Dmine', 'k+y!of=mine', '100%25%zz', 'a%20b%2Bc%2Fd', 'a b+c/d', header];
    meet(answering({ error: { code: -32000, message: `no: ${spellings.join(', ')}` } }));
    await assert.rejects(block(rpc), new RpcError('eth_blockNumber', -32000, `no: ${spellings.map(() => '(secret)').join(', ')}`, undefined));
  });

  it('refuses settings that cannot work, without showing them', () => {
    assert.throws(() => open({ urls: [] }), /has no RPC URL/);
    for (const url of [SECRET, `ftp://${SECRET}@host/`]) {
      assert.throws(() => open({ urls: [url] }), (error: Error) => /RPC URL/.test(error.message) && !error.message.includes(SECRET));
    }
  });
});
