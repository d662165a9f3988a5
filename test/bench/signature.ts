/** The signature check of an order against ethers' `verifyTypedData`, and where the rest of an order's intake spends its time. */
import { Wallet, id, verifyTypedData } from 'ethers';
import { parseJsonObject } from '../../engine/records/exact-json.js';
import { toHex } from '../../engine/records/hex.js';
import { createKeccak256, orderTypes, prepareDomain, type OrderDomain } from '../../command/signing/typed-data.js';
import { parseOrder } from '../../command/orders/order-request.js';
import { createSignerRecovery, signatureBytes, type Recovery } from '../../command/signing/recover.js';
import { createRecoveryThread } from '../../command/signing/recovery-thread.js';
import { checkedRecordId, encodeCommand } from '../../engine/run/new-record.js';
import type { PlaceOrder } from '../../engine/records/commands.js';
import { newCommand } from '../support/commands.js';
import { until } from '../support/until.js';
import { scheduled } from './compare/usage.js';
import type { BenchLine } from './line.js';

const ORDERS = 64;
const ROUNDS = 12;
/** Peers take turns, this long each, so that a disturbance of the machine meets both. */
const TURN_MS = 150;

const domain: OrderDomain = { name: 'Settlement', version: '1', chainId: 31_337, verifyingContract: `0x${'c0'.repeat(20)}` };
const types = { Order: [...orderTypes.Order] };

/** Orders with all that their check is given: the body's bytes for us, the object for ethers. */
async function signedOrders() {
  const wallet = new Wallet(id('bench'));
  return Promise.all(Array.from({ length: ORDERS }, async (_, n) => {
    const order = {
      marketId: id(`market ${n % 8}`), trader: wallet.address, side: n % 2, outcome: 0, price: 500_000 + n, size: 1_000_000 * (n + 1),
      nonce: 1_700_000_000_000 + n, expiration: 1_900_000_000, makerFeeRecipient: `0x${'0'.repeat(40)}`,
    };
    const signature = await wallet.signTypedData(domain, types, order);
    return { order, signature, body: Buffer.from(JSON.stringify({ order, signature })) };
  }));
}

/** The intake's steps, each from the result of the one before it. */
async function createIntake() {
  const keccak256 = await createKeccak256();
  const { recover } = await createSignerRecovery(keccak256);
  const { orderDigest } = prepareDomain(keccak256, domain);
  return {
    parse: parseJsonObject,
    validate: parseOrder,
    digest: orderDigest,
    recover: (digest: Uint8Array, signature: string) => recover(digest, signatureBytes(signature)!),
    encode: (order: ReturnType<typeof parseOrder>, digest: Uint8Array, signature: string) => {
      const command: PlaceOrder = newCommand('PlaceOrder', { at: 1_800_000_000_000, orderHash: toHex(digest), ...order, signature });
      return { id: checkedRecordId(`PlaceOrder:${command.orderHash}:writer:1`), data: encodeCommand(command) };
    },
  };
}

/** Operations a second of processor time of each peer, the median of its turns: what else runs on the machine does not count. */
function rates(peers: readonly ((n: number) => void)[], turnMs: number, rounds: number): number[] {
  const turns = peers.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    peers.forEach((peer, i) => {
      const start = process.cpuUsage();
      let n = 0;
      let elapsedMs = 0;
      while (elapsedMs < turnMs) {
        for (let end = n + 16; n < end; n++) peer(n);
        const { user, system } = process.cpuUsage(start);
        elapsedMs = (user + system) / 1_000;
      }
      turns[i]!.push(n / elapsedMs * 1_000);
    });
  }
  return turns.map((each) => each.sort((a, b) => a - b)[each.length >> 1]!);
}

function expectSigner(signer: string, trader: string): void {
  if (signer.toLowerCase() !== trader.toLowerCase()) throw new Error(`recovered ${signer} where ${trader} signed`);
}

const GROUPS = 500;
/** So many orders that queue come in one turn of the event loop. */
const AT_ONCE = 8;

/** What the main thread has of a signature that the other thread recovers, against recovering it: in turns, the medians. */
async function handedOver(): Promise<BenchLine> {
  const recovery = await createSignerRecovery(await createKeccak256());
  const thread = createRecoveryThread(recovery, (_, text) => { throw new Error(text); });
  const digest = Buffer.alloc(32, 7);
  const signature = Buffer.from((await new Wallet(id('bench')).signMessage('')).slice(2), 'hex');
  await until('the thread takes signatures', () => thread.recover(digest, signature) instanceof Promise);
  const microsecondsOf = async (recover: () => Recovery | Promise<Recovery>): Promise<number> => {
    const ranNs = async () => (await scheduled(`/proc/self/task/${process.pid}`))!.ranNs;
    const before = await ranNs();
    for (let group = 0; group < GROUPS; group++) await Promise.all(Array.from({ length: AT_ONCE }, recover));
    return (await ranNs() - before) / 1_000 / (GROUPS * AT_ONCE);
  };
  const turns: [number, number][] = [];
  for (let turn = 0; turn < 5; turn++) {
    turns.push([await microsecondsOf(() => thread.recover(digest, signature)), await microsecondsOf(() => recovery.recover(digest, signature))]);
  }
  await thread.stop();
  const median = (of: 0 | 1): number => turns.map((turn) => turn[of]).sort((a, b) => a - b)[turns.length >> 1]!;
  return {
    name: `main thread's time for a signature that the other thread recovers, ${AT_ONCE} in a turn`, figure: median(0), unit: 'us',
    peer: { name: 'recovering it', figure: median(1) }, target: { ratioAtMost: 0.3 },
  };
}

/** Digest and recovery of an order by us and by ethers, on one thread; and what is left on the main thread where another one recovers. */
export async function signatureBench(): Promise<BenchLine[]> {
  const { parse, validate, digest, recover } = await createIntake();
  const orders = (await signedOrders()).map((each) => ({ ...each, fields: validate(parse(each.body)) }));
  const [ours, ethers] = rates([
    (n) => {
      const { fields, signature } = orders[n % ORDERS]!;
      const recovered = recover(digest(fields), signature);
      expectSigner(recovered.ok ? recovered.signer : recovered.failure, fields.trader);
    },
    (n) => {
      const { order, signature } = orders[n % ORDERS]!;
      expectSigner(verifyTypedData(domain, types, order, signature), order.trader);
    },
  ], TURN_MS, ROUNDS) as [number, number];
  return [
    {
      name: 'signature check of an order, one thread', figure: ours, unit: 'orders/s', peer: { name: 'ethers verifyTypedData', figure: ethers },
      target: { ratioAtLeast: 28 },
    },
    await handedOver(),
  ];
}
