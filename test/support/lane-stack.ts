/** A sender with a chain of its own, a key of its own and a Postgres, for tests: what it told, and what chain and outbox show of it. */
import { Wallet } from 'ethers';
import pg from 'pg';
import { createOutbox, type Outbox } from '../../command/lane/outbox.js';
import { createRpc, type ChainRpc } from '../../command/chain/rpc.js';
import { createSender, type Ending, type Sender, type SenderOptions, type TransactionRequest } from '../../command/lane/sender.js';
import { testChain, TEST_CHAIN_ID, type TestChain } from './chain.js';
import { testDatabase, type TestDatabase } from './postgres.js';
import { startRpcProxy, type RpcProxy } from './rpc-proxy.js';
import type { TcpProxy } from './tcp-proxy.js';

export const TARGET = '0x00000000000000000000000000000000000c0de0';
export const CONFIRMATIONS = 3;
/** Logs what it is called with: PUSH0 CALLDATALOAD PUSH0 MSTORE PUSH1 32 PUSH0 LOG0 STOP. */
const CODE = '0x5f355f5260205fa000';
const NEVER_MS = 20_000;

type Pool = Readonly<Record<string, Readonly<Record<string, { readonly hash: string }>>>>;

/** Registers mocha's hooks: every test gets a new chain and key; the database is the file's. */
export function senderStack(): SenderStack {
  const stack = new SenderStack();
  before(() => stack.open());
  beforeEach(() => stack.begin());
  afterEach(() => stack.end());
  after(() => stack.close());
  return stack;
}

class SenderStack {
  database!: TestDatabase;
  sql!: pg.Client;
  chain!: TestChain;
  /** Between the sender and its chain. */
  proxy!: RpcProxy;
  /** Between the sender and Postgres, where a test puts one. */
  cutter: TcpProxy | undefined;
  key!: string;
  address!: string;
  readonly reports: string[] = [];
  readonly told: { readonly signed: string[]; readonly over: (readonly [nonce: number, kind: Ending['kind'], note: unknown])[] } = { signed: [], over: [] };
  private readonly senders: Sender[] = [];
  private changed: () => void = () => undefined;

  async open(): Promise<void> {
    this.database = await testDatabase();
    this.sql = new pg.Client({ connectionString: this.database.url });
    await this.sql.connect();
  }

  async close(): Promise<void> {
    await this.sql.end();
    await this.database.drop();
  }

  async begin(): Promise<void> {
    this.chain = await testChain();
    await this.chain.rpc('anvil_setCode', [TARGET, CODE]);
    this.proxy = await startRpcProxy(this.chain.url);
    const wallet = Wallet.createRandom();
    this.key = wallet.privateKey;
    this.address = wallet.address.toLowerCase();
    await this.balance(10n ** 20n);
    for (const told of [this.reports, this.told.signed, this.told.over]) told.length = 0;
  }

  async end(): Promise<void> {
    this.proxy.fate = () => 'pass';
    this.proxy.release();
    await Promise.all(this.senders.splice(0).map((sender) => sender.stop()));
    await this.cutter?.close();
    this.cutter = undefined;
    await this.proxy.close();
    await this.chain.stop();
  }

  async start(options: Partial<SenderOptions> = {}): Promise<Sender> {
    const sender = await createSender({
      chain: { chainId: TEST_CHAIN_ID, confirmations: CONFIRMATIONS }, privateKey: this.key, now: () => performance.now(),
      rpc: this.rpc(), store: this.outbox(),
      report: (level, text) => {
        this.reports.push(`${level}: ${text}`);
        this.changed();
      },
      signed: async ({ txHash }) => { this.told.signed.push(txHash); },
      over: async ({ nonce, request }, ending) => {
        this.told.over.push([nonce, ending.kind, request.note]);
        this.changed();
      },
      pollMs: 20, bumpAfterMs: 60_000, rebroadcastMs: 100, lostAfterMs: 100, backoffMs: [20], ...options,
    });
    this.senders.push(sender);
    return sender;
  }

  rpc(): ChainRpc {
    return createRpc({ chainId: TEST_CHAIN_ID, urls: [this.proxy.url], now: () => performance.now(), report: () => undefined, restMs: [10] });
  }

  outbox(url = this.database.url): Outbox {
    return createOutbox({ url, standByMs: 20 });
  }

  request(number: number): TransactionRequest {
    return { to: TARGET, data: `0x${number.toString(16).padStart(64, '0')}`, gasLimit: 100_000n, note: { number } };
  }

  mine(blocks: number): Promise<unknown> {
    return this.chain.rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
  }

  automine(on: boolean): Promise<unknown> {
    return this.chain.rpc('evm_setAutomine', [on]);
  }

  balance(wei: bigint): Promise<unknown> {
    return this.chain.rpc('anvil_setBalance', [this.address, `0x${wei.toString(16)}`]);
  }

  /** Looks until it is so: at the chain, which calls nobody, and at what the sender tells. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const endMs = performance.now() + NEVER_MS;
    while (!await isSo()) {
      if (performance.now() > endMs) throw new Error(`never: ${what}; ${this.reports.join('; ')}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 10);
        this.changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** What the chain's pool has of the key: nonces and hashes. */
  async pooled(): Promise<(readonly [nonce: number, txHash: string])[]> {
    const { pending, queued } = await this.chain.rpc('txpool_content') as { pending: Pool; queued: Pool };
    const own = (pool: Pool) => Object.entries(pool).find(([from]) => from.toLowerCase() === this.address)?.[1] ?? {};
    return Object.entries({ ...own(pending), ...own(queued) }).map(([nonce, { hash }]) => [Number(nonce), hash] as const);
  }

  async count(): Promise<number> {
    return Number(await this.chain.rpc('eth_getTransactionCount', [this.address, 'latest']));
  }

  /** The numbers that the target was called with, in the order of the chain. */
  async calls(): Promise<number[]> {
    const logs = await this.chain.rpc('eth_getLogs', [{ address: TARGET, fromBlock: '0x0', toBlock: 'latest' }]) as { data: string }[];
    return logs.map(({ data }) => Number(data));
  }

  /** The outbox: nonce, ending, whether the bytes are gone, and of each attempt whether its broadcast was marked. */
  async rows(): Promise<unknown[][]> {
    const { rows } = await this.sql.query<unknown[]>({
      text: `select nonce::int, ending->>'kind', data = '', (select array_agg(broadcast order by number) from sender.attempts a
        where a.address = t.address and a.nonce = t.nonce) from sender.transactions t where address = $1 order by nonce`,
      values: [this.address], rowMode: 'array',
    });
    return rows;
  }

  /** Requests for receipts that the sender has acted upon, since it has looked at the chain again; one a used nonce. */
  seen(): readonly string[] {
    const { calls } = this.proxy;
    return calls.slice(0, calls.lastIndexOf('eth_getBlockByNumber')).filter((method) => method === 'eth_getTransactionReceipt');
  }

  overAll(n: number): Promise<void> {
    return this.until(`${n} over and marked`, async () => this.told.over.length >= n && (await this.rows()).every(([, kind]) => kind !== null));
  }
}

export type { SenderStack };
