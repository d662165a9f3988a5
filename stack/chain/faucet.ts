/** Gives wallets test money on the development chain: its stablecoin, and ether to pay for approvals. */
import { Interface, parseEther, type InterfaceAbi } from 'ethers';
import type { Chain } from '../../command/chain/chain.js';
import { fieldError } from '../../command/orders/order-request.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { RequestError } from '../../engine/records/errors.js';
import { pause } from '../../engine/waiting.js';
import { nodeRequest } from './node-request.js';

/** What a wallet has at least after a gift: test USDC in units of 1e-6, and ether in wei. */
export const GIFT = { collateral: 10_000_000_000n, native: parseEther('1') } as const;

/** What a wallet has. */
export interface TestMoney {
  readonly collateral: bigint;
  readonly native: bigint;
  /** `pending`: the transaction is sent and not yet mined. */
  readonly status: 'confirmed' | 'pending';
  /** The transaction that has brought the stablecoin; empty when the wallet had enough. */
  readonly txHash: string;
}

/** Fills a wallet up to the gift. `address` in lower case. Throws RequestError `invalid_address`, `chain_unavailable`. */
export type GiveTestMoney = (address: string) => Promise<TestMoney>;

/** The sender of the stablecoin. The node sends without its key, which nobody has, so nobody else uses its nonces. */
const SENDER = '0x00000000000000000000000000000000000f0cd5';
const TOKEN = new Interface(testUsdc.abi as InterfaceAbi);
const MINED_WITHIN_MS = 10_000;
const POLL_MS = 20;

/**
 * Fills wallets up, so a repeat gives nothing: neither a client that repeats a request nor a kill between two steps makes
 * a wallet richer. Requests for a wallet that is being filled share the gift.
 */
export function createFaucet({ chain, rpcUrl }: { readonly chain: Chain; readonly rpcUrl: string }): GiveTestMoney {
  const { contracts: { collateral: token } } = chain;
  const underway = new Map<string, Promise<TestMoney>>();
  const ask = <T>(method: string, params: readonly unknown[]) => nodeRequest<T>(rpcUrl, method, params);

  const balances = async (address: string): Promise<Pick<TestMoney, 'collateral' | 'native'>> => {
    const call = { to: token, data: TOKEN.encodeFunctionData('balanceOf', [address]) };
    const [collateral, native] = await Promise.all([
      ask<string>('eth_call', [call, 'latest']), ask<string>('eth_getBalance', [address, 'latest']),
    ]);
    return { collateral: BigInt(collateral), native: BigInt(native) };
  };

  async function mint(address: string, amount: bigint): Promise<string> {
    await ask('anvil_impersonateAccount', [SENDER]);
    await ask('anvil_setBalance', [SENDER, hex(GIFT.native)]);
    const transaction = { from: SENDER, to: token, data: TOKEN.encodeFunctionData('mint', [address, amount]) };
    await ask('eth_call', [transaction, 'latest']).catch((error: unknown) => {
      if (!/revert/i.test((error as Error).message)) throw error;
      throw fieldError('invalid_address', '/address', 'is one that the test stablecoin refuses');
    });
    return ask<string>('eth_sendTransaction', [transaction]);
  }

  async function isMined(txHash: string): Promise<boolean> {
    for (let waitedMs = 0; waitedMs < MINED_WITHIN_MS; waitedMs += POLL_MS) {
      if (await ask<unknown>('eth_getTransactionReceipt', [txHash]) !== null) return true;
      await pause(POLL_MS);
    }
    return false;
  }

  async function fill(address: string): Promise<TestMoney> {
    const { collateral, native } = await balances(address);
    const txHash = collateral < GIFT.collateral ? await mint(address, GIFT.collateral - collateral) : '';
    if (native < GIFT.native) await ask('anvil_setBalance', [address, hex(GIFT.native)]);
    const status = txHash === '' || await isMined(txHash) ? 'confirmed' : 'pending';
    return { ...await balances(address), status, txHash };
  }

  return (address) => {
    const current = underway.get(address) ?? fill(address).catch(explain).finally(() => { underway.delete(address); });
    underway.set(address, current);
    return current;
  };
}

/** A node that does not answer is no fault of this program: fetch rejects with a TypeError, and a DOMException after its time. */
function explain(error: unknown): never {
  if (!(error instanceof TypeError) && !(error instanceof DOMException)) throw error;
  throw new RequestError('chain_unavailable', 'the development chain does not answer');
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}
