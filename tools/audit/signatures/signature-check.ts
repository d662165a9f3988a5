/** Whether the trader of a recorded order or cancel signed it. */
import { recoveryFailures, type SignerRecovery } from '../../../command/signing/recover.js';
import type { Keccak256 } from '../../../command/signing/keccak.js';
import { prepareDomain, type OrderDomain, type PreparedDomain } from '../../../command/signing/typed-data.js';
import type { CancelOrder, PlaceOrder } from '../../../engine/records/commands.js';
import { toHex } from '../../../engine/records/hex.js';

/** What is wrong, with the digest that the domain gives and who signed it. */
export interface SignatureFault {
  readonly kind: 'PlaceOrder' | 'CancelOrder';
  readonly orderHash: string;
  readonly what: string;
  readonly expected: unknown;
  readonly found: unknown;
}

export type SignedCommand = PlaceOrder | (CancelOrder & Required<Pick<CancelOrder, 'trader' | 'signature' | 'deadline'>>);

/** `chainId` is the chain of the command's market; undefined where the market is not known: then the signature may be for any chain. */
export type SignatureCheck = (command: SignedCommand, chainId: number | undefined) => SignatureFault | undefined;

export function createSignatureCheck({ keccak256, recovery, domains }: {
  readonly keccak256: Keccak256; readonly recovery: SignerRecovery; readonly domains: readonly OrderDomain[];
}): SignatureCheck {
  const prepared = new Map(domains.map((domain) => [domain.chainId, prepareDomain(keccak256, domain)]));

  function within(domain: PreparedDomain, command: SignedCommand): SignatureFault | undefined {
    const { kind, orderHash, trader, signature } = command;
    const digest = kind === 'PlaceOrder' ? domain.orderDigest(command) : domain.cancelDigest(command);
    if (kind === 'PlaceOrder') {
      const computed = toHex(digest);
      if (computed !== orderHash) return { kind, orderHash, what: 'its hash is not the hash of its fields', expected: computed, found: orderHash };
    }
    const recovered = recovery.recover(digest, Buffer.from(signature.slice(2), 'hex'));
    if (recovered.ok && recovered.signer === trader) return undefined;
    const found = recovered.ok ? recovered.signer : recoveryFailures[recovered.failure];
    return { kind, orderHash, what: `its trader ${trader} did not sign it`, expected: { signer: trader, digest: toHex(digest) }, found: { signer: found, signature } };
  }

  return (command, chainId) => {
    const { kind, orderHash } = command;
    if (chainId !== undefined) {
      const domain = prepared.get(chainId);
      return domain === undefined
        ? { kind, orderHash, what: `its market is on chain ${chainId}, of which no signing domain is known`, expected: [...prepared.keys()], found: chainId }
        : within(domain, command);
    }
    const faults = [...prepared.values()].map((domain) => within(domain, command));
    return faults.includes(undefined) ? undefined : faults[0];
  };
}
