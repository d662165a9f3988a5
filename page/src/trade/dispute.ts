/** Disputes a proposal at the oracle. Nobody relays that: the wallet sends it, and pays for the gas. */
import type { Resolution } from '../../../client/src/answers.js';
import { configuration, exchange } from '../exchange.js';
import { shortened } from '../figures.js';
import { switchChain, waitsFor, wallet, wordsOfWallet } from '../wallet/wallet.js';

type Assertion = NonNullable<Resolution['assertion']>;

/** Allows the oracle the bond, if it may not take it yet, and disputes. Throws Error in words. */
export async function dispute(chainId: number, { id, bondAmount }: Assertion): Promise<string> {
  const now = wallet.peek();
  if (now === undefined) throw new Error('there is no wallet any more');
  const name = now.kind === 'play' ? 'The wallet' : now.wallet.name;
  const { Contract } = await import('ethers');
  const found = (await exchange.peek().read.contracts()).chains.find((each) => each.chainId === chainId);
  const { oracle, collateral } = found?.contracts ?? {};
  if (oracle?.address == null || collateral?.address == null) throw new Error(`chain ${chainId} has no oracle`);
  if (now.kind === 'browser') await switchChain(chainId);
  const sender = await senderOf(chainId);
  waitsFor.value = `${name} to send the dispute`;
  try {
    const money = new Contract(collateral.address, collateral.abi, sender);
    const allowed = await money.getFunction('allowance').staticCall(now.address, oracle.address) as bigint;
    if (allowed < BigInt(bondAmount)) {
      await ((await money.getFunction('approve').send(oracle.address, bondAmount)).wait());
    }
    const { hash } = await new Contract(oracle.address, oracle.abi, sender).getFunction('disputeAssertion').send(id, now.address);
    return `Dispute: sent as ${shortened(hash)}. It counts once a block has it.`;
  } catch (error) {
    throw new Error(wordsOfWallet((error as { readonly info?: { readonly error?: unknown } }).info?.error ?? error, name), { cause: error });
  } finally {
    waitsFor.value = '';
  }
}

async function senderOf(chainId: number) {
  const now = wallet.peek();
  const { BrowserProvider, JsonRpcProvider, Wallet } = await import('ethers');
  if (now?.kind === 'browser') return new BrowserProvider(now.wallet.provider, 'any').getSigner(now.address);
  const rpcUrl = configuration.peek()?.chains.find((each) => each.chainId === chainId)?.rpcUrl ?? null;
  if (now === undefined || rpcUrl === null) throw new Error('there is no node by which this wallet could send');
  return new Wallet(now.key.privateKey, new JsonRpcProvider(rpcUrl, chainId, { staticNetwork: true }));
}
