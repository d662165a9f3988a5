/**
 * Traders without gas at a relayer that dies all the time: what they sign is sent until it is answered, asked for again until the chain has
 * taken it, and noted.
 */
import { deepEqual, equal, match } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { concat, keccak256 } from 'ethers';
import { crashDelivery, type DeliveryParts } from './crash-traders.js';
import type { CrashChain, CrashTrader } from './crash-chain.js';
import { MAX_UINT256, type DeployedMarket } from './deployed-chain.js';
import type { SignedMessage } from '../../tools/demo/signed-requests.js';
import { gaslessClientBy, type RelayAnswer } from './gasless-wallet.js';
import { createRandom } from './random-commands.js';
import { until } from './until.js';

/** A request that the relayer has taken. */
export interface Relayed {
  /** By EIP-712, worked out here. */
  readonly requestId: string;
  readonly action: string;
  /** Lower-case. */
  readonly owner: string;
  readonly body: unknown;
  /** What the answers named. */
  readonly txHashes: ReadonlySet<string>;
  /** A stranger has sent the same message too, so that only one of the two transactions succeeds. */
  readonly contested: boolean;
}

export interface CrashRelays {
  /** By request id. */
  readonly relayed: ReadonlyMap<string, Relayed>;
  /** Ids of requests that were refused, or had nothing to do. */
  readonly unsent: ReadonlySet<string>;
  /** Codes of the refusals. */
  readonly refusals: ReadonlySet<string>;
  /** Resolves after the signal, when each trader has done each of its acts. It can be called again, and goes on where it was. */
  relay(signal: AbortSignal): Promise<void>;
  /** Sends a request that was taken before once more: the hash that it is answered with. */
  repeat(relayed: Relayed): Promise<string>;
}

export interface CrashRelaysParts extends DeliveryParts {
  readonly chain: CrashChain;
  readonly token: string;
  readonly seed: number;
}

const USDC = 10n ** 6n;
/** The longest pause between two requests of a trader. */
const REST_MS = 200;
/** A request is asked for again when the chain has not taken it for so long, as a transaction that fails has to be. */
const IMPATIENT_MS = 1_000;
/** Longer than any disaster lasts. */
const TAKEN_S = 300;
const HASH = /^0x[0-9a-f]{64}$/;

type Random = () => number;
type Body = Readonly<Record<string, unknown>>;

export function crashRelays(parts: CrashRelaysParts): CrashRelays {
  const notes = { relayed: new Map<string, Relayed>(), unsent: new Set<string>(), refusals: new Set<string>() };
  const { deliver } = crashDelivery(parts);
  let wallets: Promise<Gasless[]> | undefined;
  const all = () => wallets ??= Promise.all(parts.chain.traders.filter(({ means }) => means === 'gasless').map(async (trader, i) => {
    const relays = await relayClientOf(trader, { ...parts, ...notes, deliver });
    return gasless(trader, { chain: parts.chain, relays, random: createRandom(parts.seed + 100 + i), number: i });
  }));
  return {
    ...notes,
    async relay(signal) {
      await Promise.all((await all()).map(async (wallet) => {
        while (!signal.aborted || !wallet.hasDoneAll()) await wallet.act();
      }));
    },
    async repeat({ action, body }) {
      const [{ relays }] = await all() as [Gasless];
      return hashOf(await relays.client.post(action, body));
    },
  };
}

interface RelayClientParts extends CrashRelaysParts {
  readonly relayed: Map<string, Relayed>;
  readonly unsent: Set<string>;
  readonly refusals: Set<string>;
  readonly deliver: ReturnType<typeof crashDelivery>['deliver'];
}

export type RelayClient = Awaited<ReturnType<typeof relayClientOf>>;

/** How a trader asks, one request after the other. */
export async function relayClientOf({ address }: CrashTrader, { token, deliver, relayed, unsent, refusals }: RelayClientParts) {
  let messages: SignedMessage[] = [];
  const client = await gaslessClientBy({ token, ask: deliver, signed: (message) => { if (message.action !== 'bond-permit') messages.push(message); } });

  async function signed(body: Promise<Body>) {
    messages = [];
    const bytes = await body;
    const digests = messages.map(({ digest }) => digest);
    return { body: bytes, messages, requestId: digests.length === 1 ? digests[0]! : keccak256(concat(digests)) };
  }

  return {
    client,
    /**
     * Resolves when the chain has taken all messages. `times`: how often the request is sent at once; `again`: also afterwards. A `stranger`
     * brings the same message.
     */
    async carryOut(action: string, making: Promise<Body>, { times = 1, again = false, stranger }: CarryOut): Promise<void> {
      const { requestId, body, messages: own } = await signed(making);
      const txHashes = new Set<string>();
      relayed.set(requestId, { requestId, action, owner: address, body, txHashes, contested: stranger !== undefined });
      const ask = async () => {
        const answer = await client.post(action, body);
        // The stranger's transaction may be on the chain, or in its pending block, before the relayer looks.
        if (stranger === undefined || ![409, 422].includes(answer.status)) txHashes.add(hashOf(answer));
      };
      const brought = stranger?.(body);
      await Promise.all(Array.from({ length: times }, ask));
      await until(`the chain takes the messages of ${action}`, async () => {
        if (await isTaken(own)) return true;
        await ask();
        return false;
      }, TAKEN_S);
      if (again) await ask();
      await brought;
    },
    /** Asks for what must be refused with this code. */
    async refused(action: string, making: Promise<Body>, expected: string): Promise<void> {
      const { requestId, body } = await signed(making);
      const answer = await client.post(action, body);
      equal(answer.headers.get('X-Error-Code'), expected, `${answer.status} ${JSON.stringify(answer.body)}`);
      unsent.add(requestId);
      refusals.add(expected);
    },
    /** Asks for what is so already. */
    async nothingToDo(action: string, making: Promise<Body>): Promise<void> {
      const { requestId, body } = await signed(making);
      deepEqual((await client.post(action, body)).body, { success: true, tx_hash: '' });
      unsent.add(requestId);
    },
    /** Whether the history has the market. */
    async knows({ marketId }: DeployedMarket, owner: string): Promise<boolean> {
      return (await deliver({ method: 'GET', path: `/api/v1/users/${owner}/nonces?chain_id=${client.chainId}&market=${marketId}` })).status === 200;
    },
  };
}

interface CarryOut {
  readonly times?: number;
  readonly again?: boolean;
  readonly stranger?: ((body: Body) => Promise<void>) | undefined;
}

function hashOf({ status, body }: RelayAnswer): string {
  equal(status, 200, JSON.stringify(body));
  const hash = body.tx_hash ?? body.txHash ?? '';
  match(hash, HASH, 'a request that was sent is answered with its hash');
  return hash;
}

async function isTaken(messages: readonly SignedMessage[]): Promise<boolean> {
  for (const end = performance.now() + IMPATIENT_MS; performance.now() < end; await sleep(50)) {
    if ((await Promise.all(messages.map((message) => message.isUsed()))).every((used) => used)) return true;
  }
  return false;
}

interface Acting {
  readonly chain: CrashChain;
  readonly relays: RelayClient;
  readonly random: Random;
  /** Which of the traders it is. */
  readonly number: number;
}

type ShortMarket = Awaited<ReturnType<CrashChain['openShortMarket']>>;
type Gasless = ReturnType<typeof gasless>;

/** What every act needs. */
function meansOf({ wallet, address }: CrashTrader, { chain, relays, random }: Acting) {
  const move = (amount: bigint) => { chain.funds.set(address, chain.funds.get(address)! + amount); };
  const options = () => ({ times: random() % 3 === 0 ? 3 : 1, again: random() % 2 === 0 });
  return {
    move, options,
    some: () => BigInt(1 + random() % 20) * USDC,
    async sets(action: 'ctf-split' | 'ctf-merge', { marketId }: DeployedMarket, amount: bigint, stranger?: CarryOut['stranger']): Promise<void> {
      const body = relays.client.bodies.sets(wallet, action, { conditionId: marketId, amount });
      await relays.carryOut(action, body, { ...options(), stranger });
      move(action === 'ctf-split' ? -amount : amount);
    },
  };
}

/** A trader without gas: it does this and that, and sees one market after the other to its end. */
function gasless(trader: CrashTrader, acting: Acting) {
  const { wallet, address } = trader;
  const { chain, relays, random } = acting;
  const { carryOut, refused, client: { bodies } } = relays;
  const { options, some, sets } = meansOf(trader, acting);
  const lives = livesOfMarkets(trader, acting);
  /** One of those that the history has from the first blocks. */
  const anyMarket = () => chain.markets[random() % 2]!;
  const acts = [
    () => sets('ctf-split', anyMarket(), some()),
    () => sets('ctf-merge', anyMarket(), some()),
    // All calldata is public: somebody else sends it as well.
    () => sets('ctf-split', anyMarket(), some(), ({ owner, collateralToken, conditionId, amount, deadline, v, r, s }) => (
      chain.bring('splitPositionWithSig', [owner, collateralToken, conditionId, amount, deadline, v, r, s]))),
    () => carryOut('usdc-permit', bodies.permit(wallet, { value: BigInt(1 + random()) * USDC }), options()),
    // It takes back its approval past the relayer, which does not carry that: its sales fail meanwhile.
    async () => {
      const { owner, operator, approved, deadline, v, r, s } = await bodies.approval(wallet, false);
      await chain.bring('setApprovalForAllWithSig', [owner, operator, approved, deadline, v, r, s]);
      await carryOut('ctf-approval', bodies.approval(wallet), options());
    },
    () => relays.nothingToDo('ctf-approval', bodies.approval(wallet)),
    () => refused('ctf-approval', bodies.approval(wallet, false, { later: 5n }), 'relay_wrong_signer'),
    () => refused('ctf-merge', bodies.sets(wallet, 'ctf-merge', { conditionId: anyMarket().marketId, amount: MAX_UINT256 / 2n }), 'relay_would_revert'),
    () => refused('ctf-split', bodies.sets(wallet, 'ctf-split', { conditionId: chain.chain.contracts.settlement.padEnd(66, '0'), amount: 1n }), 'relay_target_refused'),
  ];
  let isReady = false;
  let turn = 0;
  return {
    relays,
    hasDoneAll: () => turn >= acts.length && lives.count() > 0,
    async act(): Promise<void> {
      isReady ||= await relays.knows(chain.markets[1]!, address);
      await lives.goOn();
      if (isReady) await acts[turn++ % acts.length]!();
      await sleep(random() % REST_MS);
    },
  };
}

/** A trader's part in short markets, one after the other: a split, and after its end from the proposal to the redemption. */
function livesOfMarkets(trader: CrashTrader, acting: Acting) {
  const { wallet, address } = trader;
  const { chain, relays, random, number } = acting;
  const { carryOut, refused, client: { bodies, chainId } } = relays;
  const { move, options, some, sets } = meansOf(trader, acting);
  let coming: ShortMarket | undefined;
  let entered: (ShortMarket & { readonly shares: bigint }) | undefined;
  let count = 0;

  /** The exchange refuses a market of which it hears after its end, as it may here: then the next try is with another one. */
  async function enter(): Promise<void> {
    const market = coming ??= await chain.openShortMarket();
    if (!await relays.knows(market, address)) {
      if (await chain.now() >= market.expiration) coming = undefined;
      return;
    }
    coming = undefined;
    const shares = some();
    await sets('ctf-split', market, shares);
    entered = { ...market, shares };
  }

  async function leave({ marketId, address: market, bond, shares }: NonNullable<typeof entered>): Promise<void> {
    const [named, winningOutcome] = [{ market, marketId }, random() % 2];
    await carryOut('propose-resolution', bodies.proposal(wallet, { ...named, outcome: winningOutcome === 0, bond }), options());
    await refused('settle-market', bodies.settlement(wallet, { ...named, winningOutcome: 1 - winningOutcome }), 'relay_would_revert');
    await chain.disputeWindowPasses();
    await carryOut('settle-market', bodies.settlement(wallet, { ...named, winningOutcome }), options());
    if (number % 2 === 0) await carryOut('batch-ctf-redemption', batch({ marketId, address: market }), options());
    else await carryOut('ctf-redemption', bodies.redemption(wallet, { conditionId: marketId }), options());
    move(shares);
    await refused('ctf-redemption', bodies.redemption(wallet, { conditionId: marketId }), 'relay_would_revert');
    entered = undefined;
    count++;
  }

  /** Each outcome's shares by an item of its own. */
  async function batch({ marketId: conditionId, address: marketAddress }: Pick<DeployedMarket, 'marketId' | 'address'>): Promise<Body> {
    const redemptions = [];
    for (const [i, indexSet] of [1n, 2n].entries()) {
      redemptions.push({ marketAddress, ...await bodies.redemptionItem(wallet, { conditionId, indexSets: [indexSet] }, { later: BigInt(i) }) });
    }
    return { chainId, owner: address, redemptions };
  }

  return {
    count: () => count,
    async goOn(): Promise<void> {
      if (entered === undefined) await enter();
      else if (await chain.now() >= entered.expiration) await leave(entered);
    },
  };
}
