/** The demonstration's client of the chain: funds wallets, sends their transactions and reads their balances. */
import { Contract, FetchRequest, JsonRpcProvider, NonceManager, Signature, Wallet, parseEther, type ContractTransactionResponse, type EventLog, type InterfaceAbi } from 'ethers';
import { conditionalTokens } from '../../contracts-abi/conditional-tokens.js';
import { market as marketArtifact } from '../../contracts-abi/market.js';
import { settlement } from '../../contracts-abi/settlement.js';
import { permitTypes } from '../../command/signing/typed-data.js';
import { testUsdc } from '../../contracts-abi/test-usdc.js';
import { oracleResolver } from '../../contracts-abi/oracle-resolver.js';
import { quickResolver } from '../../contracts-abi/quick-resolver.js';
import { developmentAccounts } from '../../stack/chain/dev-contracts.js';
import type { ApiChain, ApiMarket, ApiPermit } from './api.js';
import { given } from './progress.js';

/** An account's shares of a market and its collateral, in units of 1e-6. */
export interface Balances {
  readonly yesShares: bigint;
  readonly noShares: bigint;
  readonly collateral: bigint;
}

/** What a wallet has done and can do by itself on the chain. */
export interface Gas {
  /** In wei. */
  readonly ether: bigint;
  readonly transactions: number;
}

export interface ChainSide {
  /** A fresh wallet with `collateral` test USDC, and with ether only if it is going to send transactions itself. */
  wallet(means: { readonly collateral: number; readonly sends: boolean }): Promise<Wallet>;
  /** As a transaction of the wallet's own: splits `amount` of collateral into YES and NO shares, and lets the settlement contract move them. */
  splitAndApprove(wallet: Wallet, market: ApiMarket, amount: number): Promise<void>;
  /** Signs a permit for the settlement contract to take `value` of the wallet's collateral; the wallet sends no transaction. */
  permit(wallet: Wallet, value: number): Promise<ApiPermit>;
  balances(wallet: Wallet, market: ApiMarket): Promise<Balances>;
  gas(wallet: Wallet): Promise<Gas>;
  /** How much collateral a contract may take from the wallet. */
  allowance(wallet: Wallet, spender: string): Promise<bigint>;
  /** Whether the settlement contract may move the wallet's shares. */
  isApproved(wallet: Wallet): Promise<boolean>;
  /** What a share of YES and of NO pays, in parts of the sum of both; both 0 until the market is resolved. */
  payouts(market: ApiMarket): Promise<readonly [yes: bigint, no: bigint]>;
  /** The prices by which the quick resolver has resolved a quick market, in units of 1e-8 USD. */
  quickPrices(market: ApiMarket): Promise<{ readonly startPrice: bigint; readonly endPrice: bigint; readonly txHash: string }>;
  /** How long a proposed resolution can be disputed. */
  disputeWindowS(): Promise<number>;
  /** The log position and digest that a settlement transaction anchored. */
  anchored(txHash: string): Promise<{ readonly position: number; readonly digest: string }>;
  close(): void;
}

const ZERO_32 = `0x${'0'.repeat(64)}`;
const PERMIT_LIFETIME_S = 3_600;
const MINED_WITHIN_MS = 60_000;
const ANSWERS_WITHIN_MS = 30_000;
/** Pays for the test money. Not one of the first accounts, which developers use in their wallets. */
const BANK = 7;

/** Whether an error says that the chain's node does not answer. */
export function nodeIsAway(error: unknown): error is Error {
  const { code } = error as { code?: unknown };
  return error instanceof Error && ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'TIMEOUT'].includes(String(code));
}

/** The development chain that a service names in its configuration. */
export function chainSide({ rpcUrl, chainId, contracts, collateral }: ApiChain, serverTime: number): ChainSide {
  const node = new FetchRequest(given(rpcUrl, 'the chain\'s rpcUrl'));
  node.timeout = ANSWERS_WITHIN_MS;
  const provider = new JsonRpcProvider(node, chainId, { staticNetwork: true, polling: true, pollingInterval: 50, cacheTimeout: -1 });
  const at = (name: string, abi: unknown) => new Contract(given(contracts[name], `the address of ${name}`), abi as InterfaceAbi, provider);
  const usdc = at('collateral', testUsdc.abi);
  const tokens = at('conditionalTokens', conditionalTokens.abi);
  const settlementContract = at('settlement', settlement.abi);
  const resolver = at('oracleResolver', oracleResolver.abi);
  const send = async (contract: Contract, wallet: Wallet | NonceManager, method: string, ...values: unknown[]): Promise<void> => {
    const signer = wallet instanceof Wallet ? wallet.connect(provider) : wallet;
    await ((await (contract.connect(signer) as Contract).getFunction(method)(...values)) as ContractTransactionResponse).wait(1, MINED_WITHIN_MS);
  };
  const read = (contract: Contract, method: string, ...values: unknown[]) => contract.getFunction(method)(...values) as Promise<unknown>;
  return {
    async wallet({ collateral: amount, sends }) {
      const bank = given(developmentAccounts()[BANK], 'a development account').connect(provider);
      if (await provider.getBalance(bank.address) === 0n) {
        throw new Error(`the development account ${bank.address} has no ether on chain ${chainId}, so nobody pays for the test money: a development chain has accounts with ether`);
      }
      const account = new NonceManager(bank);
      const wallet = new Wallet(Wallet.createRandom().privateKey);
      if (sends) await (await account.sendTransaction({ to: wallet.address, value: parseEther('1') })).wait(1, MINED_WITHIN_MS);
      await send(usdc, account, 'mint', wallet.address, amount);
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
    async gas({ address }) {
      const [ether, transactions] = await Promise.all([provider.getBalance(address), provider.getTransactionCount(address)]);
      return { ether, transactions };
    },
    allowance: ({ address }, spender) => read(usdc, 'allowance', address, spender) as Promise<bigint>,
    isApproved: ({ address }) => read(tokens, 'isApprovedForAll', address, contracts['settlement']) as Promise<boolean>,
    async payouts({ id }) {
      const [yes, no] = await Promise.all([0, 1].map((outcome) => read(tokens, 'payoutNumerators', id, outcome)));
      return [yes as bigint, no as bigint];
    },
    quickPrices: ({ id }) => quickPricesOf(at('quickResolver', quickResolver.abi), id),
    disputeWindowS: async () => Number(await read(resolver, 'disputeWindow')),
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

async function quickPricesOf(resolver: Contract, id: string): ReturnType<ChainSide['quickPrices']> {
  const [log] = await resolver.queryFilter(resolver.getEvent('QuickMarketResolved')(id));
  const { args, transactionHash: txHash } = given(log as EventLog | undefined, `the resolution of quick market ${id} on the chain`);
  return { startPrice: args['startPrice'] as bigint, endPrice: args['endPrice'] as bigint, txHash };
}
