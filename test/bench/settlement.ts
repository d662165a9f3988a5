/** Settlement: fills from their match to the history, against the same calldata sent by a bare loop to a fresh chain; and a fill's gas. */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { Wallet } from 'ethers';
import type * as Secp256k1 from 'secp256k1';
import { toHex } from '../../command/hex.js';
import { createKeccak256 } from '../../command/keccak.js';
import { prepareDomain, type PreparedDomain } from '../../command/typed-data.js';
import type { TransactionRequest } from '../../command/chain/sender.js';
import { encodeCommand, recordId } from '../../engine/codec.js';
import type { PlaceOrder } from '../../engine/commands.js';
import { BUY, SELL, YES, type Side } from '../../engine/fields.js';
import { openPostgresLog } from '../../engine/log/postgres.js';
import { MAX_UINT256, USDC } from '../settlement-contracts.js';
import { settlementWorld, startSettlementStack, type SettlementStack, type SettlementWorld } from '../settlement-stack.js';
import type { BenchLine } from './line.js';

/** Fills of each shape, in whole transactions of 50. */
const FILLS = 2_000;
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
  readonly gas: bigint;
}

/** Buyers and sellers are different ones, so that no order meets its own trader. */
const SHAPES: readonly Shape[] = [
  {
    name: 'pairs of orders', mostGas: 134_000,
    orders: (traders) => Array.from({ length: 2 * FILLS }, (_, i) => ({ side: i % 2 === 0 ? SELL : BUY, trader: traders[i % TRADERS], shares: 1 })),
  },
  {
    name: `one taker to ${MAKERS} makers`, mostGas: 80_000,
    orders: (traders) => Array.from({ length: FILLS / MAKERS }, (_, taker) => [
      ...Array.from({ length: MAKERS }, (__, i) => ({ side: SELL, trader: traders[2 * i], shares: 1 })),
      { side: BUY, trader: traders[(2 * taker + 1) % TRADERS], shares: MAKERS },
    ]).flat(),
  },
];

/** Needs a Postgres of its own. */
export async function settlementBench(databaseUrl: string): Promise<BenchLine[]> {
  const keccak256 = await createKeccak256();
  const traders = Array.from({ length: TRADERS }, (_, i) => traderOf(i, keccak256));
  const world = await fundedWorld(databaseUrl, traders);
  const domain = prepareDomain(keccak256, { ...world.contracts.orderDomain, version: '1', verifyingContract: world.chain.contracts.settlement });
  const requests: TransactionRequest[][] = [];
  const settled: Run[] = [];
  try {
    for (const [i, { orders }] of SHAPES.entries()) {
      requests.push([]);
      await matchAll(world, signAll(orders(traders), { domain, marketId: world.marketId, firstNonce: i * 100_000 }));
      settled.push(await settle(world, requests[i]));
    }
  } finally {
    await world.stop();
  }
  const bare = await bareLoops(databaseUrl, traders, requests);
  return SHAPES.flatMap(({ name, mostGas }, i): BenchLine[] => [
    {
      name: `settlement, ${name}: fills a second, from the match to the history`, figure: FILLS / settled[i].seconds, unit: 'fills/s',
      peer: { name: 'the same calldata sent by a bare loop', figure: FILLS / bare[i].seconds }, target: { ratioAtLeast: 0.5 },
    },
    { name: `settlement, ${name}: gas a fill`, figure: Number(settled[i].gas) / FILLS, unit: 'gas', target: { atMost: mostGas } },
  ]);
}

async function fundedWorld(databaseUrl: string, traders: readonly Trader[]): Promise<SettlementWorld> {
  const world = await settlementWorld({ databaseUrl, openLog: () => openPostgresLog({ url: databaseUrl }) });
  const { contracts: { send, usdc, settlement, stock }, marketId } = world;
  await Promise.all(traders.map(async ({ address }) => {
    await stock(address, marketId, 1_000n * USDC);
    await send(address, usdc, 'mint', [address, 1_000n * USDC]);
    await send(address, usdc, 'approve', [settlement.address, MAX_UINT256]);
  }));
  return world;
}

/** The orders are in the log and matched, and nothing of them is settled. */
async function matchAll(world: SettlementWorld, orders: readonly PlaceOrder[]): Promise<void> {
  const stack = await startSettlementStack(world, { settlement: { rules: { maxFills: FILLS + 1, gatherMs: 3_600_000 } } });
  const before = stack.run.engine.state.nextFill;
  await stack.log.append('commands', orders.map((order) => ({ id: recordId(`bench:${order.orderHash}`), data: encodeCommand(order) })));
  await stack.until('all is matched', () => stack.run.engine.state.nextFill === before + FILLS);
  await stack.events(stack.run.engine.state.position);
  await stack.stop();
}

async function settle(world: SettlementWorld, requests: TransactionRequest[]): Promise<Run> {
  const stack = await startSettlementStack(world, {
    altered(request) {
      requests.push(request);
      return request;
    },
  });
  const started = performance.now();
  await stack.settled();
  const seconds = (performance.now() - started) / 1_000;
  const gas = await gasOf(world, stack);
  await stack.stop();
  return { seconds, gas };
}

async function gasOf({ contracts: { chain } }: SettlementWorld, stack: SettlementStack): Promise<bigint> {
  const events = await stack.events();
  const recent = new Set(events.flatMap((event) => event.type === 'FillSettled' ? [event] : []).slice(-FILLS).map(({ txHash }) => txHash));
  let gas = 0n;
  for (const txHash of recent) gas += BigInt((await chain.rpc('eth_getTransactionReceipt', [txHash]) as { gasUsed: string }).gasUsed);
  return gas;
}

/** The same transactions, signed beforehand, on a chain that has seen the same before them: no log, no engine, no waiting in between. */
async function bareLoops(databaseUrl: string, traders: readonly Trader[], requests: readonly (readonly TransactionRequest[])[]): Promise<Run[]> {
  const world = await fundedWorld(databaseUrl, traders);
  const { chain } = world.contracts;
  const wallet = new Wallet(world.operator.privateKey);
  const runs: Run[] = [];
  let nonce = 0;
  try {
    for (const batch of requests) {
      const signed: string[] = [];
      for (const { to, data, gasLimit } of batch) {
        signed.push(await wallet.signTransaction({
          type: 2, chainId: world.chain.chainId, nonce: nonce++, to, data, gasLimit, maxFeePerGas: 1_000n, maxPriorityFeePerGas: 1n,
        }));
      }
      const started = performance.now();
      let last: unknown;
      for (const raw of signed) last = await chain.rpc('eth_sendRawTransaction', [raw]);
      while (await chain.rpc('eth_getTransactionReceipt', [last]) === null) await new Promise((resolve) => setTimeout(resolve, 1));
      runs.push({ seconds: (performance.now() - started) / 1_000, gas: 0n });
    }
    return runs;
  } finally {
    await world.stop();
  }
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
    return {
      kind: 'PlaceOrder', v: 1, at: Date.now(), orderHash: toHex(digest), ...fields, signature: `${toHex(signature)}${(27 + recid).toString(16)}`,
    };
  });
}

function traderOf(i: number, keccak256: (data: Uint8Array) => Uint8Array): Trader {
  const key = createHash('sha256').update(`settlement bench ${i}`).digest();
  return { key, address: `0x${toHex(keccak256(secp256k1.publicKeyCreate(key, false).subarray(1))).slice(26)}` };
}
