/** The market tool's client of a chain: creates markets, and decides disputes at the development oracle. */
import {
  Contract, Interface, JsonRpcProvider, Wallet, hexlify, randomBytes,
  type ContractTransactionReceipt, type ContractTransactionResponse, type InterfaceAbi,
} from 'ethers';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { optimisticOracle } from '../../contracts-abi/optimistic-oracle.js';
import { CATEGORIES, type Category } from '../../engine/records/fields.js';

export interface MarketChain {
  readonly chainId: number;
  readonly rpcUrl: string;
  readonly contracts: Readonly<Record<string, string | null>>;
}

export interface NewMarket {
  readonly question: string;
  readonly description: string;
  readonly category: Category;
  /** Unix seconds. */
  readonly expiration: number;
  /** In units of 1e-6 of the stablecoin. */
  readonly bond: bigint;
}

export interface CreatedMarket {
  readonly id: string;
  /** Lower-case hex. */
  readonly contractAddress: string;
  readonly txHash: string;
}

/** Creates a market with a question id of its own, and resolves when its transaction is mined. Throws with the factory's reason. */
export async function createMarket(chain: MarketChain, key: string, market: NewMarket): Promise<CreatedMarket> {
  return withContract(chain, { name: 'marketFactory', artifact: marketFactory, key }, async ({ send }) => {
    const { question, description, category, expiration, bond } = market;
    const { hash, logs } = await send('createMarket', hexlify(randomBytes(32)), question, description, CATEGORIES.indexOf(category), expiration, bond);
    const factory = new Interface(marketFactory.abi as InterfaceAbi);
    const created = logs.map((log) => factory.parseLog(log)).find((event) => event?.name === 'MarketCreated');
    if (created == null) throw new Error(`transaction ${hash} created no market`);
    return { id: String(created.args['marketId']), contractAddress: String(created.args['market']).toLowerCase(), txHash: hash };
  });
}

/**
 * Decides a dispute as the oracle's owner, and settles the assertion, unless the exchange's keeper has just done so. Resolves with the last
 * transaction's hash. Throws with the oracle's reason.
 */
export async function arbitrate(
  chain: MarketChain, key: string, { assertionId, truthful }: { readonly assertionId: string; readonly truthful: boolean },
): Promise<string> {
  return withContract(chain, { name: 'oracle', artifact: optimisticOracle, key }, async ({ send, read }) => {
    const arbitrated = await send('arbitrate', assertionId, truthful);
    try {
      return (await send('settleAssertion', assertionId)).hash;
    } catch (error) {
      const { settled } = await read('getAssertion', assertionId) as { settled: boolean };
      if (settled) return arbitrated.hash;
      throw error;
    }
  });
}

/** The least bond that the oracle takes now, in base units of the stablecoin. */
export async function leastBond(chain: MarketChain, key: string): Promise<bigint> {
  return withContract(chain, { name: 'oracle', artifact: optimisticOracle, key }, async ({ read }) => (
    await read('getMinimumBond', chain.contracts['collateral']) as bigint));
}

interface Named {
  readonly name: string;
  readonly artifact: { readonly abi: unknown };
  readonly key: string;
}

interface Sending {
  send(method: string, ...values: unknown[]): Promise<ContractTransactionReceipt>;
  read(method: string, ...values: unknown[]): Promise<unknown>;
}

async function withContract<T>(
  { chainId, rpcUrl, contracts }: MarketChain, { name, artifact, key }: Named, work: (sending: Sending) => Promise<T>,
): Promise<T> {
  const address = contracts[name];
  if (address == null) throw new Error(`the service names no ${name}: it settles on no chain`);
  const provider = new JsonRpcProvider(rpcUrl, chainId, { staticNetwork: true, polling: true, pollingInterval: 100, cacheTimeout: -1 });
  const abi = new Interface(artifact.abi as InterfaceAbi);
  const contract = new Contract(address, abi, new Wallet(key, provider));
  try {
    return await work({
      read: (method, ...values) => contract.getFunction(method).staticCall(...values),
      async send(method, ...values) {
        try {
          const sent = await contract.getFunction(method)(...values) as ContractTransactionResponse;
          const receipt = await sent.wait() as ContractTransactionReceipt | null;
          if (receipt === null) throw new Error(`${method}: the transaction has no receipt`);
          return receipt;
        } catch (error) {
          throw new Error(`${name} refuses ${method}: ${reasonOf(error, abi)}`, { cause: error });
        }
      },
    });
  } finally {
    provider.destroy();
  }
}

/** The contract's own error where there is one. */
function reasonOf(error: unknown, abi: Interface): string {
  const { data, shortMessage, message } = error as { data?: unknown; shortMessage?: string; message: string };
  const parsed = typeof data === 'string' ? abi.parseError(data) : null;
  return parsed === null ? shortMessage ?? message : `${parsed.name}(${parsed.args.toArray().join(', ')})`;
}
