/** The whole exchange in this process, on a test database with two markets of its own or on chains, as a client meets it. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet, id, type TypedDataDomain, type TypedDataField } from 'ethers';
import { encodeCommand } from '../../engine/run/new-record.js';
import type { Command } from '../../engine/records/commands.js';
import { openLog } from '../../engine/log/open-log.js';
import type { ConfiguredChain } from '../../command/chain/configured-chain.js';
import { logUrlOf, parseConfig } from '../../service/config.js';
import type { Machine } from '../../service/status/conditions.js';
import { startProcess, type ExchangeProcess } from '../../service/process/process.js';
import { createLogger } from '../../service/logger.js';
import { documentedClient, type Answered, type DocumentedClient } from '../support/documented-client.js';
import { WITHOUT_FSYNC, exchangeDatabase, testDatabase, type TestDatabase } from '../support/postgres.js';
import { listenForSecrets } from '../support/spoken-secrets.js';

export interface ExchangeStack extends DocumentedClient {
  readonly url: string;
  /** Its database; the read models' one where the settings name others for log and outbox. */
  readonly databaseUrl: string;
  /** Its log. */
  readonly logUrl: string;
  /** What `/api/v1/config` gave: all that a wallet needs on the first chain. */
  readonly signing: Signing;
  /** The same on a chain. */
  signingOn(chainId: number): Signing;
  /** The markets as listed at the start: `rain`, then `sun`. There are none on chains but those that a test creates there. */
  readonly rain: ListedMarket;
  readonly sun: ListedMarket;
  /** Sends a signed order, with further fields of the body in `changes`; the nonces of `fields` without one are counted up. */
  place(wallet: Wallet, fields?: Fields, changes?: Fields & { readonly signing?: Signing }): Promise<Placed>;
  /** Writes commands to the log, as the workers that watch a chain would. Returns the last one's position. */
  record(...commands: readonly Command[]): Promise<number>;
  /** Why the process should not go on, when a part has failed. */
  readonly failed: Promise<string>;
  /** Stops in the service's own order, once, and waits for all of it. The database stays until `close`. */
  stop(): Promise<void>;
  /** A second process's life on the same database: what a restart gives, on the same chains or on others. */
  restart(chains?: readonly ConfiguredChain[]): Promise<ExchangeStack>;
  close(): Promise<void>;
}

/** Domain and types of what traders sign. */
export interface Signing {
  readonly domain: TypedDataDomain;
  readonly types: Readonly<Record<'Order' | 'CancelOrder', TypedDataField[]>>;
}

/** What `/api/v1/config` says about signing. */
export interface SigningConfig {
  readonly chains: readonly {
    readonly chainId: number; readonly orderDomain: TypedDataDomain;
    readonly signedActions: { readonly cancel: { readonly types: Pick<Signing['types'], 'CancelOrder'> } };
  }[];
  readonly orderTypes: Pick<Signing['types'], 'Order'>;
}

/** What a wallet needs on the chain; on the first one where none is named. */
export function signingOf({ chains, orderTypes }: SigningConfig, chainId = chains[0]!.chainId): Signing {
  const { orderDomain, signedActions } = chains.find((each) => each.chainId === chainId)!;
  return { domain: orderDomain, types: { ...orderTypes, ...signedActions.cancel.types } };
}

export interface ListedMarket {
  readonly id: string;
  readonly contractAddress: string;
  readonly expiration: number;
  readonly createdAt: number;
}

export type Fields = Record<string, unknown>;

/** An order that was taken. */
export interface Placed extends Answered {
  readonly orderHash: string;
  readonly timestamp: number;
  /** The request's body, to send again. */
  readonly sent: string;
}

export const alice = new Wallet(id('exchange: alice'));
export const bob = new Wallet(id('exchange: bob'));
export const carol = new Wallet(id('exchange: carol'));
export const lower = ({ address }: Wallet): string => address.toLowerCase();

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

const catalogue = {
  markets: [
    { slug: 'sun', question: 'Will the sun shine?', description: 'At noon.', category: 'general', expiresInDays: 30, maker: `0x${'5a'.repeat(20)}` },
    { slug: 'rain', question: 'Will it rain?', description: 'Before noon.', category: 'defi', expiresInDays: 60, maker: `0x${'5b'.repeat(20)}` },
  ],
};

/**
 * Starts it, on chains or, without any, with the catalogue's markets. `settings` are environment variables. Without any, cancels need
 * signatures, as with every database of one's own. `machine` has the clocks and the disk; absent: this machine. `logged` takes the log lines.
 */
export async function exchangeStack(
  settings: Record<string, string> = {}, chains: readonly ConfiguredChain[] = [], machine?: Machine, logged?: (line: string) => void,
): Promise<ExchangeStack> {
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-stack-'));
  await writeFile(join(directory, 'catalogue.json'), JSON.stringify(catalogue));
  let nonce = 0;
  // Where log and outbox have databases of their own, this one has nothing of theirs.
  const database = 'LOG_URL' in settings || 'OUTBOX_URL' in settings ? await testDatabase() : await exchangeDatabase();
  return await start({ settings, directory, database, chains, machine, logged, nextNonce: () => ++nonce }).catch(async (error: unknown) => {
    await database.drop();
    await rm(directory, { recursive: true });
    throw error;
  });
}

interface StackParts {
  readonly settings: Record<string, string>;
  readonly directory: string;
  readonly database: TestDatabase;
  readonly chains: readonly ConfiguredChain[];
  readonly machine: Machine | undefined;
  readonly logged: ((line: string) => void) | undefined;
  readonly nextNonce: () => number;
}

async function start(parts: StackParts): Promise<ExchangeStack> {
  const { settings, directory, database, chains, machine, logged, nextNonce } = parts;
  const config = parseConfig({
    PORT: '0', DATABASE_URL: database.url, DATA_DIR: directory, CATALOGUE: join(directory, 'catalogue.json'), LOG_LEVEL: 'silent',
    ...WITHOUT_FSYNC, ...settings,
  });
  const urls = { log: logUrlOf(config, database.url), readModels: database.url, outbox: config.outboxUrl || database.url };
  const heard = listenForSecrets({ DATABASE_URL: database.url, ...settings });
  const destination = logged && { write: (line: string) => {
    heard(line);
    logged(line);
  } };
  const exchange = await startProcess(config, { urls, chains }, createLogger(config, destination), machine);
  const failed = exchange.failed.then(() => '', (error: Error) => error.message);
  const client = documentedClient(exchange.url);
  const shown = await client.get('/api/v1/config') as unknown as SigningConfig;
  const signingOn = (chainId: number) => signingOf(shown, chainId);
  const { markets } = await client.get('/api/v1/markets', 1) as { markets: ListedMarket[] };
  const [rain, sun] = markets as [ListedMarket, ListedMarket];
  const signing = signingOf(shown);
  let end: Promise<void> | undefined;
  const stop = () => end ??= stopped(exchange);
  return {
    ...client, url: exchange.url, databaseUrl: database.url, logUrl: urls.log, signing, signingOn, rain, sun, stop, failed,
    place: async (wallet, { marketId = rain.id, ...fields } = {}, { signing: of = signing, ...changes } = {}) => {
      const sent = await signedBody(of, wallet, { marketId, nonce: nextNonce(), ...fields }, changes);
      const answer = await client.request('POST', '/api/v1/orders', { body: sent });
      if (answer.status !== 200) throw new Error(`refused: ${answer.text}`);
      return { ...answer, ...answer.body as { orderHash: string; timestamp: number }, sent };
    },
    record: (...commands) => recordCommands(urls.log, commands),
    restart: async (others = chains) => {
      await stop();
      return start({ ...parts, chains: others });
    },
    close: async () => {
      await stop();
      await database.drop();
      await rm(directory, { recursive: true });
    },
  };
}

async function recordCommands(url: string, commands: readonly Command[]): Promise<number> {
  const log = await openLog(url);
  try {
    return await log.append('commands', commands.map((command) => ({ id: randomUUID(), data: encodeCommand(command) }))) + commands.length - 1;
  } finally {
    await log.close();
  }
}

async function stopped({ stopSteps }: ExchangeProcess): Promise<void> {
  for (const { run } of stopSteps) await run();
}

/** When orders expire that do not say when: far ahead, and the same in every run. */
export const EXPIRATION = 4_000_000_000;

/** The body of a signed order: to buy 10 YES at 0.62, with other fields where given. Bigints become JSON integers. */
export async function signedBody({ domain, types }: Signing, wallet: Wallet, fields: Fields, changes: Fields = {}): Promise<string> {
  const order = {
    trader: wallet.address, side: 0, outcome: 0, price: 620_000, size: 10_000_000, expiration: EXPIRATION, makerFeeRecipient: ZERO_ADDRESS, ...fields,
  };
  return json({ order, signature: await wallet.signTypedData(domain, { Order: types.Order }, order), ...changes });
}

/** JSON with bigints as the integers that they are. */
export function json(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => typeof each === 'bigint' ? `${each}n` : each).replaceAll(/"(\d+)n"/g, '$1');
}

/** The headers of a signed cancel. */
export async function cancelHeaders(
  { domain, types }: Signing, wallet: Wallet,
  { orderHash, trader = wallet.address, deadline = EXPIRATION }: { orderHash: string; trader?: string; deadline?: number },
): Promise<Record<string, string>> {
  const signature = await wallet.signTypedData(domain, { CancelOrder: types.CancelOrder }, { orderHash, trader, deadline });
  return { 'X-Cancel-Signature': signature, 'X-Cancel-Deadline': String(deadline) };
}
