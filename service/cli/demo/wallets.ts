/** The demonstration's client of the chain: funds wallets, sends their transactions and reads their balances. */
import { Contract, JsonRpcProvider, NonceManager, Signature, Wallet, parseEther, type ContractTransactionResponse, type InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../../contracts-abi/conditional-tokens.js';
import { market as marketArtifact } from '../../../contracts-abi/market.js';
import { settlement } from '../../../contracts-abi/settlement.js';
import { permitTypes } from '../../../command/signing/typed-data.js';
import { testUsdc } from '../../../contracts-abi/test-usdc.js';
import { developmentAccounts } from '../../embedded/chain/dev-contracts.js';
import type { Chain, Market, Permit } from './api.js';

/** An account's shares of a market and its collateral, in units of 1e-6. */
export interface Balances {
  readonly yesShares: bigint;
  readonly noShares: bigint;
  readonly collateral: bigint;
}

export interface ChainSide {
  /** A fresh wallet with some ether and `collateral` test USDC. */
  fundedWallet(collateral: number): Promise<Wallet>;
  /** Splits `amount` of collateral into equal amounts of YES and NO shares, and approves the settlement contract to move the shares. */
  splitAndApprove(wallet: Wallet, market: Market, amount: number): Promise<void>;
  /** Signs a permit for the settlement contract to take `value` of the wallet's collateral; the wallet sends no transaction. */
  permit(wallet: Wallet, value: number): Promise<Permit>;
  balances(wallet: Wallet, market: Market): Promise<Balances>;
  /** The log position and digest that a settlement transaction anchored. */
  anchored(txHash: string): Promise<{ readonly position: number; readonly digest: string }>;
  close(): void;
}

const ZERO_32 = `0x${'0'.repeat(64)}`;
const PERMIT_LIFETIME_S = 3_600;

/** The development chain that a service names in its configuration. */
export function chainSide({ rpcUrl, chainId, contracts, collateral }: Chain, serverTime: number): ChainSide {
  const provider = new JsonRpcProvider(given(rpcUrl, 'the chain\'s rpcUrl'), chainId, { staticNetwork: true, polling: true, pollingInterval: 50, cacheTimeout: -1 });
  const at = (name: string, abi: unknown) => new Contract(given(contracts[name], `the address of ${name}`), abi as InterfaceAbi, provider);
  const usdc = at('collateral', testUsdc.abi);
  const tokens = at('conditionalTokens', conditionalTokens.abi);
  const settlementContract = at('settlement', settlement.abi);
  const send = async (contract: Contract, wallet: Wallet | NonceManager, method: string, ...values: unknown[]): Promise<void> => {
    const signer = wallet instanceof Wallet ? wallet.connect(provider) : wallet;
    await ((await (contract.connect(signer) as Contract).getFunction(method)(...values)) as ContractTransactionResponse).wait();
  };
  const read = (contract: Contract, method: string, ...values: unknown[]) => contract.getFunction(method)(...values) as Promise<unknown>;
  return {
    async fundedWallet(amount) {
      const bank = new NonceManager(given(developmentAccounts().at(-1), 'a development account').connect(provider));
      const wallet = new Wallet(Wallet.createRandom().privateKey);
      await (await bank.sendTransaction({ to: wallet.address, value: parseEther('1') })).wait();
      await send(usdc, bank, 'mint', wallet.address, amount);
      return wallet;
    },
    async splitAndApprove(wallet, { id }, amount) {
      await send(usdc, wallet, 'approve', contracts['conditionalTokens'], amount);
      await send(tokens, wallet, 'splitPosition', contracts['collateral'], ZERO_32, id, [1, 2], amount);
      await send(tokens, wallet, 'setApprovalForAll', contracts['settlement'], true);
    },
    async permit({ address, privateKey }, value) {
      const nonce = String(await read(usdc, 'nonces', address));
      const deadline = serverTime + PERMIT_LIFETIME_S;
      const { name, version, address: verifyingContract } = given(collateral, 'the chain\'s collateral');
      const domain = { name, version, chainId, verifyingContract };
      const message = { owner: address, spender: contracts['settlement'], value, nonce, deadline };
      const signature = await new Wallet(privateKey).signTypedData(domain, { Permit: [...permitTypes.Permit] }, message);
      return { nonce, value: String(value), deadline, signature: Signature.from(signature) };
    },
    async balances({ address }, { contractAddress }) {
      const market = new Contract(contractAddress, marketArtifact.abi as InterfaceAbi, provider);
      const [yesId, noId] = await Promise.all([read(market, 'yesId'), read(market, 'noId')]);
      const [yesShares, noShares, left] = await Promise.all([
        read(tokens, 'balanceOf(address,uint256)', address, yesId), read(tokens, 'balanceOf(address,uint256)', address, noId), read(usdc, 'balanceOf', address),
      ]) as [bigint, bigint, bigint];
      return { yesShares, noShares, collateral: left };
    },
    async anchored(txHash) {
      const receipt = given(await provider.getTransactionReceipt(txHash), `the receipt of ${txHash}`);
      const ofSettlement = receipt.logs.filter(({ address }) => address.toLowerCase() === contracts['settlement']);
      const events = ofSettlement.map((each) => settlementContract.interface.parseLog(each));
      const { args } = given(events.find((event) => event?.name === 'HistoryAnchored'), `the HistoryAnchored event of ${txHash}`);
      return { position: Number(args['position']), digest: String(args['digest']) };
    },
    close() { provider.destroy(); },
  };
}

/** The value. Throws an error that names it when it is missing. */
function given<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`${what} is missing`);
  return value;
}
