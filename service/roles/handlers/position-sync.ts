/** Sets a user's holding to the balances on the chain: reads them, and records them if the read model differs. */
import { createHoldingsReader } from '../../../command/chain/holdings.js';
import { syncPosition, type SyncParts } from '../../../command/chain/sync-position.js';
import type { SyncPosition } from '../../../command/orders/sync-position.js';
import { RequestError } from '../../../engine/records/errors.js';
import { recordedBlock, type EngineView } from '../../../engine/run/view.js';
import type { Database } from '../../../query/database.js';
import { marketIdOf } from '../../../query/markets.js';
import { heldPosition } from '../../../query/positions.js';
import type { ChainAccess } from '../../chains/chain-access.js';
import type { ChainWatch } from '../../chains/chain-watch.js';

export interface PositionSyncParts {
  readonly view: EngineView;
  readonly db: Database;
  readonly chains: ReadonlyMap<number, ChainAccess>;
  readonly watch: (access: ChainAccess) => Promise<ChainWatch>;
  readonly submit: SyncParts['submit'];
  readonly now: () => number;
}

/** How long the answer waits for the read model. */
const READ_WAIT_MS = 2_000;

export function createPositionSync({ view, db, chains, watch, submit, now }: PositionSyncParts): SyncPosition {
  const readers = new Map([...chains].map(([chainId, { chain, clientRpc: rpc }]) => [chainId, createHoldingsReader({ chain, rpc })]));
  return async ({ market: named, user }) => {
    const asked = { marketId: await marketIdOf(db, named), user };
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
        await db.waitForPosition(view.position - 1, { timeoutMs: READ_WAIT_MS });
        return heldPosition(db, asked);
      },
    });
    if (correctedAt !== undefined) await db.waitForPosition(correctedAt, { timeoutMs: READ_WAIT_MS });
    const position = await heldPosition(db, asked);
    const message = correctedAt === undefined ? 'Position equals on-chain balances already' : 'Position synced from on-chain balances';
    return { success: true, position, message, logPosition: position.position };
  };
}
