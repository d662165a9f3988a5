/** A lane on a chain and a Postgres that outlive it, with a key of its own and a user of it: what they tell, and what chain and outbox show. */
import { deepEqual } from 'node:assert/strict';
import { Wallet, keccak256 } from 'ethers';
import pg from 'pg';
import { createRpc, type ChainRpc } from '../../command/chain/rpc.js';
import { createLane } from '../../command/lane/lane.js';
import type { Lane, LaneOptions } from '../../command/lane/lane-options.js';
import type { HeldLaneUser, LaneRequest, Purpose, TrackedRequest } from '../../command/lane/requests.js';
import { testChain, TEST_CHAIN_ID, type TestChain } from '../support/chain.js';
import { exchangeDatabase, type TestDatabase } from '../support/postgres.js';
import { startTcpProxy, startRpcProxy, type TcpProxy, type RpcProxy } from '../support/proxies.js';
import { postgresStores, type Stores } from './stores.js';

export const TARGET = '0x00000000000000000000000000000000000c0de0';
export const CONFIRMATIONS = 3;
/** Logs what it is called with: PUSH0 CALLDATALOAD PUSH0 MSTORE PUSH1 32 PUSH0 LOG0 STOP. */
const CODE = '0x5f355f5260205fa000';
const NEVER_MS = 20_000;

type Pool = Readonly<Record<string, Readonly<Record<string, { readonly hash: string }>>>>;

/** A chain on which lanes are tested. */
interface LaneChain extends Pick<TestChain, 'url' | 'rpc' | 'stop'> {
  readonly chainId: number;
  mine(blocks: number): Promise<unknown>;
  fund(account: { readonly address: string }): Promise<unknown>;
  /** Makes it a new chain for the next test; a chain without this is stopped, and another is started. */
  renew?(): Promise<void>;
}

async function anvilLaneChain() {
  const chain = await testChain();
  const { gasLimit, baseFeePerGas } = await chain.rpc('eth_getBlockByNumber', ['latest', false]) as { gasLimit: string; baseFeePerGas: string };
  /** Resetting leaves what tests have set for the blocks to come. */
  async function renew(): Promise<void> {
    await chain.rpc('anvil_reset');
    await chain.rpc('evm_setBlockGasLimit', [gasLimit]);
    await chain.rpc('anvil_setNextBlockBaseFeePerGas', [baseFeePerGas]);
    await chain.rpc('evm_setAutomine', [true]);
    await chain.rpc('anvil_setCode', [TARGET, CODE]);
  }
  await renew();
  return {
    ...chain, renew, chainId: TEST_CHAIN_ID,
    mine: (blocks: number) => chain.rpc('anvil_mine', [`0x${blocks.toString(16)}`]),
    fund: ({ address }: { readonly address: string }) => chain.rpc('anvil_setBalance', [address, `0x${(10n ** 20n).toString(16)}`]),
  };
}

type AnvilLaneChain = Awaited<ReturnType<typeof anvilLaneChain>>;

/** Registers mocha's hooks: every test gets a new chain and key; anvil and database are the file's. Only on anvil the target has code. */
export function laneWorld(): LaneWorld;
export function laneWorld<Chain extends LaneChain>(startChain: () => Promise<Chain>): LaneWorld<Chain>;
export function laneWorld(startChain: () => Promise<LaneChain> = anvilLaneChain): LaneWorld<LaneChain> {
  const stack = new LaneWorld(startChain);
  before(() => stack.open());
  beforeEach(() => stack.begin());
  afterEach(() => stack.end());
  after(() => stack.close());
  return stack;
}

class LaneWorld<Chain extends LaneChain = AnvilLaneChain> {
  database!: TestDatabase;
  sql!: pg.Client;
  chain!: Chain;
  /** A chain that has been renewed since the last test. */
  private running: Chain | undefined;
  /** Between the lane and its chain. */
  proxy!: RpcProxy;
  /** Between the lane and Postgres, where a test puts one. */
  private cutter: TcpProxy | undefined;
  /** The key's name, which is the test's own. */
  keyName!: string;
  key!: string;
  address!: string;
  /** Owns purpose `settlement`. */
  user!: HeldLaneUser;
  readonly reports: string[] = [];
  /** The hashes recorded in the history, in order. */
  readonly announced: string[] = [];
  /** Hashes of attempts that reached the nodes before the outbox had them. Every test ends with none. */
  private readonly unrecorded: string[] = [];
  private readonly lanes: Lane[] = [];
  private readonly users: HeldLaneUser[] = [];
  private tests = 0;
  private changed: () => void = () => undefined;

  constructor(private readonly startChain: () => Promise<Chain>) {}

  async open(): Promise<void> {
    this.database = await exchangeDatabase();
    this.sql = new pg.Client({ connectionString: this.database.url });
    await this.sql.connect();
  }

  async close(): Promise<void> {
    await this.sql.end();
    await this.database.drop();
    await this.running?.stop();
  }

  async begin(): Promise<void> {
    this.chain = this.running ?? await this.startChain();
    this.proxy = await startRpcProxy(this.chain.url);
    const wallet = Wallet.createRandom();
    this.key = wallet.privateKey;
    this.address = wallet.address.toLowerCase();
    await this.chain.fund(this);
    this.reports.length = 0;
    this.announced.length = 0;
    this.keyName = `key ${++this.tests}`;
    this.user = await this.hold('settlement');
  }

  async end(): Promise<void> {
    this.proxy.fate = () => 'pass';
    this.proxy.release();
    await Promise.all(this.lanes.splice(0).map((lane) => lane.stop()));
    await Promise.all(this.users.splice(0).map((user) => user.close()));
    await this.cutter?.close();
    this.cutter = undefined;
    await this.proxy.close();
    if (this.chain.renew === undefined) await this.chain.stop();
    else {
      await this.chain.renew();
      this.running = this.chain;
    }
    deepEqual(this.unrecorded.splice(0), [], 'an attempt was broadcast before it was recorded');
  }

  async start({ policy, ...options }: Partial<LaneOptions> = {}): Promise<Lane> {
    const lane = await createLane({
      chain: { chainId: this.chain.chainId, confirmations: CONFIRMATIONS }, key: this.keyName, privateKey: this.key, now: () => performance.now(),
      rpc: this.rpc(), outbox: this.stores().outbox,
      report: (level, text) => {
        this.reports.push(`${level}: ${text}`);
        this.changed();
      },
      announce: async ({ txHash }) => { this.announced.push(txHash); },
      policy: {
        pollMs: 20, bumpAfterMs: 0, rebroadcastMs: 100, lostAfterMs: 100, gapAfterMs: 200, looks: 3, looksApartMs: 20,
        backoff: { firstMs: 20, longestMs: 20 },
        publishMs: 100, ...policy,
      },
      ...options,
    });
    this.lanes.push(lane);
    return lane;
  }

  async hold(purpose: Purpose): Promise<HeldLaneUser> {
    const whose = { chainId: this.chain.chainId, key: this.keyName, purpose };
    const user = await this.stores().laneUser(whose).hold({ signal: AbortSignal.timeout(NEVER_MS), standingBy: () => undefined });
    this.users.push(user);
    return user;
  }

  rpc(): ChainRpc {
    const { chain: { chainId }, proxy: { url } } = this;
    const rpc = createRpc({ chainId, urls: [url], now: () => performance.now(), report: () => undefined, restMs: [10] });
    return {
      ...rpc,
      request: async <T>(method: string, params: readonly unknown[]) => {
        if (method === 'eth_sendRawTransaction') await this.lookUp(keccak256(params[0] as string));
        return await rpc.request<T>(method, params);
      },
    };
  }

  /** Remembers an attempt that the outbox does not have. */
  private async lookUp(txHash: string): Promise<void> {
    const { rowCount } = await this.sql.query('select 1 from lane.attempts where tx_hash = $1', [txHash]);
    if (rowCount === 0) this.unrecorded.push(txHash);
  }

  stores(url = this.database.url): Stores {
    return postgresStores(url);
  }

  /** The same stores behind a proxy, which decides what comes through. */
  async cut(fate: TcpProxy['fate']): Promise<Stores> {
    const url = new URL(this.database.url);
    this.cutter = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
    this.cutter.fate = fate;
    url.port = String(this.cutter.port);
    return this.stores(url.href);
  }

  /** Calls the target with the number. Its id tells the test and the number. */
  request(number: number, changes: Partial<LaneRequest> = {}): LaneRequest {
    const id = `00000000-0000-4000-8000-${this.tests.toString(16).padStart(4, '0')}${number.toString(16).padStart(8, '0')}`;
    return { id, to: TARGET, data: `0x${number.toString(16).padStart(64, '0')}`, gasLimit: 100_000n, note: { number }, ...changes };
  }

  ask(...numbers: readonly number[]): Promise<void> {
    return this.user.ask(numbers.map((number) => this.request(number)));
  }

  /** What the user sees of its requests, by number. */
  async tracked(): Promise<Map<number, TrackedRequest>> {
    return new Map((await this.user.list()).map((request) => [(request.note as { number: number }).number, request]));
  }

  /** The state of the user's requests, in the order of asking: number, then status or ending. */
  async fates(): Promise<(readonly [number: number, fate: string])[]> {
    return [...await this.tracked()].map(([number, { status }]) => [number, status.kind === 'ended' ? status.ending.kind : status.kind] as const);
  }

  /** Resolves when the lane has signed and recorded these requests. */
  sent(...numbers: readonly number[]): Promise<void> {
    return this.until(`${numbers.join()} are sent`, async () => {
      const tracked = await this.tracked();
      return numbers.every((number) => tracked.get(number)?.status.kind !== 'waiting');
    });
  }

  mine(blocks: number): Promise<unknown> {
    return this.chain.mine(blocks);
  }

  automine(on: boolean): Promise<unknown> {
    return this.chain.rpc('evm_setAutomine', [on]);
  }

  balance(wei: bigint): Promise<unknown> {
    return this.chain.rpc('anvil_setBalance', [this.address, `0x${wei.toString(16)}`]);
  }

  /** Polls the chain and the lane until the condition holds. */
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
      text: `select t.nonce::int, t.ending->>'kind', coalesce(r.data, '') = '', (select array_agg(a.broadcast order by a.number) from lane.attempts a
        where a.transaction = t.id) from lane.transactions t left join lane.requests r on r.id = t.request where t.address = $1 order by t.nonce, t.id`,
      values: [this.address], rowMode: 'array',
    });
    return rows;
  }

  /** The nonces of the requests with these numbers, as recorded; -1 for a request without one. */
  async nonces(...numbers: readonly number[]): Promise<number[]> {
    const { rows } = await this.sql.query<{ number: number; nonce: number }>(
      'select (r.note->>\'number\')::int as number, t.nonce::int from lane.transactions t join lane.requests r on r.id = t.request where t.address = $1', [this.address]);
    return numbers.map((number) => rows.find((row) => row.number === number)?.nonce ?? -1);
  }

  /** The offers of all attempts, in the order of nonces and attempts. */
  async offers(): Promise<{ nonce: number; max: bigint; priority: bigint; broadcast: boolean }[]> {
    const { rows } = await this.sql.query<{ nonce: number; max: string; priority: string; broadcast: boolean }>(
      `select t.nonce::int, a.max_fee_per_gas as max, a.max_priority_fee_per_gas as priority, a.broadcast from lane.attempts a
        join lane.transactions t on t.id = a.transaction where t.address = $1 order by t.nonce, t.id, a.number`, [this.address]);
    return rows.map(({ nonce, max, priority, broadcast }) => ({ nonce, max: BigInt(max), priority: BigInt(priority), broadcast }));
  }

  /** Requests for receipts that the lane has acted upon, since it has looked at the chain again; one a used nonce. */
  seen(): readonly string[] {
    const { calls } = this.proxy;
    return calls.slice(0, calls.lastIndexOf('eth_getBlockByNumber')).filter((method) => method === 'eth_getTransactionReceipt');
  }

  broadcasts(): number {
    return this.proxy.calls.filter((method) => method === 'eth_sendRawTransaction').length;
  }

  /** Resolves when the user knows that n of its requests have ended. */
  endedAll(n: number, meanwhile = async (): Promise<unknown> => undefined): Promise<void> {
    return this.until(`${n} ended`, async () => {
      await meanwhile();
      const requests = await this.user.list();
      return requests.length >= n && requests.every(({ status }) => status.kind === 'ended');
    });
  }

  /** Mines one block after the other until all of the user's n requests have ended. */
  mineUntilEnded(n: number): Promise<void> {
    return this.endedAll(n, () => this.mine(1));
  }

  /** Resolves when the target was called with these numbers, at final depth, in this order. */
  async calledWith(...numbers: readonly number[]): Promise<void> {
    await this.until('mined', async () => await this.count() === numbers.length);
    await this.mine(CONFIRMATIONS);
    await this.endedAll(numbers.length);
    deepEqual(await this.calls(), numbers);
  }
}

export type { LaneWorld };
