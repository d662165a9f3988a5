/** The sender on a real chain and a real Postgres: fees, drops, strangers, reorganisations, outages, and a crash after every step. */
import assert from 'node:assert/strict';
import { keccak256, Wallet } from 'ethers';
import pg from 'pg';
import { createOutbox } from '../command/chain/outbox.js';
import { createRpc } from '../command/chain/rpc.js';
import { SenderStopped } from '../command/chain/sender-run.js';
import { UnsendableTransaction } from '../command/chain/signer.js';
import { createSender, type Ending, type Sender, type SenderOptions } from '../command/chain/sender.js';
import { testChain, TEST_CHAIN_ID, type TestChain } from './chain.js';
import { testDatabase, type TestDatabase } from './postgres.js';
import { startRpcProxy, type RpcProxy } from './rpc-proxy.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

/** Logs what it is called with: PUSH0 CALLDATALOAD PUSH0 MSTORE PUSH1 32 PUSH0 LOG0 STOP. */
const CODE = '0x5f355f5260205fa000';
const TARGET = '0x00000000000000000000000000000000000c0de0';
const CONFIRMATIONS = 3;

interface Told { readonly signed: string[]; readonly over: (readonly [nonce: number, Ending['kind'], note: unknown])[] }

describe('chain: sender', () => {
  let database: TestDatabase;
  let sql: pg.Client;
  let chain: TestChain;
  let proxy: RpcProxy;
  let cutter: TcpProxy | undefined;
  let key: string;
  let address: string;
  let reports: string[];
  let told: Told;
  let senders: Sender[];
  let changed: () => void;

  before(async () => {
    database = await testDatabase();
    sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
  });
  after(async () => {
    await sql.end();
    await database.drop();
  });

  beforeEach(async () => {
    chain = await testChain();
    await chain.rpc('anvil_setCode', [TARGET, CODE]);
    proxy = await startRpcProxy(chain.url);
    const wallet = Wallet.createRandom();
    key = wallet.privateKey;
    address = wallet.address.toLowerCase();
    await chain.rpc('anvil_setBalance', [address, `0x${(10n ** 20n).toString(16)}`]);
    reports = [];
    told = { signed: [], over: [] };
    senders = [];
    changed = () => undefined;
  });

  afterEach(async () => {
    proxy.fate = () => 'pass';
    proxy.release();
    await Promise.all(senders.map((sender) => sender.stop()));
    await cutter?.close();
    cutter = undefined;
    await proxy.close();
    await chain.stop();
  });

  async function start(options: Partial<SenderOptions> = {}): Promise<Sender> {
    const sender = await createSender({
      chain: { chainId: TEST_CHAIN_ID, confirmations: CONFIRMATIONS }, privateKey: key, now: () => performance.now(),
      rpc: createRpc({ chainId: TEST_CHAIN_ID, urls: [proxy.url], now: () => performance.now(), report: () => undefined, restMs: [10] }),
      store: createOutbox({ url: database.url, standByMs: 20 }),
      report: (level, text) => {
        reports.push(`${level}: ${text}`);
        changed();
      },
      signed: async ({ txHash }) => { told.signed.push(txHash); },
      over: async ({ nonce, request }, ending) => {
        told.over.push([nonce, ending.kind, request.note]);
        changed();
      },
      pollMs: 20, bumpAfterMs: 60_000, rebroadcastMs: 100, lostAfterMs: 100, backoffMs: [20], ...options,
    });
    senders.push(sender);
    return sender;
  }

  const request = (number: number) => (
    { to: TARGET, data: `0x${number.toString(16).padStart(64, '0')}`, gasLimit: 100_000n, note: { number } });

  const mine = (blocks: number) => chain.rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
  const automine = (on: boolean) => chain.rpc('evm_setAutomine', [on]);
  const balance = (wei: bigint) => chain.rpc('anvil_setBalance', [address, `0x${wei.toString(16)}`]);

  /** Looks until it is so: at the chain, which calls nobody, and at what the sender tells. */
  async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = performance.now() + 20_000;
    while (!await isSo()) {
      if (performance.now() > endMs) throw new Error(`never: ${what}; ${reports.join('; ')}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 10);
        changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  const pooled = async () => {
    const { pending, queued } = await chain.rpc('txpool_content') as Record<'pending' | 'queued', Record<string, Record<string, { hash: string }>>>;
    const own = (pool: typeof pending) => Object.entries(pool).find(([from]) => from.toLowerCase() === address)?.[1] ?? {};
    return Object.entries({ ...own(pending), ...own(queued) }).map(([nonce, { hash }]) => [Number(nonce), hash] as const);
  };
  const count = async () => Number(await chain.rpc('eth_getTransactionCount', [address, 'latest']));

  /** The numbers that the target was called with, in the order of the chain. */
  async function calls(): Promise<number[]> {
    const logs = await chain.rpc('eth_getLogs', [{ address: TARGET, fromBlock: '0x0', toBlock: 'latest' }]) as { data: string }[];
    return logs.map(({ data }) => Number(data));
  }

  async function rows(): Promise<unknown[]> {
    const { rows } = await sql.query<unknown[]>({
      text: `select nonce::int, ending->>'kind', data = '', (select array_agg(broadcast order by number) from sender.attempts a
        where a.address = t.address and a.nonce = t.nonce) from sender.transactions t where address = $1 order by nonce`,
      values: [address], rowMode: 'array',
    });
    return rows;
  }

  /** Requests for receipts that the sender has acted upon: it has looked at the chain again since. Only used nonces' are asked for, once. */
  const seen = () => proxy.calls.slice(0, proxy.calls.lastIndexOf('eth_getBlockByNumber')).filter((method) => method === 'eth_getTransactionReceipt');

  const overAll = (n: number) => until(`${n} over and marked`, async () => (
    told.over.length >= n && (await rows()).every((row) => (row as unknown[])[1] !== null)));

  it('sends in order, tells of each attempt before its broadcast, and of each end at final depth', async () => {
    const sender = await start();
    const untold: unknown[] = [];
    proxy.fate = ({ method, params }) => {
      if (method === 'eth_sendRawTransaction' && !told.signed.includes(keccak256(params[0] as string))) untold.push(params);
      return 'pass';
    };
    const sent = await Promise.all([1, 2, 3].map((number) => sender.send(request(number))));
    assert.deepEqual(sent.map(({ nonce }) => nonce), [0, 1, 2]);
    assert.deepEqual(sent.map((transaction) => transaction.request), [1, 2, 3].map(request));
    await until('mined', async () => await count() === 3);
    assert.deepEqual([sender.address, sender.open(), told.over], [address, sent, []], 'not final yet');
    await mine(CONFIRMATIONS - 1);
    await until('the first one over', () => told.over.length >= 1);
    await mine(1);
    await overAll(3);
    assert.deepEqual(told.over.map(([, kind, note]) => [kind, note]), [1, 2, 3].map((number) => ['mined', { number }]));
    assert.deepEqual(told.signed, sent.map(({ attempts }) => attempts[0]!.txHash));
    assert.deepEqual(await rows(), [0, 1, 2].map((nonce) => [nonce, 'mined', true, [true]]));
    assert.deepEqual([await calls(), sender.open(), reports, untold], [[1, 2, 3], [], [], []]);
  });

  it('a transaction that reverts ends as mined without success', async () => {
    const endings: Ending[] = [];
    const sender = await start({ over: async (_, ending) => { endings.push(ending); } });
    await chain.rpc('anvil_setCode', [TARGET, '0x5f5ffd']);
    const { attempts } = await sender.send(request(1));
    await until('mined', async () => await count() === 1);
    await mine(CONFIRMATIONS);
    await until('over', () => endings.length === 1);
    assert.deepEqual(endings, [{ kind: 'mined', txHash: attempts[0]!.txHash, block: 1, succeeded: false }]);
  });

  it('refuses what no node would take, and goes on', async () => {
    const sender = await start();
    const bad = [
      { ...request(1), to: '0x12' }, { ...request(1), data: '0x123' }, { ...request(1), gasLimit: 21_000n }, { ...request(1), gasLimit: 2n ** 24n + 1n },
      { ...request(1), data: `0x${'11'.repeat(130_049)}`, gasLimit: 10_000_000n }, { ...request(1), note: 1n },
    ];
    for (const wrong of bad) await assert.rejects(sender.send(wrong), UnsendableTransaction);
    assert.equal((await sender.send(request(2))).nonce, 0);
  });

  it('refuses what no block could hold', async () => {
    await chain.rpc('evm_setBlockGasLimit', ['0x100000']);
    await mine(1);
    const sender = await start();
    await assert.rejects(sender.send({ ...request(1), gasLimit: 0x100001n }), /above the chain's block gas limit/);
    assert.equal((await sender.send({ ...request(2), gasLimit: 0x100000n })).nonce, 0);
  });

  it('a wrong key is refused and never shown; nor is a right one', async () => {
    await assert.rejects(start({ privateKey: `${key}ff` }), (error: Error) => !error.message.includes(key) && !String(error.stack).includes(key.slice(2)));
    const sender = await start();
    await sender.send(request(1));
    const { rows } = await sql.query<{ all: string }>('select (select json_agg(t)::text from sender.transactions t) || (select json_agg(a)::text from sender.attempts a) as all');
    assert.ok(rows[0]!.all.includes(address) && !rows[0]!.all.includes(key.slice(2)));
  });

  describe('fees', () => {
    it('mining stops: replacements at the same nonce, each at least an eighth higher, until one is mined', async () => {
      await automine(false);
      const sender = await start({ bumpAfterMs: 50 });
      await sender.send(request(1));
      await until('three attempts in the pool', async () => told.signed.length >= 3 && (await pooled())[0]?.[1] === told.signed.at(-1));
      await mine(1);
      await until('mined', async () => await count() === 1);
      await mine(CONFIRMATIONS);
      await overAll(1);
      assert.deepEqual(await calls(), [1]);
      const { rows: fees } = await sql.query<{ max: string; priority: string }>(
        'select max_fee_per_gas as max, max_priority_fee_per_gas as priority from sender.attempts where address = $1 order by number', [address]);
      assert.equal(fees.length, told.signed.length);
      fees.slice(1).forEach(({ max, priority }, i) => {
        assert.ok(BigInt(max) * 8n >= BigInt(fees[i]!.max) * 9n && BigInt(priority) * 8n >= BigInt(fees[i]!.priority) * 9n);
      });
    });

    it('the base fee rises above the offer: all are replaced, at the new price, and mined in order', async () => {
      await automine(false);
      const sender = await start({ bumpAfterMs: 50 });
      await Promise.all([1, 2, 3].map((number) => sender.send(request(number))));
      await chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(100n * 10n ** 9n).toString(16)}`]);
      await mine(1);
      await until('higher offers', async () => {
        const { rows } = await sql.query('select nonce from sender.attempts where address = $1 and broadcast and max_fee_per_gas > 100e9 group by nonce', [address]);
        return rows.length === 3;
      });
      await automine(true);
      await mine(CONFIRMATIONS);
      await until('mined', async () => await count() === 3);
      await mine(CONFIRMATIONS);
      await overAll(3);
      assert.deepEqual(await calls(), [1, 2, 3]);
    });

    it('at the limit it offers no more, says so once, and goes on broadcasting', async () => {
      await automine(false);
      const sender = await start({ bumpAfterMs: 50, maxFeePerGas: 3n * 10n ** 9n });
      await sender.send(request(1));
      await until('an alarm', () => reports.length > 0);
      const broadcasts = () => proxy.calls.filter((method) => method === 'eth_sendRawTransaction').length;
      const before = broadcasts();
      await until('broadcast again', () => broadcasts() >= before + 2);
      assert.equal(reports.length, 1);
      assert.match(reports[0]!, /^alarm: .* nonce 0 is not mined, and the limit of 3000000000 wei/);
      await mine(1);
      await until('mined', async () => await count() === 1);
    });

    it('an account without money: an alarm; it is sent when the money has come', async () => {
      await balance(0n);
      const sender = await start();
      await Promise.all([1, 2].map((number) => sender.send(request(number))));
      await until('an alarm', () => reports.length >= 1);
      assert.match(reports[0]!, /^alarm: .* nonce 0: the key's account cannot pay for the gas: fund it/);
      await balance(10n ** 20n);
      await until('mined', async () => await count() === 2);
      assert.deepEqual(await calls(), [1, 2]);
    });
  });

  describe('what the pool and others do', () => {
    it('a dropped transaction is broadcast again', async () => {
      await automine(false);
      const sender = await start();
      const { attempts: [{ txHash } = { txHash: '' }] } = await sender.send(request(1));
      await until('pooled', async () => (await pooled()).length === 1);
      await chain.rpc('anvil_dropTransaction', [txHash]);
      await until('pooled again', async () => (await pooled())[0]?.[1] === txHash);
      assert.deepEqual(told.signed, [txHash]);
    });

    it('a stranger\'s pending transaction at its nonce is outbid', async () => {
      await automine(false);
      await chain.rpc('eth_sendRawTransaction', [await new Wallet(key).signTransaction({
        type: 2, chainId: TEST_CHAIN_ID, nonce: 0, to: address, gasLimit: 21_000n, maxFeePerGas: 9n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n,
      })]);
      const sender = await start();
      await sender.send(request(1));
      await until('outbid', async () => (await pooled())[0]?.[1] === sender.open()[0]!.attempts.at(-1)!.txHash && told.signed.length > 1);
      await mine(1);
      await mine(CONFIRMATIONS);
      await overAll(1);
      assert.deepEqual(await calls(), [1]);
    });

    it('a nonce that a stranger used is lost, at final depth and with an alarm; the next one goes on', async () => {
      await automine(false);
      proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'drop' : 'pass';
      const sender = await start();
      await sender.send(request(1));
      await chain.rpc('eth_sendRawTransaction', [await new Wallet(key).signTransaction({
        type: 2, chainId: TEST_CHAIN_ID, nonce: 0, to: address, gasLimit: 21_000n, maxFeePerGas: 9n * 10n ** 9n, maxPriorityFeePerGas: 2n * 10n ** 9n,
      })]);
      await mine(1);
      proxy.fate = () => 'pass';
      const second = await sender.send(request(2));
      assert.equal(second.nonce, 1);
      await until('pooled', async () => (await pooled()).length === 1);
      assert.deepEqual(told.over, []);
      await mine(1);
      await until('seen', async () => await count() === 2);
      await until('lost', async () => {
        await mine(1);
        return told.over.length === 2;
      });
      await overAll(2);
      assert.deepEqual([...told.over].sort(), [[0, 'lost', { number: 1 }], [1, 'mined', { number: 2 }]]);
      assert.equal(reports.filter((text) => /^alarm: .* nonce 0 was used by a transaction that this sender does not know/.test(text)).length, 1);
      assert.deepEqual(await calls(), [2]);
    });

    it('no more than allowed are in flight; the rest waits in order', async () => {
      await automine(false);
      const sender = await start({ maxInFlight: 2 });
      const sends = [1, 2, 3, 4, 5].map((number) => sender.send(request(number)));
      await Promise.all(sends.slice(0, 2));
      await until('pooled', async () => (await pooled()).length === 2);
      assert.equal((await rows()).length, 2);
      await mine(1);
      await Promise.all(sends.slice(2, 4));
      assert.equal((await rows()).length, 4);
      await automine(true);
      await mine(1);
      await sends[4];
      await until('mined', async () => await count() === 5);
      assert.deepEqual(await calls(), [1, 2, 3, 4, 5]);
    });
  });

  describe('a chain that goes back', () => {
    it('a shallow reorganisation: what vanished is broadcast again, and the end comes once', async () => {
      const sender = await start();
      await Promise.all([1, 2].map((number) => sender.send(request(number))));
      await until('both seen in a block', () => told.signed.length === 2 && seen().length === 2);
      await automine(false);
      await chain.rpc('anvil_reorg', [Number(await chain.rpc('eth_blockNumber')), []]);
      assert.equal(await count(), 0);
      await until('both reported', () => reports.filter((text) => /^trouble: .* nonce [01]: block \d was reorganised away; it is broadcast again$/.test(text)).length === 2);
      await until('pooled again', async () => (await pooled()).length === 2);
      await mine(1);
      await mine(CONFIRMATIONS);
      await overAll(2);
      assert.deepEqual([told.over.length, await calls()], [2, [1, 2]]);
    });

    it('evm_revert below a mined transaction: the same', async () => {
      const snapshot = await chain.rpc('evm_snapshot');
      const sender = await start();
      const { attempts } = await sender.send(request(1));
      await until('seen in a block', () => seen().length === 1);
      await chain.rpc('evm_revert', [snapshot]);
      await until('mined again', async () => await count() === 1);
      await mine(CONFIRMATIONS);
      await overAll(1);
      assert.deepEqual([await calls(), told.signed], [[1], [attempts[0]!.txHash]]);
    });

    it('a chain that forgot what was final: nothing new is sent into the gap, and an alarm', async () => {
      const snapshot = await chain.rpc('evm_snapshot');
      const sender = await start();
      await sender.send(request(1));
      await until('mined', async () => await count() === 1);
      await mine(CONFIRMATIONS);
      await overAll(1);
      await chain.rpc('evm_revert', [snapshot]);
      const waits = sender.send(request(2)).catch((error: unknown) => error);
      await until('an alarm', () => reports.some((text) => /^alarm: .* the chain wants nonce 0, which was final/.test(text)));
      assert.equal((await rows()).length, 1);
      await sender.stop();
      assert.ok(await waits instanceof SenderStopped);
    });
  });

  describe('outages', () => {
    it('the chain is down, before anything is sent and after: all waits, in order, and goes on', async () => {
      proxy.fate = () => 'drop';
      const sender = await start();
      const sends = [1, 2, 3].map((number) => sender.send(request(number)));
      await until('trouble', () => reports.length === 1);
      assert.deepEqual([sender.open(), await rows()], [[], []]);
      proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' ? 'drop' : 'pass';
      const sent = await Promise.all(sends);
      await until('tried twice', () => proxy.calls.filter((method) => method === 'eth_sendRawTransaction').length >= 2);
      assert.deepEqual([sender.open(), reports.length], [sent, 1]);
      proxy.fate = () => 'pass';
      await until('mined', async () => await count() === 3);
      await mine(CONFIRMATIONS);
      await overAll(3);
      assert.deepEqual([await calls(), told.signed.length], [[1, 2, 3], 3]);
    });

    it('answers that are lost: a broadcast that was taken is not doubled', async () => {
      let lost = 0;
      proxy.fate = ({ method }) => method === 'eth_sendRawTransaction' && lost++ < 3 ? 'lose' : 'pass';
      const sender = await start();
      await Promise.all([1, 2, 3].map((number) => sender.send(request(number))));
      await until('mined', async () => await count() === 3);
      await mine(CONFIRMATIONS);
      await overAll(3);
      assert.deepEqual(await calls(), [1, 2, 3]);
    });

    it('Postgres breaks off at every write, before it and after: each request is recorded once', async () => {
      const { hostname, port } = new URL(database.url);
      cutter = await startTcpProxy({ host: hostname, port: Number(port) });
      const writes = ['insert into sender.transactions', 'set broadcast = true', 'set ending ='];
      const seenWrites = new Map<string, number>();
      cutter.fate = (bytes) => {
        const write = writes.find((text) => bytes.includes(text));
        if (write === undefined) return 'pass';
        const before = seenWrites.get(write) ?? 0;
        seenWrites.set(write, before + 1);
        return (['lose-reply', 'cut', 'pass'] as const)[before % 3]!;
      };
      const url = new URL(database.url);
      url.port = String(cutter.port);
      const sender = await start({ store: createOutbox({ url: url.href, standByMs: 20 }) });
      for (let number = 1; number <= 6; number++) assert.equal((await sender.send(request(number))).nonce, number - 1);
      await until('mined', async () => await count() === 6);
      await mine(CONFIRMATIONS);
      await overAll(6);
      assert.deepEqual(await calls(), [1, 2, 3, 4, 5, 6]);
      assert.deepEqual((await rows()).map((row) => (row as unknown[]).slice(0, 3)), [0, 1, 2, 3, 4, 5].map((nonce) => [nonce, 'mined', true]));
      assert.ok(writes.every((write) => seenWrites.get(write)! > 2), [...seenWrites].join());
    });

    it('the caller cannot record: nothing is broadcast until it can, and its end is told again until it is taken', async () => {
      let signable = false;
      let tries = 0;
      const sender = await start({
        signed: async () => { if (!signable) throw new Error('the log is away'); },
        over: async ({ nonce, request: { note } }, { kind }) => {
          if (++tries < 3) throw new Error('the log is away again');
          told.over.push([nonce, kind, note]);
        },
      });
      await sender.send(request(1));
      await until('reported', () => reports.length === 1);
      assert.deepEqual([reports[0]!.endsWith('the log is away'), proxy.calls.includes('eth_sendRawTransaction')], [true, false]);
      signable = true;
      await until('mined', async () => await count() === 1);
      await mine(CONFIRMATIONS);
      await overAll(1);
      assert.deepEqual([tries, await calls()], [3, [1]]);
    });
  });

  describe('processes', () => {
    it('a second one with the same key stands by, and takes over when the first one ends', async () => {
      const first = await start();
      await first.send(request(1));
      const taking = start();
      await until('standing by', () => reports.some((text) => /^note: .* another process holds the lane; standing by$/.test(text)));
      await first.send(request(2));
      await first.stop();
      const second = await taking;
      assert.equal((await second.send(request(3))).nonce, 2);
      await until('mined', async () => await count() === 3);
      assert.deepEqual(await calls(), [1, 2, 3]);
      const gaveUp = new AbortController();
      const third = start({ signal: gaveUp.signal });
      gaveUp.abort(new Error('no more'));
      await assert.rejects(third, /no more/);
    });

    it('one that lost its session to another stands by, and what it was asked meanwhile waits for its turn', async () => {
      const first = await start();
      await first.send(request(1));
      const taking = start();
      await until('standing by', () => reports.some((text) => text.endsWith('standing by')));
      const { rows: [{ pid } = { pid: 0 }] } = await sql.query<{ pid: number }>(
        'select pid from pg_locks where locktype = \'advisory\' and granted and database = (select oid from pg_database where datname = current_database())');
      reports = [];
      await sql.query('select pg_terminate_backend($1)', [pid]);
      const second = await taking;
      await until('the first one stands by', () => reports.some((text) => text.endsWith('standing by')));
      const waits = first.send(request(3));
      assert.equal((await second.send(request(2))).nonce, 1);
      await second.stop();
      assert.equal((await waits).nonce, 2);
      await until('mined', async () => await count() === 3);
      assert.deepEqual(await calls(), [1, 2, 3]);
    });

    it('a stopped sender sends nothing more; what it had is there for the next one', async () => {
      await automine(false);
      const first = await start();
      const sent = await first.send(request(1));
      await first.stop();
      await assert.rejects(first.send(request(2)), SenderStopped);
      const second = await start();
      assert.deepEqual(second.open(), [sent]);
    });

    const STEPS = ['before record', 'record', 'signed', 'broadcast', 'marked', 'replacement', 'receipt', 'over'] as const;
    for (const step of STEPS) {
      it(`dies at ${step}: the next one loses nothing, doubles nothing and leaves no gap`, async () => {
        await automine(false);
        const { died, options } = mortal(step);
        const first = await start({ ...options, bumpAfterMs: step === 'replacement' ? 30 : 60_000 });
        const sends = [1, 2, 3].map((number) => first.send(request(number)).then(() => true, () => false));
        await until('its death', async () => {
          if (step === 'receipt' || step === 'over') await mine(1);
          return died();
        });
        await first.stop();
        const recorded = await Promise.all(sends);
        assert.deepEqual(recorded, Array<boolean>(3).fill(step !== 'before record'));
        const second = await start();
        for (let number = step === 'before record' ? 1 : 4; number <= 4; number++) await second.send(request(number));
        await automine(true);
        await mine(1);
        await until('mined', async () => await count() === 4);
        await mine(CONFIRMATIONS);
        await until('all marked', async () => (await rows()).filter((row) => (row as unknown[])[1] === 'mined').length === 4);
        assert.deepEqual(await calls(), [1, 2, 3, 4]);
        assert.deepEqual([...new Set(told.over.map(([nonce]) => nonce))].sort(), [0, 1, 2, 3]);
        const { rows: [{ hashes } = { hashes: [] }] } = await sql.query<{ hashes: string[] }>(
          'select array_agg(tx_hash) as hashes from sender.attempts where address = $1', [address]);
        assert.deepEqual([...new Set(told.signed)].sort(), hashes.sort(), 'an attempt that the caller never heard of');
      });
    }
  });

  /** Options of a sender that does nothing more from a step on, as if its process had been killed there; what was done stays done. */
  function mortal(step: string): { died: () => boolean; options: Partial<SenderOptions> } {
    let dead = false;
    const die = (): never => {
      dead = true;
      throw new Error('killed');
    };
    const alive = () => { if (dead) throw new Error('killed'); };
    const real = createOutbox({ url: database.url, standByMs: 20 });
    const rpc = createRpc({ chainId: TEST_CHAIN_ID, urls: [proxy.url], now: () => performance.now(), report: () => undefined, restMs: [10] });
    return {
      died: () => dead,
      options: {
        store: {
          async hold(lane, options) {
            alive();
            const held = await real.hold(lane, options);
            return {
              ...held,
              async record(transactions) {
                alive();
                if (step === 'before record') die();
                await held.record(transactions);
                // The answer still reaches the callers; the next step does not happen.
                if (step === 'record') dead = true;
              },
              async recordAttempt(nonce, attempt) {
                alive();
                await held.recordAttempt(nonce, attempt);
                if (step === 'replacement') die();
              },
              async markBroadcast(hashes) {
                alive();
                if (step === 'broadcast') die();
                await held.markBroadcast(hashes);
                if (step === 'marked') die();
              },
              async markOver(endings) {
                alive();
                if (step === 'over') die();
                await held.markOver(endings);
              },
            };
          },
        },
        rpc: {
          chainId: TEST_CHAIN_ID,
          async request<T>(method: string, params: readonly unknown[]) {
            alive();
            const result = await rpc.request<T>(method, params);
            if (method === 'eth_getTransactionReceipt' && step === 'receipt') die();
            return result;
          },
        },
        async signed({ txHash }) {
          alive();
          told.signed.push(txHash);
          if (step === 'signed') die();
        },
        async over({ nonce, request: { note } }, { kind }) {
          alive();
          told.over.push([nonce, kind, note]);
        },
      },
    };
  }
});
