/** Signed proposals and settlements of markets and the permits of their bonds, as the arguments of OracleResolver's functions. */
import { Signature, TypedDataEncoder, recoverAddress, type HDNodeWallet, type TypedDataField } from 'ethers';
import { TEST_CHAIN_ID } from './chain.js';
import { USDC, type Arguments, type MarketContracts, type Target } from './market-contracts.js';

export const BOND = 20n * USDC;
export const FAR = 2n ** 64n;
/** A permit that is none. */
export const NO_PERMIT: BondPermit = { deadline: 0n, v: 0, r: `0x${'00'.repeat(32)}`, s: `0x${'00'.repeat(32)}` };

const PROPOSE = fields('ProposeResolution', 'address market,address proposer,bool outcome,uint256 bond,uint256 nonce,uint256 deadline');
const SETTLE = fields('SettleMarket', 'address market,address settler,uint8 winningOutcome,uint256 nonce,uint256 deadline');
const PERMIT = fields('Permit', 'address owner,address spender,uint256 value,uint256 nonce,uint256 deadline');

/** The types' strings as EIP-712 hashes them. */
export const TYPES = {
  propose: TypedDataEncoder.from(PROPOSE).encodeType('ProposeResolution'), settle: TypedDataEncoder.from(SETTLE).encodeType('SettleMarket'),
};

interface ProposeFields { market: string; proposer: string; outcome: boolean; bond: bigint; nonce: bigint; deadline: bigint }
interface SettleFields { market: string; settler: string; winningOutcome: number; nonce: bigint; deadline: bigint }
interface PermitFields { owner: string; spender: string; value: bigint; nonce: bigint; deadline: bigint }

interface ProposalOptions {
  readonly outcome?: boolean;
  readonly deadline?: bigint;
  readonly bondPermit?: BondPermit;
  readonly signed?: Partial<ProposeFields>;
}

type Signer = Pick<HDNodeWallet, 'address' | 'signTypedData'>;

interface BondPermit { readonly deadline: bigint; readonly v: number; readonly r: string; readonly s: string }

export function signedResolutions({ oracleResolver, usdc, read }: Pick<MarketContracts, 'oracleResolver' | 'usdc' | 'read'>) {
  const domain = { name: 'OracleResolver', version: '1', chainId: TEST_CHAIN_ID, verifyingContract: oracleResolver.address };
  const stablecoin = { name: 'USD Coin (test)', version: '2', chainId: TEST_CHAIN_ID, verifyingContract: usdc.address };
  const sign = async (wallet: Signer, types: Record<string, TypedDataField[]>, message: object, of = domain) =>
    Signature.from(await wallet.signTypedData(of, types, message as Record<string, unknown>));
  /** The key's nonce of an account, for a market. */
  const nonceOf = async (account: string, market: Target): Promise<bigint> => {
    const key = await read(oracleResolver, 'nonceKey', [await read(market, 'marketId')]);
    return await read(oracleResolver, 'nonces(address,uint192)', [account, key]) as bigint;
  };
  return {
    domain, nonceOf,

    /** Arguments of proposeWithSig; `signed` changes what is signed, not what is sent. */
    async proposal(wallet: Signer, market: Target, options: ProposalOptions = {}) {
      const { outcome = true, deadline = FAR, bondPermit = NO_PERMIT, signed = {} } = options;
      const message: ProposeFields = {
        market: market.address, proposer: wallet.address, outcome, bond: BOND, nonce: await nonceOf(wallet.address, market), deadline, ...signed,
      };
      const { v, r, s } = await sign(wallet, PROPOSE, message);
      return [market.address, wallet.address, outcome, deadline, v, r, s, bondPermit] as Arguments;
    },

    /** Arguments of settleWithSig; `signed` changes what is signed, not what is sent. */
    async settlement(wallet: Signer, market: Target, { winningOutcome = 0, deadline = FAR, signed = {} as Partial<SettleFields> } = {}) {
      const message: SettleFields = {
        market: market.address, settler: wallet.address, winningOutcome, nonce: await nonceOf(wallet.address, market), deadline, ...signed,
      };
      const { v, r, s } = await sign(wallet, SETTLE, message);
      return [market.address, wallet.address, winningOutcome, deadline, v, r, s] as Arguments;
    },

    async bondPermit(wallet: Signer, { value = BOND, deadline = FAR } = {}): Promise<BondPermit> {
      const nonce = await read(usdc, 'nonces', [wallet.address]) as bigint;
      const message: PermitFields = { owner: wallet.address, spender: oracleResolver.address, value, nonce, deadline };
      const { v, r, s } = await sign(wallet, PERMIT, message, stablecoin);
      return { deadline, v, r, s };
    },

    /** Who a contract takes for the signer when it hashes these fields. */
    proposerOf(message: ProposeFields, [, , , , v, r, s]: Arguments): string {
      return recoverAddress(TypedDataEncoder.hash(domain, PROPOSE, message), { v: v as number, r: r as string, s: s as string });
    },
    settlerOf(message: SettleFields, [, , , , v, r, s]: Arguments): string {
      return recoverAddress(TypedDataEncoder.hash(domain, SETTLE, message), { v: v as number, r: r as string, s: s as string });
    },
  };
}

/** `address a,bool b` as ethers wants it. */
function fields(name: string, members: string): Record<string, TypedDataField[]> {
  return { [name]: members.split(',').map((member) => ({ type: member.split(' ')[0]!, name: member.split(' ')[1]! })) };
}
