/** Creates the catalogue's markets on a chain with the market factory; the exchange learns of them from the chain, like of all markets. */
import { createKeccak256 } from '../../command/signing/typed-data.js';
import { Interface, id, solidityPackedKeccak256, type InterfaceAbi } from 'ethers';
import { ChainUnavailable, RpcError, type Chain, type Rpc } from '../../command/chain/chain.js';
import { createSigner } from '../../command/lane/signer.js';
import { marketFactory } from '../../contracts-abi/market-factory.js';
import { CATEGORIES } from '../../engine/records/fields.js';
import { pause } from '../../engine/waiting.js';
import type { CatalogueMarket } from '../../command/indexer/catalogue.js';

export interface CreatingParts {
  readonly catalogue: readonly CatalogueMarket[];
  readonly chain: Chain;
  readonly rpc: Rpc;
  /** Private key of an account with the creator's role and ether. Nothing else may send with the account meanwhile. */
  readonly key: string;
  /** Milliseconds since the Unix epoch. A market's `expiresInDays` counts from this time. */
  readonly now: () => number;
}

const FACTORY = new Interface(marketFactory.abi as InterfaceAbi);
/** The bond of an assertion: 10 of the stablecoin, in units of 1e-6. */
const BOND = 10_000_000n;
const MINED_WITHIN_MS = 60_000;
const POLL_MS = 50;

/**
 * Creates the markets that the chain does not have, one after the other, and returns the ids (condition ids) of all markets, in the
 * catalogue's order. Slug and chain identify a market, so a repeated call, also after a crash, creates none twice. The account becomes
 * the maker of the markets. Throws an error with the reason when the factory refuses, and ChainUnavailable when no node answers.
 */
export async function createMissingMarkets(parts: CreatingParts): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const market of parts.catalogue) {
    const marketId = marketIdOf(parts.chain, market.slug);
    if (!await exists(parts, marketId)) {
      await create(parts, { market, marketId }).catch(async (error: unknown) => {
        // A killed process may have sent the same market, and its transaction may be mined now: then the factory refuses this one.
        if (error instanceof ChainUnavailable || !await exists(parts, marketId)) throw error;
      });
    }
    ids.push(marketId);
  }
  return ids;
}

/** The question's id on this chain. It equals the market id that the catalogue's market has without a chain. */
function questionIdOf({ chainId }: Chain, slug: string): string {
  return id(`prediction-exchange/${chainId}/${slug}`);
}

/** The market id: Gnosis' condition id of the resolver, the question and two outcomes. */
export function marketIdOf(chain: Chain, slug: string): string {
  return solidityPackedKeccak256(['address', 'bytes32', 'uint256'], [chain.contracts.oracleResolver, questionIdOf(chain, slug), 2]);
}

async function exists({ chain, rpc }: CreatingParts, marketId: string): Promise<boolean> {
  const call = { to: chain.contracts.marketFactory, data: FACTORY.encodeFunctionData('marketOf', [marketId]) };
  return BigInt(await rpc.request<string>('eth_call', [call, 'latest'])) !== 0n;
}

async function create(parts: CreatingParts, { market, marketId }: { market: CatalogueMarket; marketId: string }): Promise<void> {
  const { chain, rpc, key, now } = parts;
  const signer = createSigner({ chainId: chain.chainId, privateKey: key, keccak256: await createKeccak256() });
  const to = chain.contracts.marketFactory;
  const expiration = Math.floor(now() / 1_000) + market.expiresInDays * 86_400;
  const data = FACTORY.encodeFunctionData('createMarket', [
    questionIdOf(chain, market.slug), market.question, market.description, CATEGORIES.indexOf(market.category), expiration, BOND,
  ]);
  const gas = BigInt(await explained(market, rpc.request<string>('eth_estimateGas', [{ from: signer.address, to, data }])));
  const [nonce, price] = await Promise.all([
    rpc.request<string>('eth_getTransactionCount', [signer.address, 'pending']), rpc.request<string>('eth_gasPrice', []),
  ]);
  const fees = { maxFeePerGas: BigInt(price) * 2n, maxPriorityFeePerGas: BigInt(price) };
  const { raw, txHash } = signer.sign({ nonce: Number(nonce), request: { to, data, gasLimit: gas * 5n / 4n }, fees });
  await explained(market, rpc.request('eth_sendRawTransaction', [raw]));
  await mined(rpc, txHash);
  if (!await exists(parts, marketId)) throw new Error(`the market ${market.slug} was not created: transaction ${txHash} failed`);
}

/** Turns a refusal of the factory into an error that names the market and the contract's error. */
async function explained<T>({ slug }: CatalogueMarket, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    const refusal = cause.data === undefined ? null : FACTORY.parseError(cause.data);
    const reason = refusal === null ? cause.message : `${refusal.name}(${refusal.args.toArray().join(', ')})`;
    throw new Error(`the market factory refuses the catalogue's market ${slug}: ${reason}`, { cause });
  }
}

async function mined(rpc: Rpc, txHash: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < MINED_WITHIN_MS; waitedMs += POLL_MS) {
    if (await rpc.request<unknown>('eth_getTransactionReceipt', [txHash]) !== null) return;
    await pause(POLL_MS);
  }
  throw new Error(`transaction ${txHash}, which creates a market, has not been mined within ${MINED_WITHIN_MS / 1_000} s`);
}
