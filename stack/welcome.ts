/** The text that a developer sees when a stack of their own has started: its address, chains, accounts and markets, and commands to try. */
import type { Chain } from '../command/chain/chain.js';
import { TEST_MNEMONIC } from './chain/anvil.js';
import { orderDomain } from '../command/signing/shown-actions.js';
import { DEFAULT_DATA_DIR, type Config } from '../service/config.js';
import { developmentAccounts, STARTING_USDC } from './chain/dev-contracts.js';
import { FUNDS_PATH, GIFT_TEXT } from './dev-funds.js';
import { ROLE_NAMES, type RoleName } from '../service/process/roles.js';

export interface WelcomeMarket {
  readonly id: string;
  readonly question: string;
  readonly chainId: number;
}

/** What the text is about. */
export interface Welcome {
  /** Where the service listens. */
  readonly url: string;
  readonly config: Pick<Config, 'dataDir' | 'cancelAuth' | 'chains'>;
  /** The roles that are served at the address. */
  readonly roles: readonly RoleName[];
  /** Where orders settle; empty with CHAINS=none. */
  readonly chains: readonly Chain[];
  /** JSON-RPC of the development chain; undefined without one. */
  readonly devRpcUrl: string | undefined;
  /** Whether this process gives test money. */
  readonly givesFunds: boolean;
  /** The open markets. */
  readonly markets: readonly WelcomeMarket[];
}

/** Numbers of accounts and markets that are shown: enough to trade with one another. */
const ACCOUNTS_SHOWN = 3;
const MARKETS_SHOWN = 10;
const COMMAND_WIDTH = 74;

/** A page of text for the terminal. */
export function welcomeText(welcome: Welcome): string {
  const { config, roles, chains, devRpcUrl } = welcome;
  const url = reachable(welcome.url);
  const parts = [
    `prediction-exchange is running at ${url}${roles.includes('query') ? ` (open it in a browser; documentation: ${url}/docs)` : ''}`,
    `  Data is kept in ${config.dataDir}.`,
    ...roles.length < ROLE_NAMES.length ? [`  Only these roles run here: ${roles.join(', ')}. The others are for other processes (docs/roles.md).`] : [],
    ...config.cancelAuth === 'open'
      ? ['  CANCEL_AUTH=open: anybody on this machine can cancel any order. Set CANCEL_AUTH=required to ask for signatures.']
      : ['  A cancel needs its trader\'s signature (CANCEL_AUTH=required).'],
    '', ...chains.length === 0 ? ['No chain (CHAINS=none): orders are matched, but trades do not settle. No money is involved.', ''] : [],
    ...devRpcUrl === undefined ? filedChains(welcome) : chains.flatMap((chain) => developmentChain(chain, devRpcUrl, welcome.givesFunds ? `${url}${FUNDS_PATH}` : undefined)),
    ...marketLines(welcome), ...commands(welcome, url),
  ];
  return `\n${parts.join('\n')}\n\n`;
}

/** The URL for a browser on this machine: a service that listens on all addresses is reached on loopback. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function developmentChain(chain: Chain, rpcUrl: string, fundsUrl: string | undefined): string[] {
  return [
    `Chain ${chain.chainId} (${chain.name}): JSON-RPC at ${rpcUrl}. It is on this machine alone: no real money is involved.`,
    ...Object.entries(chain.contracts).map(([name, address]) => `  ${name.padEnd(20)}${String(address)}`),
    `  Signing domain of orders: ${JSON.stringify(orderDomain(chain))}`,
    ...chain.exposureCheck
      ? ['  EXPOSURE_CHECK=true: an order is refused unless its trader has the money or shares for it, and has approved them.']
      : ['  EXPOSURE_CHECK=false: orders of wallets without money or approvals are accepted too, so that any wallet can try the API. Their fills',
          '  cannot settle: they end as failed trades (/api/v1/failed-trades) and are taken back. Set EXPOSURE_CHECK=true to refuse such orders.'],
    '', `Accounts of the mnemonic "${TEST_MNEMONIC}", each with ether and ${STARTING_USDC / 1_000_000n} test USDC.`,
    'These keys are public: never use them elsewhere.',
    ...developmentAccounts().slice(0, ACCOUNTS_SHOWN).map(({ address, privateKey }) => `  ${address}  ${privateKey}`),
    ...fundsUrl === undefined
      ? []
      : [`Test money for any other wallet: ${GIFT_TEXT}.`,
          `  curl ${fundsUrl} -H 'Content-Type: application/json' --data '{"address":"0x..."}'`],
    '  To buy, approve settlement to spend collateral. To sell, approve conditionalTokens to spend collateral, split it into YES and NO',
    '  shares (splitPosition), and approve settlement for the shares. A fill that cannot be paid fails, and cancels the other orders of its',
    '  wallet that need the same asset.',
    '',
  ];
}

function filedChains({ chains, config, markets, roles }: Welcome): string[] {
  if (chains.length === 0) return [];
  const lines = chains.flatMap((chain) => {
    const count = markets.filter(({ chainId }) => chainId === chain.chainId).length;
    return [
      `  ${chain.chainId} (${chain.name}): ${chain.testnet ? 'a test network, whose money has no value' : 'REAL MONEY'}`
      + `${roles.includes('query') ? `; ${count} open market${count === 1 ? '' : 's'}` : ''}`,
      `    settlement ${chain.contracts.settlement}`,
      `    ${chain.exposureCheck ? 'orders are checked against balances and allowances' : 'orders are not checked against balances: fills that cannot be paid end as failed trades'}`,
    ];
  });
  return [`Fills settle on the chain${chains.length === 1 ? '' : 's'} of ${config.chains}:`, ...lines, ''];
}

function marketLines({ markets, roles, chains }: Welcome): string[] {
  if (!roles.includes('query')) return [];
  const place = ({ chainId }: WelcomeMarket): string => chains.length > 1 ? `  chain ${chainId}` : '';
  const lines = markets.slice(0, MARKETS_SHOWN).map((market) => `  ${market.id}${place(market)}  ${market.question}`);
  const more = markets.length - lines.length;
  return ['Markets:', ...lines.length === 0 ? ['  none is open'] : lines, ...more === 0 ? [] : [`  and ${more} more: /api/v1/markets`], ''];
}

/** The commands, each with this stack's own address: another stack may run beside. */
function commands({ config, roles, chains, devRpcUrl, markets }: Welcome, url: string): string[] {
  const settles = chains.length > 0;
  const demonstrates = roles.includes('query') && roles.includes('api') && (!settles || devRpcUrl !== undefined);
  // The demonstration's bearer token is in DATA_DIR.
  const tokenPlace = settles && config.dataDir !== DEFAULT_DATA_DIR ? `DATA_DIR=${config.dataDir} ` : '';
  const rows = [
    ...demonstrates
      ? [[`${tokenPlace}npm run demo -- ${url}`, settles ? 'two wallets without gas go through a market\'s life' : 'two wallets trade, and the demo checks every result']]
      : [],
    [`curl ${url}/api/v1/config`, 'everything that a wallet needs to sign an order'],
    ...roles.includes('query')
      ? [
          [`curl ${url}/api/v1/orderbook/${markets[0]?.id ?? '{marketId}'}`, ''],
          [`curl '${url}/api/v1/events?limit=5'`, 'the recorded history, with its digests'],
        ]
      : [],
  ] as [string, string][];
  // A long DATA_DIR is wider than the column: the command still ends before its description.
  return ['Try next:', ...rows.map(([command, what]) => `  ${`${command}  `.padEnd(COMMAND_WIDTH)}${what}`.trimEnd())];
}

export interface WelcomeParts {
  readonly url: string;
  readonly config: Pick<Config, 'dataDir' | 'cancelAuth' | 'chains' | 'roles'>;
  readonly chains: readonly { readonly chain: Chain }[];
  /** The development chain that was started here. */
  readonly dev: { readonly rpcUrl: string } | undefined;
}

/** The text for a service that listens; undefined while the read models are still catching up. Never rejects. */
export async function welcome({ url, config, chains, dev }: WelcomeParts): Promise<string | undefined> {
  const { roles } = config;
  const markets = roles.includes('query') ? await openMarkets(url).catch(() => undefined) : [];
  if (markets === undefined) return undefined;
  const named = chains.map(({ chain }) => chain);
  // A process beside a running development stack uses the chain of that stack.
  const devRpcUrl = dev?.rpcUrl ?? (config.chains === 'dev' ? named[0]?.publicRpcUrl : undefined);
  return welcomeText({ url, config, roles, chains: named, devRpcUrl, givesFunds: dev !== undefined, markets });
}

async function openMarkets(url: string): Promise<readonly WelcomeMarket[] | undefined> {
  const { engine: { position = 0 } = {} } = await (await fetch(`${url}/health/ready`)).json() as { engine?: { position?: number } };
  const answer = await fetch(`${url}/api/v1/markets`, { headers: { 'X-Min-Log-Position': String(position - 1) } });
  if (!answer.ok) return undefined;
  return (await answer.json() as { markets: readonly WelcomeMarket[] }).markets;
}
