/**
 * What the relayer does for a wallet that has no gas: it signs, the relayer sends the transaction and pays for it.
 * Messages of one wallet go one after the other, each with the nonce that is due.
 */
import type { ChainConfiguration, Market, Resolution, UserNonces } from './answers.js';
import { hexOf, unitsOf, wholeNumber } from './arguments.js';
import { BadArgument, Refusal, TransportError, type CallOptions } from './errors.js';
import { writeJson } from './exact-json.js';
import { JSON_TYPE, type OrderPermit } from './orders.js';
import { marketIdOf, type MarketReference, type OnChain, type Session } from './session.js';
import { partsOf } from './signer.js';
import type { MessageName, RelayedAction, Signing } from './signing.js';
import type { ApiAnswer } from './transport.js';
import { Outcome, type Amount, type Hex } from './vocabulary.js';
import { backOffMs, pause } from './waiting.js';

/** A request that was sent for the wallet. */
export interface Relayed {
  /**
   * Undefined where the chain is as asked already, and nothing had to be sent. Fees may be raised later, which gives
   * the request another hash.
   */
  readonly txHash: Hex | undefined;
}

export interface PermitRequest extends OnChain {
  readonly spender?: 'settlement' | 'conditionalTokens';
  readonly value?: Amount;
}

/** Every unit of money, for ever. */
export const UNLIMITED = 2n ** 256n - 1n;

const LIFETIME_S = 3_600;
const NO_PARENT: Hex = `0x${'0'.repeat(64)}`;
/** YES and NO. */
const INDEX_SETS = [1n, 2n];
const MOST_PER_BATCH = 20;

type Fields = Readonly<Record<string, unknown>>;

interface Wish {
  readonly chain: ChainConfiguration;
  /** Of messages whose nonces are a market's. */
  readonly marketId?: Hex;
  /** The fields that are signed, but for nonce and deadline. */
  readonly signed: Fields;
  /** The fields of the body that are not signed. */
  readonly sent?: Fields;
}

interface SignedWish {
  readonly nonce: string;
  /** As bodies have it. */
  readonly signature: { readonly deadline: string; readonly v: number; readonly r: Hex; readonly s: Hex };
}

export class Relay {
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly session: Session, private readonly signing: Signing, private readonly token: string | undefined,
  ) {}

  /** Lets the settlement contract move the wallet's shares, which sells need; or no more. */
  async approve(
    { chainId, approved = true }: OnChain & { readonly approved?: boolean } = {}, options: CallOptions = {},
  ): Promise<Relayed> {
    const chain = await this.session.chain(chainId, options);
    const signed = { owner: this.signing.trader, operator: contract(chain, 'settlement'), approved };
    return this.act('ctf-approval', { chain, signed }, options);
  }

  /**
   * Lets the settlement contract, or another contract of the exchange, take stablecoin, which buys need. Default:
   * without a limit.
   */
  async permit(
    { chainId, spender = 'settlement', value = UNLIMITED }: PermitRequest = {}, options: CallOptions = {},
  ): Promise<Relayed> {
    const chain = await this.session.chain(chainId, options);
    const signed = { owner: this.signing.trader, spender: contract(chain, spender), value: unitsOf('value', value) };
    return this.act('usdc-permit', { chain, signed }, options);
  }

  /** Turns stablecoin into as many YES and NO shares. */
  split(market: MarketReference, amount: Amount, options: CallOptions = {}): Promise<Relayed> {
    return this.sets('ctf-split', market, amount, options);
  }

  /** Turns as many YES and NO shares into stablecoin. */
  merge(market: MarketReference, amount: Amount, options: CallOptions = {}): Promise<Relayed> {
    return this.sets('ctf-merge', market, amount, options);
  }

  /** Has the shares of a resolved market paid out, all of them. */
  async redeem(market: MarketReference, options: CallOptions = {}): Promise<Relayed> {
    const { chain, marketId, nonces } = await this.of(market, options);
    const signed = { owner: this.signing.trader, ...redemptionOf(chain, marketId) };
    const sent = { marketAddress: ofMarket(nonces, marketId).contractAddress };
    return this.act('ctf-redemption', { chain, marketId, signed, sent }, options);
  }

  /** The same for several markets of one chain, in one transaction for each twenty. */
  async redeemMany(
    markets: readonly RedeemedMarket[], { chainId, ...options }: OnChain & CallOptions = {},
  ): Promise<Relayed[]> {
    const chain = await this.session.chain(chainId, options);
    const relayed: Relayed[] = [];
    for (let first = 0; first < markets.length; first += MOST_PER_BATCH) {
      const some = markets.slice(first, first + MOST_PER_BATCH);
      relayed.push(await this.inTurn(() => this.untilDue(() => this.redeemBatch(chain, some, options), options)));
    }
    return relayed;
  }

  /** Proposes a market's outcome under the bond that the exchange asks for, with a permit for it. */
  async propose(market: MarketReference, outcome: Outcome, options: CallOptions = {}): Promise<Relayed> {
    const { chain, marketId, nonces } = await this.of(market, options);
    const { contractAddress, bond } = ofMarket(nonces, marketId);
    const value = BigInt(bond);
    return this.inTurn(async () => {
      const { signature: permit } = await this.signed('bond-permit', {
        chain, signed: { owner: this.signing.trader, spender: contract(chain, 'oracleResolver'), value },
      }, options);
      return this.perform('propose-resolution', {
        chain, marketId,
        signed: {
          market: contractAddress, proposer: this.signing.trader, outcome: outcome === Outcome.Yes, bond: value,
        },
        sent: { bondPermitDeadline: permit.deadline, bondV: permit.v, bondR: permit.r, bondS: permit.s },
      }, options);
    });
  }

  /** Settles a market whose proposal nobody has disputed in time. Default: the proposed outcome. */
  async settle(
    market: MarketReference, { winningOutcome: given }: { readonly winningOutcome?: Outcome } = {},
    options: CallOptions = {},
  ): Promise<Relayed> {
    const { chain, marketId, nonces } = await this.of(market, options);
    const winningOutcome = given ?? await this.proposed(marketId, options);
    const { contractAddress } = ofMarket(nonces, marketId);
    const signed = { market: contractAddress, settler: this.signing.trader, winningOutcome };
    return this.act('settle-market', { chain, marketId, signed }, options);
  }

  /**
   * A permit to send with an order, instead of an allowance. It holds until another permit of the wallet has been used.
   */
  async signPermit(
    { chainId, value, deadline }: OnChain & { readonly value: Amount; readonly deadline?: number },
    options: CallOptions = {},
  ): Promise<OrderPermit> {
    const chain = await this.session.chain(chainId, options);
    const units = unitsOf('value', value);
    const signed = { owner: this.signing.trader, spender: contract(chain, 'settlement'), value: units };
    const until = deadline === undefined ? undefined : wholeNumber('deadline', deadline);
    const { nonce, signature } = await this.signed('usdc-permit', { chain, signed }, options, { deadline: until });
    return { value: units.toString(), nonce, ...signature };
  }

  private async sets(
    action: 'ctf-split' | 'ctf-merge', market: MarketReference, amount: Amount, options: CallOptions,
  ): Promise<Relayed> {
    const [conditionId, units] = [hexOf('market', marketIdOf(market), 32), unitsOf('amount', amount)];
    const chain = await this.session.chainOfMarket(market, options);
    const collateralToken = contract(chain, 'collateral');
    const signed = { owner: this.signing.trader, collateralToken, conditionId, amount: units };
    return this.act(action, { chain, signed }, options);
  }

  private act(action: RelayedAction, wish: Wish, options: CallOptions): Promise<Relayed> {
    return this.inTurn(() => this.perform(action, wish, options));
  }

  /** Signs with the nonce that is due, and sends. */
  private perform(action: RelayedAction, wish: Wish, options: CallOptions): Promise<Relayed> {
    return this.untilDue(async () => {
      const { signature } = await this.signed(action, wish, options);
      const fields = namedForBody({ ...wish.signed, ...wish.sent });
      return this.post(action, { chainId: wish.chain.chainId, ...fields, ...signature }, options);
    }, options);
  }

  /**
   * While a message before is on its way to a block, its nonce is the one that is due: then that is waited for, and the
   * next one is signed.
   */
  private async untilDue(work: () => Promise<Relayed>, options: CallOptions): Promise<Relayed> {
    const end = Date.now() + (options.timeoutMs ?? this.session.delivery.timeoutMs);
    for (let failures = 0; ; failures++) {
      try {
        return await work();
      } catch (error) {
        const wait = backOffMs(failures);
        if (!isTaken(error) || Date.now() + wait >= end) throw error;
        await pause(wait, options.signal);
      }
    }
  }

  private async redeemBatch(
    chain: ChainConfiguration, markets: readonly RedeemedMarket[], options: CallOptions,
  ): Promise<Relayed> {
    const redemptions: object[] = [];
    for (const { marketId, contractAddress } of markets) {
      const redemption = redemptionOf(chain, marketId);
      const wish = { chain, marketId, signed: { owner: this.signing.trader, ...redemption } };
      const { signature } = await this.signed('ctf-redemption', wish, options);
      redemptions.push({ marketAddress: contractAddress, ...namedForBody(redemption), ...signature });
    }
    const body = { chainId: chain.chainId, owner: this.signing.trader, redemptions };
    return this.post('batch-ctf-redemption', body, options);
  }

  private post(action: RelayedAction | 'batch-ctf-redemption', body: object, options: CallOptions): Promise<Relayed> {
    if (this.token === undefined) {
      throw new BadArgument('token', 'is missing: the relayer needs one, which the exchange\'s operator issues');
    }
    const headers = { ...JSON_TYPE, Authorization: `Bearer ${this.token}` };
    return this.session.send({ method: 'POST', path: `/api/v1/relayer/${action}`, headers, body: writeJson(body) }, {
      check: txHashIn,
      result: (answer) => {
        const txHash = txHashIn(answer);
        return { txHash: txHash === '' ? undefined : txHash };
      },
    }, options);
  }

  private async signed(
    action: MessageName, { chain, marketId, signed }: Wish, options: CallOptions,
    { deadline: given }: { readonly deadline?: number | undefined } = {},
  ): Promise<SignedWish> {
    const kind = chain.signedActions[action]?.nonce.kind;
    const nonces = await this.nonces(chain, marketId, options);
    const nonce = kind === 'owner' || kind === 'token'
      ? nonces[kind]
      : ofMarket(nonces, marketId)[kind === 'condition' ? 'condition' : 'market'];
    const deadline = given ?? await this.session.now(options) + LIFETIME_S;
    const message = { ...signed, nonce: BigInt(nonce), deadline: BigInt(deadline) };
    const parts = partsOf(await this.signing.sign(chain, action, message, options));
    return { nonce, signature: { deadline: String(deadline), ...parts } };
  }

  private nonces({ chainId }: ChainConfiguration, market: Hex | undefined, options: CallOptions): Promise<UserNonces> {
    return this.session.get(`/api/v1/users/${this.signing.trader}/nonces`, { chain_id: chainId, market }, options);
  }

  private async of(market: MarketReference, options: CallOptions) {
    const chain = await this.session.chainOfMarket(market, options);
    const marketId = hexOf('market', marketIdOf(market), 32);
    return { chain, marketId, nonces: await this.nonces(chain, marketId, options) };
  }

  private async proposed(marketId: Hex, options: CallOptions): Promise<Outcome> {
    const { assertion } = await this.session.get<Resolution>(`/api/v1/resolution/${marketId}`, {}, options);
    if (assertion === undefined) throw new BadArgument('market', `has no proposal that could be settled: ${marketId}`);
    return assertion.proposedOutcome ? Outcome.Yes : Outcome.No;
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }
}

/** A resolved market, by its id and its contract. */
export type RedeemedMarket = { readonly marketId: Hex } & Pick<Market, 'contractAddress'>;

/** The transaction; empty where none was needed. Throws TransportError for an answer that does not say. */
function txHashIn({ status, body }: ApiAnswer): Hex | '' {
  const { tx_hash: single, txHash = single } = body as Readonly<Record<string, unknown>>;
  if (typeof txHash === 'string') return txHash as Hex | '';
  throw new TransportError('an answer names no transaction, so it is not the relayer\'s', { status });
}

/** Whether another message has the nonce. */
function isTaken(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'relay_already_used';
}

function redemptionOf(chain: ChainConfiguration, conditionId: Hex) {
  const collateralToken = contract(chain, 'collateral');
  return { collateralToken, parentCollectionId: NO_PARENT, conditionId, indexSets: INDEX_SETS };
}

/** The body's names of what is signed; a bond is signed and not sent. */
function namedForBody(fields: Fields): Fields {
  const sent = Object.entries(fields).filter(([name]) => name !== 'bond');
  return Object.fromEntries(sent.map(([name, value]) => [name === 'market' ? 'marketAddress' : name, value]));
}

function ofMarket({ markets }: UserNonces, marketId: Hex | undefined): UserNonces['markets'][number] {
  const found = markets.find((each) => each.marketId === marketId) ?? (marketId === undefined ? undefined : markets[0]);
  if (found === undefined) throw new BadArgument('market', `is not a market of this chain: ${String(marketId)}`);
  return found;
}

function contract({ chainId, contracts }: ChainConfiguration, name: keyof ChainConfiguration['contracts']): Hex {
  const address = contracts[name];
  if (address === null) throw new BadArgument('chainId', `names a chain without the contract ${name}: ${chainId}`);
  return address;
}
