/** A whole exchange on a chain that serves the page, gives test money and relays; and wallets that announce themselves to the page. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TypedDataField, Wallet } from 'ethers';
import type { BrowserContext, Page } from 'playwright-core';
import { tradedChain, type TradedChain } from './exchange-on-chain.js';
import { freePort } from './free-port.js';
import { bearerToken } from './gasless-wallet.js';
import { WITHOUT_FSYNC, exchangeDatabase } from './postgres.js';
import type { ToTradingProcess } from './trading-process.js';
import { within } from './until.js';

const LONGEST_LEAP_S = 604_800;

export type TradingStack = Awaited<ReturnType<typeof tradingStack>>;

/** A stack like the development stack, whose time a test lets pass. It keeps its port when it is killed and started again. */
export async function tradingStack() {
  const node = await tradedChain({ chain: { exposureCheck: true } });
  const [database, port] = [await exchangeDatabase(), await freePort()];
  const directory = await mkdtemp(join(tmpdir(), 'prediction-exchange-page-'));
  const relayer = node.accounts[8]!;
  const configured = node.configured({
    chain: { ...node.chain, publicRpcUrl: node.url }, relayerKey: relayer.privateKey, relayer: relayer.address.toLowerCase(),
  });
  const environment = {
    PORT: String(port), DATABASE_URL: database.url, DATA_DIR: directory, LOG_LEVEL: 'silent', CLOCK_MAX_JUMP_S: String(LONGEST_LEAP_S),
    ...WITHOUT_FSYNC,
  };
  const settings = { environment, databaseUrl: database.url, configured, token: await bearerToken(database.url) };
  let passedMs = 0;
  const start = async (): Promise<ChildProcess> => {
    const child = fork(fileURLToPath(new URL('./trading-process.js', import.meta.url)), { serialization: 'advanced', execArgv: [] });
    await told(child, { kind: 'passed', passedMs });
    await told(child, { kind: 'open', settings });
    return child;
  };
  let running = await start();
  const kill = async (): Promise<void> => {
    if (running.exitCode !== null || running.signalCode !== null) return;
    running.kill('SIGKILL');
    await once(running, 'exit');
  };
  return {
    node, url: `http://127.0.0.1:${port}`, kill,
    async start(): Promise<void> { running = await start(); },
    /** Time passes on the machine and on the chain. */
    async pass(seconds: number): Promise<void> {
      passedMs += seconds * 1_000;
      await told(running, { kind: 'passed', passedMs });
      await node.rpc('evm_increaseTime', [seconds]);
      await node.rpc('evm_mine');
    },
    async close(): Promise<void> {
      await kill();
      await database.drop();
      await node.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Resolves when the process says that it has done it. Rejects when it ends before. */
async function told(child: ChildProcess, message: ToTradingProcess): Promise<void> {
  const answer = Promise.race([
    once(child, 'message'), once(child, 'exit').then(([code]) => Promise.reject(new Error(`the exchange has ended with ${String(code)}`))),
  ]);
  child.send(message);
  await within(`the exchange: ${message.kind}`, answer);
}

export interface AnnouncedTestWallet {
  /** What the wallet has been asked for, in order. */
  readonly asked: readonly string[];
  /** Answers the next request for a signature with a refusal. */
  refuseNext(): void;
  /** Its user chooses another account, or none, and the wallet tells the page. */
  choose(page: Page, account?: Wallet): Promise<void>;
}

/** Puts a wallet into every page of the context, which announces itself by EIP-6963, and is on another chain until it is asked to change. */
export async function announceWallet(
  context: BrowserContext, wallet: Wallet, node: TradedChain, name = 'Test wallet',
): Promise<AnnouncedTestWallet> {
  const asked: string[] = [];
  let refuses = false;
  let chainId = 1;
  let chosen: Wallet | undefined = wallet;
  const accounts = (): string[] => chosen === undefined ? [] : [chosen.address];
  const answers: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {
    eth_requestAccounts: accounts, eth_accounts: accounts, eth_chainId: () => `0x${chainId.toString(16)}`,
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
      return chosen?.signTypedData(domain, types, message);
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
    addEventListener('test-wallet-accounts', ({ detail }) => heard.accountsChanged?.(detail));
  })()`);
  return {
    asked, refuseNext() { refuses = true; },
    async choose(page, account) {
      chosen = account;
      await page.evaluate(`dispatchEvent(new CustomEvent('test-wallet-accounts', { detail: ${JSON.stringify(accounts())} }))`);
    },
  };
}
