/** A relayer on a chain that is made up, where tests change what its contracts would answer, and signed request bodies for every action. */
import { Wallet, id } from 'ethers';
import { encodeCall, type ContractCall } from '../../command/chain/abi.js';
import type { ChainReads } from '../../command/chain/chain-reads.js';
import type { RelayNote } from '../../command/relayer/note.js';
import { createQuota } from '../../command/relayer/quota.js';
import { createRelayer, type Relay, type Relayed } from '../../command/relayer/relayer.js';
import type { CheckedRequest, EndedRelay, RelaySender } from '../../command/relayer/sender.js';
import { prepareAction, type ActionMessage } from '../../command/signing/action-digest.js';
import { createKeccak256 } from '../../command/signing/typed-data.js';
import { createSignerRecovery } from '../../command/signing/recover.js';
import { nonceKey, signedActions, signingDomains, type SignedActionName } from '../../command/signing/signed-actions.js';
import { RequestError } from '../../engine/records/errors.js';
import type { RelayAction } from '../../engine/records/fields.js';
import type { Commitment } from '../../engine/run/view.js';
import { madeUpContracts } from './chain-settings.js';

export const NOW_S = 1_800_000_000;
export const CHAIN_ID = 137;
export const owner = new Wallet(id('relay scene: owner'));
export const stranger = new Wallet(id('relay scene: stranger'));
export const lowerCase = (wallet: Wallet): string => wallet.address.toLowerCase();

export const contracts = madeUpContracts('c');
/** A resolved market in which YES has won, and an open one. */
export const won = { marketId: `0x${'a1'.repeat(32)}`, address: `0x${'a1'.repeat(20)}`, tokens: [11n, 12n] };
export const open = { marketId: `0x${'b2'.repeat(32)}`, address: `0x${'b2'.repeat(20)}`, tokens: [21n, 22n] };
const MARKETS = [won, open];
export const BOND = 10_000_000n;
export const ZERO = `0x${'0'.repeat(64)}`;

const domains = signingDomains({ chainId: CHAIN_ID, contracts, settlementName: 'Exchange', token: { name: 'USD Coin', version: '2' } });

/** What the chain is like; tests assign. */
interface ChainState {
  testnet: boolean;
  code: string;
  /** Counters of all the owner's nonces. */
  counter: bigint;
  approved: boolean;
  allowance: bigint;
  /** What the owner has of each market's outcome, and of the collateral. */
  shares: bigint;
  collateral: bigint;
  proposal: { assertionId: string; proposer: string; outcome: boolean } | undefined;
  /** What the resolver says of a proposal's bond; undefined: it is of an earlier version. */
  bond: bigint | undefined;
  /** Why a transaction would revert; items of a batch that would. */
  reverts: string | undefined;
  failingItems: readonly number[];
  /** As `reverts`, by code that looks whether gas has a price. */
  revertsWhenPaid: string | undefined;
  /** When a transaction for the owner reverted. */
  revertedAtMs: number | undefined;
  baseFeePerGas: bigint;
  balance: bigint;
  problem: string | undefined;
  gasPerOwner: bigint;
  scopes: boolean;
  ended: Map<string, EndedRelay>;
  /** What the owner's orders and fills need. */
  commitments: readonly Commitment[];
  /** The owner's requests that the sender has not ended. */
  inFlight: readonly RelayNote[];
  /** Fills that the chain has settled, in a block that the history does not have. */
  settledFills: readonly number[];
  /** What the read model knows of requests that have ended once it has caught up; undefined when it does not catch up. */
  endedByNow: Map<string, EndedRelay> | undefined;
}

export type RelayScene = Awaited<ReturnType<typeof relayScene>>;

/** The word of the ABI. */
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;

const freshState = (): ChainState => ({
  testnet: true, code: '0x', counter: 5n, approved: false, allowance: 0n, shares: 7_000_000n, collateral: 100_000_000n, proposal: undefined,
  bond: BOND, reverts: undefined, revertsWhenPaid: undefined, revertedAtMs: undefined, failingItems: [],
  baseFeePerGas: 10n, balance: 10n ** 18n, problem: undefined, gasPerOwner: 0n, scopes: true,
  ended: new Map(), endedByNow: new Map(), commitments: [], inFlight: [], settledFills: [],
});

/** What the contracts answer to a view. */
function answerTo({ method, to, args }: ContractCall, state: ChainState): unknown {
  const market = MARKETS.find((each) => each.address === to || each.marketId === args[0] || each.address === args[0]);
  switch (method) {
    case 'marketOf': return market?.address ?? `0x${'0'.repeat(40)}`;
    case 'marketIdOf': return market?.marketId ?? ZERO;
    case 'resolver': return contracts.oracleResolver;
    case 'bond': return BOND;
    case 'bondOf': return state.bond;
    case 'yesId': return market?.tokens[0];
    case 'noId': return market?.tokens[1];
    case 'payoutNumerators': return market === won && args[1] === 0 ? 1n : 0n;
    case 'nonces(address)': return state.counter;
    case 'nonces(address,uint192)': return (args[1] as bigint) * 2n ** 64n + state.counter;
    case 'isApprovedForAll': return state.approved;
    case 'allowance': return state.allowance;
    case 'balanceOf': return args.length === 1 ? state.collateral : state.shares;
    case 'isSettled': return state.settledFills.includes(args[0] as number);
    case 'proposalOf': return state.proposal;
    default: throw new Error(`nothing is said of ${method}`);
  }
}

function madeUpReads(state: ChainState): ChainReads {
  return {
    views: (calls) => {
      // What cannot be encoded would throw on a chain too.
      for (const call of calls) encodeCall(call);
      return Promise.resolve(calls.map((call) => answerTo(call, state)));
    },
    code: () => Promise.resolve(state.code),
    simulate({ data, gasPrice = 0n }) {
      const reverted = state.reverts ?? (gasPrice > 0n ? state.revertsWhenPaid : undefined);
      return Promise.resolve(reverted === undefined ? { returned: aggregated(data, state.failingItems) } : { reverted });
    },
    funds: () => Promise.resolve({ baseFeePerGas: state.baseFeePerGas, balance: state.balance, block: 100 }),
    receiptLogs: () => Promise.resolve([]),
    logs: () => Promise.resolve([]),
  };
}

/** A sender whose requests are in `sent`, and their hashes in `hashes` until they are forgotten. */
function madeUpSender(state: ChainState, { sent, hashes }: { sent: CheckedRequest[]; hashes: Map<string, string> }): RelaySender {
  return {
    done: Promise.resolve(), problem: () => state.problem, status: () => ({ holds: true, open: 0, problem: state.problem }),
    ended: () => undefined, refuseUsed: () => undefined, openOf: () => state.inFlight, revertedAt: () => state.revertedAtMs,
    send: async (request) => {
      sent.push(request);
      const hash = id(`sent ${sent.length}`);
      await new Promise((resolve) => { setImmediate(resolve); });
      hashes.set(request.note.requestId, hash);
      return hash;
    },
    find: (requestId) => hashes.has(requestId) ? Promise.resolve(hashes.get(requestId)!) : undefined,
  };
}

export async function relayScene() {
  const keccak256 = await createKeccak256();
  const recovery = await createSignerRecovery(keccak256);
  const state = freshState();
  const sent: CheckedRequest[] = [];
  const hashes = new Map<string, string>();
  const lacks: (string | undefined)[] = [];
  const [reads, sender] = [madeUpReads(state), madeUpSender(state, { sent, hashes })];
  const relayerNow = (): Relay => createRelayer({
    keccak256, recovery, now: () => NOW_S * 1_000, quota: createQuota({ gasPerOwner: state.gasPerOwner, gasPerToken: 0n }, () => 0),
    chains: new Map([[CHAIN_ID, {
      chain: {
        chainId: CHAIN_ID, name: 'made up', testnet: state.testnet, confirmations: 0, startBlock: 0, contracts, domainName: 'Exchange', exposureCheck: false,
      },
      reads, sender, lacks: (what) => { lacks.push(what); }, relayer: `0x${'e1'.repeat(20)}`, maxFeePerGas: 1_000n, token: () => ({ name: 'USD Coin', version: '2' }),
      commitments: () => state.commitments,
      isKnownMarket: (marketId) => MARKETS.some((each) => each.marketId === marketId),
      ended: (requestId) => Promise.resolve(state.ended.get(requestId)),
      async readModelCaughtUp() {
        await Promise.resolve();
        if (state.endedByNow === undefined) throw new RequestError('relay_unavailable');
        state.ended = state.endedByNow;
      },
    }]]),
  });
  let relay = relayerNow();

  return {
    state, sent, lacks,
    /** A signature of a message, with the nonce that is due, or another one. */
    sign(name: SignedActionName, message: ActionMessage, { nonceOf, counter = state.counter, by = owner }: SignOptions = {}) {
      const { contract } = signedActions[name];
      const nonce = nonceOf === undefined ? counter : nonceKey(nonceOf) * 2n ** 64n + counter;
      const { r, s, v } = by.signingKey.sign(prepareAction(keccak256, signedActions[name], domains[contract]!)({ ...message, nonce }));
      return { fields: { deadline: String(message['deadline']), v, r, s } };
    },
    /** Starts again with a relayer that remembers nothing, on the chain as it was. */
    reset(): void {
      Object.assign(state, freshState());
      sent.length = lacks.length = 0;
      hashes.clear();
      relay = relayerNow();
    },
    /** A relayer for the chain as it is now, without what was sent. */
    restart(): void {
      hashes.clear();
      relay = relayerNow();
    },
    ask: (action: RelayAction, body: unknown): Promise<Relayed> => relay({
      action, bytes: Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), token: 'test',
      authorise: () => { if (!state.scopes) throw new RequestError('insufficient_scope', `relay:${action}`); },
    }),
  };
}

interface SignOptions {
  readonly nonceOf?: string;
  readonly counter?: bigint;
  readonly by?: Wallet;
}

/** What `aggregate3` returns when these items fail; a single call's data are not an aggregate's, and nobody reads their result. */
function aggregated(data: string, failing: readonly number[]): string {
  if (!data.startsWith(encodeCall({ abi: 'multicall', method: 'aggregate3', args: [[]] }).slice(0, 10))) return '0x';
  const count = Number(BigInt(`0x${data.slice(10 + 64, 10 + 128)}`));
  const reason = encodeCall({ abi: 'conditionalTokens', method: 'redeemPositions', args: [contracts.collateral, ZERO, ZERO, []] }).slice(0, 10);
  const items = Array.from({ length: count }, (_, i) => [word(failing.includes(i) ? 0n : 1n), word(64n), word(4n), reason.padEnd(66, '0')]
    .map((each) => each.slice(2)).join(''));
  const heads = items.map((_, i) => word(BigInt(32 * count + i * 128)).slice(2));
  return `${word(32n)}${word(BigInt(count)).slice(2)}${heads.join('')}${items.join('')}`;
}

export type Json = Record<string, unknown>;

interface BodyOptions extends Omit<SignOptions, 'nonceOf'> {
  readonly deadline?: bigint;
  /** What a proposal signs, and permits. */
  readonly bond?: bigint;
}

/** A body with which nothing is wrong; every value of its own, so that a test may change it. */
export function validBody(action: RelayAction, scene: RelayScene, asked: BodyOptions = {}): Json {
  const { deadline = BigInt(NOW_S + 3_600), bond = BOND, ...options } = asked;
  const sign = (name: SignedActionName, message: ActionMessage, nonceOf?: string): Json => (
    { ...scene.sign(name, { ...message, deadline }, { ...options, ...nonceOf === undefined ? {} : { nonceOf } }).fields });
  const address = lowerCase(owner);
  const { settlement: operator, collateral: collateralToken, oracleResolver } = contracts;
  const chain = { chainId: CHAIN_ID };
  const redemption = (): Json => {
    const fields = { collateralToken, parentCollectionId: ZERO, conditionId: won.marketId };
    const signed = sign('ctf-redemption', { owner: address, ...fields, indexSets: [1n, 2n] }, won.marketId);
    return { ...fields, indexSets: ['1', '2'], ...signed, marketAddress: won.address };
  };
  switch (action) {
    case 'ctf-approval': {
      const fields = { owner: address, operator, approved: true };
      return { ...chain, ...fields, ...sign('ctf-approval', fields) };
    }
    case 'usdc-permit': {
      const fields = { owner: address, spender: operator };
      return { ...chain, ...fields, value: '5', ...sign('usdc-permit', { ...fields, value: 5n }) };
    }
    case 'ctf-redemption': return { ...chain, owner: address, ...redemption() };
    case 'batch-ctf-redemption': return { ...chain, owner: address, redemptions: [redemption()] };
    case 'ctf-split':
    case 'ctf-merge': {
      const fields = { owner: address, collateralToken, conditionId: open.marketId };
      return { ...chain, ...fields, amount: '5', ...sign(action, { ...fields, amount: 5n }) };
    }
    case 'propose-resolution': {
      const signed = sign('propose-resolution', { market: open.address, proposer: address, outcome: true, bond }, open.marketId);
      const permit = sign('bond-permit', { owner: address, spender: oracleResolver, value: bond });
      return {
        ...chain, marketAddress: open.address, proposer: address, outcome: true, ...signed,
        bondPermitDeadline: permit['deadline'], bondV: permit['v'], bondR: permit['r'], bondS: permit['s'],
      };
    }
    case 'settle-market': {
      const signed = sign('settle-market', { market: open.address, settler: address, winningOutcome: 0n }, open.marketId);
      return { ...chain, marketAddress: open.address, settler: address, ...signed, winningOutcome: 0 };
    }
  }
}
