/**
 * The exchange of the trading page's tests as a process of its own, which can be killed. Its parent sends what it runs
 * with, and then how much time has passed.
 */
import type { ConfiguredChain } from '../../command/chain/configured-chain.js';
import { parseConfig } from '../../service/config.js';
import { createLogger } from '../../service/logger.js';
import { startProcess } from '../../service/process/process.js';
import { createFaucet } from '../../stack/chain/faucet.js';
import { fundsRoutes } from '../../stack/dev-funds.js';
import { giveToken, tokenRoutes } from '../../stack/dev-token.js';
import { testMachine } from './test-machine.js';

export interface TradingSettings {
  readonly environment: Readonly<Record<string, string>>;
  readonly databaseUrl: string;
  readonly configured: ConfiguredChain;
  /** The relayer's token, for the page. */
  readonly token: string;
}

export type ToTradingProcess = { readonly kind: 'open'; readonly settings: TradingSettings } | { readonly kind: 'passed'; readonly passedMs: number };

const machine = testMachine();

process.on('message', (message: ToTradingProcess) => {
  if (message.kind === 'passed') {
    machine.passedMs = message.passedMs;
    process.send?.('passed');
    return;
  }
  void open(message.settings).then(() => { process.send?.('open'); });
});
process.once('disconnect', () => process.exit());

async function open({ environment, databaseUrl, configured, token }: TradingSettings): Promise<void> {
  const config = parseConfig(environment);
  const { chain, rpcUrls: [rpcUrl = ''] } = configured;
  const routes = [
    ...fundsRoutes({ chainId: chain.chainId, give: createFaucet({ chain, rpcUrl }), now: () => performance.now() }), ...tokenRoutes(token),
  ];
  const urls = { log: databaseUrl, readModels: databaseUrl, outbox: databaseUrl };
  await startProcess(config, { urls, chains: [configured], routes, ownPagesOnly: [giveToken] }, createLogger(config), machine);
}
