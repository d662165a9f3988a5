/** Whether the trader of a recorded order or cancel signed it. */
import { recoveryFailures, type SignerRecovery } from '../../../command/signing/recover.js';
import {
  prepareDomain, type Keccak256, type OrderDomain, type PreparedDomain,
} from '../../../command/signing/typed-data.js';
import type { CancelAfter, CancelAll, CancelOrder, CancelOrders, PlaceOrder, ReduceOrder } from '../../../engine/records/commands.js';
import { toHex } from '../../../engine/records/hex.js';

/** What is wrong, with the digest that the domain gives and who signed it. */
export interface SignatureFault {
  readonly kind: SignedCommand['kind'];
  /** What the command is about, in words. */
  readonly subject: string;
  readonly what: string;
  readonly expected: unknown;
  readonly found: unknown;
}

type Whole<C extends CancelOrder | CancelOrders | CancelAll | CancelAfter | ReduceOrder> = C & Required<Pick<C, 'trader' | 'signature' | 'deadline'>>;

export type SignedCommand = PlaceOrder | Whole<CancelOrder> | Whole<CancelOrders> | Whole<CancelAll> | Whole<CancelAfter> | Whole<ReduceOrder>;

/** `chainId` is the chain of the command's market; undefined where the market is not known: then the signature may be for any chain. */
export type SignatureCheck = (command: SignedCommand, chainId: number | undefined) => SignatureFault | undefined;

export function createSignatureCheck({ keccak256, recovery, domains }: {
  readonly keccak256: Keccak256; readonly recovery: SignerRecovery; readonly domains: readonly OrderDomain[];
}): SignatureCheck {
  const prepared = new Map(domains.map((domain) => [domain.chainId, prepareDomain(keccak256, domain)]));

  function within(domain: PreparedDomain, command: SignedCommand): SignatureFault | undefined {
    const { kind, trader, signature } = command;
    const subject = subjectOf(command);
    const digest = digestOf(domain, command);
    if (kind === 'PlaceOrder') {
      const { orderHash } = command;
      const computed = toHex(digest);
      if (computed !== orderHash) return { kind, subject, what: 'its hash is not the hash of its fields', expected: computed, found: orderHash };
    }
    const recovered = recovery.recover(digest, Buffer.from(signature.slice(2), 'hex'));
    if (recovered.ok && recovered.signer === trader) return undefined;
    const found = recovered.ok ? recovered.signer : recoveryFailures[recovered.failure];
    return { kind, subject, what: `its trader ${trader} did not sign it`, expected: { signer: trader, digest: toHex(digest) }, found: { signer: found, signature } };
  }

  return (command, chainId) => {
    const { kind } = command;
    if (chainId !== undefined) {
      const domain = prepared.get(chainId);
      return domain === undefined
        ? { kind, subject: subjectOf(command), what: `its market is on chain ${chainId}, of which no signing domain is known`, expected: [...prepared.keys()], found: chainId }
        : within(domain, command);
    }
    const faults = [...prepared.values()].map((domain) => within(domain, command));
    return faults.includes(undefined) ? undefined : faults[0];
  };
}

function digestOf(domain: PreparedDomain, command: SignedCommand): Uint8Array {
  switch (command.kind) {
    case 'PlaceOrder': return domain.orderDigest(command);
    case 'CancelOrder': return domain.cancelDigest(command);
    default: return domain.requestDigest(command);
  }
}

function subjectOf(command: SignedCommand): string {
  switch (command.kind) {
    case 'PlaceOrder': return `order ${command.orderHash}`;
    case 'CancelOrder': return `cancel of order ${command.orderHash}`;
    case 'ReduceOrder': return `reduction of order ${command.orderHash}`;
    case 'CancelOrders': case 'CancelAll': case 'CancelAfter': return `${command.kind} of ${command.trader}`;
  }
}
