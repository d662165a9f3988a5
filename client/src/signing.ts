/** Signs the messages of the API by what its configuration says of each: domain, types and primary type. */
import type { ChainConfiguration } from './answers.js';
import { hexOf } from './arguments.js';
import { BadArgument, ExchangeError, type CallOptions } from './errors.js';
import type { Session } from './session.js';
import type { Signer, TypedData } from './signer.js';
import type { Hex } from './vocabulary.js';

/** The messages that this client signs, as `signedActions` of the configuration names them. */
export type MessageName
  = 'order' | 'cancel' | 'cancel-orders' | 'cancel-all' | 'cancel-after' | 'reduce' | 'bond-permit' | RelayedAction;

/** What the relayer sends for a user. */
export type RelayedAction
  = 'ctf-approval' | 'usdc-permit' | 'ctf-split' | 'ctf-merge' | 'ctf-redemption' | 'propose-resolution'
    | 'settle-market';

/** How long after its own time a call's signature is good: an answer that was lost can still be asked for. */
const GRACE_S = 60;

export class Signing {
  private lastDeadline = 0;

  constructor(readonly session: Session, private readonly given: Signer | undefined) {}

  /** Throws BadArgument where the client has no signer. */
  get signer(): Signer {
    if (this.given === undefined) throw new BadArgument('signer', 'is missing: the client needs one to sign');
    return this.given;
  }

  get trader(): Hex {
    return this.signer.address as Hex;
  }

  async sign(
    { chainId }: Pick<ChainConfiguration, 'chainId'>, name: MessageName, message: TypedData['message'],
    options: CallOptions = {},
  ): Promise<Hex> {
    const described = await this.described(chainId, name, options);
    options.signal?.throwIfAborted();
    const signature = await this.signer.signTypedData({ ...described, message });
    return hexOf('the signer\'s signature', signature, 65);
  }

  /**
   * When a request about orders expires that is signed now. Each one is later than the one before: requests of which
   * only the latest counts, or of which each takes effect once, never look like one that was sent before.
   */
  async nextDeadline(options: CallOptions = {}): Promise<number> {
    const { session } = this;
    const patienceS = Math.ceil((options.timeoutMs ?? session.delivery.timeoutMs) / 1_000);
    const soon = await session.now(options) + patienceS + GRACE_S;
    return this.lastDeadline = Math.max(soon, this.lastDeadline + 1);
  }

  /** The stablecoin's domain is not there before the exchange has read it, so it is asked for again. */
  private async described(
    chainId: number, name: MessageName, options: CallOptions,
  ): Promise<Omit<TypedData, 'message'>> {
    for (const isLast of [false, true]) {
      const action = (await this.session.chain(chainId, options)).signedActions[name];
      if (action === undefined) throw new BadArgument('chainId', `is a chain on which there is no ${name}: ${chainId}`);
      const { domain, types, primaryType } = action;
      if (domain !== null) return { domain, types: types as TypedData['types'], primaryType };
      if (!isLast) this.session.forgetConfig();
    }
    throw new ExchangeError(`${name} cannot be signed before the exchange has read chain ${chainId}: try again`);
  }
}
