/** Compares the holdings that a history has taken over from its chain (SyncPosition) with the chain's balances at the end of that block. */
import type { RawChainEvent } from '../../../command/chain/block-range.js';
import type { Chain } from '../../../command/chain/chain.js';
import type { ContractCall } from '../../../command/chain/abi.js';
import { readEvent } from '../../../command/indexer/chain-events.js';
import { Differs } from '../difference.js';

/** Shares in units of 1e-6, in decimal digits. */
export interface Shares {
  readonly yes: string;
  readonly no: string;
}

export interface RecordedSync extends Shares {
  readonly kind: 'sync';
  readonly position: number;
  readonly marketId: string;
  readonly user: string;
  /** The block at whose end these are the user's balances. */
  readonly block: number;
  /** ERC-1155 ids of YES and NO, in decimal digits; null for a market without shares on a chain. */
  readonly tokens: readonly [string, string] | null;
}

export interface BalanceReads {
  /** The balances at the end of a block; undefined where the node does not have that block's state any more. Throws CannotAudit. */
  balances(calls: readonly ContractCall[], block: number): Promise<readonly unknown[] | undefined>;
  /** All events of the contracts from the first block on up to this one, in order. Throws CannotAudit. */
  events(to: number): AsyncIterable<readonly RawChainEvent[]>;
}

/** Throws Differs for the first that the chain does not confirm. */
export async function compareSynced(chain: Chain, synced: readonly RecordedSync[], reads: BalanceReads): Promise<void> {
  const without: RecordedSync[] = [];
  for (const sync of synced) {
    const found = await stateOf(chain, sync, reads);
    if (found === undefined) without.push(sync);
    else confirm(chain, sync, found);
  }
  if (without.length === 0) return;
  const summed = await sumsOf(chain, without, reads);
  for (const sync of without) confirm(chain, sync, summed.get(sync) ?? NOTHING);
}

const NOTHING: Shares = { yes: '0', no: '0' };

async function stateOf({ contracts: { conditionalTokens: to } }: Chain, { user, block, tokens }: RecordedSync, reads: BalanceReads) {
  if (tokens === null) return NOTHING;
  const answers = await reads.balances(tokens.map((token) => ({ abi: 'conditionalTokens', to, method: 'balanceOf', args: [user, token] })), block);
  const [yes, no] = answers ?? [];
  return typeof yes === 'bigint' && typeof no === 'bigint' ? { yes: String(yes), no: String(no) } : undefined;
}

/** The same balances as the sums of all transfers, which a node has when it has forgotten the state. */
async function sumsOf(chain: Chain, synced: readonly RecordedSync[], reads: BalanceReads): Promise<ReadonlyMap<RecordedSync, Shares>> {
  const inOrder = [...synced].sort((a, b) => a.block - b.block);
  const users = new Set(inOrder.map(({ user }) => user));
  const balances = new Map<string, bigint>();
  const move = (user: string, id: bigint, by: bigint): void => {
    if (!users.has(user)) return;
    const key = `${user}:${id}`;
    balances.set(key, (balances.get(key) ?? 0n) + by);
  };
  const found = new Map<RecordedSync, Shares>();
  const take = (before: number): void => {
    for (let [next] = inOrder; next !== undefined && next.block < before; [next] = inOrder) {
      const { user, tokens } = next;
      const [yes, no] = (tokens ?? []).map((token) => String(balances.get(`${user}:${token}`) ?? 0n));
      found.set(next, { yes: yes ?? '0', no: no ?? '0' });
      inOrder.shift();
    }
  };
  for await (const events of reads.events(inOrder.at(-1)?.block ?? 0)) {
    for (const raw of events) {
      const event = raw.address === chain.contracts.conditionalTokens ? readEvent(chain.contracts, raw) : undefined;
      if (event?.name !== 'TransferSingle' && event?.name !== 'TransferBatch') continue;
      take(raw.block);
      const { from, to } = event.args;
      const [ids, values] = event.name === 'TransferSingle' ? [[event.args.id], [event.args.value]] : [event.args.ids, event.args.values];
      ids.forEach((id, i) => {
        move(from, id, -(values[i] ?? 0n));
        move(to, id, values[i] ?? 0n);
      });
    }
  }
  take(Infinity);
  return found;
}

function confirm({ chainId }: Chain, { position, marketId, user, block, yes, no }: RecordedSync, found: Shares): void {
  if (found.yes === yes && found.no === no) return;
  throw new Differs({
    check: 'syncedPositions', place: { position, chainId, block }, expected: { yesShares: found.yes, noShares: found.no }, found: { yesShares: yes, noShares: no },
    what: `the history gives ${user} ${yes} YES and ${no} NO of market ${marketId} at position ${position}, as the chain's balances at block ${block}, and the chain has ${found.yes} and ${found.no} there`,
    means: 'The holding has no support on the chain: whoever wrote the record gave or took shares by it that never moved.',
  });
}
