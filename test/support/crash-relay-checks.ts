/** What must hold of relayed requests after the crashes: the history, what clients were told, the chain and the API say the same. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { Interface, type InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import type { RelayEnded, RelayRequested } from '../../engine/records/events.js';
import type { CrashChain } from './crash-chain.js';
import { eventsOf, get, type History } from './crash-checks.js';
import type { CrashRelays, Relayed } from './crash-relays.js';
import type { Receipt } from './deployed-chain.js';

/** A request from where it is recorded to its end; the same request can come again after it has ended without effect. */
interface Life {
  readonly requested: RelayRequested;
  readonly position: number;
  /** A lane that has died records the transactions that are not broadcast once more. */
  readonly txHashes: Set<string>;
  ended: RelayEnded | undefined;
}

type Mined = ReadonlyMap<string, Receipt>;

/** Every request went its way exactly once, and the history knows every transaction of the relayer's key. */
export async function provesRelays(history: History, { relayed, unsent }: Pick<CrashRelays, 'relayed' | 'unsent'>, chain: CrashChain): Promise<void> {
  const lives = livesOf(history);
  const mined = await minedOf(lives, chain);
  const recorded = lives.map(({ requested }) => requested.requestId);
  deepEqual(recorded.filter((id) => !relayed.has(id) || unsent.has(id)), [], 'only what was asked for, and not what was refused');
  for (const each of relayed.values()) provesRequest(each, lives.filter(({ requested }) => requested.requestId === each.requestId), mined);
  const sent = await chain.rpc('eth_getTransactionCount', [chain.relayer.address, 'latest']);
  equal(mined.size, Number(sent), 'every transaction of the key was recorded before it was sent');
}

function livesOf({ entries }: History): readonly Life[] {
  const lives: Life[] = [];
  const open = new Map<string, Life>();
  for (const { position, outcome: { events } } of entries) {
    for (const event of events) {
      if (event.type !== 'RelayRequested' && event.type !== 'RelaySubmitted' && event.type !== 'RelayEnded') continue;
      const { requestId } = event;
      const life = open.get(requestId);
      equal(life === undefined, event.type === 'RelayRequested', `${event.type} of ${requestId} at ${position}`);
      if (event.type === 'RelayRequested') {
        const begun: Life = { requested: event, position, txHashes: new Set(), ended: undefined };
        open.set(requestId, begun);
        lives.push(begun);
      } else if (event.type === 'RelaySubmitted') {
        life!.txHashes.add(event.txHash);
      } else {
        life!.ended = event;
        open.delete(requestId);
      }
    }
  }
  deepEqual([...open.keys()], [], 'no request is without an end');
  return lives;
}

/** The receipts of what was sent, by hash: of a transaction's replacements one is mined. */
async function minedOf(lives: readonly Life[], chain: CrashChain): Promise<Mined> {
  const mined = new Map<string, Receipt>();
  for (const hash of lives.flatMap(({ txHashes }) => [...txHashes])) {
    ok(!mined.has(hash), `${hash} is of one request`);
    const receipt = await chain.rpc('eth_getTransactionReceipt', [hash]) as Receipt | null;
    if (receipt !== null) mined.set(hash, receipt);
  }
  return mined;
}

/** The chain has taken the request: by one transaction, or by a stranger's. */
function provesRequest({ requestId, action, owner, txHashes, contested }: Relayed, lives: readonly Life[], mined: Mined): void {
  const sent = lives.filter((life) => life.txHashes.size > 0);
  deepEqual([...txHashes].filter((hash) => !sent.some((life) => life.txHashes.has(hash))), [], 'every hash that was told is in the history');
  for (const { requested, txHashes: submitted, ended } of lives) {
    deepEqual([requested.action, requested.owner], [action, owner]);
    const { txHash, results } = ended!;
    const what = `${action} ${requestId}: ${JSON.stringify(results)}`;
    if (submitted.size === 0) {
      equal(txHash, null, what);
      ok(results.every(({ succeeded }) => !succeeded), what);
      continue;
    }
    deepEqual([...submitted].filter((hash) => mined.has(hash)), [txHash], `one transaction was mined: ${what}`);
    if (!contested) equal(mined.get(txHash!)!.status, '0x1', what);
    ok(results.every(({ succeeded }) => succeeded), what);
  }
  if (contested) ok(sent.length <= 1);
  else equal(sent.length, 1, `${action} ${requestId} was sent once`);
}

const TOKENS = new Interface(conditionalTokens.abi as InterfaceAbi);

/** No claim waits; those that failed are the history's; those that succeeded are what the chain paid. */
export async function provesClaims(history: History, chain: CrashChain, url: string): Promise<void> {
  const last = history.entries.length - 1;
  const { pendingClaims } = await get(url, '/api/v1/pending-claims', last);
  deepEqual(pendingClaims, []);
  const ended = eventsOf(history, 'RelayEnded');
  const claims = ended.flatMap(({ owner, txHash, claims: asked, results }) => (
    asked.map(({ marketId, payout }, i) => ({ userAddress: owner, marketId, payout: BigInt(payout), txHash: txHash ?? '', ...results[i] ?? results.at(-1)! }))));
  const { failedClaims } = await get(url, '/api/v1/failed-claims', last) as { failedClaims: readonly Readonly<Record<string, unknown>>[] };
  deepEqual(
    failedClaims.map(({ userAddress, marketId, txHash, reason }) => ({ userAddress, marketId, txHash, reason })).reverse(),
    claims.filter(({ succeeded }) => !succeeded).map(({ userAddress, marketId, txHash, reason }) => ({ userAddress, marketId, txHash, reason })));
  const paid = claims.filter(({ succeeded }) => succeeded).map(({ userAddress, marketId, payout }) => ({ userAddress, marketId, payout }));
  deepEqual(inOrder(paid), inOrder(await payoutsOf(chain)));
}

interface Payout { readonly userAddress: string; readonly marketId: string; readonly payout: bigint }

/** What the chain paid for redeemed shares. */
async function payoutsOf({ chain: { contracts, startBlock }, rpc }: CrashChain): Promise<Payout[]> {
  const topics = [TOKENS.getEvent('PayoutRedemption')!.topicHash];
  const range = { fromBlock: `0x${startBlock.toString(16)}`, toBlock: 'latest' };
  const logs = await rpc('eth_getLogs', [{ address: contracts.conditionalTokens, topics, ...range }]) as { topics: string[]; data: string }[];
  return logs.map((log) => {
    const { redeemer, conditionId, payout } = TOKENS.parseLog(log)!.args.toObject() as { redeemer: string; conditionId: string; payout: bigint };
    return { userAddress: redeemer.toLowerCase(), marketId: conditionId, payout };
  });
}

function inOrder(payouts: readonly Payout[]): Payout[] {
  const key = ({ userAddress, marketId, payout }: Payout) => `${userAddress} ${marketId} ${payout}`;
  return [...payouts].sort((a, b) => key(a) < key(b) ? -1 : 1);
}
