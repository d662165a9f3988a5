/** EIP-712 digests of the messages in the table of signed actions. */
import { domainSeparator, typeHash, type Keccak256, type SigningDomain } from './typed-data.js';
import type { Member, SignedAction } from './signed-actions.js';

/** Hex for addresses and 32 bytes, bigints for integers of any size. */
export type MessageValue = string | boolean | bigint | readonly bigint[] | readonly string[];
export type ActionMessage = Readonly<Record<string, MessageValue>>;

/**
 * The digest of a message, 32 bytes: what its signer signs. Does not check the values: check them first. Throws when a
 * member is missing.
 */
export type ActionDigest = (message: ActionMessage) => Uint8Array;

const WORD = 32;

/** Computes the type hash and the domain separator once. */
export function prepareAction(
  keccak256: Keccak256, { primaryType, members }: Pick<SignedAction, 'primaryType' | 'members'>, domain: SigningDomain,
): ActionDigest {
  const separator = domainSeparator(keccak256, domain);
  const type = typeHash(keccak256, primaryType, members);
  return (message) => {
    const words = members.map((member) => encoded(keccak256, member, message[member.name]));
    return keccak256(Buffer.concat([Buffer.from([0x19, 0x01]), separator, keccak256(Buffer.concat([type, ...words]))]));
  };
}

/** One word per member: an array is the hash of its words. */
function encoded(keccak256: Keccak256, { name, type }: Member, value: MessageValue | undefined): Uint8Array {
  if (value === undefined) throw new Error(`the message to sign has no ${name}`);
  switch (type) {
    case 'uint256[]': case 'bytes32[]': return keccak256(Buffer.concat((value as readonly (bigint | string)[]).map((each) => word(BigInt(each)))));
    case 'bool': return word(value === true ? 1n : 0n);
    case 'address':
    case 'bytes32':
    case 'uint8':
    case 'uint32':
    case 'uint64':
    case 'uint256': return word(BigInt(value as string | bigint));
  }
}

function word(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * WORD, '0'), 'hex');
}
