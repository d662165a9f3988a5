/**
 * `POST /api/v1/positions/{marketId}/sync`: sets a user's position to the balances on the chain, by a command when it
 * differs from them.
 */
import * as field from '../../engine/records/answer-fields.js';
import type { CommandOutcome } from '../../engine/records/codec.js';
import type { SyncPosition } from '../../engine/records/commands.js';
import { RequestError } from '../../engine/records/errors.js';
import { AnyCaseBytes32 } from '../../engine/records/fields.js';
import { Type } from '../../engine/records/schema-types.js';
import { recordedBlock, type EngineView } from '../../engine/run/view.js';
import { anybody } from '../../service/api/authority.js';
import { MAX_BODY_BYTES, objectOf, defineEndpoint } from '../../service/api/endpoint.js';
import * as example from '../../service/api/examples.js';
import { inPath, inQuery } from '../../service/api/parameter.js';
import { problems } from '../../service/api/problems.js';
import * as kind from '../../service/api/request-fields.js';
import type { ChainAccess } from '../chain/chain-access.js';
import type { ChainWatch } from '../chain/chain-watch.js';
import { ChainUnavailable } from '../chain/chain.js';
import { createHoldingsReader } from '../chain/holdings.js';

/** A position that equals the balances on the chain; shares and stablecoin in units of 1e-6. */
export interface SyncedPosition {
  readonly success: boolean;
  readonly position: { readonly yesShares: bigint; readonly noShares: bigint; readonly totalInvested: bigint };
  readonly message: string;
  /** Log position at which the answer is true, for `X-Log-Position`: that of the correction, or a later position. */
  readonly logPosition: number;
}

/** Throws RequestError `unknown_market`, `chain_unavailable`, and the errors of writing a command. */
export type SyncPositionHandler = (params: {
  readonly market: kind.MarketReference;
  readonly user: string;
}) => Promise<SyncedPosition>;

/** What a sync asks of the read models. */
export interface PositionReads {
  /** The market's id. Throws RequestError `unknown_market`. */
  marketId(market: kind.MarketReference): Promise<string>;
  /** What a user holds, and the log position at which that is true. */
  position(of: {
    readonly marketId: string; readonly user: string;
  }): Promise<SyncedPosition['position'] & { readonly position: number }>;
  /** Resolves when the read models include the position. Throws RequestError `not_caught_up`. */
  waitForPosition(position: number, options: { readonly timeoutMs: number }): Promise<void>;
}

export interface PositionSyncParts {
  readonly view: EngineView;
  readonly reads: PositionReads;
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly watch: (access: ChainAccess) => Promise<ChainWatch>;
  readonly submit: CorrectionParts['submit'];
  readonly now: () => number;
}

/** How long the answer waits for the read model. */
const READ_WAIT_MS = 2_000;

/** Reads the balances on the chain, and records them if the read model differs. */
export function createPositionSync({
  view, reads, chains, watch, submit, now,
}: PositionSyncParts): SyncPositionHandler {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc: rpc }]) => (
    [chainId, createHoldingsReader({ chain, rpc })])));
  return async ({ market: named, user }) => {
    const asked = { marketId: await reads.marketId(named), user };
    const market = view.market(asked.marketId);
    if (market === undefined) throw new RequestError('unknown_market');
    const { chainId, tokens = [] } = market;
    const [access, read] = [chains.get(chainId), readers.get(chainId)];
    if (access === undefined || read === undefined) throw new RequestError('chain_unavailable', `chain ${chainId} is not configured`);
    const { catchUp } = await watch(access);
    const correctedAt = await correctHolding({
      ...asked, catchUp, submit, now, recordedBlock: () => recordedBlock(view, chainId),
      async readShares(block) {
        const { shares: [yes = 0n, no = 0n] } = await read({ trader: asked.user, tokens, block });
        return { yes, no };
      },
      async known() {
        await reads.waitForPosition(view.position - 1, { timeoutMs: READ_WAIT_MS });
        return reads.position(asked);
      },
    });
    if (correctedAt !== undefined) await reads.waitForPosition(correctedAt, { timeoutMs: READ_WAIT_MS });
    const position = await reads.position(asked);
    const message = correctedAt === undefined ? 'Position equals on-chain balances already' : 'Position synced from on-chain balances';
    return { success: true, position, message, logPosition: position.position };
  };
}

/** What a correction needs. */
export interface CorrectionParts {
  readonly marketId: string;
  readonly user: string;
  /** The last block whose facts are all in the history. */
  readonly recordedBlock: () => number | undefined;
  /** Resolves when the history has reached the chain's latest final block. Throws ChainUnavailable. */
  readonly catchUp: () => Promise<void>;
  /** The user's YES and NO shares at the end of a block. Throws ChainUnavailable. */
  readonly readShares: (block: number) => Promise<{ readonly yes: bigint; readonly no: bigint }>;
  /** The user's shares by the whole history. */
  readonly known: () => Promise<{ readonly yesShares: bigint; readonly noShares: bigint }>;
  /** Writes the command; resolves with its log position and the engine's answer. */
  readonly submit: (command: SyncPosition) => Promise<{ readonly position: number; readonly outcome: CommandOutcome }>;
  readonly now: () => number;
}

/** How often this is repeated because the history recorded another block between the read and the command. */
const MAX_TRIES = 10;

/**
 * Resolves with the log position of the correction; undefined when nothing was to be corrected. Throws RequestError
 * `chain_unavailable`, also when a new block was recorded during every try, and what `known` and `submit` throw.
 */
export async function correctHolding(
  { marketId, user, recordedBlock, catchUp, readShares, known, submit, now }: CorrectionParts,
): Promise<number | undefined> {
  try {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      await catchUp();
      const block = recordedBlock();
      if (block === undefined) continue;
      const [{ yes, no }, { yesShares, noShares }] = [await readShares(block), await known()];
      if (recordedBlock() !== block) continue;
      if (yes === yesShares && no === noShares) return undefined;
      const { position, outcome } = await submit({
        kind: 'SyncPosition', v: 1, at: now(), marketId, user, yesShares: String(yes), noShares: String(no), block,
      });
      if (outcome.events.some(({ type }) => type === 'PositionSynced')) return position;
    }
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error;
    throw new RequestError('chain_unavailable', 'the balances cannot be read');
  }
  throw new RequestError('chain_unavailable', 'the chain moved on during every read');
}

export const syncPosition = defineEndpoint({
  id: 'syncPosition', role: 'api', method: 'POST', path: '/api/v1/positions/{marketId}/sync', tag: 'Users',
  summary: 'Set a user\'s position to the balances on the chain',
  description: 'Reads the user\'s shares from the chain, and records them if the exchange has other numbers. The user is given in the body or in the query. '
    + 'Shares that the exchange did not know of have no cost.',
  parameters: {
    user: inQuery('userAddress', kind.optional(kind.address), {
      description: 'Owner of the position, if the body does not name one.', example: example.alice,
    }),
    market: inPath('marketId', kind.marketReference(AnyCaseBytes32), {
      description: 'Market identifier.', example: example.marketId,
    }),
  },
  body: objectOf({ userAddress: kind.optional(kind.address) }, {
    optional: true, limitBytes: MAX_BODY_BYTES, examples: { user: { userAddress: example.alice } },
  }),
  authority: anybody, errorShape: problems,
  answer: {
    description: 'The position, equal to the balances on the chain.',
    schema: field.answer('PositionSync', {
      success: Type.Boolean(), position: field.answer('SyncedPosition', { ...field.shares, totalInvested: field.Invested }),
      message: Type.String({ description: 'What was done.' }),
    }),
    examples: {
      corrected: {
        success: true, position: { yesShares: 10_000_000, noShares: 0, totalInvested: 6_000_000 }, message: 'Position synced from on-chain balances',
      },
    },
    headers: { 'X-Log-Position': 'Log position at which the answer is true: the position of the correction, if there was one, or a later position.' },
  },
  errors: ['unknown_market', 'chain_unavailable', 'disk_full', 'overloaded', 'outcome_unknown', 'not_caught_up', 'unavailable'],
  limit: 'orders', consistent: false,
}, ({ syncPosition: sync }: { readonly syncPosition: SyncPositionHandler }) => async (params) => {
  const { success, position, message, logPosition } = await sync({ market: params.market, user: userOf(params) });
  const { yesShares, noShares, totalInvested } = position;
  // Amounts are JSON integers that are exact at any size.
  const body = `{"success":${success},"position":{"yesShares":${yesShares},"noShares":${noShares},"totalInvested":${totalInvested}},`
    + `"message":${JSON.stringify(message)}}`;
  return { body, position: logPosition };
});

/** The user in the body or the query; both may name the same user. Throws RequestError. */
function userOf({ body: { userAddress }, user }: {
  readonly body: { readonly userAddress: string | undefined }; readonly user: string | undefined;
}): string {
  if (userAddress !== undefined && user !== undefined && userAddress !== user) {
    throw new RequestError('invalid_request', '', [{ field: '/userAddress', message: 'is one user in the body and another one in the query' }]);
  }
  return userAddress ?? user ?? kind.valueOf('userAddress', kind.address, undefined);
}
