/** Settlement: fills from their match to the history, against the same calldata sent by a bare loop to a fresh chain; and a fill's gas. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { Wallet } from 'ethers';
import type * as Secp256k1 from 'secp256k1';
import { toHex } from '../../engine/records/hex.js';
import { createKeccak256, prepareDomain, type PreparedDomain } from '../../command/signing/typed-data.js';
import { intakeState } from '../../command/settlement/role-state.js';
import type { TransactionRequest } from '../../command/lane/requests.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { BUY, SELL, YES, type Side } from '../../engine/records/fields.js';
import { openLog } from '../../engine/log/open-log.js';
import type { TestChain } from '../support/chain.js';
import { appendAnywhere } from '../support/log-records.js';
import { MAX_UINT256, USDC } from '../support/settlement-contracts.js';
import { ofType, settlementWorld, startSettlement, type SettlementWorld } from '../harness/settlement-world.js';
import { newCommand } from '../support/commands.js';
import type { BenchLine } from './line.js';
import { median } from './median.js';

/** Fills of a stretch, in whole transactions of 50. */
const FILLS = 1_000;
/** The worker and its peer take turns, so that what else the machine does meets both alike; medians count. */
const STRETCHES = 3;
const MAKERS = 25;
const TRADERS = 100;
const EXPIRATION = 4_000_000_000;

const secp256k1 = createRequire(import.meta.url)('secp256k1') as typeof Secp256k1;

interface Trader { readonly key: Uint8Array; readonly address: string }

interface Order { readonly side: Side; readonly trader: Trader; readonly shares: number }

interface Shape {
  readonly name: string;
  /** All its orders, in order. */
  readonly orders: (traders: readonly Trader[]) => Order[];
  readonly mostGas: number;
}

interface Run {
  readonly seconds: number;
  readonly gas: number;
}

/** Buyers and sellers are different ones, so that no order meets its own trader. */
const SHAPES: readonly Shape[] = [
  {
    name: 'pairs of orders', mostGas: 134_000,
    orders: (traders) => Array.from({ length: 2 * FILLS }, (_, i) => ({ side: i % 2 === 0 ? SELL : BUY, trader: traders[i % TRADERS]!, shares: 1 })),
  },
  {
    name: `one taker to ${MAKERS} makers`, mostGas: 80_000,
    orders: (traders) => Array.from({ length: FILLS / MAKERS }, (_, taker) => [
      ...Array.from({ length: MAKERS }, (__, i) => ({ side: SELL, trader: traders[2 * i]!, shares: 1 })),
      { side: BUY, trader: traders[(2 * taker + 1) % TRADERS]!, shares: MAKERS },
    ]).flat(),
  },
];

/** Needs a Postgres of its own. */
export async function settlementBench(databaseUrl: string): Promise<BenchLine[]> {
  const keccak256 = await createKeccak256();
  const traders = Array.from({ length: TRADERS }, (_, i) => traderOf(i, keccak256));
  const worlds = [await fundedWorld(databaseUrl, traders), await fundedWorld(databaseUrl, traders)];
  try {
    const [world, peer] = worlds as [SettlementWorld, SettlementWorld];
    const domain = prepareDomain(keccak256, { ...world.contracts.orderDomain, version: '1', verifyingContract: world.chain.contracts.settlement });
    const lines: BenchLine[] = [];
    let firstNonce = 0;
    for (const { name, orders, mostGas } of SHAPES) {
      const settled: Run[] = [];
      const bare: Run[] = [];
      for (let stretch = 0; stretch < STRETCHES; stretch++) {
        await matchAll(world, signAll(orders(traders), { domain, marketId: world.marketId, firstNonce }));
        firstNonce += 2 * FILLS;
        const requests: TransactionRequest[] = [];
        settled.push(await settle(world, requests));
        bare.push(await bareLoop(peer, requests));
        assertSameWork(settled.at(-1)!, bare.at(-1)!);
      }
      lines.push({
        name: `settlement, ${name}: fills a second, from the match to the history`, figure: FILLS / median(settled.map(({ seconds }) => seconds)),
        unit: 'fills/s', peer: { name: 'the same calldata sent by a bare loop', figure: FILLS / median(bare.map(({ seconds }) => seconds)) }, target: { ratioAtLeast: 0.4 },
      }, {
        name: `settlement, ${name}: gas a fill`, figure: median(settled.map(({ gas }) => gas)) / FILLS, unit: 'gas', target: { atMost: mostGas },
      });
    }
    return lines;
  } finally {
    for (const world of worlds) await world.stop();
  }
}

async function fundedWorld(databaseUrl: string, traders: readonly Trader[]): Promise<SettlementWorld> {
  const world = await settlementWorld({ databaseUrl, openLog: () => openLog(databaseUrl) });
  const { contracts: { send, usdc, settlement, stock }, marketId } = world;
  await Promise.all(traders.map(async ({ address }) => {
    await stock(address, marketId, 1_000n * USDC);
    await send(address, usdc, 'mint', [address, 1_000n * USDC]);
    await send(address, usdc, 'approve', [settlement.address, MAX_UINT256]);
  }));
  return world;
}

/** The orders are in the log and matched, their fills are taken in from the feed, and nothing of them is settled. */
async function matchAll(world: SettlementWorld, orders: readonly PlaceOrder[]): Promise<void> {
  const running = await startSettlement(world, { settlement: { rules: { maxFills: FILLS + 1, gatherMs: 3_600_000 } } });
  const before = running.replica.view.nextFill;
  // The indexer may append, too.
  await appendAnywhere(running.log, 'commands', orders.map((order) => ({ id: recordId(`bench:${order.orderHash}`), data: encodeCommand(order) })));
  await running.until('all is matched', () => running.replica.view.nextFill === before + FILLS);
  await running.events(running.replica.view.position);
  await running.until('all is taken in', async () => (await running.stateOf(intakeState))[0]?.position === running.replica.view.position);
  await running.stop();
}

async function settle(world: SettlementWorld, requests: TransactionRequest[]): Promise<Run> {
  const running = await startSettlement(world, {
    altered(request) {
      requests.push(request);
      return request;
    },
  });
  const started = performance.now();
  await running.settled();
  const seconds = (performance.now() - started) / 1_000;
  const events = await running.events();
  await running.stop();
  const txHashes = new Set(ofType(events, 'FillSettled').slice(-FILLS).map(({ txHash }) => txHash));
  const gas = await gasOf(world.contracts.chain, txHashes);
  return { seconds, gas };
}

async function gasOf(chain: TestChain, txHashes: Iterable<unknown>): Promise<number> {
  let gas = 0;
  for (const txHash of txHashes) gas += Number((await chain.rpc('eth_getTransactionReceipt', [txHash]) as { gasUsed: string }).gasUsed);
  return gas;
}

/**
 * Seconds for the same transactions, signed beforehand, on a chain that has seen the same before them: no log, no engine, no waiting
 * in between.
 */
async function bareLoop(
  { contracts: { chain }, chain: { chainId }, operator }: SettlementWorld, requests: readonly TransactionRequest[],
): Promise<Run> {
  const wallet = new Wallet(operator.privateKey);
  let nonce = Number(await chain.rpc('eth_getTransactionCount', [wallet.address, 'latest']));
  const signed: string[] = [];
  for (const { to, data, gasLimit } of requests) {
    signed.push(await wallet.signTransaction({
      type: 2, chainId, nonce: nonce++, to, data, gasLimit, maxFeePerGas: 1_000n, maxPriorityFeePerGas: 1n,
    }));
  }
  const started = performance.now();
  const hashes: unknown[] = [];
  for (const raw of signed) hashes.push(await chain.rpc('eth_sendRawTransaction', [raw]));
  while (await chain.rpc('eth_getTransactionReceipt', [hashes.at(-1)]) === null) await new Promise((resolve) => setTimeout(resolve, 1));
  return { seconds: (performance.now() - started) / 1_000, gas: await gasOf(chain, hashes) };
}

/** Fills that fail on one of the chains would make its gas another one. */
function assertSameWork({ gas }: Run, bare: Run): void {
  if (Math.abs(gas / bare.gas - 1) > 0.01) throw new Error(`the worker's transactions took ${gas} gas, the bare loop's ${bare.gas}`);
}

function signAll(
  orders: readonly Order[], { domain, marketId, firstNonce }: { domain: PreparedDomain; marketId: string; firstNonce: number },
): PlaceOrder[] {
  return orders.map(({ side, trader, shares }, i) => {
    const fields = {
      marketId, trader: trader.address, side, outcome: YES, price: 600_000, size: String(BigInt(shares) * USDC), nonce: String(firstNonce + i),
      expiration: String(EXPIRATION),
    };
    const digest = domain.orderDigest(fields);
    const { signature, recid } = secp256k1.ecdsaSign(digest, trader.key);
    return newCommand('PlaceOrder', {
      at: Date.now(), orderHash: toHex(digest), ...fields, signature: `${toHex(signature)}${(27 + recid).toString(16)}`,
    });
  });
}

function traderOf(i: number, keccak256: (data: Uint8Array) => Uint8Array): Trader {
  const key = createHash('sha256').update(`settlement bench ${i}`).digest();
  return { key, address: `0x${toHex(keccak256(secp256k1.publicKeyCreate(key, false).subarray(1))).slice(26)}` };
}
