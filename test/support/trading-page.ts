/** A whole exchange on a chain that serves the page, gives test money and relays; and wallets that announce themselves to the page. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TypedDataField, Wallet } from 'ethers';
import type { BrowserContext } from 'playwright-core';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { startProcess, type ExchangeProcess } from '../../service/process/process.js';
import { createFaucet } from '../../stack/chain/faucet.js';
import { fundsRoutes } from '../../stack/dev-funds.js';
import { giveToken, tokenRoutes } from '../../stack/dev-token.js';
import { tradedChain, type TradedChain } from './exchange-on-chain.js';
import { freePort } from './free-port.js';
import { bearerToken } from './gasless-wallet.js';
import { WITHOUT_FSYNC, exchangeDatabase } from './postgres.js';
import { testMachine } from './test-machine.js';

const LONGEST_LEAP_S = 604_800;

export type TradingStack = Awaited<ReturnType<typeof tradingStack>>;

/** A stack like the development stack, whose time a test lets pass. It keeps its port through restarts. */
export async function tradingStack() {
  const node = await tradedChain({ chain: { exposureCheck: true } });
  const [database, port, machine] = [await exchangeDatabase(), await freePort(), testMachine()];
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-page-'));
  const relayer = node.accounts[8]!;
  const configured = node.configured({
    chain: { ...node.chain, publicRpcUrl: node.url }, relayerKey: relayer.privateKey, relayer: relayer.address.toLowerCase(),
  });
  const config = parseConfig({
    PORT: String(port), DATABASE_URL: database.url, DATA_DIR: directory, LOG_LEVEL: 'silent', CLOCK_MAX_JUMP_S: String(LONGEST_LEAP_S),
    ...WITHOUT_FSYNC,
  });
  const token = await bearerToken(database.url);
  const routes = [
    ...fundsRoutes({ chainId: node.chain.chainId, give: createFaucet({ chain: node.chain, rpcUrl: node.url }), now: () => performance.now() }),
    ...tokenRoutes(token),
  ];
  const urls = { log: database.url, readModels: database.url, outbox: database.url };
  const open = () => startProcess(config, { urls, chains: [configured], routes, ownPagesOnly: [giveToken] }, createLogger(config), machine);
  let running: ExchangeProcess | undefined = await open();
  const stop = async (): Promise<void> => {
    const stopped = running;
    running = undefined;
    for (const { run } of stopped?.stopSteps ?? []) await run();
  };
  return {
    node, url: `http://127.0.0.1:${port}`, stop,
    async start(): Promise<void> { running = await open(); },
    /** Time passes on the machine and on the chain. */
    async pass(seconds: number): Promise<void> {
      machine.passedMs += seconds * 1_000;
      await node.rpc('evm_increaseTime', [seconds]);
      await node.rpc('evm_mine');
    },
    async close(): Promise<void> {
      await stop();
      await database.drop();
      await node.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export interface AnnouncedTestWallet {
  /** What the wallet has been asked for, in order. */
  readonly asked: readonly string[];
  /** Answers the next request for a signature with a refusal. */
  refuseNext(): void;
}

/** Puts a wallet into every page of the context, which announces itself by EIP-6963, and is on another chain until it is asked to change. */
export async function announceWallet(
  context: BrowserContext, wallet: Wallet, node: TradedChain, name = 'Test wallet',
): Promise<AnnouncedTestWallet> {
  const asked: string[] = [];
  let refuses = false;
  let chainId = 1;
  const answers: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    eth_requestAccounts: () => [wallet.address], eth_accounts: () => [wallet.address], eth_chainId: () => `0x${chainId.toString(16)}`,
    wallet_switchEthereumChain: ([wished]) => {
      chainId = Number((wished as { readonly chainId: string }).chainId);
      return null;
    },
    eth_signTypedData_v4([, text]) {
      if (refuses) {
        refuses = false;
        return { refused: { code: 4001, message: 'User rejected the request.' } };
      }
      const { domain, types: { EIP712Domain: domainType, ...types }, message } = JSON.parse(text as string) as {
        domain: { chainId: number }; types: Record<string, TypedDataField[]>; message: Record<string, unknown>;
      };
      if (domainType === undefined) return { refused: { code: -32_602, message: 'types.EIP712Domain is missing' } };
      if (domain.chainId !== chainId) return { refused: { code: -32_602, message: `the wallet is on chain ${chainId}` } };
      return wallet.signTypedData(domain, types, message);
    },
  };
  await context.exposeFunction('askTestWallet', async (method: string, params: readonly unknown[] = []) => {
    asked.push(method);
    const answer = answers[method];
    return await (answer === undefined ? node.rpc(method, params) : answer(params));
  });
  await context.addInitScript(`(() => {
    const heard = {};
    const provider = {
      async request({ method, params }) {
        const answer = await window.askTestWallet(method, params);
        if (answer?.refused) throw answer.refused;
        if (method === 'wallet_switchEthereumChain') heard.chainChanged?.(params[0].chainId);
        return answer;
      },
      on(event, hear) { heard[event] = hear; }, removeListener(event) { delete heard[event]; },
    };
    const icon = 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>';
    const info = { uuid: crypto.randomUUID?.() ?? '1', name: ${JSON.stringify(name)}, icon, rdns: 'test.wallet' };
    const detail = Object.freeze({ info, provider });
    const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
    addEventListener('eip6963:requestProvider', announce);
    announce();
  })()`);
  return { asked, refuseNext() { refuses = true; } };
}
