/** Sets a user's holding to the balances on the chain: reads them, and records them if the read model differs. */
import { RequestError } from '../../engine/records/errors.js';
import { recordedBlock, type EngineView } from '../../engine/run/view.js';
import type { MarketReference } from '../../service/api/request-fields.js';
import type { ChainAccess } from '../chain/chain-access.js';
import type { ChainWatch } from '../chain/chain-watch.js';
import { createHoldingsReader } from '../chain/holdings.js';
import { syncPosition, type SyncParts } from '../chain/sync-position.js';
import type { SyncedPosition, SyncPosition } from './sync-position.js';

/** What a sync asks of the read models. */
export interface PositionReads {
  /** The market's id. Throws RequestError `unknown_market`. */
  marketId(market: MarketReference): Promise<string>;
  /** What a user holds, and the log position at which that is true. */
  position(of: { readonly marketId: string; readonly user: string }): Promise<SyncedPosition['position'] & { readonly position: number }>;
  /** Resolves when the read models include the position. Throws RequestError `not_caught_up`. */
  waitForPosition(position: number, options: { readonly timeoutMs: number }): Promise<void>;
}

export interface PositionSyncParts {
  readonly view: EngineView;
  readonly reads: PositionReads;
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly watch: (access: ChainAccess) => Promise<ChainWatch>;
  readonly submit: SyncParts['submit'];
  readonly now: () => number;
}

/** How long the answer waits for the read model. */
const READ_WAIT_MS = 2_000;

export function createPositionSync({ view, reads, chains, watch, submit, now }: PositionSyncParts): SyncPosition {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc: rpc }]) => [chainId, createHoldingsReader({ chain, rpc })]));
  return async ({ market: named, user }) => {
    const asked = { marketId: await reads.marketId(named), user };
    const market = view.market(asked.marketId);
    if (market === undefined) throw new RequestError('unknown_market');
    const { chainId, tokens = [] } = market;
    const [access, read] = [chains.get(chainId), readers.get(chainId)];
    if (access === undefined || read === undefined) throw new RequestError('chain_unavailable', `chain ${chainId} is not configured`);
    const { catchUp } = await watch(access);
    const correctedAt = await syncPosition({
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
