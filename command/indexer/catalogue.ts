/**
 * The catalogue: a file of markets to open at the start. Without a chain, this module turns its markets into commands.
 */
import { readFile } from 'node:fs/promises';
import { CannotStart } from '../../engine/cannot-start.js';
import type { NewRecord } from '../../engine/log/log.js';
import { encodeCommand, recordId } from '../../engine/run/new-record.js';
import type { OpenMarket } from '../../engine/records/commands.js';
import { Address, Category, record } from '../../engine/records/fields.js';
import { Type, type Static } from '../../engine/records/schema-types.js';
import { explain } from '../../engine/records/explain.js';
import { compileSchema } from '../../engine/records/schema.js';
import type { Keccak256 } from '../signing/typed-data.js';
import builtIn from './catalogue.json' with { type: 'json' };

const CatalogueMarket = record({
  /**
   * Identifies the market permanently: the market's id and, without a chain, its contract address are derived from the
   * slug.
   */
  slug: Type.String({ pattern: '^[a-z0-9-]{1,100}$' }),
  question: Type.String({ minLength: 1, maxLength: 1_000 }),
  description: Type.String({ maxLength: 10_000 }),
  category: Category,
  /** Used only without a chain: on a chain, the account that creates the market is its maker. */
  maker: Type.Optional(Address),
  /** Days from the first opening of the market. */
  expiresInDays: Type.Integer({ minimum: 1, maximum: 36_500 }),
});
const Catalogue = record({ markets: Type.Array(CatalogueMarket, { maxItems: 10_000 }) });
type Catalogue = Static<typeof Catalogue>;
export type CatalogueMarket = Static<typeof CatalogueMarket>;

const isCatalogue = compileSchema(Catalogue);

/** The first account of the well-known test mnemonic. */
const DEVELOPMENT_MAKER = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';

/**
 * The markets of a catalogue file; for an empty path, of the built-in catalogue. Throws an error that says what is
 * wrong with the file.
 */
export async function readCatalogue(path: string): Promise<readonly CatalogueMarket[]> {
  const catalogue = path === '' ? builtIn : await parse(path);
  const wrong = (what: string) => new CannotStart(`the catalogue ${path} (CATALOGUE) ${what}: correct the file`, { hopeless: true });
  if (!isCatalogue(catalogue)) throw wrong(`is malformed: ${explain(isCatalogue)}`);
  const slugs = catalogue.markets.map(({ slug }) => slug);
  const twice = slugs.find((slug, i) => slugs.indexOf(slug) !== i);
  if (twice !== undefined) throw wrong(`names ${twice} twice`);
  return catalogue.markets;
}

async function parse(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (cause) {
    const what = cause instanceof SyntaxError ? `is not JSON (${cause.message})` : `cannot be read (${(cause as NodeJS.ErrnoException).code})`;
    throw new CannotStart(`the catalogue ${path} ${what}: correct CATALOGUE, or unset it for the built-in markets`, { hopeless: true, cause });
  }
}

/** The command that opens a market of the catalogue. Slug and chain id determine the market id. */
export function openMarket(
  market: CatalogueMarket, { keccak256, chainId, at }: { keccak256: Keccak256; chainId: number; at: number },
): OpenMarket {
  const marketId = Buffer.from(keccak256(Buffer.from(`prediction-exchange/${chainId}/${market.slug}`))).toString('hex');
  return {
    kind: 'OpenMarket', v: 3, at, marketId: `0x${marketId}`, question: market.question, description: market.description,
    category: market.category, contractAddress: `0x${marketId.slice(24)}`, maker: market.maker ?? DEVELOPMENT_MAKER,
    expiration: Math.floor(at / 1_000) + market.expiresInDays * 86_400, chainId, marketKind: 'standard', ifOver: 'close',
  };
}

export interface OpeningParts {
  readonly catalogue: readonly CatalogueMarket[];
  readonly chainId: number;
  readonly keccak256: Keccak256;
  readonly isKnown: (marketId: string) => boolean;
  /** Appends a command; resolves with its log position. */
  readonly append: (record: NewRecord) => Promise<number>;
  /** `id` is that of the command's record. */
  readonly outcomeOf: (position: number, id: string) => Promise<unknown>;
  readonly now: () => number;
}

/** Opens those markets of the catalogue that the history does not have, and waits for the command outcomes. */
export async function openMissingMarkets({
  catalogue, chainId, keccak256, isKnown, append, outcomeOf, now,
}: OpeningParts): Promise<void> {
  for (const market of catalogue) {
    const command = openMarket(market, { keccak256, chainId, at: now() });
    if (isKnown(command.marketId)) continue;
    const record = { id: recordId(`market:${command.marketId}`), data: encodeCommand(command) };
    await outcomeOf(await append(record), record.id);
  }
}
