/**
 * Whoever signs: an account of viem, a wallet of ethers 5 or 6, a browser's wallet, or anything that signs EIP-712
 * messages in one of these ways.
 */
import { BadArgument } from './errors.js';
import { hexOf } from './arguments.js';
import type { Hex } from './vocabulary.js';

export interface SigningDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: Hex;
}

/** An EIP-712 message with all that it takes to sign it. */
export interface TypedData {
  readonly domain: SigningDomain;
  readonly types: Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** What is asked of a signer. An account of viem is one as it is. */
export interface Signer {
  readonly address: string;
  signTypedData(typed: TypedData): Promise<string>;
}

/**
 * What may be given as a signer. `signTypedData` takes the one object of viem, or the domain, the types and the message
 * of ethers 6: the number of its parameters tells which. A wallet of ethers 5 has `_signTypedData` instead.
 */
export type AnySigner = { readonly address: string } & (
  { signTypedData(...args: never[]): Promise<string> } | { _signTypedData(...args: never[]): Promise<string> });

type Sign = Signer['signTypedData'];
type SignOfThree = (domain: SigningDomain, types: TypedData['types'], message: TypedData['message']) => Promise<string>;

/** The signer as this client uses it. Throws BadArgument. */
export function signerOf(given: AnySigner): Signer {
  const { address, signTypedData: modern, _signTypedData: earlier } = given as Partial<Record<string, unknown>>;
  const sign = typeof modern === 'function' ? modern : earlier;
  if (typeof sign !== 'function' || typeof address !== 'string') {
    throw new BadArgument('signer', 'has an address and signTypedData, as viem\'s accounts and ethers\' wallets do');
  }
  const takesThree = sign !== modern || sign.length >= 3;
  return {
    address: hexOf('signer.address', address, 20),
    signTypedData: takesThree
      ? ({ domain, types, message }) => (sign as SignOfThree).call(given, domain, types, message)
      : (typed) => (sign as Sign).call(given, typed),
  };
}

/** What of an EIP-1193 provider is used, such as `window.ethereum`. */
export interface Eip1193Provider {
  request(request: { readonly method: string; readonly params?: unknown[] }): Promise<unknown>;
}

const DOMAIN = [
  { name: 'name', type: 'string' }, { name: 'version', type: 'string' }, { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const;

/** Signs by a browser's wallet, with an address that it has given the page access to (`eth_requestAccounts`). */
export function eip1193Signer(provider: Eip1193Provider, address: string): Signer {
  return {
    address,
    async signTypedData({ types, ...typed }) {
      const data = JSON.stringify({ ...typed, types: { ...types, EIP712Domain: DOMAIN } }, (_, each: unknown) => (
        typeof each === 'bigint' ? each.toString() : each));
      return await provider.request({ method: 'eth_signTypedData_v4', params: [address, data] }) as string;
    },
  };
}

/**
 * A signature in the form in which contracts take it. Throws BadArgument where the signer gave something else than 65
 * bytes.
 */
export function partsOf(signature: string): { readonly v: number; readonly r: Hex; readonly s: Hex } {
  const hex = hexOf('the signer\'s signature', signature, 65);
  const v = Number.parseInt(hex.slice(130), 16);
  return { v: v < 27 ? v + 27 : v, r: `0x${hex.slice(2, 66)}`, s: `0x${hex.slice(66, 130)}` };
}
