/** Sends a plan's transactions, one after the other, each at the nonce that the plan gives it, and goes on where an earlier run stopped. */
import { keccak256 } from 'ethers';
import { RpcError, type Rpc } from '../../command/chain/chain.js';
import { broadcast, priorityFee } from '../../command/lane/chain-view.js';
import { freshFees, replacementFees, type FeeLimits, type FeeMarket, type Fees } from '../../command/lane/fees.js';
import { pause } from '../../engine/waiting.js';
import type { DeployStep } from './plan.js';
import type { DeployAttempt, RecordFile } from './record.js';
import { CannotDeploy } from './terms.js';

/** Signs the deployer's transactions: a wallet of ethers, for example. */
export interface DeployerWallet {
  readonly address: string;
  signTransaction(transaction: {
    readonly type: 2; readonly chainId: number; readonly nonce: number; readonly to: string | null; readonly data: string; readonly gasLimit: bigint;
    readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint;
  }): Promise<string>;
}

export interface Sending {
  readonly rpc: Rpc;
  readonly wallet: DeployerWallet;
  readonly record: RecordFile;
  readonly confirmations: number;
  readonly limits: FeeLimits;
  readonly pollMs: number;
  readonly say: (line: string) => void;
}

export interface Mined {
  readonly txHash: string;
  readonly block: number;
}

/** A transaction is replaced when it is not mined within this many blocks. */
const BUMP_AFTER_BLOCKS = 5;
/** How often nodes behind one URL may contradict themselves before that counts. */
const LOOKS = 20;
/** How much more gas a transaction gets than its estimate, out of 4. */
const SPARE_OF_4 = 1n;

const GO_ON = 'run the same command again to go on';

/**
 * Resolves when every step is mined under the wanted number of blocks. Every transaction is recorded before it is sent, so that a run which
 * is killed leaves nothing that the next one does not know. Throws CannotDeploy when the deployment cannot go on, and what Rpc throws.
 */
export async function sendSteps(sending: Sending, steps: readonly DeployStep[]): Promise<readonly Mined[]> {
  const { record, confirmations, pollMs, say } = sending;
  const sentAt = new Map<number, number>();
  let oddLooks = 0;
  let told = 0;
  let waitsFor = -1;
  for (;; await pause(pollMs)) {
    const { head, count, mined } = await look(sending, steps);
    const open = mined.findIndex((each) => each === undefined);
    // A reorganisation may take what is mined: then it is told and sent again.
    for (const [i, each] of mined.entries()) if (each !== undefined) sentAt.delete(nonceOf(record, i));
    if (open >= 0) [told, waitsFor] = [Math.min(told, open), -1];
    for (; steps[told] !== undefined && mined[told] !== undefined; told++) say(`${steps[told]?.what}: ${mined[told]?.txHash}`);
    const step = steps[open];
    if (step === undefined) {
      const all = mined as readonly Mined[];
      const last = Math.max(...all.map(({ block }) => block));
      if (head - last >= confirmations) return all;
      if (waitsFor !== last) say(`everything is mined: waiting for block ${last + confirmations}`);
      waitsFor = last;
      continue;
    }
    const nonce = nonceOf(record, open);
    if (count !== nonce) {
      // A node behind the others shows such a thing for a moment.
      oddLooks += 1;
      if (oddLooks < LOOKS) continue;
      throw count > nonce ? foreign(sending, nonce, step) : behind(sending, count, nonce);
    }
    oddLooks = 0;
    const since = sentAt.get(nonce);
    if (since !== undefined && head - since < BUMP_AFTER_BLOCKS) continue;
    await offer(sending, step, { nonce, again: since !== undefined });
    sentAt.set(nonce, head);
  }
}

/** The count is read before the receipts: a transaction that was counted has a receipt. */
async function look({ rpc, wallet, record }: Sending, steps: readonly DeployStep[]) {
  const head = Number(await rpc.request<string>('eth_blockNumber', []));
  const count = Number(await rpc.request<string>('eth_getTransactionCount', [wallet.address, 'latest']));
  const mined = await Promise.all(steps.map(async (step, i): Promise<Mined | undefined> => {
    for (const { txHash } of attemptsAt(record, nonceOf(record, i))) {
      const receipt = await rpc.request<{ blockNumber: string; status: string } | null>('eth_getTransactionReceipt', [txHash]);
      if (receipt === null) continue;
      if (BigInt(receipt.status) !== 1n) {
        throw new CannotDeploy([`${step.what}: transaction ${txHash} failed in block ${Number(receipt.blockNumber)}`],
          'its nonce is used up, so begin another deployment with another --out');
      }
      return { txHash, block: Number(receipt.blockNumber) };
    }
    return undefined;
  }));
  return { head, count, mined };
}

/** Sends what is recorded for the nonce; signs anew when nothing is, or when it was not mined for some blocks and the fees may rise. */
async function offer(sending: Sending, step: DeployStep, { nonce, again }: { readonly nonce: number; readonly again: boolean }): Promise<void> {
  const { rpc, record, wallet, limits, say } = sending;
  const last = attemptsAt(record, nonce).at(-1);
  let attempt = last;
  if (attempt === undefined || again) {
    const market = await feeMarket(rpc);
    const fees = last === undefined ? freshFees(market, limits) : replacementFees(feesOf(last), market, limits);
    const gasLimit = last === undefined ? await gasOf(rpc, wallet.address, step) : BigInt(last.gasLimit);
    if (fees === undefined) say(`${step.what}: not mined yet, and its fee is at the limit (--max-fee-gwei)`);
    else attempt = await sign(sending, step, { nonce, fees, gasLimit });
  }
  if (attempt === undefined) return;
  const { answer, detail } = await broadcast(rpc, attempt.raw);
  if (answer === 'underpriced') say(`${step.what}: the node finds the fee too low for now: ${detail}`);
  if (answer === 'unfunded') throw new CannotDeploy([`the deployer ${wallet.address} has too little for "${step.what}": ${detail}`], `send it some, then ${GO_ON}`);
  if (answer === 'refused') throw new CannotDeploy([`the node refuses "${step.what}": ${detail}`], GO_ON);
}

async function sign(
  { rpc, wallet, record }: Sending, { to, data }: DeployStep,
  { nonce, fees, gasLimit }: { readonly nonce: number; readonly fees: Fees; readonly gasLimit: bigint },
): Promise<DeployAttempt> {
  const raw = await wallet.signTransaction({ type: 2, chainId: rpc.chainId, nonce, to, data, gasLimit, ...fees });
  const attempt = {
    txHash: keccak256(raw), raw, gasLimit: String(gasLimit), maxFeePerGas: String(fees.maxFeePerGas),
    maxPriorityFeePerGas: String(fees.maxPriorityFeePerGas),
  };
  const known = begun(record);
  await record.write({ ...known, attempts: { ...known.attempts, [nonce]: [...attemptsAt(record, nonce), attempt] } });
  return attempt;
}

/** The gas limit of a step on the latest block. A step that would fail is not sent: it would use up its nonce. */
export async function gasOf(rpc: Rpc, from: string, { what, to, data }: DeployStep): Promise<bigint> {
  try {
    const estimate = BigInt(await rpc.request<string>('eth_estimateGas', [{ from, data, ...to === null ? {} : { to } }]));
    return estimate + estimate * SPARE_OF_4 / 4n;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new CannotDeploy([`"${what}" would fail: ${error.message}`], `it was not sent; ${GO_ON}`);
  }
}

/** The chain's present fees. Throws an error for a chain without EIP-1559. */
export async function feeMarket(rpc: Rpc): Promise<FeeMarket> {
  const { baseFeePerGas } = await rpc.request<{ baseFeePerGas?: string }>('eth_getBlockByNumber', ['latest', false]);
  if (baseFeePerGas === undefined) throw new CannotDeploy([`chain ${rpc.chainId} has no base fee: only chains with EIP-1559 are supported`]);
  return { baseFeePerGas: BigInt(baseFeePerGas), priorityFeePerGas: await priorityFee(rpc) };
}

function foreign({ wallet }: Sending, nonce: number, { what }: DeployStep): CannotDeploy {
  return new CannotDeploy([`another transaction of ${wallet.address} has nonce ${nonce}, which "${what}" was to have: nothing else may send with that key meanwhile`],
    'the addresses follow from the nonces, so begin another deployment with another --out');
}

function behind({ wallet }: Sending, count: number, nonce: number): CannotDeploy {
  return new CannotDeploy([`the node counts ${count} transactions of ${wallet.address}, but ${nonce} were mined: it is behind, or its chain was reset`], GO_ON);
}

function nonceOf(record: RecordFile, step: number): number {
  return begun(record).firstNonce + step;
}

function attemptsAt(record: RecordFile, nonce: number): readonly DeployAttempt[] {
  return begun(record).attempts[nonce] ?? [];
}

function begun(record: RecordFile) {
  const known = record.read();
  if (known === undefined) throw new Error('a deployment is recorded before anything is sent');
  return known;
}

function feesOf({ maxFeePerGas, maxPriorityFeePerGas }: DeployAttempt): Fees {
  return { maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) };
}
