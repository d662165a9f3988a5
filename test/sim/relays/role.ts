/** The relayer role of one process: the relay sender, the relayer before it, and the keeper. Of two processes one sends, and one is the keeper. */
import { computeAddress } from 'ethers';
import type { Chain, Rpc } from '../../../command/chain/chain.js';
import { createChainReads } from '../../../command/chain/chain-reads.js';
import type { Report } from '../../../engine/report.js';
import { runKeeper } from '../../../command/keeper/keeper.js';
import { KEEPER_RULES } from '../../../command/keeper/keeper.js';
import type { LaneUser } from '../../../command/lane/requests.js';
import { openRelaySender, type RelaySender } from '../../../command/relayer/sender.js';
import { createQuota } from '../../../command/relayer/quota.js';
import { createRelayer, type Relay } from '../../../command/relayer/relayer.js';
import type { Log } from '../../../engine/log/log.js';
import { RequestError } from '../../../engine/records/errors.js';
import type { Replica } from '../../../engine/run/replica.js';
import type { ChainWatch } from '../../../service/chains/chain-watch.js';
import { relayHistory } from '../../../service/roles/handlers/relay-history.js';
import type { Tools } from '../world/parts.js';
import type { SimProcess } from '../world/process.js';
import type { RelayModel } from './read-model.js';

/** The relayer's key: nobody's. */
export const RELAYER_KEY = `0x${'3b'.repeat(32)}`;
export const RELAYER = computeAddress(RELAYER_KEY).toLowerCase();

/** Others may settle first for so long. */
export const KEEPER_GRACE_S = 4;
const MAX_FEE = 40_000_000_000n;
const RULES = { ...KEEPER_RULES, graceS: KEEPER_GRACE_S, againMs: 8_000, backoff: { firstMs: 5_000, longestMs: 20_000 } };

export interface RelayerRole {
  readonly chain: Chain;
  readonly rpc: Rpc;
  readonly log: Log;
  readonly writerId: string;
  readonly replica: Replica;
  readonly watch: ChainWatch;
  readonly model: RelayModel;
  readonly tools: Tools;
  readonly lane: (purpose: 'relay' | 'keeper') => LaneUser;
  readonly now: () => number;
  /** Why the clock is not trusted. */
  readonly doubt: () => string | undefined;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly fail: (error: unknown) => void;
}

export interface RunningRelayer {
  readonly relay: Relay;
  readonly sender: RelaySender;
}

export function startRelayer(process: SimProcess, role: RelayerRole): RunningRelayer {
  const { chain, rpc, replica: { view }, watch, model, tools: { keccak256, recovery }, lane, now, doubt, signal, report, fail } = role;
  const reads = createChainReads(chain, rpc);
  const sender = openRelaySender({
    chainId: chain.chainId, lane: lane('relay'), history: relayHistory(chain.chainId, role), now, signal, report,
    endings: { contracts: chain.contracts, confirmations: chain.confirmations, reads, relayer: RELAYER },
    timings: { pollMs: 1_000, answerWithinMs: 8_000 },
  });
  sender.done.catch(fail);
  runKeeper({
    chain, reads, lane: lane('keeper'), relayer: RELAYER, maxFeePerGas: MAX_FEE, verify: () => watch.verify(), rules: RULES, pollMs: 2_500, now, signal, report,
    view: {
      proposals: () => view.openProposals(chain.chainId), unproposed: () => view.unproposedMarkets(chain.chainId),
      nextBlock: () => view.cursor(chain.chainId)?.nextBlock ?? 0,
    },
  }).done.catch(fail);
  const relay = createRelayer({
    keccak256, recovery, now, quota: createQuota({ gasPerOwner: 0n, gasPerToken: 0n }, () => performance.now()),
    chains: new Map([[chain.chainId, {
      chain, sender, reads, relayer: RELAYER, maxFeePerGas: MAX_FEE, lacks: () => undefined, token: () => ({ name: 'USD Coin', version: '2' }),
      isKnownMarket: (marketId) => view.market(marketId)?.chainId === chain.chainId,
      commitments: (owner) => view.commitments({ trader: owner, chainId: chain.chainId }),
      ended: (requestId) => process.request(() => model.ended(requestId)),
      readModelCaughtUp: () => process.request(() => model.caughtUp(view.position - 1)),
    }]]),
  });
  return {
    sender,
    async relay(asked) {
      const doubted = doubt();
      if (doubted !== undefined) throw new RequestError('clock_untrusted', doubted, [], { retryAfterS: 5 });
      return relay(asked);
    },
  };
}
